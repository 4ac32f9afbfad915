package auth_test

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/examples/appcore/auth"
)

func newIssuer(t *testing.T, options *auth.IssuerOptions) (*auth.Issuer, *auth.Verifier) {
	t.Helper()
	i, err := auth.NewIssuer(options)
	if err != nil {
		t.Fatal(err)
	}
	v, err := auth.NewCognito(i.Config())
	if err != nil {
		t.Fatal(err)
	}
	return i, v
}

func TestIssuerIssuesTokensThatAreAccepted(t *testing.T) {
	t.Parallel()
	i, v := newIssuer(t, nil)
	for _, want := range []string{"u-123", "ü#%/ .", strings.Repeat("u", 128)} {
		token, err := i.Token(want)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := v.Verify(t.Context(), token); err != nil || got != want {
			t.Errorf("Verify = %q, %v, want %q", got, err, want)
		}
	}
	for _, bad := range []string{"", "\xff", "\x00", strings.Repeat("u", 129)} {
		if token, err := i.Token(bad); err == nil {
			t.Errorf("Token(%q) = %q, want an error", bad, token)
		}
	}
}

func TestIssuerNamesClaimsAsCognitoDoes(t *testing.T) {
	t.Parallel()
	i, _ := newIssuer(t, &auth.IssuerOptions{Now: func() time.Time { return start }})
	got := i.Claims("u-123")
	if id, _ := got["jti"].(string); id == "" {
		t.Error("no jti")
	}
	delete(got, "jti")
	want := map[string]any{
		"sub": "u-123", "username": "u-123",
		"iss":       "https://cognito-idp.local.amazonaws.com/local_development",
		"client_id": "appcore", "token_use": "access",
		"scope":     "aws.cognito.signin.user.admin",
		"auth_time": start.Unix(), "iat": start.Unix(), "exp": start.Unix() + 3600,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("claims (-want +got):\n%s", diff)
	}
}

func TestIssuerSignsWhatIsRefused(t *testing.T) {
	t.Parallel()
	i, v := newIssuer(t, nil)
	claims := i.Claims("u-123")
	claims["token_use"] = "id"
	token, err := i.Sign(claims)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, v, token, auth.ErrUnauthorized)

	old, _ := newIssuer(t, nil)
	if token, err = old.Token("u-123"); err != nil {
		t.Fatal(err)
	}
	expect(t, v, token, auth.ErrUnauthorized)
	if _, err := i.Sign(map[string]any{"sub": func() {}}); err == nil {
		t.Error("Sign of a function: no error")
	}
}

func TestIssuerServesNothingButThePublicKey(t *testing.T) {
	t.Parallel()
	i, _ := newIssuer(t, nil)
	w := httptest.NewRecorder()
	i.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/.well-known/jwks.json", nil))
	var got struct{ Keys []map[string]string }
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || len(got.Keys) != 1 {
		t.Fatalf("keys %s: %v", w.Body, err)
	}
	names := slices.Sorted(maps.Keys(got.Keys[0]))
	if diff := cmp.Diff([]string{"alg", "e", "kid", "kty", "n", "use"}, names); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
	if got := w.Header().Get("Content-Type"); got != "application/json" {
		t.Errorf("Content-Type %q", got)
	}
}

func TestIssuersClientGoesNowhereElse(t *testing.T) {
	t.Parallel()
	i, _ := newIssuer(t, nil)
	config := i.Config()
	config.UserPoolID = "local_other"
	v, err := auth.NewCognito(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := v.Ready(t.Context()); !errors.Is(err, auth.ErrUnavailable) {
		t.Errorf("Ready = %v, want ErrUnavailable", err)
	}
}
