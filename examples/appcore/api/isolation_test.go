package api_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/singletable/singletable/examples/internal/check"
)

func TestUsersSeeTheirOwnThingsOnly(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	id := a.create(t, ana, "k")
	check.Must(a.service.Approve(t.Context(), id))(t)
	if got := a.get(t, bruno, "/transactions/"+id); got.Status != http.StatusForbidden || strings.Contains(got.Body, ana) {
		t.Errorf("by id: %d %s", got.Status, got.Body)
	}
	for _, path := range []string{"/transactions", "/notifications", "/transactions?userId=" + ana, "/notifications?user=" + ana} {
		a.get(t, bruno, path).is(t, http.StatusOK, "{\"items\":[]}\n")
	}
	// Ids that hold what keys are made of stay within their user.
	for _, user := range []string{ana + "#TX", "USER#" + ana, ana + "%23", "#", "%"} {
		for _, path := range []string{"/transactions", "/notifications"} {
			a.get(t, user, path).is(t, http.StatusOK, "{\"items\":[]}\n")
		}
		a.create(t, user, "k")
	}
	a.lists(t, ana, "/transactions", 1)
}

// A cursor opens the list that it was given for, for the user that it was given to.
func TestALastKeyIsGoodForItsListAndUserOnly(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	for _, user := range []string{ana, bruno} {
		for _, key := range []string{"1", "2", "3"} {
			check.Must(a.service.Approve(t.Context(), a.create(t, user, key)))(t)
		}
	}
	lists := []string{"/transactions", "/transactions/global", "/notifications"}
	for _, from := range lists {
		lastKey := decode[struct {
			Items   []any  `json:"items"`
			LastKey string `json:"lastKey"`
		}](t, a.get(t, ana, from+"?limit=1").Body).LastKey
		if lastKey == "" {
			t.Fatalf("%s: no lastKey", from)
		}
		for _, to := range lists {
			for _, user := range []string{ana, bruno} {
				got := a.get(t, user, to+"?limit=2&lastKey="+url.QueryEscape(lastKey))
				want := http.StatusBadRequest
				// The list of all is the same for both.
				if from == to && (user == ana || to == "/transactions/global") {
					want = http.StatusOK
				}
				got.is(t, want)
			}
		}
	}
}

// A prevKey leads back over the pages of a list, and is good for its list and user as a
// lastKey is.
func TestAPrevKeyLeadsBack(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	for i := range 5 {
		a.post(t, ana, fmt.Sprint("key-", i), eur).is(t, 201)
	}
	for _, path := range []string{"/transactions", global} {
		read := func(key string) page[transaction] {
			t.Helper()
			return decode[page[transaction]](t, a.get(t, ana, path+"?limit=2&lastKey="+url.QueryEscape(key)).Body)
		}
		first := decode[page[transaction]](t, a.get(t, ana, path+"?limit=2").Body)
		second := read(first.LastKey)
		third := read(second.LastKey)
		back := read(third.PrevKey)
		check.Equal(t, path+": the page before the third", back.Items, second.Items)
		front := read(back.PrevKey)
		check.Equal(t, path+": the page before the second", front.Items, first.Items)
		check.Equal(t, path+": the way back from the first", first.PrevKey+front.PrevKey, "")
		check.Equal(t, path+": the page after the first", read(front.LastKey).Items, second.Items)
		a.get(t, bruno, "/notifications?lastKey="+url.QueryEscape(third.PrevKey)).is(t, 400)
	}
}
