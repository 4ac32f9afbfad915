package httpapi

import (
	"cmp"
	"errors"
	"net/http"

	"github.com/singletable/singletable/examples/internal/rest"
)

// Known returns what a client gets to see of one kind of error, and nil for any other error.
// [On], [OnKey] and [Later] return one.
type Known func(error) *rest.Failure

// On returns an error with its failure. An empty message is the text of the error.
func On(err error, status int, code, message string) Known {
	failure := rest.Failure{Status: status, Code: code, Message: cmp.Or(message, err.Error())}
	return func(failed error) *rest.Failure {
		if errors.Is(failed, err) {
			return &failure
		}
		return nil
	}
}

// OnKey returns the failure of an id that cannot be in a key: it is empty, too long or
// not text. Any other invalid call is a fault of the service.
func OnKey(status int, code, message string) Known {
	failure := rest.Failure{Status: status, Code: code, Message: message}
	return func(failed error) *rest.Failure {
		if rest.FailureOf(failed) == rest.InvalidKey {
			return &failure
		}
		return nil
	}
}

// Later returns an error that may not last: a 503 with the message Again of the [Server].
func Later(err error) Known {
	return On(err, http.StatusServiceUnavailable, "unavailable", "")
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
