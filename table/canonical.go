package table

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// sameItem reports whether two items are equal to DynamoDB, which returns
// numbers and sets otherwise than they were written.
func sameItem(a, b Item) bool {
	return bytes.Equal(
		appendCanonical(nil, &types.AttributeValueMemberM{Value: a}),
		appendCanonical(nil, &types.AttributeValueMemberM{Value: b}),
	)
}

// appendCanonical appends a form of the value that is the same for two values
// exactly if they are equal to DynamoDB: every part is preceded by its type and
// length.
func appendCanonical(b []byte, value types.AttributeValue) []byte {
	switch v := value.(type) {
	case *types.AttributeValueMemberS:
		return appendText(append(b, 'S'), v.Value)
	case *types.AttributeValueMemberN:
		return appendText(append(b, 'N'), canonicalNumber(v.Value))
	case *types.AttributeValueMemberB:
		return appendText(append(b, 'B'), string(v.Value))
	case *types.AttributeValueMemberBOOL:
		return strconv.AppendBool(append(b, 'b'), v.Value)
	case *types.AttributeValueMemberNULL:
		return append(b, '0')
	case *types.AttributeValueMemberSS:
		return appendSet(append(b, 's'), v.Value)
	case *types.AttributeValueMemberNS:
		numbers := make([]string, len(v.Value))
		for i, n := range v.Value {
			numbers[i] = canonicalNumber(n)
		}
		return appendSet(append(b, 'n'), numbers)
	case *types.AttributeValueMemberBS:
		texts := make([]string, len(v.Value))
		for i, t := range v.Value {
			texts[i] = string(t)
		}
		return appendSet(append(b, 'x'), texts)
	case *types.AttributeValueMemberL:
		b = binary.AppendUvarint(append(b, 'L'), uint64(len(v.Value)))
		for _, e := range v.Value {
			b = appendCanonical(b, e)
		}
		return b
	case *types.AttributeValueMemberM:
		b = binary.AppendUvarint(append(b, 'M'), uint64(len(v.Value)))
		for _, name := range slices.Sorted(maps.Keys(v.Value)) {
			b = appendCanonical(appendText(b, name), v.Value[name])
		}
		return b
	}
	return append(b, '?')
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendSet(b []byte, elements []string) []byte {
	b = binary.AppendUvarint(b, uint64(len(elements)))
	for _, e := range slices.Sorted(slices.Values(elements)) {
		b = appendText(b, e)
	}
	return b
}

// canonicalNumber writes a decimal number as its significant digits and its
// exponent. What is no number stays as it is.
func canonicalNumber(s string) string {
	negative, digits, exponent, ok := parseNumber(s)
	switch {
	case !ok:
		return s
	case digits == "":
		return "0"
	case negative:
		return "-" + digits + "e" + strconv.Itoa(exponent)
	}
	return digits + "e" + strconv.Itoa(exponent)
}

// compareNumbers compares two decimal numbers.
func compareNumbers(a, b string) int {
	negativeA, digitsA, exponentA, _ := parseNumber(a)
	negativeB, digitsB, exponentB, _ := parseNumber(b)
	signA, signB := sign(negativeA, digitsA), sign(negativeB, digitsB)
	if signA != signB || signA == 0 {
		return cmp.Compare(signA, signB)
	}
	// Digits begin with one that is not zero: they compare like text.
	return signA * cmp.Or(cmp.Compare(exponentA, exponentB), cmp.Compare(digitsA, digitsB))
}

func sign(negative bool, digits string) int {
	switch {
	case digits == "":
		return 0
	case negative:
		return -1
	}
	return 1
}

// parseNumber takes a decimal number apart: the number is 0.digits times ten to
// the power of exponent, and digits neither begins nor ends with a zero.
func parseNumber(s string) (negative bool, digits string, exponent int, ok bool) {
	mantissa := s
	if e := strings.IndexAny(s, "eE"); e >= 0 {
		n, err := strconv.Atoi(s[e+1:])
		if err != nil {
			return false, "", 0, false
		}
		mantissa, exponent = s[:e], n
	}
	mantissa = strings.TrimPrefix(mantissa, "+")
	mantissa, negative = strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits = whole + fraction
	if digits == "" || strings.ContainsFunc(digits, notDigit) {
		return false, "", 0, false
	}
	exponent += len(whole)
	significant := strings.TrimLeft(digits, "0")
	exponent -= len(digits) - len(significant)
	return negative, strings.TrimRight(significant, "0"), exponent, true
}

func notDigit(r rune) bool { return r < '0' || r > '9' }
