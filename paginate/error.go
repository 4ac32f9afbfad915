package paginate

import (
	"errors"
	"fmt"

	"github.com/singletable/singletable/keys"
)

// ErrInvalidCursor matches every refusal of a cursor, whatever its reason. Its
// text is the public message: it carries no prefix, names no cause and may be
// sent to the client as it is, with status 400. It matches [keys.ErrInvalid] too,
// as all invalid input does.
var ErrInvalidCursor = fmt.Errorf("%w cursor", keys.ErrInvalid)

// errInvalidPosition matches every refusal to seal a position. It is a fault
// of the server, never of the client.
var errInvalidPosition = fmt.Errorf("paginate: %w position", keys.ErrInvalid)

// errNoCodec is the error of the zero Codec. It is deliberately not
// ErrInvalidCursor: a server without a codec must not blame its clients.
var errNoCodec = errors.New("paginate: the zero Codec was not made by New or Insecure")

// Reason says why a cursor was refused. Its values are stable and few, fit for
// a metric's label and for a log line. They are for the server's operators:
// telling them to clients helps only those who forge cursors.
type Reason string

// The reasons for which a cursor is refused, all but the last by [Codec.Open].
const (
	// Malformed is text that no codec ever wrote: empty, over 8,192 characters,
	// not canonical base64url, or too short.
	Malformed Reason = "malformed"

	// UnknownVersion is a cursor of another format: a newer release's, or an
	// unsealed cursor offered to a sealing codec, or the other way round.
	UnknownVersion Reason = "unknown version"

	// UnknownKey is a cursor sealed with a key that is not in the ring, as after
	// the last step of a rotation.
	UnknownKey Reason = "unknown key"

	// NoSharedKey is a cursor sealed with the key that another process, or this
	// one before a restart, drew for itself. Or it is a cursor of a shared ring,
	// offered to a process that has only a key of its own. No codec is configured
	// in one of the two: give all instances one ring.
	NoSharedKey Reason = "no shared key"

	// Mismatch is a cursor that was altered, or that is whole but was sealed for
	// another scope (another query, range, direction or caller) or as another
	// kind of cursor. Authenticated encryption cannot tell these apart, so
	// neither does the reason.
	Mismatch Reason = "mismatch"

	// Expired is an authentic cursor older than [Options].TTL.
	Expired Reason = "expired"

	// Future is an authentic cursor issued more than five minutes from now: the
	// clock of this server or of the one that sealed it is wrong.
	Future Reason = "future"

	// OutOfRange is a cursor that opens, but whose position is outside the range
	// that the query asks for now. Readers such as package table find it.
	OutOfRange Reason = "out of range"
)

// Error is the refusal of a cursor, by [Codec.Open] or by a reader of a query. It
// matches [ErrInvalidCursor] and has the same text for every reason, so that it
// can be shown to a client. Reason is for logs and metrics.
type Error struct {
	Reason Reason
}

// Error returns the public message, which does not depend on the reason.
func (e *Error) Error() string { return ErrInvalidCursor.Error() }

// Unwrap returns [ErrInvalidCursor].
func (e *Error) Unwrap() error { return ErrInvalidCursor }

func refuse(r Reason) error { return &Error{Reason: r} }

// refusePosition is the refusal of a position by [Codec.Seal]: of the value with
// that index, or of the position as a whole if it is -1. rule is a phrase: "not a
// decimal number". The data of the value stays out of it.
func refusePosition(value int, rule string) error {
	if value < 0 {
		return fmt.Errorf("%w: %s", errInvalidPosition, rule)
	}
	return fmt.Errorf("%w: value %d: %s", errInvalidPosition, value, rule)
}
