package api_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/singletable/singletable/examples/appcore/core"
	"github.com/singletable/singletable/examples/internal/auth"
	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/table/tabletest"
)

// Package auth tests what a good token is. Here it is the response that counts: it
// does not tell what is wrong.
func TestTokensThatAreNotGoodAre401(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	i := check.Must(issuer())(t)
	good := tokenWith(t, i, "sub", ana)
	for name, text := range map[string]string{
		"an id token":    tokenWith(t, i, "token_use", "id"),
		"another client": tokenWith(t, i, "client_id", "another"),
		"expired":        tokenWith(t, i, "exp", time.Now().Add(-time.Second).Unix()),
		"another key":    check.Must(check.Must(auth.NewIssuer(nil))(t).Token(ana))(t),
		"signature cut":  good[:len(good)-4],
	} {
		got := a.do(t, request{Method: http.MethodGet, Path: "/transactions", Header: http.Header{"Authorization": {"Bearer " + text}}})
		if got.Status != http.StatusUnauthorized || got.Header.Get("WWW-Authenticate") != "Bearer" {
			t.Errorf("%s: %d %s", name, got.Status, got.Body)
		}
		check.Equal(t, name, got.Body, a.get(t, "", "/transactions").Body)
	}
	a.do(t, request{Method: http.MethodGet, Path: "/transactions", Header: http.Header{"Authorization": {"bearer " + good}}}).is(t, http.StatusOK)
}

func TestATokenForSomethingElseIs403(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	i := check.Must(issuer())(t)
	for _, scope := range []any{nil, "", "openid email", 7} {
		got := a.do(t, request{Method: http.MethodGet, Path: "/transactions", Header: http.Header{"Authorization": {"Bearer " + tokenWith(t, i, "scope", scope)}}})
		got.refused(t, http.StatusForbidden, "insufficient_scope", scope)
		check.Equal(t, "WWW-Authenticate", got.Header.Get("WWW-Authenticate"), `Bearer error="insufficient_scope"`)
	}
}

// tokenWith returns a token of the issuer's in which one claim is another, or
// missing.
func tokenWith(t *testing.T, i *auth.Issuer, name string, value any) string {
	t.Helper()
	claims := i.Claims(ana)
	claims[name] = value
	if value == nil {
		delete(claims, name)
	}
	return check.Must(i.Sign(claims))(t)
}

type failing struct{ err error }

func (f failing) Verify(context.Context, string) (auth.Identity, error) {
	return auth.Identity{}, f.err
}
func (f failing) Ready(context.Context) error { return f.err }

// When nobody can tell whether a token is good, the client is not to blame,
// whatever the cause is like.
func TestATokenThatCannotBeCheckedIs503(t *testing.T) {
	t.Parallel()
	service := check.Must(core.New(tabletest.New(t, core.Schema("any"), nil), nil))(t)
	for err, want := range map[error]int{
		auth.ErrUnavailable: http.StatusServiceUnavailable,
		fmt.Errorf("%w: %w", auth.ErrUnavailable, &http.MaxBytesError{Limit: 64 << 10}): http.StatusServiceUnavailable,
		errors.New("what"): http.StatusInternalServerError,
	} {
		got := serve(t, service, always, failing{err}).do(t, request{Method: http.MethodGet, Path: "/transactions", Header: http.Header{"Authorization": {"Bearer x"}}})
		if retry := got.Header.Get("Retry-After"); got.Status != want || (retry != "") != (want == http.StatusServiceUnavailable) {
			t.Errorf("%v: status %d, Retry-After %q", err, got.Status, retry)
		}
	}
}
