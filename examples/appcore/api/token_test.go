package api_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/singletable/singletable/examples/appcore/api"
	"github.com/singletable/singletable/examples/appcore/auth"
	"github.com/singletable/singletable/examples/appcore/core"
	"github.com/singletable/singletable/table/tabletest"
)

// unsafeToken returns a token with the head and claims, signed by sign, which is
// given what there is to sign.
func unsafeToken(t *testing.T, head, claims map[string]any, sign func(string) []byte) string {
	t.Helper()
	part := func(v any) string {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return base64.RawURLEncoding.EncodeToString(text)
	}
	signed := part(head) + "." + part(claims)
	return signed + "." + base64.RawURLEncoding.EncodeToString(sign(signed))
}

func TestTokensThatAreNotGoodAre401(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	i, err := issuer()
	if err != nil {
		t.Fatal(err)
	}
	with := func(name string, value any) string { return tokenWith(t, i, name, value) }
	stranger, err := auth.NewIssuer(nil)
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := stranger.Token(ana)
	if err != nil {
		t.Fatal(err)
	}
	good := with("sub", ana)
	head := map[string]any{"typ": "JWT", "kid": keyID(t, good)}
	none, shared := maps.Clone(head), maps.Clone(head)
	none["alg"], shared["alg"] = "none", "HS256"
	for name, text := range map[string]string{
		"alg none": unsafeToken(t, none, i.Claims(ana), func(string) []byte { return nil }),
		"HS256 with the public key": unsafeToken(t, shared, i.Claims(ana), func(signed string) []byte {
			mac := hmac.New(sha256.New, []byte(publicKeys(t, i)))
			mac.Write([]byte(signed))
			return mac.Sum(nil)
		}),
		"an id token":    with("token_use", "id"),
		"another client": with("client_id", "another"),
		"another issuer": with("iss", "https://cognito-idp.local.amazonaws.com/local_other"),
		"expired":        with("exp", time.Now().Add(-time.Second).Unix()),
		"never expires":  with("exp", nil),
		"no subject":     with("sub", nil),
		"bad subject":    with("sub", "u\x00"),
		"never issued":   with("iat", nil),
		"issued later":   with("iat", time.Now().Add(time.Hour).Unix()),
		"another key":    foreign,
		"signature cut":  good[:len(good)-4],
	} {
		got := a.do(t, request{Method: http.MethodGet, Path: "/transactions", Header: http.Header{"Authorization": {"Bearer " + text}}})
		if got.Status != http.StatusUnauthorized || got.Header.Get("WWW-Authenticate") != "Bearer" {
			t.Errorf("%s: %d %s", name, got.Status, got.Body)
		}
		if want := a.get(t, "", "/transactions").Body; got.Body != want {
			t.Errorf("%s: the answer is another than without a token: %s", name, got.Body)
		}
	}
	if got := a.do(t, request{Method: http.MethodGet, Path: "/transactions", Header: http.Header{"Authorization": {"bearer " + good}}}); got.Status != http.StatusOK {
		t.Errorf("a good one: %d %s", got.Status, got.Body)
	}
}

func TestATokenForSomethingElseIs403(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	i, err := issuer()
	if err != nil {
		t.Fatal(err)
	}
	for _, scope := range []any{nil, "", "openid email", 7} {
		got := a.do(t, request{Method: http.MethodGet, Path: "/transactions", Header: http.Header{"Authorization": {"Bearer " + tokenWith(t, i, "scope", scope)}}})
		if code := decode[failure](t, got.Body).Error.Code; got.Status != http.StatusForbidden || code != "insufficient_scope" ||
			got.Header.Get("WWW-Authenticate") != `Bearer error="insufficient_scope"` {
			t.Errorf("scope %v: %d %v %s", scope, got.Status, got.Header, got.Body)
		}
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
	text, err := i.Sign(claims)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func keyID(t *testing.T, token string) string {
	t.Helper()
	head, _, _ := strings.Cut(token, ".")
	text, err := base64.RawURLEncoding.DecodeString(head)
	if err != nil {
		t.Fatal(err)
	}
	var v struct{ Kid string }
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return v.Kid
}

// publicKeys returns what the issuer publishes.
func publicKeys(t *testing.T, i *auth.Issuer) string {
	t.Helper()
	w := httptest.NewRecorder()
	i.ServeHTTP(w, nil)
	return w.Body.String()
}

type failing struct{ err error }

func (f failing) Verify(context.Context, string) (string, error) { return "", f.err }
func (f failing) Ready(context.Context) error                    { return f.err }

// When nobody can tell whether a token is good, the client is not to blame,
// whatever the cause is like.
func TestATokenThatCannotBeCheckedIs503(t *testing.T) {
	t.Parallel()
	service, err := core.New(tabletest.New(t, core.Schema("any"), nil))
	if err != nil {
		t.Fatal(err)
	}
	for err, want := range map[error]int{
		auth.ErrUnavailable: http.StatusServiceUnavailable,
		fmt.Errorf("%w: %w", auth.ErrUnavailable, &http.MaxBytesError{Limit: 64 << 10}): http.StatusServiceUnavailable,
		errors.New("what"): http.StatusInternalServerError,
	} {
		server := httptest.NewServer(api.New(service, always(service), failing{err}, newLogger(&logs{})).Handler(nil))
		a := &app{Server: server}
		got := a.do(t, request{Method: http.MethodGet, Path: "/transactions", Header: http.Header{"Authorization": {"Bearer x"}}})
		if retry := got.Header.Get("Retry-After"); got.Status != want || (retry != "") != (want == http.StatusServiceUnavailable) {
			t.Errorf("%v: status %d, Retry-After %q", err, got.Status, retry)
		}
		server.Close()
	}
}
