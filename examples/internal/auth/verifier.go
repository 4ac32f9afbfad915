package auth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/golang-jwt/jwt/v5"

	"github.com/singletable/singletable/examples/internal/httpapi"
)

var (
	// ErrScope is matched by the error of a good token that lacks the required
	// scope.
	ErrScope = errors.New("insufficient scope")

	// ErrUnauthorized is matched by the error of a token that is not accepted. The
	// error's text goes on with the reason, for logs. Nothing of the token is in it.
	ErrUnauthorized = httpapi.ErrUnauthorized

	// ErrUnavailable is matched by the error of a token that could be neither
	// accepted nor refused, because the user pool's keys could not be fetched.
	ErrUnavailable = errors.New("the keys of the user pool are unavailable")
)

const (
	// maxToken limits a token, in bytes. Cognito's have one or two thousand.
	maxToken = 16 << 10
	// maxUser limits a user id, in bytes. Cognito's are UUIDs.
	maxUser = 128
	// maxSkew is how far in the future a token may have been issued, for clocks
	// that differ.
	maxSkew = time.Minute
)

// Verifier checks access tokens of one user pool and one app client. It is safe
// for concurrent use.
type Verifier struct {
	clientID string
	scope    string
	now      func() time.Time
	parser   *jwt.Parser
	keys     keySet
}

// NewCognito returns a verifier of the configured pool's tokens. It does not
// connect to Cognito; see [Verifier.Ready].
func NewCognito(config Config) (*Verifier, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	now, log := config.Now, config.Log
	if now == nil {
		now = time.Now
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Verifier{
		clientID: config.ClientID,
		scope:    cmp.Or(config.Scope, DefaultScope),
		now:      now,
		keys:     newKeySet(config.keysURL(), config.keysClient(), now, log),
		parser: jwt.NewParser(
			jwt.WithValidMethods([]string{jwt.SigningMethodRS256.Alg()}),
			jwt.WithIssuer(config.issuer()),
			jwt.WithExpirationRequired(),
			jwt.WithStrictDecoding(),
			jwt.WithTimeFunc(now),
		),
	}, nil
}

// Ready returns nil if the pool's keys are at hand, and fetches them if they are
// not. It is for readiness checks. The error matches [ErrUnavailable].
func (v *Verifier) Ready(ctx context.Context) error {
	if _, err := v.keys.Get(ctx); err != nil {
		return &keysError{err}
	}
	return nil
}

// Authenticator finds out whose a request is. [Verifier] is one, and its errors are those
// of this package.
type Authenticator interface {
	Verify(ctx context.Context, token string) (Identity, error)
	// Ready returns nil if Verify can work.
	Ready(ctx context.Context) error
}

// Identity is whom an access token was issued to.
type Identity struct {
	// User is the id of the user, the token's subject.
	User string
	// Groups are the groups of the user pool that the user is in.
	Groups []string
	// Tenant is the [TenantClaim], empty if the token has no such claim.
	Tenant string
}

// In reports whether the user is in one of the groups. Their names are compared
// exactly.
func (i Identity) In(groups ...string) bool {
	return slices.ContainsFunc(i.Groups, func(g string) bool { return slices.Contains(groups, g) })
}

// Verify returns the user that the access token was issued to, with the groups in
// its claim cognito:groups. A claim that is not a list of texts is no groups. The
// error matches [ErrUnauthorized], [ErrScope] or [ErrUnavailable].
//
// A token is accepted if all of this holds:
//   - The pool signed it with RS256 and one of its keys, and issued it (iss).
//   - It is an access token (token_use) for the app client (client_id).
//   - It has not expired (exp), and is valid already (nbf, if it is there).
//   - It was issued (iat) before it expires, and at most a minute in the future.
//   - Its subject (sub) is a user id: 1 to 128 bytes of printable UTF-8.
//   - Its scopes (scope) include the required one.
//   - Its tenant (custom:tenant), if it is there, has the form of a user id.
//
// Expiry has no leeway for clocks that differ.
func (v *Verifier) Verify(ctx context.Context, token string) (Identity, error) {
	if len(token) > maxToken || strings.ContainsFunc(token, foreign) {
		return Identity{}, refuse(jwt.ErrTokenMalformed)
	}
	// A map, unlike a struct, matches the names of claims exactly.
	claims := jwt.MapClaims{}
	if _, err := v.parser.ParseWithClaims(token, claims, v.key(ctx)); err != nil {
		return Identity{}, refuse(err)
	}
	if claims["token_use"] != "access" {
		return Identity{}, refuse(reason("not an access token"))
	}
	if claims["client_id"] != v.clientID {
		return Identity{}, refuse(reason("token of another client"))
	}
	if err := v.checkIssued(claims); err != nil {
		return Identity{}, refuse(err)
	}
	user, _ := claims["sub"].(string)
	if err := checkUser(user); err != nil {
		return Identity{}, refuse(err)
	}
	scopes, _ := claims["scope"].(string)
	if !slices.Contains(strings.Split(scopes, " "), v.scope) {
		return Identity{}, fmt.Errorf("auth: %w", ErrScope)
	}
	tenant, err := tenantOf(claims)
	if err != nil {
		return Identity{}, refuse(err)
	}
	return Identity{User: user, Groups: groupsOf(claims), Tenant: tenant}, nil
}

// groupsClaim has the groups of a user who is in some.
const groupsClaim = "cognito:groups"

func groupsOf(claims jwt.MapClaims) (groups []string) {
	list, _ := claims[groupsClaim].([]any)
	for _, v := range list {
		group, ok := v.(string)
		if !ok {
			return nil
		}
		groups = append(groups, group)
	}
	return groups
}

// TenantClaim is the claim that names the tenant of a user. A user pool has it in access
// tokens if a trigger puts it there (pre token generation, event version 2).
const TenantClaim = "custom:tenant"

// tenantOf returns the tenant of a token, empty if it names none.
func tenantOf(claims jwt.MapClaims) (string, error) {
	claim, ok := claims[TenantClaim]
	if !ok {
		return "", nil
	}
	tenant, _ := claim.(string)
	if checkUser(tenant) != nil {
		return "", reason("token has no usable tenant")
	}
	return tenant, nil
}

// checkIssued checks the time at which a token says that it was issued.
func (v *Verifier) checkIssued(claims jwt.MapClaims) error {
	issued, ok := claims["iat"].(float64)
	expires, _ := claims["exp"].(float64) // the parser has checked that it is there
	if !ok || issued < 1 || issued > expires {
		return reason("token has no usable time of issue")
	}
	if issued > float64(v.now().Add(maxSkew).Unix()) {
		return reason("token was issued in the future")
	}
	return nil
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
	return func(token *jwt.Token) (any, error) {
		// Extensions that must be understood, of which none is.
		if _, ok := token.Header["crit"]; ok {
			return nil, reason("token has critical extensions")
		}
		// Without a key id every key would be tried.
		id, _ := token.Header["kid"].(string)
		if id == "" {
			return nil, reason("token names no key")
		}
		return v.keys.find(ctx, id)
	}
}

func checkUser(user string) error {
	if user == "" || len(user) > maxUser || !utf8.ValidString(user) || strings.ContainsFunc(user, unprintable) {
		return reason("token has no usable subject")
	}
	return nil
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) }

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
