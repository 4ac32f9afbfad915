package idempotency

import (
	"fmt"
	"time"

	"github.com/singletable/singletable/keys"
)

// maxText bounds scope and key, in bytes. Escaped, both fit into a partition
// key.
const maxText = 255

// Request identifies what is to be done once.
type Request struct {
	// Scope keeps the keys of different clients and operations apart. Empty
	// means that all keys share one space, as in IDE#<key>. Join several ids by a prefix of
	// package keys, which keeps them apart: string(keys.Prefix("PAY").PK(tenant, user)).
	Scope string
	// Key is the client's idempotency key, 1 to 255 bytes. See the package
	// documentation for keys that come in an HTTP header.
	Key string
	// Payload is what the request asks for, made by [JSON] or [Text]. A request with the
	// same key and another payload is refused with [ErrPayloadMismatch].
	//
	// [Do] needs one: without, whatever else is requested with the key would get the
	// result of the first. So the zero Payload is [ErrInvalidRequest] there. Give Text("")
	// if scope and key say it all.
	//
	// See the package documentation for payloads of two releases.
	Payload Payload
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

var errNoPayload = fmt.Errorf("%w: Payload is missing: give what the request asks for by JSON or Text, "+
	`or Text("") if scope and key say it all`, ErrInvalidRequest)

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
