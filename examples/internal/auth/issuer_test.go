package auth_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/singletable/singletable/examples/internal/auth"
	"github.com/singletable/singletable/examples/internal/check"
)

func newIssuer(t *testing.T, options *auth.IssuerOptions) (*auth.Issuer, *auth.Verifier) {
	t.Helper()
	i := check.Must(auth.NewIssuer(options))(t)
	v := check.Must(auth.NewCognito(i.Config()))(t)
	return i, v
}

func TestIssuerIssuesTokensThatAreAccepted(t *testing.T) {
	t.Parallel()
	i, v := newIssuer(t, nil)
	for _, want := range []string{"u-123", "ü#%/ .", strings.Repeat("u", 128)} {
		token := check.Must(i.Token(want))(t)
		if got, err := v.Verify(t.Context(), token); err != nil || got.User != want || got.Groups != nil {
			t.Errorf("Verify = %v, %v, want %q", got, err, want)
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
	check.Equal(t, "claims", got, want)
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
	check.Equal(t, "members", names, []string{"alg", "e", "kid", "kty", "n", "use"})
	check.Equal(t, "Content-Type", w.Header().Get("Content-Type"), "application/json")
}
