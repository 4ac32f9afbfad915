package paginate

import (
	"errors"
	"strconv"
)

// ErrInvalidCursor matches every refusal of a token, whatever its reason. Its
// text is the public message: it carries no prefix, names no cause and may be
// sent to the client as it is, with status 400.
var ErrInvalidCursor = errors.New("invalid cursor")

// ErrInvalidPosition matches every refusal to seal a position. It is a fault
// of the server, never of the client.
var ErrInvalidPosition = errors.New("paginate: invalid position")

// errNoCodec answers calls on a nil or zero Codec. It is deliberately not
// ErrInvalidCursor: a server without a codec must not blame its clients.
var errNoCodec = errors.New("paginate: the Codec is nil or was not made by New or Unsealed")

// Reason says why a token was refused. Its values are stable and few, fit for
// a metric's label and for a log line. They are for the server's operators:
// telling them to clients helps only those who forge tokens.
type Reason string

// The reasons for which [Codec.Open] refuses a token.
const (
	// Malformed is text that no codec ever wrote: empty, over 8,192 characters,
	// not canonical base64url, or too short.
	Malformed Reason = "malformed"

	// UnknownVersion is a token of another format: a newer release's, or an
	// unsealed token offered to a sealing codec, or the other way round.
	UnknownVersion Reason = "unknown version"

	// UnknownKey is a token sealed with a key that is not in the ring, as after
	// the last step of a rotation.
	UnknownKey Reason = "unknown key"

	// Mismatch is a token that was altered, or that is whole but was sealed for
	// another scope (another query, range, direction or caller) or as another
	// kind of token. Authenticated encryption cannot tell these apart, so
	// neither does the reason.
	Mismatch Reason = "mismatch"

	// Expired is an authentic token older than [Options].TTL.
	Expired Reason = "expired"

	// Future is an authentic token issued more than five minutes from now: the
	// clock of this server or of the one that sealed it is wrong.
	Future Reason = "future"
)

// Error is the refusal of a token by [Codec.Open]. It matches
// [ErrInvalidCursor] and reads the same for every reason, so that it can be
// shown to a client; Reason is for logs and metrics.
type Error struct {
	Reason Reason
}

// Error returns the public message, which does not depend on the reason.
func (e *Error) Error() string { return ErrInvalidCursor.Error() }

// Unwrap returns [ErrInvalidCursor].
func (e *Error) Unwrap() error { return ErrInvalidCursor }

func refuse(r Reason) error { return &Error{Reason: r} }

// PositionError is the refusal of a position by [Codec.Seal]. It matches
// [ErrInvalidPosition]. The data of the value stays out of it.
type PositionError struct {
	Value int    // index of the value at fault, or -1 for the position as a whole
	Rule  string // what it breaks, as a phrase: "not a decimal number"
}

// Error names the value at fault and the rule.
func (e *PositionError) Error() string {
	text := ErrInvalidPosition.Error() + ": "
	if e.Value >= 0 {
		text += "value " + strconv.Itoa(e.Value) + ": "
	}
	return text + e.Rule
}

// Unwrap returns [ErrInvalidPosition].
func (e *PositionError) Unwrap() error { return ErrInvalidPosition }
