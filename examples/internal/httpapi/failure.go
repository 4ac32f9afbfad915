package httpapi

import "cmp"

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
