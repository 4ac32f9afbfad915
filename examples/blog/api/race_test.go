package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/singletable/singletable/examples/blog/store"
	"github.com/singletable/singletable/examples/internal/check"
)

// A post that its author takes back, after the request has begun and before the comment is
// written, gets no comment of another user.
func TestNobodyCommentsOnADraftOfAnother(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	w := newWorld(t, a, "ana", "bob")
	a.faults.Next("TransactWriteItems", func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		a.is(t, http.StatusNoContent, "ana", "DELETE /posts/"+w.post+"/publication", "")
		return next.RoundTrip(r)
	})
	a.is(t, http.StatusNotFound, "bob", "POST /posts/"+w.post+"/comments", `{"text":"Late"}`)
	a.is(t, http.StatusCreated, "ana", "POST /posts/"+w.post+"/comments", `{"text":"Mine"}`)
	page := check.Must(a.store.PostWithComments(t.Context(), w.post, 10))(t)
	check.Equal(t, "comments", page.Post.Comments, 2) // with the one of newWorld
}

// Of requests that register a user at the same time, all succeed: they are one PUT.
func TestAUserIsRegisteredByManyRequestsAtOnce(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	check.Together(8, func(int) {
		status, body := a.do(t, "ana", "PUT /me", `{"email":"ana@example.com","name":"Ana"}`)
		if status != http.StatusOK {
			t.Errorf("%d %s", status, body)
		}
	})
	// Each of these finds no user, and another request makes one before it does.
	a.faults.Next("TransactWriteItems", func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		a.is(t, http.StatusOK, "bob", "PUT /me", `{"email":"bob@example.com","name":"Bob"}`)
		return next.RoundTrip(r)
	})
	got := a.is(t, http.StatusOK, "bob", "PUT /me", `{"email":"robert@example.com","name":"Robert"}`)
	check.Equal(t, "name", member(t, got, "name"), "Robert")
	check.Equal(t, "e-mail", check.Must(a.store.Users.Consistent().Get(t.Context(), store.UserKey("bob")))(t).Email, "robert@example.com")
}

// A repeated publication is the same one: it does not bring a post to the top again.
func TestAPostIsPublishedOnce(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	w := newWorld(t, a, "ana")
	before := a.is(t, http.StatusOK, "ana", "GET /posts", "")
	other := member(t, a.is(t, http.StatusCreated, "ana", "POST /posts", `{"title":"Newer"}`), "postId")
	a.is(t, http.StatusNoContent, "ana", "PUT /posts/"+other+"/publication", "")
	for range 3 {
		a.is(t, http.StatusNoContent, "ana", "PUT /posts/"+w.post+"/publication", "")
	}
	all := a.is(t, http.StatusOK, "ana", "GET /posts", "")
	if !strings.HasPrefix(all, fmt.Sprintf(`{"items":[{"postId":%q`, other)) || !strings.HasSuffix(all, strings.TrimPrefix(before, `{"items":[`)) {
		t.Errorf("before: %safter: %s", before, all)
	}
}
