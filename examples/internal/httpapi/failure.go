package httpapi

import (
	"cmp"
	"errors"
)

// Failure is an error as a client gets to see it.
type Failure struct {
	Status  int    `json:"-"`
	Code    string `json:"code"` // for programs
	Message string `json:"message"`
}

func (f *Failure) Error() string { return f.Code + ": " + f.Message }

// Known is an error that a client can do something about. Get one from [On].
type Known struct {
	err     error
	failure Failure
}

// On returns an error with its failure. An empty message is the text of the error.
func On(err error, status int, code, message string) Known {
	return Known{err, Failure{status, code, cmp.Or(message, err.Error())}}
}

// FailureOf returns the failure of the first entry whose error err matches, and
// nil if no entry matches.
func FailureOf(err error, known []Known) *Failure {
	for _, k := range known {
		if errors.Is(err, k.err) {
			return &k.failure
		}
	}
	return nil
}
