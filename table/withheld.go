package table

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/aws/smithy-go"
)

// withheld replaces the text of an error, which may quote values. The error itself
// is reachable with errors.As.
type withheld struct {
	text string
	err  error
}

// Error returns the text that quotes no value.
func (e *withheld) Error() string { return e.text }

// Unwrap returns the error whose text is withheld.
func (e *withheld) Unwrap() error { return e.err }

// withholdResponse removes what an error of the client quotes of a response that
// cannot be read. It keeps the text of network errors.
func withholdResponse(err error) error {
	if err == nil {
		return nil
	}
	var unread *smithy.DeserializationError
	var network net.Error
	switch {
	case !errors.As(err, &unread) || unread.Err == nil:
		return err
	case errors.Is(unread.Err, io.ErrUnexpectedEOF), errors.Is(unread.Err, errResponseSize), errors.As(unread.Err, &network),
		errors.Is(unread.Err, context.Canceled), errors.Is(unread.Err, context.DeadlineExceeded):
		return err
	}
	const instead = "the response cannot be read"
	before, after, found := strings.Cut(err.Error(), unread.Err.Error())
	if !found {
		return &withheld{instead, err}
	}
	return &withheld{before + instead + after, err}
}
