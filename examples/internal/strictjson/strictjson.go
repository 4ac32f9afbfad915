// Package strictjson reads JSON from outside. Package encoding/json takes NAME for name,
// the last of two members with one name, and unknown members if it is not told
// otherwise. It replaces half of a surrogate pair, so that different texts become equal.
// All of that is refused here.
package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"
)

// The reasons why a text is refused.
var (
	ErrSyntax    = errors.New("the text must be one JSON value in UTF-8")
	ErrHalfPair  = errors.New("a string has half of a surrogate pair")
	ErrDuplicate = errors.New("an object has a member twice")
	ErrNoObject  = errors.New("the value must be an object")
	ErrUnknown   = errors.New("an object has an unknown member")
	ErrType      = errors.New("a member has the wrong type or is out of range")
)

// MemberError is the error of a known member. It matches [ErrType].
type MemberError struct{ Name string }

func (e *MemberError) Error() string { return e.Name + ": " + ErrType.Error() }

// Unwrap returns [ErrType].
func (e *MemberError) Unwrap() error { return ErrType }

// Check returns nil if a text is one JSON value in UTF-8, whose strings are whole and
// whose objects have each name once, at any depth.
//
// Errors: [ErrSyntax], [ErrHalfPair], [ErrDuplicate].
func Check(text []byte) error {
	switch {
	case !utf8.Valid(text) || !json.Valid(text): // which bounds the depth as well
		return ErrSyntax
	case halfPair(text):
		return ErrHalfPair
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber() // a number of any size is valid
	return unique(decoder)
}

// unique reads a value, and looks for a name that is twice in an object.
func unique(decoder *json.Decoder) error {
	opening, err := decoder.Token()
	if delim, ok := opening.(json.Delim); err != nil || !ok || delim != '{' && delim != '[' {
		return err
	}
	seen := map[json.Token]bool{}
	for decoder.More() {
		if opening == json.Delim('{') {
			name, err := decoder.Token()
			if err != nil {
				return err
			}
			if seen[name] {
				return ErrDuplicate
			}
			seen[name] = true
		}
		if err := unique(decoder); err != nil {
			return err
		}
	}
	_, err = decoder.Token() // the closing one
	return err
}

// halfPair reports whether a string of valid JSON has an escaped surrogate without the
// other one of its pair. Only strings have backslashes.
func halfPair(text []byte) bool {
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		switch unit := escaped(text[i:]); {
		case unit < 0xD800 || unit > 0xDFFF:
			i++ // the character after the backslash may be another backslash
		case unit > 0xDBFF:
			return true
		default:
			if second := escaped(text[i+6:]); second < 0xDC00 || second > 0xDFFF {
				return true
			}
			i += 11
		}
	}
	return false
}

// escaped returns the code unit of the escape such as \u00e9 that a text begins with, and
// 0 if it begins with none.
func escaped(text []byte) uint64 {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0
	}
	unit, _ := strconv.ParseUint(string(text[2:6]), 16, 16) // 0 for an error
	return unit
}

// Object reads an object with the members that are named, and no others, into their
// pointers. It first checks the text as [Check] does. A member that is an object itself
// needs a type whose UnmarshalJSON calls Object: its errors are passed on.
//
// Errors: those of [Check], [ErrNoObject], [ErrUnknown], [*MemberError].
func Object(text []byte, members map[string]any) error {
	if err := Check(text); err != nil {
		return err
	}
	var values map[string]json.RawMessage // its names are as they are written
	if json.Unmarshal(text, &values) != nil || values == nil {
		return ErrNoObject
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		member, known := members[name]
		if !known {
			return ErrUnknown
		}
		err := json.Unmarshal(values[name], member)
		if _, inside := errors.AsType[*MemberError](err); inside || errors.Is(err, ErrUnknown) {
			return err
		}
		if err != nil {
			return &MemberError{name}
		}
	}
	return nil
}
