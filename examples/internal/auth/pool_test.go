package auth_test

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"io"
	"maps"
	"math/big"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/singletable/singletable/examples/internal/auth"
	"github.com/singletable/singletable/examples/internal/check"
)

const (
	region   = "eu-west-1"
	poolID   = "eu-west-1_AbCdEfGhI"
	clientID = "1example23456789"
	issuer   = "https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_AbCdEfGhI"
	user     = "6f9c1d6e-8f0b-4c2a-9d53-2f6f4f1f7a10"
)

// start is what clocks of tests show at first.
var start = time.Date(2024, 1, 15, 10, 5, 0, 0, time.UTC)

// Keys are expensive to make, so tests share them.
var (
	poolKey  = sync.OnceValue(func() *rsa.PrivateKey { return newKey(2048) })
	otherKey = sync.OnceValue(func() *rsa.PrivateKey { return newKey(2048) })
)

func newKey(bits int) *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		panic(err)
	}
	return key
}

// pool is a user pool as seen from outside: an address that responds with keys.
type pool struct {
	*check.Clock
	mu      sync.Mutex
	respond func(*http.Request) (*http.Response, error)
	fetched []string
}

// newPool returns a pool whose only key is poolKey, called k1.
func newPool() *pool {
	return &pool{Clock: check.NewClock(start), respond: serve(keysJSON(jwk("k1", poolKey())))}
}

func (p *pool) config() auth.Config {
	return auth.Config{
		Region:     region,
		UserPoolID: poolID,
		ClientID:   clientID,
		HTTPClient: &http.Client{Transport: p},
		Now:        p.Now,
	}
}

func (p *pool) verifier(tb testing.TB) *auth.Verifier {
	tb.Helper()
	return check.Must(auth.NewCognito(p.config()))(tb)
}

func (p *pool) RoundTrip(r *http.Request) (*http.Response, error) {
	p.mu.Lock()
	p.fetched = append(p.fetched, r.Method+" "+r.URL.String())
	respond := p.respond
	p.mu.Unlock()
	return respond(r)
}

func (p *pool) set(respond func(*http.Request) (*http.Response, error)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.respond = respond
}

func (p *pool) fetches() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.fetched)
}

// serve responds with a body, as a server without compression does.
func serve(body string) func(*http.Request) (*http.Response, error) {
	return serveStatus(http.StatusOK, body)
}

func serveStatus(status int, body string) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		return &http.Response{
			StatusCode: status,
			Header:     http.Header{"Location": {"https://elsewhere.example/"}},
			Body:       io.NopCloser(strings.NewReader(body)),
			Request:    r,
		}, nil
	}
}

// jwk writes a public key as RFC 7517 and RFC 7518 say, with no help from the
// library under test.
func jwk(id string, key *rsa.PrivateKey) map[string]any {
	return map[string]any{
		"kty": "RSA", "use": "sig", "alg": "RS256", "kid": id,
		"n": base64.RawURLEncoding.EncodeToString(key.N.Bytes()),
		"e": base64.RawURLEncoding.EncodeToString(big.NewInt(int64(key.E)).Bytes()),
	}
}

func keysJSON(keys ...map[string]any) string {
	text, err := json.Marshal(map[string]any{"keys": keys})
	if err != nil {
		panic(err)
	}
	return string(text)
}

// claims returns those of a good access token, with some replaced; a nil value
// takes the claim away.
func claims(replaced map[string]any) jwt.MapClaims {
	c := jwt.MapClaims{
		"sub": user, "iss": issuer, "client_id": clientID, "token_use": "access",
		"scope": "aws.cognito.signin.user.admin", "username": user,
		"auth_time": start.Unix(), "iat": start.Unix(), "exp": start.Add(time.Hour).Unix(),
		"jti": "2b1e7f4c-0d3f-4b69-8a57-3d2f6f0f9c11",
	}
	maps.Copy(c, replaced)
	maps.DeleteFunc(c, func(_ string, v any) bool { return v == nil })
	return c
}

// sign returns a token with the claims and the header parameters.
func sign(method jwt.SigningMethod, key any, header map[string]any, c jwt.Claims) string {
	token := jwt.NewWithClaims(method, c)
	maps.Copy(token.Header, header)
	text, err := token.SignedString(key)
	if err != nil {
		panic(err)
	}
	return text
}

// with returns a token signed by the pool with some claims replaced.
func with(replaced map[string]any) string {
	return sign(jwt.SigningMethodRS256, poolKey(), map[string]any{"kid": "k1"}, claims(replaced))
}

// by returns a good token but for the key it is signed with and names.
func by(key *rsa.PrivateKey, id string) string {
	return sign(jwt.SigningMethodRS256, key, map[string]any{"kid": id}, claims(nil))
}
