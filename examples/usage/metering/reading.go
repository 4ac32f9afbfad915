package metering

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/singletable/singletable/table"
)

// ErrInvalid matches what is wrong with a message or a question by itself. It
// is one of the errors that [table.Classify] calls permanent.
var ErrInvalid = fmt.Errorf("metering: not valid: %w", table.ErrInvalid)

// Problems is everything that is wrong with a message or a question, for whoever
// sent it. As an error it matches [ErrInvalid].
type Problems []string

// Error returns the problems, and whose they are.
func (p Problems) Error() string { return ErrInvalid.Error() + ": " + p.String() }

// String returns the problems alone.
func (p Problems) String() string { return strings.Join(p, "; ") }

// Unwrap returns [ErrInvalid].
func (p Problems) Unwrap() error { return ErrInvalid }

func (p *Problems) add(format string, args ...any) { *p = append(*p, fmt.Sprintf(format, args...)) }

func (p Problems) err() error {
	if len(p) == 0 {
		return nil
	}
	return p
}

// identifier adds what is wrong with an identifier.
func (p *Problems) identifier(name, id string) {
	if !isIdentifier(id) {
		p.add("%s is not 1 to %d letters, digits, _ and -", name, maxIdentifier)
	}
}

func isIdentifier(s string) bool {
	for _, c := range []byte(s) {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return 1 <= len(s) && len(s) <= maxIdentifier
}

// CheckJSON returns nil if a text is JSON in UTF-8. The error, [Problems], says where it
// is not, without quoting the text.
func CheckJSON(text []byte) error { return notJSON(text).err() }

func notJSON(text []byte) Problems {
	end := len(text) // of what is read without an error
	syntax, broken := errors.AsType[*json.SyntaxError](json.Unmarshal(text, new(json.RawMessage)))
	if broken {
		end = max(int(syntax.Offset)-1, 0)
	}
	if !utf8.Valid(text) {
		end, broken = min(end, bytes.IndexRune(text, utf8.RuneError)), true
	}
	if !broken {
		return nil
	}
	line, column := 1+bytes.Count(text[:end], []byte("\n")), end-bytes.LastIndexByte(text[:end], '\n')
	return Problems{fmt.Sprintf("it is not JSON in UTF-8: see line %d, column %d", line, column)}
}

// reading is a JSON object, from which members are taken one by one. It collects what is
// wrong with them.
type reading struct {
	Problems
	members map[string]json.RawMessage // nil if there is no object
}

// read begins to read an object.
func read(text []byte) reading {
	if problems := notJSON(text); problems != nil {
		return reading{Problems: problems}
	}
	decoder := json.NewDecoder(bytes.NewReader(text)) // which does not fail: it is JSON
	if opening, _ := decoder.Token(); opening != json.Delim('{') {
		return reading{Problems: Problems{"it is not a JSON object"}}
	}
	r := reading{members: map[string]json.RawMessage{}}
	twice := map[string]bool{}
	for decoder.More() {
		token, _ := decoder.Token()
		name, _ := token.(string)
		var value json.RawMessage
		_ = decoder.Decode(&value)
		if _, ok := r.members[name]; ok {
			twice[name] = true
		}
		r.members[name] = value
	}
	r.list("%s is there twice", twice)
	return r
}

// list adds a problem for each name. It quotes identifiers only.
func (r *reading) list(format string, names map[string]bool) {
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if !isIdentifier(name) {
			name = "a member whose name is no identifier"
		}
		r.add(format, name)
	}
}

// unknown adds the members that nobody has taken, and reports whether there are any.
func (r *reading) unknown() bool {
	names := map[string]bool{}
	for name := range r.members {
		names[name] = true
	}
	r.list("%s is unknown", names)
	return len(names) > 0
}

// has reports whether there is a member, other than null.
func (r *reading) has(name string) bool {
	value := r.members[name]
	return value != nil && string(value) != "null"
}

// take removes a member and returns it, nil if it is missing or null.
func (r *reading) take(name string) json.RawMessage {
	defer delete(r.members, name)
	if !r.has(name) {
		return nil
	}
	return r.members[name]
}

// text takes a string, and reports whether there is one.
func (r *reading) text(name string, required bool) (s string, ok bool) {
	value := r.take(name)
	switch {
	case value == nil && required:
		r.add("%s is required and must be a non-empty string", name)
	case value == nil:
	case json.Unmarshal(value, &s) != nil:
		r.add("%s is not a string", name)
	default:
		return s, true
	}
	return "", false
}

// id takes an identifier, empty if it is missing.
func (r *reading) id(name string, required bool) string {
	id, ok := r.text(name, required)
	if ok {
		r.identifier(name, id)
	}
	return id
}

// hour takes an hour, and reports whether there is one.
func (r *reading) hour(name string) (time.Time, bool) {
	text, ok := r.text(name, true)
	if !ok {
		return time.Time{}, false
	}
	// Parse knows the calendar, but takes an hour of one digit too.
	at, err := time.Parse(hourLayout, text)
	if err != nil || len(text) != len(hourLayout) {
		r.add("%s is not an hour of the calendar, as YYYY-MM-DDThh", name)
		return time.Time{}, false
	}
	return at, true
}

// count takes a whole number from 1 to [MaxCount]. 3.0 and 3e0 are whole as well: to some
// producers, all numbers have a fraction.
func (r *reading) count(name string) int64 {
	var n float64
	err := json.Unmarshal(r.take(name), &n) // nothing is no JSON
	if err != nil || n != math.Trunc(n) || n < 1 || n > MaxCount {
		r.add("%s is not a whole number from 1 to %d", name, MaxCount)
		return 0
	}
	return int64(n)
}
