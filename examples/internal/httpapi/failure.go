package httpapi

import (
	"cmp"
	"errors"
	"net/http"
)

// Failure is an error as a client gets to see it.
type Failure struct {
	Status  int    `json:"-"`
	Code    string `json:"code"` // for programs
	Message string `json:"message"`
}

func (f *Failure) Error() string { return f.Code + ": " + f.Message }

// Known is an error that a client can do something about. Get one from [On] or [Later].
type Known struct {
	err     error
	failure Failure
}

// On returns an error with its failure. An empty message is the text of the error.
func On(err error, status int, code, message string) Known {
	return Known{err, Failure{status, code, cmp.Or(message, err.Error())}}
}

// Later returns an error that may not last: a 503 with the message Again of the [Server].
func Later(err error) Known {
	return Known{err, Failure{Status: http.StatusServiceUnavailable, Code: "unavailable"}}
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
