package auth

import (
	"net/http"

	"github.com/singletable/singletable/examples/internal/httpapi"
)

// Guard lets the requests of users pass, for [httpapi.For].
type Guard struct {
	// By checks the access tokens.
	By Authenticator
	// Limiter limits the requests of each user. Nil means no limits.
	Limiter *httpapi.Limiter
}

// Identify returns whose access token a request carries, if the user is within the limits,
// and is in one of the roles if there are any: roles are groups of the user pool.
//
// Errors: those of [Authenticator], [httpapi.ErrRole], and that of [httpapi.Limiter.Check].
func (g Guard) Identify(w http.ResponseWriter, r *http.Request, roles ...string) (Identity, error) {
	token, err := httpapi.Bearer(r.Header)
	if err != nil {
		return Identity{}, err
	}
	identity, err := g.By.Verify(r.Context(), token)
	if err != nil {
		return Identity{}, err
	}
	if err := g.Limiter.Check(w, identity.User); err != nil {
		return Identity{}, err
	}
	if len(roles) > 0 && !identity.In(roles...) {
		return Identity{}, httpapi.ErrRole
	}
	return identity, nil
}

// User does the same, and returns the id of the user.
func (g Guard) User(w http.ResponseWriter, r *http.Request, roles ...string) (string, error) {
	identity, err := g.Identify(w, r, roles...)
	return identity.User, err
}

// Failures are the failures of [Guard.Identify].
func Failures() []httpapi.Known {
	return append(httpapi.Access(),
		httpapi.On(ErrScope, http.StatusForbidden, "insufficient_scope", "the access token lacks the scope that this API requires"),
		httpapi.Later(ErrUnavailable),
	)
}
