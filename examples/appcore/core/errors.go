package core

import (
	"errors"
	"fmt"

	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/table"
)

// The kinds of failure that a caller can do something about. Every other error
// is a fault of the system. The causes stay reachable behind them.
var (
	// ErrNotFound means that there is no such thing.
	ErrNotFound = errors.New("not found")
	// ErrForbidden means that the thing is another user's.
	ErrForbidden = errors.New("belongs to another user")
	// ErrChanged means that the thing is not as the caller has seen it.
	ErrChanged = errors.New("changed since it was read")
	// ErrUserExists means that the id is that of a user with another e-mail or name.
	ErrUserExists = errors.New("user exists with another e-mail or name")
	// ErrEmailTaken means that the e-mail is another user's.
	ErrEmailTaken = errors.New("e-mail is another user's")
	// ErrPayloadMismatch means that the idempotency key was used for another request.
	ErrPayloadMismatch = errors.New("idempotency key was used for another request")
	// ErrUnavailable means that the same call can succeed in a while. Retry a
	// call that creates something with the same idempotency key, since it may
	// have succeeded.
	ErrUnavailable = errors.New("temporarily unavailable")
)

// InvalidError means that the request is invalid. Code and Message are for its
// sender.
type InvalidError struct {
	Code    string
	Message string
}

// Error returns the message.
func (e *InvalidError) Error() string { return e.Message }

func invalid(code, format string, args ...any) error {
	return &InvalidError{Code: code, Message: fmt.Sprintf(format, args...)}
}

// translate says in the words of this package what the library reports.
func translate(err error) error {
	if err == nil {
		return nil
	}
	// The library's more special errors match its general ones too, so they come
	// first.
	switch {
	case errors.Is(err, paginate.ErrInvalidCursor):
		return invalid("invalid_cursor", "lastKey is not one that this list has given out to you; start again without it")
	case errors.Is(err, idempotency.ErrPayloadMismatch):
		return fmt.Errorf("%w: %w", ErrPayloadMismatch, err)
	case errors.Is(err, table.ErrNotFound):
		return fmt.Errorf("%w: %w", ErrNotFound, err)
	case table.Classify(err) == table.Transient:
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return err
}
