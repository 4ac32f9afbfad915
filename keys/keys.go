// Package keys names the items of a single-table design.
//
// In one table that holds every entity of an application, an item is found by
// two strings: the partition key says which group it belongs to, the sort key
// where it stands in that group. This package writes those strings, so that two
// different things never get the same name and so that the order of the names
// is the order of what they stand for.
//
// # Key
//
// A [Key] is a [PK] and an [SK], two plain strings. It can be compared with ==,
// used as a map key and printed. It hides no state: what is seen is what is
// stored.
//
//	profile := keys.Key{PK: keys.User.PK("u-123"), SK: keys.Profile}
//	// USER#u-123 / PROFILE
//
// # Prefix
//
// A key is a row of segments with '#' between them. The first is a [Prefix],
// which says what kind of thing the key names. [User], [Tx], [Notif] and [Ide]
// are built in; an application declares its own in the same way:
//
//	const Order keys.Prefix = "ORDER"
//
//	Order.PK("ACME", "7") // ORDER#ACME#7: a tenant in the partition key
//
// # Segment
//
// After the prefix of a sort key come values of type [Segment]: a string ([Str]),
// an instant ([Time]), a zero-padded number ([Int]), or text that is taken as it
// is ([Raw]).
//
//	keys.Tx.SK(keys.Time(at), keys.Str("tx-abc"))
//	// TX#2024-01-15T10:05:00.000Z#tx-abc
//
// Within a segment every byte up to and including '%' (0x25), and so '#', the
// space and the control characters too, is written as '%' and two upper-case
// hexadecimal digits. All other bytes stand for themselves, which leaves ordinary
// identifiers as they are. Two properties follow, whatever the strings contain:
// different rows of strings give different keys, and keys sort, byte by byte, as
// the rows sort. An identifier chosen by a hostile client therefore stays
// inside its own segment.
//
// # Range
//
// A [Range] says which sort keys of one partition a query wants. Its prefix
// always ends with a whole segment, so the items below TX#1 do not include those
// below TX#10. Time ranges are half-open: they take their first instant and
// leave out their last.
//
//	keys.Tx.All()                            // every transaction
//	keys.Tx.Between(monday, tuesday)         // monday ≤ t < tuesday
//	Dept.All(keys.Str("engineering"))        // everything below one department
//	keys.Exactly(keys.Profile)               // one sort key
//
// # Validity
//
// Building a key never fails, and so needs no error handling where keys are
// declared. What is wrong with a key can be seen in the key itself, and
// [Key.Validate] finds it: an empty segment, too many bytes, text that is not
// UTF-8, a number or an instant that could not be written. Packages that send
// keys validate them first. The error is an [*Error] and matches [ErrInvalid];
// its message never holds the key.
//
// [Parse] takes a key apart again, for debugging, streams and migrations.
//
// All types are plain values: nothing here changes them, and they can be shared
// between goroutines.
//
// # Caveats
//
// Segments do not record what they were made from: Str("007") and Int(7, 3) are
// the same segment, and None.SK(Str("TX")) is Tx.SK(). The promises above hold
// between keys of one shape, so give each shape a prefix of its own.
//
// Raw segments, and keys converted from strings, stand outside the promises
// above, except that Validate looks at them in the same way.
package keys

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// The greatest lengths of keys that DynamoDB stores, in bytes.
const (
	MaxPK = 2048 // of a partition key
	MaxSK = 1024 // of a sort key
)

// Sort keys of items of which a partition holds one.
const (
	Profile  SK = "PROFILE"
	Metadata SK = "METADATA"
)

// delimiter stands between the segments of a key. The byte after it in the
// order of bytes is the least that is greater than all keys below a prefix.
const (
	delimiter      = "#"
	afterDelimiter = "$"
)

// Key names one item of a table.
//
// The zero Key is not valid: it has no partition key.
type Key struct {
	PK PK
	SK SK
}

// Validate reports the first rule that either part of k breaks, as an [*Error].
//
// A key without a sort key is valid here. Whether it fits depends on the table.
func (k Key) Validate() error {
	if err := k.PK.Validate(); err != nil {
		return err
	}
	return k.SK.Validate()
}

// PK is a partition key, as stored. [Prefix.PK] builds it.
type PK string

// Validate reports the first rule that p breaks, as an [*Error].
func (p PK) Validate() error {
	if rule := broken(string(p), MaxPK); rule != "" {
		return &Error{Part: partPK, Rule: rule, Value: string(p)}
	}
	return nil
}

// SK is a sort key, as stored. [Prefix.SK] builds it. The empty SK belongs to
// the items of tables and indexes that have no sort key.
type SK string

// Validate reports the first rule that s breaks, as an [*Error]. The empty sort
// key breaks none.
func (s SK) Validate() error {
	if s == "" {
		return nil
	}
	if rule := broken(string(s), MaxSK); rule != "" {
		return &Error{Part: partSK, Rule: rule, Value: string(s)}
	}
	return nil
}

// broken returns the first rule that a key breaks, or "".
func broken(key string, limit int) string {
	// The length comes first, so that the work is bounded for any input.
	if len(key) > limit {
		return tooLong(limit)
	}
	for segment := range strings.SplitSeq(key, delimiter) {
		if segment == "" {
			return ruleEmpty
		}
		if !utf8.ValidString(segment) {
			return ruleOf(segment)
		}
	}
	return ""
}

func tooLong(limit int) string {
	return "longer than " + strconv.Itoa(limit) + " bytes"
}
