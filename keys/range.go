package keys

import (
	"strings"
	"time"
)

// Range says which sort keys of one partition are wanted, in byte order. It is a
// plain value and can be compared with ==.
//
// The zero Range is the whole partition. With Prefix, it is the sort keys that
// begin with Prefix. With From, To or both, it is the sort keys from From to To,
// both included; the side that is empty is open. With equal From and To, it is
// that one sort key. With From greater than To, it is empty. Prefix does not go
// together with From and To.
//
// The methods of [Prefix] and [Exactly] build every usual range. Write the fields
// yourself for keys of other programs: Range{Prefix: "task#2030-"}.
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
// of under, then at least one segment more. The item whose key is the prefix and
// under alone is not part of it.
//
// None.All() is the whole partition.
func (p Prefix) All(under ...Segment) Range {
	return Range{Prefix: p.head(under)}
}

// Starting returns the range of the sort keys that have the prefix, the segments
// of under, and then a segment that begins with text. It is for a search by the
// first letters of a name. Byte order decides, so store names in one spelling,
// such as lower case, to find them in any.
//
// With an empty text it is [Prefix.All].
func (p Prefix) Starting(text string, under ...Segment) Range {
	return Range{Prefix: p.head(under) + SK(Str(text).text)}
}

// last is the greatest code point. Unicode reserves it, so text does not have it.
const last = "\U0010FFFF"

// Since returns the range of the sort keys that have the prefix, the segments of
// under, and a time that is not before t. The segment after under is expected to
// be a [Time] in all keys of the prefix, here and in [Prefix.Until] and
// [Prefix.Between]. These ranges compare bytes, also those of other segments.
//
// Like the times of keys, t counts in whole milliseconds; the rest is cut off.
func (p Prefix) Since(t time.Time, under ...Segment) Range {
	head := p.head(under)
	r := Range{From: head + instant(t)}
	if head != "" {
		r.To = head + last
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
// The range is empty when b is not at least one whole millisecond after a.
func (p Prefix) Between(a, b time.Time, under ...Segment) Range {
	head := p.head(under)
	r := Range{From: head + instant(a), To: head + instant(b)}
	if r.From == r.To {
		// Equal bounds would mean one exact key. The whole segment is greater
		// than the instant, so the range is empty.
		r.From = head + SK(Time(a).text)
	}
	return r
}

// head returns the beginning of all sort keys below the prefix and under.
func (p Prefix) head(under []Segment) SK {
	if p == None && len(under) == 0 {
		return ""
	}
	return p.join(under, delimiter)
}

// instant returns the bound that separates the times before t from t itself. It
// lacks the final Z of a time segment, so it is less than every key at t. That
// holds for a key that ends with its time, and for one with a finer fraction. An
// inclusive upper bound still excludes them.
func instant(t time.Time) SK {
	return SK(strings.TrimSuffix(Time(t).text, "Z"))
}

// Empty reports whether the range is empty because its From is greater than its
// To, as in Between(t, t). Reading an empty range gives no items, and needs no
// request.
func (r Range) Empty() bool { return r.To != "" && r.From > r.To }

// Validate reports the first rule that r breaks, as an [*Error]. An empty range
// is valid.
func (r Range) Validate() error {
	if r.Prefix != "" && (r.From != "" || r.To != "") {
		return &Error{Part: partRange, Rule: rulePrefixAndBounds, Value: string(r.Prefix)}
	}
	for _, edge := range [...]SK{r.Prefix, r.From, r.To} {
		if edge == "" {
			continue
		}
		if err := check(partRange, string(edge), MaxSK); err != nil {
			return err
		}
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
