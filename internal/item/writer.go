package item

import (
	"encoding/binary"
	"math/big"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/document"
)

// Writer writes the JSON of a request as the input of an operation dictates it.
// Like a [Parser] it knows what goes to DynamoDB and no more: if an input has
// anything else, it is for the SDK to write.
//
// The zero value is ready for use, by one goroutine.
type Writer struct {
	buffer []byte
	// named tells of each list, map and struct that is open whether what is in
	// it has names.
	named   []bool
	strange bool
}

var _ smithy.ShapeSerializer = (*Writer)(nil)

// Reset forgets what was written.
func (w *Writer) Reset() { *w = Writer{buffer: w.buffer[:0], named: w.named[:0]} }

// Bytes returns what was written, until Reset.
func (w *Writer) Bytes() []byte { return w.buffer }

// Complete reports whether everything was written.
func (w *Writer) Complete() bool { return !w.strange }

// next writes what comes before a value: a comma behind another value, and the
// name of a member unless WriteKey or WriteUnion has written one.
func (w *Writer) next(s *smithy.Schema) {
	if len(w.buffer) == 0 {
		return
	}
	switch w.buffer[len(w.buffer)-1] {
	case ':':
		return
	case '{', '[':
	default:
		w.buffer = append(w.buffer, ',')
	}
	if w.named[len(w.named)-1] {
		w.name(s.MemberName())
	}
}

// name writes the name of a member, which is a word.
func (w *Writer) name(s string) {
	w.buffer = append(append(append(w.buffer, '"'), s...), `":`...)
}

func (w *Writer) open(s *smithy.Schema, c byte) {
	w.next(s)
	w.buffer = append(w.buffer, c)
	w.named = append(w.named, c == '{')
}

func (w *Writer) close(c byte) {
	w.buffer = append(w.buffer, c)
	w.named = w.named[:len(w.named)-1]
}

func (w *Writer) text(s string) {
	var ok bool
	w.buffer, ok = appendText(w.buffer, s)
	w.strange = w.strange || !ok
}

// appendText appends a string. It is not ok if s is not UTF-8.
func appendText(b []byte, s string) (to []byte, ok bool) {
	from := len(b) + 1
	b = append(append(append(b, '"'), s...), '"')
	if plain(b[from : from+len(s)]) {
		return b, true
	}
	b = b[:from]
	for i := range len(s) {
		switch c := s[i]; {
		case c == '\n':
			b = append(b, `\n`...)
		case c == '\t':
			b = append(b, `\t`...)
		case c < 0x20:
			const hex = "0123456789abcdef"
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xF])
		case c == '"', c == '\\':
			b = append(b, '\\', c)
		default:
			b = append(b, c)
		}
	}
	return append(b, '"'), utf8.ValidString(s)
}

// plain reports whether a string is all ASCII and needs no escapes.
func plain(s []byte) bool {
	for ; len(s) >= 8; s = s[8:] {
		if word := binary.LittleEndian.Uint64(s); special(word)|word&highs != 0 {
			return false
		}
	}
	for _, c := range s {
		if c < 0x20 || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// WriteString writes a string.
func (w *Writer) WriteString(s *smithy.Schema, v string) {
	w.next(s)
	w.text(v)
}

// WriteBool writes a boolean.
func (w *Writer) WriteBool(s *smithy.Schema, v bool) {
	w.next(s)
	w.buffer = strconv.AppendBool(w.buffer, v)
}

// WriteInt32 writes a number.
func (w *Writer) WriteInt32(s *smithy.Schema, v int32) {
	w.next(s)
	w.buffer = strconv.AppendInt(w.buffer, int64(v), 10)
}

// WriteBlob writes bytes.
func (w *Writer) WriteBlob(s *smithy.Schema, v []byte) {
	w.strange = w.strange || v == nil
	w.next(s)
	w.buffer = appendBinary(w.buffer, v)
}

// WriteStruct opens a struct.
func (w *Writer) WriteStruct(s *smithy.Schema) { w.open(s, '{') }

// CloseStruct closes it.
func (w *Writer) CloseStruct() { w.close('}') }

// WriteList opens a list.
func (w *Writer) WriteList(s *smithy.Schema) { w.open(s, '[') }

// CloseList closes it.
func (w *Writer) CloseList() { w.close(']') }

// WriteMap opens a map.
func (w *Writer) WriteMap(s *smithy.Schema) { w.open(s, '{') }

// WriteKey writes the name of what comes next in a map.
func (w *Writer) WriteKey(_ *smithy.Schema, key string) {
	if w.buffer[len(w.buffer)-1] != '{' {
		w.buffer = append(w.buffer, ',')
	}
	w.text(key)
	w.buffer = append(w.buffer, ':')
}

// CloseMap closes it.
func (w *Writer) CloseMap() { w.close('}') }

// WriteUnion opens an attribute value.
func (w *Writer) WriteUnion(s, variant *smithy.Schema) {
	w.open(s, '{')
	w.name(variant.MemberName())
}

// CloseUnion closes it.
func (w *Writer) CloseUnion() { w.close('}') }

// The following do not occur in what goes to DynamoDB.

func (w *Writer) WriteInt8(*smithy.Schema, int8)               { w.strange = true } //nolint:revive // see above
func (w *Writer) WriteInt16(*smithy.Schema, int16)             { w.strange = true } //nolint:revive // see above
func (w *Writer) WriteInt64(*smithy.Schema, int64)             { w.strange = true } //nolint:revive // see above
func (w *Writer) WriteFloat32(*smithy.Schema, float32)         { w.strange = true } //nolint:revive // see above
func (w *Writer) WriteFloat64(*smithy.Schema, float64)         { w.strange = true } //nolint:revive // see above
func (w *Writer) WriteBigInt(*smithy.Schema, *big.Int)         { w.strange = true } //nolint:revive // see above
func (w *Writer) WriteBigFloat(*smithy.Schema, *big.Float)     { w.strange = true } //nolint:revive // see above
func (w *Writer) WriteTime(*smithy.Schema, time.Time)          { w.strange = true } //nolint:revive // see above
func (w *Writer) WriteDocument(*smithy.Schema, document.Value) { w.strange = true } //nolint:revive // see above
func (w *Writer) WriteNil(*smithy.Schema)                      { w.strange = true } //nolint:revive // see above
