package auth_test

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/singletable/singletable/examples/internal/auth"
	"github.com/singletable/singletable/examples/internal/check"
)

func TestVerifyReturnsTheSubject(t *testing.T) {
	t.Parallel()
	p := newPool()
	v := p.verifier(t)
	for range 3 {
		got, err := v.Verify(t.Context(), with(nil))
		if err != nil || got.User != user {
			t.Fatalf("Verify = %v, %v, want %q", got, err, user)
		}
	}
	want := []string{"GET " + issuer + "/.well-known/jwks.json"}
	check.Equal(t, "fetches", p.fetched, want)
}

func TestVerifyReturnsTheGroups(t *testing.T) {
	t.Parallel()
	v := newPool().verifier(t)
	for _, tt := range []struct {
		claim any
		want  []string
	}{
		{nil, nil},
		{[]string{}, nil},
		{[]string{"backoffice"}, []string{"backoffice"}},
		{[]string{"auditor", "backoffice"}, []string{"auditor", "backoffice"}},
		{[]string{"BackOffice", " backoffice", ""}, []string{"BackOffice", " backoffice", ""}},
		{"backoffice", nil},
		{"[\"backoffice\"]", nil},
		{map[string]any{"backoffice": true}, nil},
		{[]any{"backoffice", 1}, nil},
		{[]any{[]string{"backoffice"}}, nil},
		{1, nil},
	} {
		got := check.Must(v.Verify(t.Context(), with(map[string]any{"cognito:groups": tt.claim})))(t)
		check.Equal(t, fmt.Sprintf("groups of %v", tt.claim), got, auth.Identity{User: user, Groups: tt.want})
		want := slices.Contains(tt.want, "backoffice")
		check.Equal(t, fmt.Sprintf("%v is in", tt.claim), got.In("other", "backoffice"), want)
	}
	got := check.Must(v.Verify(t.Context(), with(map[string]any{"groups": []string{"backoffice"}, "Cognito:Groups": []string{"backoffice"}})))(t)
	check.Equal(t, "groups of other claims", got.Groups, nil)
}

func TestVerifyReturnsTheTenant(t *testing.T) {
	t.Parallel()
	v := newPool().verifier(t)
	for _, tenant := range []string{"ACME", "ACME#X", "Größe 1"} {
		got := check.Must(v.Verify(t.Context(), with(map[string]any{auth.TenantClaim: tenant})))(t)
		check.Equal(t, "tenant", got.Tenant, tenant)
	}
	got := check.Must(v.Verify(t.Context(), with(map[string]any{"tenant": "ACME", "Custom:Tenant": "ACME"})))(t)
	check.Equal(t, "tenant of other claims", got.Tenant, "")
	for _, claim := range []any{"", 1, true, []string{"ACME"}, map[string]any{"name": "ACME"}, "ACME\x00", "ACME\n", strings.Repeat("x", 129)} {
		check.Is(t, check.Err(v.Verify(t.Context(), with(map[string]any{auth.TenantClaim: claim}))), auth.ErrUnauthorized, claim)
	}
}

type refused struct{ name, token, reason string }

// refuses verifies every token with a verifier of its own, which has the keys.
func refuses(t *testing.T, tokens []refused) {
	t.Helper()
	for _, tt := range tokens {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			v := newPool().verifier(t)
			check.OK(t, v.Ready(t.Context()))
			got, err := v.Verify(t.Context(), tt.token)
			if got.User != "" || got.Groups != nil || !errors.Is(err, auth.ErrUnauthorized) || errors.Is(err, auth.ErrUnavailable) {
				t.Fatalf("Verify = %v, %v, want ErrUnauthorized", got, err)
			}
			if want := "auth: unauthorized: " + tt.reason; err.Error() != want {
				t.Errorf("error %q, want %q", err, want)
			}
		})
	}
}

func TestVerifyRefusesClaims(t *testing.T) {
	t.Parallel()
	refuses(t, []refused{
		{"id token", with(map[string]any{"token_use": "id", "aud": clientID}), "not an access token"},
		{"token for refreshing", with(map[string]any{"token_use": "refresh"}), "not an access token"},
		{"no use", with(map[string]any{"token_use": nil}), "not an access token"},
		{"list of uses", with(map[string]any{"token_use": []string{"access"}}), "not an access token"},
		{"another client", with(map[string]any{"client_id": "another"}), "token of another client"},
		{"client as audience only", with(map[string]any{"client_id": nil, "aud": clientID}), "token of another client"},
		{"name in other case", with(map[string]any{"client_id": nil, "Client_ID": clientID}), "token of another client"},
		{"another pool", with(map[string]any{"iss": issuer + "x"}), "token has invalid issuer"},
		{"another region", with(map[string]any{"iss": strings.ReplaceAll(issuer, "west", "east")}), "token has invalid issuer"},
		{"issuer with slash", with(map[string]any{"iss": issuer + "/"}), "token has invalid issuer"},
		{"no issuer", with(map[string]any{"iss": nil}), "token is missing required claim"},
		{"issuer of a wrong type", with(map[string]any{"iss": 1}), "token has invalid claims"},
		{"expired long ago", with(map[string]any{"exp": start.Add(-24 * time.Hour).Unix()}), "token is expired"},
		{"expiring now", with(map[string]any{"exp": start.Unix()}), "token is expired"},
		{"no expiry", with(map[string]any{"exp": nil}), "token is missing required claim"},
		{"expiry zero", with(map[string]any{"exp": 0}), "token is missing required claim"},
		{"expiry as text", with(map[string]any{"exp": "4102444800"}), "token has invalid claims"},
		{"not valid yet", with(map[string]any{"nbf": start.Add(time.Second).Unix()}), "token is not valid yet"},
		{"no subject", with(map[string]any{"sub": nil}), "token has no usable subject"},
		{"empty subject", with(map[string]any{"sub": ""}), "token has no usable subject"},
		{"subject of a wrong type", with(map[string]any{"sub": 7}), "token has no usable subject"},
		{"endless subject", with(map[string]any{"sub": strings.Repeat("u", 129)}), "token has no usable subject"},
		{"subject with a line break", with(map[string]any{"sub": "u\n"}), "token has no usable subject"},
		{"subject with a zero byte", with(map[string]any{"sub": "u\x00"}), "token has no usable subject"},
		{"subject that turns the text around", with(map[string]any{"sub": "u\u202e"}), "token has no usable subject"},
		{"no time of issue", with(map[string]any{"iat": nil}), "token has no usable time of issue"},
		{"time of issue zero", with(map[string]any{"iat": 0}), "token has no usable time of issue"},
		{"negative time of issue", with(map[string]any{"iat": -1}), "token has no usable time of issue"},
		{"time of issue as text", with(map[string]any{"iat": "1705313100"}), "token has no usable time of issue"},
		{"issued after it expires", with(map[string]any{"iat": start.Unix() + 2, "exp": start.Unix() + 1}), "token has no usable time of issue"},
		{"issued in the future", with(map[string]any{"iat": start.Unix() + 61}), "token was issued in the future"},
		{"issued in another century", with(map[string]any{"iat": 4e9, "exp": 5e9}), "token was issued in the future"},
	})
}

func TestVerifyAllowsForClocksThatDifferByAMinute(t *testing.T) {
	t.Parallel()
	expect(t, newPool().verifier(t), with(map[string]any{"iat": start.Unix() + 60}), nil)
}

func TestVerifyChecksTheScope(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		required string // by the verifier
		scope    any    // of the token
		want     error
	}{
		{"", auth.DefaultScope, nil},
		{"", "openid " + auth.DefaultScope + " email", nil},
		{"payments/write", "payments/read payments/write", nil},
		{"", nil, auth.ErrScope},
		{"", "", auth.ErrScope},
		{"", "openid", auth.ErrScope},
		{"", []string{auth.DefaultScope}, auth.ErrScope},
		{"", strings.ToUpper(auth.DefaultScope), auth.ErrScope},
		{"payments/write", auth.DefaultScope, auth.ErrScope},
		{"payments/write", "payments/write/all payments/writes", auth.ErrScope},
	} {
		config := newPool().config()
		config.Scope = tt.required
		v := check.Must(auth.NewCognito(config))(t)
		token := with(map[string]any{"scope": tt.scope})
		expect(t, v, token, tt.want)
		if _, err := v.Verify(t.Context(), token); errors.Is(err, auth.ErrUnauthorized) {
			t.Errorf("scope %v: error %v, want one that is not ErrUnauthorized", tt.scope, err)
		}
	}
}

func TestVerifyRefusesSignatures(t *testing.T) {
	t.Parallel()
	public := &poolKey().PublicKey
	der := check.Must(x509.MarshalPKIXPublicKey(public))(t)
	pkcs1 := x509.MarshalPKCS1PublicKey(public)
	block := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	known := map[string]any{"kid": "k1"}
	hs256 := func(secret []byte) string {
		return sign(jwt.SigningMethodHS256, secret, known, claims(nil))
	}
	rs256 := func(header map[string]any) string {
		return sign(jwt.SigningMethodRS256, poolKey(), header, claims(nil))
	}
	good := with(nil)
	parts := strings.Split(good, ".")
	others := strings.Split(with(map[string]any{"sub": "another"}), ".")

	refuses(t, []refused{
		{"alg none", sign(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, known, claims(nil)), "token signature is invalid"},
		{"alg none with a signature", sign(jwt.SigningMethodRS256, poolKey(), map[string]any{"kid": "k1", "alg": "none"}, claims(nil)), "token signature is invalid"},
		{"alg None", rs256(map[string]any{"kid": "k1", "alg": "None"}), "token is unverifiable"},
		{"alg in lower case", rs256(map[string]any{"kid": "k1", "alg": "rs256"}), "token is unverifiable"},
		{"HS256 with the PEM", hs256(block), "token signature is invalid"},
		{"HS256 with the PEM less its line break", hs256(block[:len(block)-1]), "token signature is invalid"},
		{"HS256 with the DER", hs256(der), "token signature is invalid"},
		{"HS256 with the PKCS 1 DER", hs256(pkcs1), "token signature is invalid"},
		{"HS256 with the modulus", hs256(public.N.Bytes()), "token signature is invalid"},
		{"HS256 with the modulus as published", hs256([]byte(jwk("k1", poolKey())["n"].(string))), "token signature is invalid"},
		{"HS256 with nothing", hs256([]byte{}), "token signature is invalid"},
		{"RS384", sign(jwt.SigningMethodRS384, poolKey(), known, claims(nil)), "token signature is invalid"},
		{"PS256", sign(jwt.SigningMethodPS256, poolKey(), known, claims(nil)), "token signature is invalid"},
		{"key of another pool under our id", by(otherKey(), "k1"), "token signature is invalid"},
		{"key of another pool", by(otherKey(), "k2"), "token of an unknown key"},
		{"key of the sender", sign(jwt.SigningMethodRS256, otherKey(), map[string]any{
			"kid": "k2", "jwk": jwk("k2", otherKey()), "jku": "https://elsewhere.example/jwks.json",
		}, claims(nil)), "token of an unknown key"},
		{"no key id", rs256(nil), "token names no key"},
		{"empty key id", rs256(map[string]any{"kid": ""}), "token names no key"},
		{"key id of a wrong type", rs256(map[string]any{"kid": []int{1}}), "token names no key"},
		{"critical extension", rs256(map[string]any{"kid": "k1", "crit": []string{"exp"}}), "token has critical extensions"},
		{"claims of another token", parts[0] + "." + others[1] + "." + parts[2], "token signature is invalid"},
		{"no signature", parts[0] + "." + parts[1] + ".", "token signature is invalid"},
		{"part of a signature", parts[0] + "." + parts[1] + "." + parts[2][:200], "token signature is invalid"},
	})
}

func TestVerifyRefusesMalformedTokens(t *testing.T) {
	t.Parallel()
	encode := base64.RawURLEncoding.EncodeToString
	good := with(nil)
	parts := strings.Split(good, ".")
	const malformed = "token is malformed"
	refuses(t, []refused{
		{"nothing", "", malformed},
		{"many dots", strings.Repeat(".", 10_000), malformed},
		{"two parts", parts[0] + "." + parts[1], malformed},
		{"scheme", "Bearer " + good, malformed},
		{"line break", good + "\n", malformed},
		{"padding", good + "==", malformed},
		{"not base64", "a." + parts[1] + "." + parts[2], malformed},
		{"header not JSON", encode([]byte("{")) + "." + parts[1] + "." + parts[2], malformed},
		{"no alg", encode([]byte(`{"kid":"k1"}`)) + "." + parts[1] + "." + parts[2], "token is unverifiable"},
		{"claims not JSON", parts[0] + "." + encode([]byte("sub")) + "." + parts[2], malformed},
		{"one megabyte", strings.Repeat("a", 1<<20), malformed},
		{"one megabyte of claims", with(map[string]any{"scope": strings.Repeat("s", 1<<20)}), malformed},
	})
}

func TestVerifyHasNoLeeway(t *testing.T) {
	t.Parallel()
	p := newPool()
	v := p.verifier(t)
	token := with(map[string]any{
		"nbf": start.Add(time.Minute).Unix(),
		"exp": start.Add(2 * time.Minute).Unix(),
	})
	for _, tt := range []struct {
		at time.Duration
		ok bool
	}{
		{time.Minute - time.Nanosecond, false},
		{time.Minute, true},
		{2*time.Minute - time.Nanosecond, true},
		{2 * time.Minute, false},
	} {
		p.Pass(tt.at - p.Now().Sub(start))
		_, err := v.Verify(t.Context(), token)
		if tt.ok != (err == nil) || err != nil && !errors.Is(err, auth.ErrUnauthorized) {
			t.Errorf("at %v: error %v, want accepted %t", tt.at, err, tt.ok)
		}
	}
}

// Whatever can be refused without a key must not send anyone to the pool.
func TestVerifyFetchesNothingForTokensRefusedAnyway(t *testing.T) {
	t.Parallel()
	p := newPool()
	v := p.verifier(t)
	known := map[string]any{"kid": "k1"}
	for _, token := range []string{
		"garbage",
		sign(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, known, claims(nil)),
		sign(jwt.SigningMethodHS256, []byte("secret"), known, claims(nil)),
		sign(jwt.SigningMethodRS256, poolKey(), nil, claims(nil)),
	} {
		if _, err := v.Verify(t.Context(), token); !errors.Is(err, auth.ErrUnauthorized) {
			t.Errorf("error %v, want ErrUnauthorized", err)
		}
	}
	check.Equal(t, "fetches", p.fetches(), 0)
}
