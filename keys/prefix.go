package keys

import "cmp"

// Prefix is the first segment of a key. It says what kind of thing the key
// names, and builds the keys and ranges of that kind. It is escaped as every
// other segment is.
type Prefix string

// Prefixes that most services need. Declare others in the same way.
const (
	User  Prefix = "USER"  // a user, and the partition of what belongs to one
	Tx    Prefix = "TX"    // a transaction
	Notif Prefix = "NOTIF" // a notification
	Ide   Prefix = "IDE"   // an idempotency record

	// None writes no prefix. It is for sort keys that begin with a timestamp,
	// and for the range that is the whole partition. A string from outside does
	// not belong right after it: it could spell any other key of the partition.
	None Prefix = ""
)

// PK returns the partition key of the prefix and the ids, in that order. Without
// ids it is the prefix alone. An empty id makes the key invalid.
func (p Prefix) PK(ids ...string) PK {
	b := appendEscaped(make([]byte, 0, usualSize), string(p))
	for i, id := range ids {
		if i > 0 || p != None {
			b = append(b, delimiter...)
		}
		b = appendEscaped(b, cmp.Or(id, faultEmpty)) // A fault has no byte to escape.
	}
	return PK(b)
}

// usualSize is a length that few keys exceed: up to it, a key is one allocation.
const usualSize = 256

// SK returns the sort key of the prefix and the segments, in that order. Without
// segments it is the prefix alone.
func (p Prefix) SK(segs ...Segment) SK {
	sk := p.join(segs, "")
	if sk == "" && len(segs) > 0 {
		// Raw("") alone must not become the valid key of a table that has no
		// sort key.
		return faultEmpty
	}
	return sk
}

// join writes the prefix and the segments, then the tail as it is.
func (p Prefix) join(segs []Segment, tail string) SK {
	b := appendEscaped(make([]byte, 0, usualSize), string(p))
	for i, seg := range segs {
		if i > 0 || p != None {
			b = append(b, delimiter...)
		}
		if seg.text == "" && !seg.nothing {
			seg.text = faultEmpty
		}
		b = append(b, seg.text...)
	}
	return SK(append(b, tail...))
}
