package keys

import (
	"errors"
	"strings"
)

// ErrInvalid matches every error of this package. It is the ErrInvalid of package
// table as well, which matches all invalid input.
var ErrInvalid = errors.New("invalid")

// Error says which rule a key, a range or a segment breaks.
//
// Keys hold the identifiers of people and of things. The message of an Error
// therefore never contains them, and can be logged; a caller that may see them
// finds them in Value.
type Error struct {
	// Part is what breaks the rule: "partition key", "sort key", "key" (when
	// parsed from another string type), "range", or "segment" with the index in
	// [Parts].
	Part string

	// Rule describes what is wrong, in words meant for people.
	Rule string

	// Value is the key, the edge of the range or the segment that breaks the rule.
	Value string
}

// Error returns the part and the rule, without the value.
func (e *Error) Error() string { return "keys: invalid " + e.Part + ": " + e.Rule }

// Unwrap returns [ErrInvalid].
func (e *Error) Unwrap() error { return ErrInvalid }

// Values of [Error.Part].
const (
	partPK      = "partition key"
	partSK      = "sort key"
	partKey     = "key"
	partRange   = "range"
	partSegment = "segment "
)

// Values of [Error.Rule].
const (
	ruleNothing  = "empty"
	ruleEmpty    = "empty segment"
	ruleUTF8     = "invalid UTF-8"
	ruleYear     = "time with a year outside 0000 to 9999"
	ruleNegative = "negative number"
	ruleTooWide  = "number wider than its segment"
	ruleWidth    = "number with a width outside 1 to 20"

	ruleDelimiter = "'#' in a label or value, which its keys do not escape: two entities could share the key"
	ruleUnsettled = "character whose lower case depends on the version of JavaScript"
	ruleJSNumber  = "number that JavaScript does not store: NaN, or beyond 9007199254740991"

	rulePrefixAndBounds = "prefix together with bounds"

	ruleEscape    = "byte that is not escaped, or a malformed escape"
	ruleNoSegment = "no such segment"
	ruleNotTime   = "not a time"
	ruleNotNumber = "not a number"
	ruleNotInt64  = "number above the range of int64"
)

// A segment that cannot be written is written as one of these faults. No UTF-8
// text has the first byte, so the key itself is invalid, and no other state is
// needed. No byte of a fault is escaped, so a fault that is used as an id is
// still recognized.
const (
	faultEmpty    = "\xffempty"
	faultYear     = "\xffyear"
	faultNegative = "\xffnegative"
	faultTooWide  = "\xfftoo-wide"
	faultWidth    = "\xffwidth"

	faultDelimiter = "\xffdelimiter"
	faultUnsettled = "\xffunsettled"
	faultJSNumber  = "\xffjs-number"
)

// ruleOf returns the rule that a key which is not UTF-8 breaks: that of its first
// fault, if it has one.
func ruleOf(key string) string {
	for segment := range strings.SplitSeq(key, delimiter) {
		switch segment {
		case faultEmpty:
			return ruleEmpty
		case faultYear:
			return ruleYear
		case faultNegative:
			return ruleNegative
		case faultTooWide:
			return ruleTooWide
		case faultWidth:
			return ruleWidth
		case faultDelimiter:
			return ruleDelimiter
		case faultUnsettled:
			return ruleUnsettled
		case faultJSNumber:
			return ruleJSNumber
		}
	}
	return ruleUTF8
}
