// Package session issues and checks the tokens of users who have logged in. A token is
// a JSON Web Token with the user's id and generation, signed with HMAC-SHA-256 and a key
// that only the shop has. Nothing is stored: whoever accepts a token compares its generation
// with that of the user, see [store.Shop.UserOf].
package session

import (
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/singletable/singletable/examples/internal/httpapi"
	"github.com/singletable/singletable/examples/shop/store"
)

const (
	// Life is how long a token is good.
	Life = time.Hour
	// MinKey is the least length of a key, in bytes: that of the signature.
	MinKey = 32
	// maxToken is the greatest length of a token, in bytes.
	maxToken = 4 << 10

	issuer = "shop"
)

// ErrUnauthorized is matched by the error of a token that is not accepted. Its text has
// the reason and nothing of the token.
var ErrUnauthorized = httpapi.ErrUnauthorized

// Identity is whom a token was issued to.
type Identity struct {
	User       string
	Generation int
}

// Sessions issues and checks tokens. It is safe for concurrent use. Get one from [New].
type Sessions struct {
	keys   [][]byte
	now    func() time.Time
	parser *jwt.Parser
}

// New returns the sessions of keys, which must be random and have [MinKey] bytes or
// more. The first one signs, all of them are accepted. now is the clock.
func New(keys [][]byte, now func() time.Time) (*Sessions, error) {
	if len(keys) == 0 || slices.ContainsFunc(keys, func(key []byte) bool { return len(key) < MinKey }) {
		return nil, fmt.Errorf("session: a key has %d bytes or more", MinKey)
	}
	return &Sessions{keys: keys, now: now, parser: jwt.NewParser(
		jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}),
		jwt.WithIssuer(issuer),
		jwt.WithExpirationRequired(),
		jwt.WithIssuedAt(),
		jwt.WithStrictDecoding(),
		jwt.WithTimeFunc(now),
	)}, nil
}

type claims struct {
	Generation int `json:"gen"`
	jwt.RegisteredClaims
}

// Issue returns a token for a user, and when it expires.
func (s *Sessions) Issue(u store.User) (token string, expires time.Time, err error) {
	now := s.now().UTC().Truncate(time.Second)
	expires = now.Add(Life)
	token, err = jwt.NewWithClaims(jwt.SigningMethodHS256, claims{u.Generation, jwt.RegisteredClaims{
		Issuer: issuer, Subject: u.ID, ID: rand.Text(),
		IssuedAt: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(expires),
	}}).SignedString(s.keys[0])
	return token, expires, err
}

// Verify returns whom a token was issued to. Its error matches [ErrUnauthorized].
func (s *Sessions) Verify(token string) (Identity, error) {
	if len(token) > maxToken {
		return Identity{}, fmt.Errorf("%w: the token is too long", ErrUnauthorized)
	}
	var c claims
	_, err := s.parser.ParseWithClaims(token, &c, func(*jwt.Token) (any, error) {
		var accepted jwt.VerificationKeySet
		for _, key := range s.keys {
			accepted.Keys = append(accepted.Keys, key)
		}
		return accepted, nil
	})
	if err != nil {
		return Identity{}, fmt.Errorf("%w: %w", ErrUnauthorized, reason(err))
	}
	if c.Subject == "" || c.IssuedAt == nil {
		return Identity{}, fmt.Errorf("%w: %w", ErrUnauthorized, jwt.ErrTokenRequiredClaimMissing)
	}
	return Identity{User: c.Subject, Generation: c.Generation}, nil
}

// reason returns the kind of an error of the parser, whose text may quote the token.
func reason(err error) error {
	for _, known := range []error{
		jwt.ErrTokenMalformed, jwt.ErrTokenSignatureInvalid, jwt.ErrTokenExpired, jwt.ErrTokenUsedBeforeIssued,
		jwt.ErrTokenInvalidIssuer, jwt.ErrTokenRequiredClaimMissing,
	} {
		if errors.Is(err, known) {
			return known
		}
	}
	return jwt.ErrTokenUnverifiable
}
