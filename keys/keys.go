// Package keys names the items of a single-table design.
//
// In one table that holds every entity of an application, an item is found by
// two strings. The partition key names the group that it belongs to, and the
// sort key its position in that group. This package builds those strings. Two
// different things never get the same key, and keys sort as the values in them
// do.
//
// # Key
//
// A [Key] is a [PK] and an [SK], two plain strings. It can be compared with ==,
// used as a map key and printed. It has no hidden state: the two strings are
// stored as they are.
//
//	profile := keys.Key{PK: keys.User.PK("u-123"), SK: keys.Profile}
//	// USER#u-123 / PROFILE
//
// # Prefix
//
// A key is a sequence of segments with '#' between them. The first is a
// [Prefix], which names the kind of thing. [User], [Tx], [Notif] and [Ide] are
// built in; an application declares its own in the same way:
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
// Within a segment, every byte up to and including '%' (0x25) is written as '%'
// and two upper-case hexadecimal digits. These bytes include '#', the space and
// the control characters. All other bytes stay, so ordinary identifiers are
// stored as they are. Two properties follow, whatever the strings contain:
// different sequences of strings give different keys, and keys sort, byte by
// byte, as the sequences sort. An identifier chosen by a hostile client
// therefore stays inside its own segment.
//
// # Range
//
// A [Range] selects the sort keys of one partition for a query. The prefix of
// [Prefix.All] ends with a whole segment, so the items below TX#1 do not
// include those below TX#10. Time ranges are half-open: they include their
// first instant and exclude their last. A range that ends when it begins is
// empty, and valid.
//
//	keys.Tx.All()                            // every transaction
//	keys.Tx.Between(monday, tuesday)         // monday ≤ t < tuesday
//	Dept.All(keys.Str("engineering"))        // everything below one department
//	keys.Exactly(keys.Profile)               // one sort key
//
// # Validity
//
// Building a key never fails, and so needs no error handling where keys are
// declared. An empty id, or a number or an instant that cannot be written,
// gives a key that is not valid UTF-8. So an empty id never becomes the key
// USER#. [Key.Validate] finds such a key and names the cause. Packages that
// send keys validate them first. The error is an [*Error] and matches
// [ErrInvalid]; its message never holds the key.
//
// # Keys of other programs
//
// A PK or SK that is written as a string, or built with [Raw], may be any key
// that DynamoDB stores: user#, #METADATA#x and A##B too. Validate checks its
// length and that it is UTF-8, nothing else. The prefix of a [Range] may be any
// text as well.
//
// [LabelPrefix] builds the keys of ElectroDB, $service#label_value in JavaScript's lower case,
// and refuses what would give two things one key. [JSLower] and [JSNumber] write text as
// JavaScript does, for keys of other programs that are written as strings.
//
// [Parse] takes apart the keys that this package builds, for debugging, streams
// and migrations. It refuses keys that this package does not build.
//
// All types are plain values, and safe for concurrent use.
//
// # Caveats
//
// Segments do not record their source: Str("007") and Int(7, 3) are the same
// segment, and None.SK(Str("TX")) is Tx.SK(). The promises above hold between
// keys of one shape, so give each shape a prefix of its own.
//
// The promises about escapes and order do not cover Raw segments, labelled values, and
// keys that are written as strings.
package keys

import (
	"strconv"
	"unicode/utf8"
)

// The greatest lengths of keys that DynamoDB stores, in bytes. AWS: "Constraints in
// Amazon DynamoDB", Amazon DynamoDB Developer Guide. Seen:
// nubo-db/dynamodb-conformance, limits/keyLength.test.ts.
const (
	MaxPK = 2048 // of a partition key
	MaxSK = 1024 // of a sort key
)

// Sort keys of items of which a partition holds one.
const (
	Profile  SK = "PROFILE"
	Metadata SK = "METADATA"
)

// delimiter separates the segments of a key.
const delimiter = "#"

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
func (p PK) Validate() error { return check(partPK, string(p), MaxPK) }

// SK is a sort key, as stored. [Prefix.SK] builds it. The empty SK belongs to
// the items of tables and indexes that have no sort key.
type SK string

// Validate reports the first rule that s breaks, as an [*Error]. The empty sort
// key is valid.
func (s SK) Validate() error {
	if s == "" {
		return nil
	}
	return check(partSK, string(s), MaxSK)
}

// check reports the first rule that a key breaks.
func check(part, key string, limit int) error {
	rule := ruleNothing
	switch {
	case key == "":
	case len(key) > limit: // before UTF-8, so that the work is bounded for any input
		rule = "longer than " + strconv.Itoa(limit) + " bytes"
	case !utf8.ValidString(key):
		rule = ruleOf(key)
	default:
		return nil
	}
	return &Error{Part: part, Rule: rule, Value: key}
}
