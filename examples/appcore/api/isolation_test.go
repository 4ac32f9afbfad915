package api_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func TestUsersSeeTheirOwnThingsOnly(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	id := a.create(t, ana, "k")
	if _, err := a.service.Approve(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if got := a.get(t, bruno, "/transactions/"+id); got.Status != http.StatusForbidden || strings.Contains(got.Body, ana) {
		t.Errorf("by id: %d %s", got.Status, got.Body)
	}
	for _, path := range []string{"/transactions", "/notifications", "/transactions?userId=" + ana, "/notifications?user=" + ana} {
		if got := a.get(t, bruno, path); got.Body != "{\"items\":[]}\n" {
			t.Errorf("%s: %d %s", path, got.Status, got.Body)
		}
	}
	// Ids that hold what keys are made of stay within their user.
	for _, user := range []string{ana + "#TX", "USER#" + ana, ana + "%23", "#", "%"} {
		for _, path := range []string{"/transactions", "/notifications"} {
			if got := a.get(t, user, path); got.Body != "{\"items\":[]}\n" {
				t.Errorf("user %q, %s: %d %s", user, path, got.Status, got.Body)
			}
		}
		a.create(t, user, "k")
	}
	if p := decode[page[transaction]](t, a.get(t, ana, "/transactions").Body); len(p.Items) != 1 {
		t.Errorf("%d transactions, want 1", len(p.Items))
	}
}

// A token opens the list it was given for, for the user it was given to.
func TestALastKeyIsGoodForItsListAndUserOnly(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	for _, user := range []string{ana, bruno} {
		for _, key := range []string{"1", "2", "3"} {
			if _, err := a.service.Approve(t.Context(), a.create(t, user, key)); err != nil {
				t.Fatal(err)
			}
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
				if from == to && user == ana {
					want = http.StatusOK
				}
				if got.Status != want {
					t.Errorf("lastKey of %s for %s, used for %s by %s: status %d, want %d", from, ana, to, user, got.Status, want)
				}
			}
		}
		for i := range len(lastKey) {
			changed := []byte(lastKey)
			changed[i] ^= 1
			got := a.get(t, ana, from+"?lastKey="+url.QueryEscape(string(changed)))
			if got.Status != http.StatusBadRequest {
				t.Errorf("%s: lastKey changed at %d: status %d", from, i, got.Status)
			}
		}
	}
}
