package dynamojson

import (
	"math/big"
	"regexp"
	"strings"
)

// plain are numbers as DynamoDB returns them, and others are further ones that it takes. It
// stores them in the plain form.
var (
	plain  = regexp.MustCompile(`^(?:0|-?(?:[1-9][0-9]*|(?:0|[1-9][0-9]*)\.[0-9]*[1-9]))$`)
	others = regexp.MustCompile(`^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?$`)
)

// longestNumber is how many characters of a number are read, which has at most 38 digits.
const longestNumber = 1000

// Number returns a number as DynamoDB stores and returns it: without exponent and needless zeros.
// A text that is no number that DynamoDB takes stays as it is.
func Number(text string) string {
	if len(text) > longestNumber || plain.MatchString(text) || !others.MatchString(text) {
		return text
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return text
	}
	// The exponent moves the last digit by less than 1,000 places.
	whole := r.FloatString(longestNumber + len(text))
	return strings.TrimSuffix(strings.TrimRight(whole, "0"), ".")
}
