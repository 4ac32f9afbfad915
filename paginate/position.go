package paginate

import (
	"bytes"
	"encoding/binary"
	"strings"
	"unicode/utf8"
)

// The types that DynamoDB allows for key attributes, by their letters. AWS:
// KeySchemaElement, Amazon DynamoDB API Reference.
const (
	String byte = 'S'
	Number byte = 'N'
	Binary byte = 'B'
)

// Value is one key attribute of a position.
type Value struct {
	// Kind is the attribute's type: [String], [Number] or [Binary].
	Kind byte

	// Data is the text of a string, the decimal text of a number exactly as
	// DynamoDB gave it, or the raw bytes of a binary.
	Data string
}

// Position is a place in a query, and which way a cursor leads from there: by default
// to the items after it.
type Position struct {
	// Values are those of the key attributes that order the query, in the order of the
	// schema. For a table that is the sort key; for an index, the index's sort key and
	// then the table's keys. The partition key that is being queried is never among
	// them: the server knows that one.
	Values []Value
	// Before means that the cursor leads to the items before the place.
	Before bool
	// FromEdge means that there was nothing on the other side of the place. So the
	// cursor leads to the first items of the query, or with Before to the last ones.
	FromEdge bool
}

// validate finds the first value that cannot be a key attribute.
func (p Position) validate() error {
	if len(p.Values) == 0 {
		// An empty position would open as "start again", silently.
		return refusePosition(-1, "no values")
	}
	for i, v := range p.Values {
		switch {
		case v.Kind == String && !utf8.ValidString(v.Data):
			return refusePosition(i, "not valid UTF-8")
		case v.Kind == Number && !isDecimal(v.Data):
			return refusePosition(i, "not a decimal number")
		case v.Kind != String && v.Kind != Number && v.Kind != Binary:
			return refusePosition(i, "unknown kind")
		}
	}
	return nil
}

// A value is written as a head, the unsigned varint of length<<2 | tag, and
// then its bytes. A string in which a timestamp stands is written with tag
// tagStamped: the head counts the other bytes, a second varint says where the
// timestamp goes, and six bytes hold its milliseconds.
const (
	tagString = iota
	tagNumber
	tagBinary
	tagStamped

	tagBits = 2
	tagMask = 1<<tagBits - 1
)

// appendValues appends the one encoding of valid values.
func appendValues(b []byte, values []Value) []byte {
	for _, v := range values {
		b = appendValue(b, v)
	}
	return b
}

func appendValue(b []byte, v Value) []byte {
	tag := tagString
	switch v.Kind {
	case Number:
		tag = tagNumber
	case Binary:
		tag = tagBinary
	case String:
		if at, millis, ok := findStamp(v.Data); ok {
			b = binary.AppendUvarint(b, uint64(len(v.Data)-stampSize)<<tagBits|tagStamped)
			b = binary.AppendUvarint(b, uint64(at))
			b = appendMillis(b, millis)
			b = append(b, v.Data[:at]...)
			return append(b, v.Data[at+stampSize:]...)
		}
	}
	b = binary.AppendUvarint(b, uint64(len(v.Data))<<tagBits|uint64(tag))
	return append(b, v.Data...)
}

// decodeValues reads what appendValues wrote and reports whether it could. Values have one
// encoding: others, which are not encoded back to the same bytes, were not written by this
// package. There is room for these in scratch.
func decodeValues(b, scratch []byte) ([]Value, bool) {
	values := make([]Value, 0, 3) // An index's sort key and the table's two.
	for left := b; len(left) > 0; {
		v, rest, ok := cutValue(left)
		if !ok {
			return nil, false
		}
		values, left = append(values, v), rest
	}
	return values, Position{Values: values}.validate() == nil && bytes.Equal(appendValues(scratch, values), b)
}

func cutValue(b []byte) (v Value, rest []byte, ok bool) {
	head, n := binary.Uvarint(b)
	if n <= 0 {
		return Value{}, nil, false
	}
	b = b[n:]
	tag, size := head&tagMask, head>>tagBits

	var at uint64
	var millis int64
	if tag == tagStamped {
		at, n = binary.Uvarint(b)
		if n <= 0 || at > size || len(b)-n < millisSize {
			return Value{}, nil, false
		}
		millis = readMillis(b[n:])
		b = b[n+millisSize:]
	}
	if size > uint64(len(b)) {
		return Value{}, nil, false
	}
	data, rest := b[:size], b[size:]
	if tag == tagStamped {
		return Value{String, insertStamp(data, int(at), millis)}, rest, true
	}
	kinds := [...]byte{tagString: String, tagNumber: Number, tagBinary: Binary}
	return Value{kinds[tag], string(data)}, rest, true
}

// isDecimal reports whether s is a number as DynamoDB writes it: digits with
// an optional sign, fraction and exponent. Precision and range are the
// engine's to judge.
func isDecimal(s string) bool {
	s, ok := cutDigits(strings.TrimPrefix(s, "-"))
	if frac, found := strings.CutPrefix(s, "."); ok && found {
		s, ok = cutDigits(frac)
	}
	if ok && s != "" && (s[0] == 'e' || s[0] == 'E') {
		s = s[1:]
		if s != "" && (s[0] == '+' || s[0] == '-') {
			s = s[1:]
		}
		s, ok = cutDigits(s)
	}
	return ok && s == ""
}

// cutDigits cuts the leading digits off and reports whether there were any.
func cutDigits(s string) (rest string, ok bool) {
	rest = strings.TrimLeft(s, "0123456789")
	return rest, len(rest) < len(s)
}
