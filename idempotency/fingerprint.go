package idempotency

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Fingerprint returns the SHA-256 hash by which the payload is compared. A payload that
// cannot be compared is [ErrInvalidRequest].
func (r Request) Fingerprint() ([sha256.Size]byte, error) {
	switch {
	case r.Payload.err != nil:
		return [sha256.Size]byte{}, fmt.Errorf("%w: %w", ErrInvalidRequest, r.Payload.err)
	case r.Payload == Payload{}:
		return withoutPayload, nil
	}
	return r.Payload.print, nil
}

// withoutPayload is the fingerprint of a request that has no payload.
var withoutPayload = sha256.Sum256([]byte("json null"))

// fingerprintOf returns the hash of a text, of its canonical form if that hides no
// difference. ordered means that the order of members can matter, as it cannot in what
// package json has written of a value.
func fingerprintOf(text []byte, ordered bool) [sha256.Size]byte {
	canonical, ok := canonicalJSON(text)
	if !ok || ordered && ambiguous(numbered(text)) {
		return sha256.Sum256(append([]byte("bytes "), text...))
	}
	return sha256.Sum256(append([]byte("json "), canonical...))
}

// canonicalJSON writes a JSON text without white space and with the members of
// objects in the order of their names. Numbers stay as they are written, since
// floats would make different ones equal.
//
// Package json replaces invalid UTF-8 and half surrogate pairs by U+FFFD, which
// makes different texts equal. For these, ok is false.
func canonicalJSON(text []byte) (canonical []byte, ok bool) {
	if !json.Valid(text) || !utf8.Valid(text) || loneSurrogate(text) {
		return nil, false
	}
	var v any
	_ = numbered(text).Decode(&v) // which is JSON
	canonical, err := json.Marshal(v)
	return canonical, err == nil
}

// numbered returns a decoder that keeps numbers as they are written.
func numbered(text []byte) *json.Decoder {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return d
}

// ambiguous reports whether the order of members matters in a JSON text: an
// object has a name twice, or names that differ in case only and are not in the
// order of the canonical form. Package json decodes all of these into one struct
// field.
func ambiguous(d *json.Decoder) bool {
	token, _ := d.Token()
	open, container := token.(json.Delim)
	if !container {
		return false
	}
	latest := map[string]string{}
	for d.More() {
		if open == '{' {
			token, _ := d.Token()
			name, _ := token.(string)
			folded := strings.Map(fold, name)
			if before, ok := latest[folded]; ok && before >= name {
				return true
			}
			latest[folded] = name
		}
		if ambiguous(d) {
			return true
		}
	}
	_, _ = d.Token()
	return false
}

// fold returns the smallest of the characters that differ from r in case only.
func fold(r rune) rune {
	for {
		next := unicode.SimpleFold(r)
		if next <= r {
			return next
		}
		r = next
	}
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

// escaped returns the character of a \u escape at the beginning of text,
// [utf8.RuneError] if text does not begin with one.
func escaped(text []byte) rune {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return utf8.RuneError
	}
	r, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	if err != nil {
		return utf8.RuneError
	}
	return rune(r)
}
