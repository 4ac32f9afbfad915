package idempotency

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"
	"unicode/utf16"
	"unicode/utf8"

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
	// Key is the client's idempotency key, 1 to 255 bytes.
	Key string
	// Payload is what is asked for; the same key with another payload is
	// refused. A []byte or [json.RawMessage] that holds JSON, and any other
	// value as JSON, count without regard to white space and the order of
	// members. Other bytes count as they are.
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

// Fingerprint returns the SHA-256 hash of the payload in its canonical form.
func (r Request) Fingerprint() ([sha256.Size]byte, error) {
	raw, isRaw := r.Payload.([]byte)
	if message, ok := r.Payload.(json.RawMessage); ok {
		raw, isRaw = message, true
	}
	if !isRaw {
		encoded, err := json.Marshal(r.Payload)
		if err != nil {
			return [sha256.Size]byte{}, fmt.Errorf("%w: Payload: %w", ErrInvalidRequest, err)
		}
		raw = encoded
	}
	if canonical, ok := canonicalJSON(raw); ok {
		return sha256.Sum256(append([]byte("json "), canonical...)), nil
	}
	return sha256.Sum256(append([]byte("bytes "), raw...)), nil
}

// canonicalJSON writes a JSON text without white space and with the members of
// objects in the order of their names. Numbers stay as they are written, since
// a detour through floats would make different ones equal.
//
// Package json takes what is no character for U+FFFD, and so different texts
// for equal. These are left to be compared as bytes.
func canonicalJSON(text []byte) ([]byte, bool) {
	if !utf8.Valid(text) || loneSurrogate(text) {
		return nil, false
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil {
		return nil, false
	}
	if _, err := decoder.Token(); err != io.EOF { //nolint:errorlint // Token returns it bare
		return nil, false
	}
	canonical, err := json.Marshal(v)
	return canonical, err == nil
}

// loneSurrogate reports whether a JSON text has a \u escape that is half of a
// character.
func loneSurrogate(text []byte) bool {
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		if r := escaped(text[i:]); utf16.IsSurrogate(r) {
			if utf16.DecodeRune(r, escaped(text[i+6:])) == utf8.RuneError {
				return true
			}
			i += 6
		}
		i++ // what is escaped, which can be a backslash
	}
	return false
}

// escaped returns what a \u escape at the beginning of text stands for, -1 if
// there is none.
func escaped(text []byte) rune {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return -1
	}
	r, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(r)
}
