package keys

import (
	"strconv"
	"time"
)

// Segment is one part of a sort key, in the form in which it is stored. Segments
// can be compared with ==. The zero Segment makes its key invalid, as an empty
// string does.
type Segment struct {
	text string
	// nothing means that text is empty on purpose: the segment is Raw("").
	nothing bool
}

// String returns the segment as it is stored in a key. With it, a number or an
// instant can be an id of a partition key: Prefix("DAY").PK(Time(t).String()).
func (s Segment) String() string { return s.text }

// Str returns a segment that holds any string, escaped. An empty string, or one
// that is not UTF-8, gives a segment that makes its key invalid.
func Str(s string) Segment {
	if !escapes(s) {
		return Segment{text: s}
	}
	return Segment{text: string(appendEscaped(make([]byte, 0, usualSize), s))}
}

// Time returns a segment that holds an instant in UTC to the millisecond, such
// as 2024-01-15T10:05:00.000Z, at one width for all instants. What is below a
// millisecond is cut off, so instants of one millisecond share a segment.
//
// An instant whose year in UTC is outside 0000 to 9999 makes its key invalid.
func Time(t time.Time) Segment {
	t = t.UTC()
	if year := t.Year(); year < 0 || year > 9999 {
		return Segment{text: faultYear}
	}
	return Segment{text: t.Format(timeLayout)}
}

// timeLayout is the form of an instant in a key. Its letter Z is a literal.
const timeLayout = "2006-01-02T15:04:05.000Z"

// maxDigits is the number of digits of the greatest uint64.
const maxDigits = 20

// Integer is any type of whole numbers.
type Integer interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 |
		~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr
}

// Int returns a segment that holds a number in decimal, padded with zeros to the
// width, so that the order of segments is the order of numbers.
//
// A negative number, a number of more digits than the width, and a width outside
// 1 to 20 make their key invalid.
func Int[N Integer](n N, width int) Segment {
	if width < 1 || width > maxDigits {
		return Segment{text: faultWidth}
	}
	if n < 0 {
		return Segment{text: faultNegative}
	}
	digits := strconv.FormatUint(uint64(n), 10)
	if len(digits) > width {
		return Segment{text: faultTooWide}
	}
	const zeros = "00000000000000000000"
	return Segment{text: zeros[:width-len(digits)] + digits}
}

// Raw returns a segment that holds s as it is, also when s is empty. It is for
// keys of tables that other programs write by other rules. A '#' in s separates
// segments, so do not use it for strings that clients choose.
//
//	keys.Prefix("user").SK(keys.Raw("")) // user#
func Raw(s string) Segment { return Segment{text: s, nothing: s == ""} }

// lastEscaped is '%', the greatest of the bytes that are escaped. It is greater
// than the delimiter and begins every escape; that is what keeps the order of
// keys equal to the order of what they hold.
const (
	lastEscaped = '%'
	hexDigits   = "0123456789ABCDEF"
)

// escapes reports whether s has a byte that is escaped.
func escapes(s string) bool {
	for i := range len(s) {
		if s[i] <= lastEscaped {
			return true
		}
	}
	return false
}

// appendEscaped appends s with the bytes up to lastEscaped replaced.
func appendEscaped(b []byte, s string) []byte {
	if !escapes(s) {
		return append(b, s...)
	}
	for i := range len(s) {
		if c := s[i]; c <= lastEscaped {
			b = append(b, '%', hexDigits[c>>4], hexDigits[c&0xF])
		} else {
			b = append(b, c)
		}
	}
	return b
}
