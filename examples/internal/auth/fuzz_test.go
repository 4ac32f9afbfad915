package auth_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"

	"github.com/singletable/singletable/examples/internal/auth"
)

// FuzzVerify shows that nothing but a token the pool has signed is accepted, in
// the very form it was given.
func FuzzVerify(f *testing.F) {
	good := with(nil)
	parts := strings.Split(good, ".")
	for _, token := range []string{
		good, good + "\n", parts[0] + "." + parts[1] + ".", "..", "", "\xff",
		with(map[string]any{"token_use": "id"}),
		by(otherKey(), "k1"), by(otherKey(), "k2"),
		sign(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, map[string]any{"kid": "k1"}, claims(nil)),
		sign(jwt.SigningMethodHS256, []byte("secret"), map[string]any{"kid": "k1"}, claims(nil)),
	} {
		f.Add(token, uint16(len(token)), byte('A'))
	}
	v := newPool().verifier(f)
	// The key differs from process to process, so seeds alone would not get past
	// the signature: the second token is the good one with one byte changed.
	f.Fuzz(func(t *testing.T, token string, at uint16, b byte) {
		changed := []byte(good)
		changed[int(at)%len(changed)] = b
		for _, token := range []string{token, string(changed)} {
			got, err := v.Verify(t.Context(), token)
			if token == good {
				expect(t, v, token, nil)
			} else if got.User != "" || !errors.Is(err, auth.ErrUnauthorized) {
				t.Fatalf("Verify(%q) = %v, %v, want ErrUnauthorized", token, got, err)
			}
		}
	})
}

// FuzzClaims has the pool sign anything at all.
func FuzzClaims(f *testing.F) {
	for _, replaced := range []map[string]any{
		nil, {"iat": 1e300}, {"iat": "now"}, {"scope": 1}, {"exp": nil}, {"exp": 1e300}, {"exp": -1}, {"nbf": 1e18}, {"iss": 1}, {"sub": []int{}}, {"aud": 1}, {"token_use": true}, {"cognito:groups": []string{"a"}}, {"cognito:groups": []any{"a", 1}},
	} {
		text, err := json.Marshal(claims(replaced))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte("null"))
	f.Add([]byte(`{"sub":"a","sub":"b"}`))
	v := newPool().verifier(f)
	header := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"RS256","kid":"k1"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		signed := header + "." + base64.RawURLEncoding.EncodeToString(text)
		signature, err := jwt.SigningMethodRS256.Sign(signed, poolKey())
		if err != nil {
			t.Fatal(err)
		}
		got, err := v.Verify(t.Context(), signed+"."+base64.RawURLEncoding.EncodeToString(signature))
		if err != nil {
			if got.User != "" || got.Groups != nil || !errors.Is(err, auth.ErrUnauthorized) && !errors.Is(err, auth.ErrScope) {
				t.Fatalf("Verify = %v, %v, want ErrUnauthorized", got, err)
			}
			return
		}
		var c map[string]any
		if err := json.Unmarshal(text, &c); err != nil {
			t.Fatal(err)
		}
		exp, _ := c["exp"].(float64)
		iat, _ := c["iat"].(float64)
		scope, _ := c["scope"].(string)
		if got.User == "" || got.User != c["sub"] || c["iss"] != issuer || c["client_id"] != clientID ||
			c["token_use"] != "access" || exp <= float64(start.Unix()) ||
			iat < 1 || iat > float64(start.Unix()+60) || !strings.Contains(scope, auth.DefaultScope) {
			t.Fatalf("Verify accepts %s as %q", text, got)
		}
	})
}
