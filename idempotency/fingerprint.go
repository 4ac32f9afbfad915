package idempotency

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Fingerprint returns the SHA-256 hash of the payload in its canonical form. A
// payload that cannot be compared is [ErrInvalidRequest].
func (r Request) Fingerprint() ([sha256.Size]byte, error) {
	text, asWritten, err := payloadText(r.Payload)
	if err != nil {
		return [sha256.Size]byte{}, fmt.Errorf("%w: %w", ErrInvalidRequest, err)
	}
	if canonical, ok := canonicalJSON(text); ok && !asWritten {
		return sha256.Sum256(append([]byte("json "), canonical...)), nil
	}
	return sha256.Sum256(append([]byte("bytes "), text...)), nil
}

// payloadText returns the bytes that a payload is compared by. asWritten means
// that their canonical form would hide a difference.
func payloadText(payload any) (text []byte, asWritten bool, err error) {
	const path = "Payload"
	switch raw := payload.(type) {
	case []byte:
		return raw, ambiguous(raw), nil
	case json.RawMessage:
		return raw, ambiguous(raw), nil
	}
	// Package json finds cycles, so it goes first.
	text, err = json.Marshal(payload)
	if err != nil {
		return nil, false, fmt.Errorf("%s: %w", path, noJSON(err))
	}
	x := inspector{members: map[reflect.Type][]member{}}
	err = x.inspect(reflect.ValueOf(payload), path)
	return text, x.asWritten, err
}

// noJSON explains why package json refuses a payload. Its own message can quote
// a value.
func noJSON(err error) error {
	if failed, ok := errors.AsType[*json.MarshalerError](err); ok {
		return quiet(fmt.Sprintf("the marshaler of %v fails", failed.Type), err)
	}
	_, kind := errors.AsType[*json.UnsupportedTypeError](err)
	_, value := errors.AsType[*json.UnsupportedValueError](err) // NaN, or a cycle
	if kind || value {
		return err
	}
	return quiet("it has no JSON form", err)
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
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var v any
	_ = decoder.Decode(&v) // which is JSON
	canonical, err := json.Marshal(v)
	return canonical, err == nil
}

// ambiguous reports whether the order of members matters in a JSON text: an
// object has a name twice, or names that differ in case only and are not in the
// order of the canonical form. Package json decodes all of these into one struct
// field.
func ambiguous(text []byte) bool {
	if !json.Valid(text) { // which bounds the depth
		return false
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	return ambiguousValue(decoder)
}

func ambiguousValue(d *json.Decoder) bool {
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
		if ambiguousValue(d) {
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
