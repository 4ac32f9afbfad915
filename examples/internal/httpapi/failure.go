package httpapi

import (
	"cmp"
	"errors"
	"net/http"

	"github.com/singletable/singletable/keys"
)

// Failure is an error as a client gets to see it.
type Failure struct {
	Status  int    `json:"-"`
	Code    string `json:"code"` // for programs
	Message string `json:"message"`
}

func (f *Failure) Error() string { return f.Code + ": " + f.Message }

// Known is an error that a client can do something about. Get one from [On], [OnKey] or
// [Later].
type Known struct {
	is      func(error) bool
	failure Failure
}

// On returns an error with its failure. An empty message is the text of the error.
func On(err error, status int, code, message string) Known {
	return Known{matches(err), Failure{status, code, cmp.Or(message, err.Error())}}
}

// OnKey returns the failure of an id that cannot be in a key: it is empty, too long or
// not text. Any other invalid call is a fault of the service.
func OnKey(status int, code, message string) Known {
	invalid := func(err error) bool {
		_, ok := errors.AsType[*keys.Error](err)
		return ok
	}
	return Known{invalid, Failure{status, code, message}}
}

// Later returns an error that may not last: a 503 with the message Again of the [Server].
func Later(err error) Known {
	return Known{matches(err), Failure{Status: http.StatusServiceUnavailable, Code: "unavailable"}}
}

func matches(known error) func(error) bool {
	return func(err error) bool { return errors.Is(err, known) }
}

// The errors of a caller who may not do what a request asks for.
var (
	// ErrUnauthorized is matched by the error of a request without a valid access token.
	ErrUnauthorized = errors.New("unauthorized")
	// ErrRole means that the caller is in none of the roles that an endpoint requires.
	ErrRole = errors.New("insufficient role")
)

// Access are the failures of callers.
func Access() []Known {
	return []Known{
		On(ErrUnauthorized, http.StatusUnauthorized, "unauthorized", "a valid access token is required"),
		On(ErrRole, http.StatusForbidden, "insufficient_role", "this is for users in another role"),
	}
}
