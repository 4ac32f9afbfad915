package auth

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/MicahParks/keyfunc/v3"
	"github.com/golang-jwt/jwt/v5"
)

var (
	// ErrUnauthorized is matched by the error of a token that is not accepted. The
	// error's text goes on with the reason, for logs. Nothing of the token is in it.
	ErrUnauthorized = errors.New("unauthorized")

	// ErrUnavailable is matched by the error of a token that could be neither
	// accepted nor refused, because the user pool's keys could not be fetched.
	ErrUnavailable = errors.New("the keys of the user pool are unavailable")
)

const (
	// maxToken limits a token, in bytes. Cognito's have one or two thousand.
	maxToken = 16 << 10
	// maxUser limits a user id, in bytes. Cognito's are UUIDs.
	maxUser = 128
)

// Verifier checks access tokens of one user pool and one app client. It is safe
// for concurrent use.
type Verifier struct {
	clientID string
	parser   *jwt.Parser
	keys     *keySet
	find     keyfunc.Keyfunc
}

// NewCognito returns a verifier of the configured pool's tokens. It does not
// connect to Cognito; see [Verifier.Ready].
func NewCognito(config Config) (*Verifier, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	now := config.Now
	if now == nil {
		now = time.Now
	}
	keys := newKeySet(config.keysURL(), config.keysClient(), now)
	find, err := keyfunc.New(keyfunc.Options{Storage: keys})
	if err != nil {
		return nil, fmt.Errorf("auth: %w", err)
	}
	return &Verifier{
		clientID: config.ClientID,
		keys:     keys,
		find:     find,
		parser: jwt.NewParser(
			jwt.WithValidMethods([]string{jwt.SigningMethodRS256.Alg()}),
			jwt.WithIssuer(config.issuer()),
			jwt.WithExpirationRequired(),
			jwt.WithStrictDecoding(),
			jwt.WithTimeFunc(now),
		),
	}, nil
}

// Ready returns nil once the pool's keys are at hand, and fetches them if need
// be. A server calls it when it starts, to learn of a wrong pool before its users
// do. The error matches [ErrUnavailable].
func (v *Verifier) Ready(ctx context.Context) error {
	return v.keys.load(ctx)
}

// Verify returns the id of the user that the access token was issued to: its
// subject. The error matches [ErrUnauthorized] or [ErrUnavailable].
//
// A token is accepted if it is signed with RS256 and a key of the pool, was
// issued by the pool (iss) for the app client (client_id) as an access token
// (token_use), has not expired (exp) and, where it says so, is valid already
// (nbf). There is no leeway for clocks that differ.
func (v *Verifier) Verify(ctx context.Context, token string) (userID string, err error) {
	if len(token) > maxToken || strings.ContainsFunc(token, foreign) {
		return "", refuse(jwt.ErrTokenMalformed)
	}
	// A map, unlike a struct, matches the names of claims exactly.
	claims := jwt.MapClaims{}
	if _, err := v.parser.ParseWithClaims(token, claims, v.key(ctx)); err != nil {
		return "", refuse(err)
	}
	if claims["token_use"] != "access" {
		return "", refuse(reason("not an access token"))
	}
	if claims["client_id"] != v.clientID {
		return "", refuse(reason("token of another client"))
	}
	user, _ := claims["sub"].(string)
	if err := checkUser(user); err != nil {
		return "", refuse(err)
	}
	return user, nil
}

// foreign reports characters that no token has. The decoder passes over line
// breaks, so without this one token could be written in many ways.
func foreign(r rune) bool {
	switch {
	case 'A' <= r && r <= 'Z', 'a' <= r && r <= 'z', '0' <= r && r <= '9':
		return false
	}
	return r != '.' && r != '-' && r != '_'
}

// key returns the function that the parser asks for the key of a token whose
// algorithm has already been found to be RS256.
func (v *Verifier) key(ctx context.Context) jwt.Keyfunc {
	find := v.find.KeyfuncCtx(ctx)
	return func(token *jwt.Token) (any, error) {
		// Extensions that must be understood, of which none is.
		if _, ok := token.Header["crit"]; ok {
			return nil, reason("token has critical extensions")
		}
		// Without a key id every key would be tried.
		if id, ok := token.Header["kid"].(string); !ok || id == "" {
			return nil, reason("token names no key")
		}
		return find(token)
	}
}

func checkUser(user string) error {
	if user == "" || len(user) > maxUser || !utf8.ValidString(user) {
		return reason("token has no usable subject")
	}
	return nil
}

// reason is a part of an error's text that is known to come from here.
type reason string

func (r reason) Error() string { return string(r) }

// refuse turns what the parser says into an error of this package. Texts of the
// libraries may quote the token, so only those of a known few errors are kept.
func refuse(err error) error {
	if err, ok := errors.AsType[*keysError](err); ok {
		return err
	}
	if r, ok := errors.AsType[reason](err); ok {
		return fmt.Errorf("auth: %w: %w", ErrUnauthorized, r)
	}
	for _, known := range []error{
		jwt.ErrTokenMalformed,
		jwt.ErrTokenSignatureInvalid,
		jwt.ErrTokenInvalidIssuer,
		jwt.ErrTokenRequiredClaimMissing,
		jwt.ErrTokenExpired,
		jwt.ErrTokenNotValidYet,
		jwt.ErrTokenInvalidClaims,
	} {
		if errors.Is(err, known) {
			return fmt.Errorf("auth: %w: %w", ErrUnauthorized, known)
		}
	}
	return fmt.Errorf("auth: %w: %w", ErrUnauthorized, jwt.ErrTokenUnverifiable)
}
