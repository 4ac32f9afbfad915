package auth

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/golang-jwt/jwt/v5"

	"github.com/singletable/singletable/examples/internal/rest"
)

// lifetime is that of an access token where a user pool does not say otherwise.
const lifetime = time.Hour

// Issuer is a user pool for development and tests: it issues tokens to anyone
// for any user. Each one has a new key, so nothing outside the process ever
// trusts it. It is safe for concurrent use.
//
// As an [http.Handler] it serves its keys.
type Issuer struct {
	config Config
	now    func() time.Time
	id     string
	key    *rsa.PrivateKey
	keys   []byte // the public keys as JSON
}

// IssuerOptions are the options of [NewIssuer].
type IssuerOptions struct {
	// Now is the clock that tokens are dated by. Nil means [time.Now].
	Now func() time.Time
}

// NewIssuer returns an issuer with a key of its own. Options may be nil.
func NewIssuer(options *IssuerOptions) (*Issuer, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, fmt.Errorf("auth: %w", err)
	}
	i := &Issuer{
		config: Config{Region: "local", UserPoolID: "local_development", ClientID: "appcore"},
		now:    time.Now,
		id:     rand.Text(),
		key:    key,
	}
	if options != nil && options.Now != nil {
		i.now = options.Now
	}
	if i.keys, err = publish(i.id, &key.PublicKey); err != nil {
		return nil, fmt.Errorf("auth: %w", err)
	}
	i.config.HTTPClient = &http.Client{Transport: inProcess{i}}
	return i, nil
}

func publish(id string, key *rsa.PublicKey) ([]byte, error) {
	jwk, err := jwkset.NewJWKFromKey(key, jwkset.JWKOptions{
		Metadata: jwkset.JWKMetadataOptions{KID: id, ALG: jwkset.AlgRS256, USE: jwkset.UseSig},
	})
	if err != nil {
		return nil, err
	}
	set := jwkset.NewMemoryStorage()
	if err := set.KeyWrite(context.Background(), jwk); err != nil {
		return nil, err
	}
	return set.JSONPublic(context.Background())
}

// Warning is the warning of a server that gives tokens to anyone.
const Warning = "every user and program of this machine gets a token for any user. Do not expose it."

// NewLocal returns an issuer, and a verifier that accepts its tokens.
func NewLocal() (*Issuer, *Verifier, error) {
	i, err := NewIssuer(nil)
	if err != nil {
		return nil, nil, err
	}
	v, err := NewCognito(i.Config())
	return i, v, err
}

// Config returns the configuration of a [Verifier] that accepts the issuer's
// tokens. Its HTTPClient asks the issuer for the keys without a network.
func (i *Issuer) Config() Config { return i.config }

// Token returns an access token for the user, valid for an hour.
func (i *Issuer) Token(user string, groups ...string) (string, error) {
	if err := checkUser(user); err != nil {
		return "", fmt.Errorf("auth: a user id has 1 to %d bytes of printable UTF-8", maxUser)
	}
	return i.Sign(i.Claims(user, groups...))
}

// Claims returns the claims of a new access token for the user, named as
// Cognito's are.
func (i *Issuer) Claims(user string, groups ...string) map[string]any {
	now := i.now()
	claims := map[string]any{
		"sub":       user,
		"iss":       i.config.issuer(),
		"client_id": i.config.ClientID,
		"token_use": "access",
		"scope":     DefaultScope,
		"auth_time": now.Unix(),
		"iat":       now.Unix(),
		"exp":       now.Add(lifetime).Unix(),
		"jti":       rand.Text(),
		"username":  user,
	}
	if len(groups) > 0 {
		claims[groupsClaim] = groups
	}
	return claims
}

// Tokens is a handler that gives a token to anyone, for the user of the query, with its
// groups and its tenant.
func (i *Issuer) Tokens() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		user, tenant := query.Get("user"), query.Get("tenant")
		if checkUser(user) != nil || query.Has("tenant") && checkUser(tenant) != nil {
			rest.Fail(w, rest.BadRequest("invalid_user", "a user and a tenant have 1 to %d bytes of printable UTF-8", maxUser))
			return
		}
		claims := i.Claims(user, query["group"]...)
		if tenant != "" {
			claims[TenantClaim] = tenant
		}
		token, err := i.Sign(claims)
		if err != nil {
			rest.Fail(w, &rest.Failure{Status: http.StatusInternalServerError, Code: "internal", Message: "the token could not be signed"})
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		fmt.Fprintln(w, token)
	})
}

// Sign returns a token with the claims, whatever they are: tests make the tokens
// with it that have to be refused.
func (i *Issuer) Sign(claims map[string]any) (string, error) {
	token := jwt.NewWithClaims(jwt.SigningMethodRS256, jwt.MapClaims(claims))
	token.Header["kid"] = i.id
	signed, err := token.SignedString(i.key)
	if err != nil {
		return "", fmt.Errorf("auth: %w", err)
	}
	return signed, nil
}

// ServeHTTP responds to every request with the issuer's public keys.
func (i *Issuer) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	// The client is gone if this fails, and with it the one to tell.
	_, _ = w.Write(i.keys)
}

// inProcess responds to requests for the issuer's keys, and no others.
type inProcess struct{ issuer *Issuer }

func (p inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	if url := p.issuer.config.keysURL(); r.URL.String() != url {
		return nil, fmt.Errorf("the issuer is at %s only", url)
	}
	return &http.Response{
		Status:        "200 OK",
		StatusCode:    http.StatusOK,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        http.Header{"Content-Type": {"application/json"}},
		Body:          io.NopCloser(bytes.NewReader(p.issuer.keys)),
		ContentLength: int64(len(p.issuer.keys)),
		Request:       r,
	}, nil
}
