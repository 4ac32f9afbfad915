package keys

import (
	"strconv"
	"strings"
	"time"
)

// Parts is a key taken apart: its segments, with escapes undone. The first is
// the prefix, or the first segment of a key that has none.
type Parts []string

// Parse takes apart a key that [Prefix.PK] or [Prefix.SK] built. It is strict: a
// key that it accepts is valid, and
//
//	parts.Prefix().PK(parts[1:]...)
//
// returns the same text. It refuses every other key with an [*Error], also valid
// ones of other programs: those with an empty segment, or with a byte that this
// package would have escaped.
//
// An [SK] may have [MaxSK] bytes; a [PK], or a string of another type, [MaxPK].
func Parse[K ~string](k K) (Parts, error) {
	part, limit := partKey, MaxPK
	switch any(k).(type) {
	case PK:
		part = partPK
	case SK:
		part, limit = partSK, MaxSK
	}
	key := string(k)
	if err := check(part, key, limit); err != nil {
		return nil, err
	}
	parts := make(Parts, 0, 1+strings.Count(key, delimiter))
	for segment := range strings.SplitSeq(key, delimiter) {
		if segment == "" {
			return nil, &Error{Part: part, Rule: ruleEmpty, Value: key}
		}
		text, ok := unescape(segment)
		if !ok {
			return nil, &Error{Part: part, Rule: ruleEscape, Value: key}
		}
		parts = append(parts, text)
	}
	return parts, nil
}

// Prefix returns the first segment as a prefix, or [None] if the key has no
// prefix.
func (p Parts) Prefix() Prefix {
	if len(p) == 0 {
		return None
	}
	return Prefix(p[0])
}

// Time returns the instant, in UTC, that segment i holds. The segment must be
// one that the function [Time] writes.
func (p Parts) Time(i int) (time.Time, error) {
	text, err := p.at(i)
	if err != nil {
		return time.Time{}, err
	}
	t, err := time.Parse(timeLayout, text)
	// The parser of package time takes a comma for the point, too.
	if err != nil || t.Format(timeLayout) != text {
		return time.Time{}, segmentError(i, ruleNotTime, text)
	}
	return t, nil
}

// Int returns the number that segment i holds: decimal digits, padded with zeros
// or not. A number above the range of int64 is an error.
func (p Parts) Int(i int) (int64, error) {
	text, err := p.at(i)
	if err != nil {
		return 0, err
	}
	if text == "" || strings.Trim(text, "0123456789") != "" {
		return 0, segmentError(i, ruleNotNumber, text)
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, segmentError(i, ruleNotInt64, text)
	}
	return n, nil
}

func (p Parts) at(i int) (string, error) {
	if i < 0 || i >= len(p) {
		return "", segmentError(i, ruleNoSegment, "")
	}
	return p[i], nil
}

func segmentError(i int, rule, text string) error {
	return &Error{Part: partSegment + strconv.Itoa(i), Rule: rule, Value: text}
}

// unescape undoes appendEscaped. It reports false for text that appendEscaped does
// not write.
func unescape(s string) (string, bool) {
	if !escapes(s) {
		return s, true
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c > lastEscaped:
			b.WriteByte(c)
		case c < lastEscaped || i+2 >= len(s):
			return "", false
		default:
			high := strings.IndexByte(hexDigits, s[i+1])
			low := strings.IndexByte(hexDigits, s[i+2])
			code := high<<4 | low
			if high < 0 || low < 0 || code > lastEscaped {
				return "", false
			}
			b.WriteByte(byte(code))
			i += 2
		}
	}
	return b.String(), true
}
