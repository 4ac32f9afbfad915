package keys

import (
	"strings"
	"time"
)

// Range says which sort keys of one partition are wanted, in byte order. It is a
// plain value and can be compared with ==.
//
// The zero Range is the whole partition. With Prefix, it is the sort keys that
// begin with Prefix, which ends in '#'. With From, To or both, it is the sort
// keys from From to To, both included; the side that is empty is open. With
// equal From and To, it is that one sort key. Prefix does not go together with
// From and To.
//
// The methods of [Prefix] and [Exactly] build every usual range.
type Range struct {
	Prefix SK
	From   SK
	To     SK
}

// Exactly returns the range that holds sk and nothing else. There is no such
// range for the empty sort key; it makes the range invalid.
func Exactly(sk SK) Range {
	if sk == "" {
		// An empty key must not widen into the whole partition.
		sk = faultEmpty
	}
	return Range{From: sk, To: sk}
}

// All returns the range of the sort keys that have the prefix, then the segments
// of under, then at least one segment more. The item that is named by the
// prefix and under themselves is not part of it.
//
// None.All() is the whole partition.
func (p Prefix) All(under ...Segment) Range {
	return Range{Prefix: p.head(under)}
}

// last is the greatest code point. It is no character, so no text has it.
const last = "\U0010FFFF"

// Starting returns the range of the sort keys that have the prefix, the segments
// of under, and then a segment that begins with text, for a search by the first
// letters of a name. Byte order decides, so names to be found in any spelling
// are stored in one, such as lower case.
//
// With an empty text it is [Prefix.All].
func (p Prefix) Starting(text string, under ...Segment) Range {
	if text == "" {
		return p.All(under...)
	}
	from := p.head(under) + SK(Str(text).text)
	return Range{From: from, To: from + last}
}

// Since returns the range of the sort keys that have the prefix, the segments of
// under, and a time that is not before t. The key segment after under is expected
// to be a [Time] in all keys of the prefix, here and in [Prefix.Until] and
// [Prefix.Between]; these ranges compare bytes and leave other segments where
// their bytes fall.
//
// Like the times of keys, t counts in whole milliseconds; the rest is cut off.
func (p Prefix) Since(t time.Time, under ...Segment) Range {
	head := p.head(under)
	r := Range{From: head + instant(t)}
	if head != "" {
		r.To = head[:len(head)-len(delimiter)] + afterDelimiter
	}
	return r
}

// Until returns the range of the sort keys that have the prefix, the segments of
// under, and a time before t. See [Prefix.Since].
func (p Prefix) Until(t time.Time, under ...Segment) Range {
	head := p.head(under)
	return Range{From: head, To: head + instant(t)}
}

// Between returns the range of the sort keys that have the prefix, the segments
// of under, and a time that is not before a but before b. See [Prefix.Since].
//
// When b is not at least one whole millisecond after a, the range is empty, and
// therefore invalid.
func (p Prefix) Between(a, b time.Time, under ...Segment) Range {
	head := p.head(under)
	r := Range{From: head + instant(a), To: head + instant(b)}
	if r.From == r.To {
		// Equal bounds would mean one exact key. The whole segment is greater
		// than the instant, so that the bounds are seen to be reversed.
		r.From = head + SK(Time(a).text)
	}
	return r
}

// head returns what all sort keys below the prefix and under begin with.
func (p Prefix) head(under []Segment) SK {
	if p == None && len(under) == 0 {
		return ""
	}
	return p.join(under, delimiter)
}

// instant returns the bound that separates the times before t from t itself. It
// lacks the final Z of a time segment: so it is less than every key at t, also
// when that key ends with its time or was written with a finer fraction, and an
// inclusive upper bound still leaves them out.
func instant(t time.Time) SK {
	return SK(strings.TrimSuffix(Time(t).text, "Z"))
}

// Validate reports the first rule that r breaks, as an [*Error]. A range whose
// bounds are reversed breaks one.
func (r Range) Validate() error {
	bounded := r.From != "" || r.To != ""
	switch {
	case r.Prefix != "" && bounded:
		return rangeError(rulePrefixAndBounds, r.Prefix)
	case r.Prefix != "" && !strings.HasSuffix(string(r.Prefix), delimiter):
		return rangeError(rulePrefixOpen, r.Prefix)
	case bounded && r.From == r.To:
		if rule := broken(string(r.From), MaxSK); rule != "" {
			return rangeError(rule, r.From)
		}
		return nil
	}
	for _, edge := range [...]SK{r.Prefix, r.From, r.To} {
		if rule := brokenEdge(edge); rule != "" {
			return rangeError(rule, edge)
		}
	}
	if r.To != "" && r.From > r.To {
		return rangeError(ruleReversed, r.From)
	}
	return nil
}

// Contains reports whether sk lies in the range. An invalid range contains
// nothing.
func (r Range) Contains(sk SK) bool {
	return strings.HasPrefix(string(sk), string(r.Prefix)) &&
		r.From <= sk && (r.To == "" || sk <= r.To) &&
		r.Validate() == nil
}

func rangeError(rule string, edge SK) error {
	return &Error{Part: partRange, Rule: rule, Value: string(edge)}
}

// brokenEdge returns the first rule that a prefix or a bound breaks, or "". An
// edge may stop after a delimiter, where a key may not.
func brokenEdge(edge SK) string {
	switch {
	case edge == "":
		return ""
	case len(edge) > MaxSK:
		return tooLong(MaxSK)
	default:
		return broken(strings.TrimSuffix(string(edge), delimiter), MaxSK)
	}
}
