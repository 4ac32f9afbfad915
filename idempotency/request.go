package idempotency

import (
	"fmt"
	"reflect"
	"time"

	"github.com/singletable/singletable/keys"
)

// maxText bounds scope and key, in bytes. Escaped, both fit into a partition
// key.
const maxText = 255

// Request identifies what is to be done once.
type Request struct {
	// Scope keeps the keys of different clients and operations apart. Empty
	// means that all keys share one space, as in IDE#<key>.
	Scope string
	// Key is the client's idempotency key, 1 to 255 bytes. See the package
	// documentation for keys that come in an HTTP header.
	Key string
	// Payload is what the request asks for. A request with the same key and
	// another payload is refused with [ErrPayloadMismatch].
	//
	// [Do] needs one: without, whatever else is requested with the key would get the
	// result of the first. So nil and a nil pointer are [ErrInvalidRequest] there. A
	// request that asks for nothing but its scope and key has "", as an empty body has.
	//
	//   - A []byte or [encoding/json.RawMessage] that holds JSON is compared
	//     without regard to white space and to the order of members. Numbers are
	//     compared as they are written: 1 and 1.0 differ.
	//   - JSON in which an object repeats a name is compared byte by byte. So are
	//     names that differ in case only, unless they are in alphabetical order:
	//     package json decodes them into one field, and the last one wins.
	//   - All other bytes are compared byte by byte.
	//   - Any other value is compared by its JSON, as package json encodes it.
	//
	// A value is [ErrInvalidRequest] if its JSON hides a difference: a string
	// that is not UTF-8, an [io.Reader], or a struct field that is not zero and
	// that package json leaves out. Also refused is a field that omitzero leaves out by
	// an IsZero method of its own. To leave a field out of the comparison, tag
	// it `json:"-"`.
	//
	// See the package documentation for payloads of two releases.
	Payload any
	// TTL is how long the record is kept, in whole seconds; the store's by
	// default.
	TTL time.Duration
}

// key returns the key of the request's record. Scope and key are segments of
// their own, so that no two pairs of them meet.
func (r Request) key() keys.Key {
	pk := keys.Ide.PK(r.Key)
	if r.Scope != "" {
		pk = keys.Ide.PK(r.Scope, r.Key)
	}
	return keys.Key{PK: pk, SK: keys.Metadata}
}

var errNoPayload = fmt.Errorf("%w: Payload is missing: give what the request asks for, "+
	`or "" if scope and key say it all`, ErrInvalidRequest)

// lacksPayload reports whether nobody has set the payload. A nil []byte is an empty body.
func (r Request) lacksPayload() bool {
	v := reflect.ValueOf(r.Payload)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}

func (r Request) validate() error {
	switch {
	case r.Key == "":
		return fmt.Errorf("%w: Key is empty", ErrInvalidRequest)
	case len(r.Key) > maxText:
		return fmt.Errorf("%w: Key has %d bytes, at most %d are taken", ErrInvalidRequest, len(r.Key), maxText)
	case len(r.Scope) > maxText:
		return fmt.Errorf("%w: Scope has %d bytes, at most %d are taken", ErrInvalidRequest, len(r.Scope), maxText)
	case r.TTL < 0 || r.TTL > 0 && r.TTL < time.Second:
		return fmt.Errorf("%w: TTL %v is under a second", ErrInvalidRequest, r.TTL)
	}
	if err := r.key().Validate(); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalidRequest, err)
	}
	return nil
}
