package item

import (
	"cmp"
	"strconv"
	"strings"
)

// Limits of numbers: up to 38 digits, and a magnitude from 1e-130 to 9.99…e125. AWS:
// "Supported data types and naming rules in Amazon DynamoDB", Amazon DynamoDB
// Developer Guide.
const (
	maxDigits   = 38
	minExponent = -129 // 1e-130 is 0.1e-129
	maxExponent = 126
)

// Number is a number as DynamoDB sees it: 0.digits times ten to the power of
// exponent. It shares the memory of the text that it was parsed from.
type Number struct {
	negative bool
	// text reads from the first digit that is not zero to the last one. It may
	// hold the decimal point. It is empty for zero, whose exponent is the written one.
	text     string
	digits   int // those of text
	exponent int
}

// ParseNumber parses the numbers that DynamoDB accepts, whatever their size: a
// sign, digits with at most one point, and an exponent.
func ParseNumber(s string) (d Number, ok bool) {
	mantissa := s
	if e := strings.IndexAny(s, "eE"); e >= 0 {
		exponent, err := strconv.ParseInt(s[e+1:], 10, 32)
		if err != nil {
			return Number{}, false
		}
		mantissa, d.exponent = s[:e], int(exponent)
	}
	if mantissa != "" && (mantissa[0] == '-' || mantissa[0] == '+') {
		d.negative = mantissa[0] == '-'
		mantissa = mantissa[1:]
	}
	point, first, last := len(mantissa), -1, 0
	for i := range len(mantissa) {
		switch c := mantissa[i]; {
		case c == '.' && point == len(mantissa):
			point = i
		case c < '0' || c > '9':
			return Number{}, false
		case c != '0':
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	if digits := len(mantissa) - 1; point == len(mantissa) && digits < 0 || point < len(mantissa) && digits == 0 {
		return Number{}, false // nothing, or a point alone
	}
	if first < 0 {
		return Number{exponent: d.exponent}, true
	}
	d.text, d.digits = mantissa[first:last+1], last+1-first
	if first < point && point < last {
		d.digits--
	}
	before := point - first
	if before < 0 {
		before++ // the point stands between
	}
	d.exponent += before
	return d, true
}

// InRange reports whether DynamoDB can store the number. It takes 0e125 for a zero, and
// refuses 0e126.
func (d Number) InRange() bool {
	exponent := d.exponent
	if d.digits == 0 {
		exponent++ // 0e125 is in the place of 1e125, which is 0.1e126
	}
	return d.digits <= maxDigits && exponent >= minExponent && exponent <= maxExponent
}

// StorableNumber reports whether a number is within DynamoDB's precision and
// range.
func StorableNumber(number string) bool {
	d, ok := ParseNumber(number)
	return ok && d.InRange()
}

// maxNumberSize is the maximum size of a number in bytes.
const maxNumberSize = 21

// Size counts one byte for the exponent, one for two significant digits, which
// are paired from the decimal point on, and one for a minus sign. It is 21 at most.
func (d Number) Size() int {
	if d.digits == 0 {
		return 1
	}
	n := d.digits
	if d.exponent%2 != 0 {
		n++ // the first digit stands alone in its pair
	}
	size := 1 + (n+1)/2
	if d.negative {
		size++
	}
	return min(size, maxNumberSize)
}

func (d Number) sign() int {
	switch {
	case d.digits == 0:
		return 0
	case d.negative:
		return -1
	}
	return 1
}

// figures returns the significant digits.
func (d Number) figures() string { return strings.Replace(d.text, ".", "", 1) }

// plain writes the number without exponent and needless zeros, as DynamoDB
// returns it.
func (d Number) plain() string {
	if d.digits == 0 {
		return "0"
	}
	text, sign := d.figures(), ""
	if d.negative {
		sign = "-"
	}
	switch {
	case d.exponent <= 0:
		text = "0." + strings.Repeat("0", -d.exponent) + text
	case d.exponent >= d.digits:
		text += strings.Repeat("0", d.exponent-d.digits)
	default:
		text = text[:d.exponent] + "." + text[d.exponent:]
	}
	return sign + text
}

// PlainNumber writes a number that DynamoDB stores as DynamoDB returns it: without
// exponent and needless zeros. Other text stays as it is, also a number that
// would take megabytes, such as 1e1000000.
func PlainNumber(s string) string {
	if d, ok := ParseNumber(s); ok && d.InRange() {
		return d.plain()
	}
	return s
}

// CompareNumbers compares two numbers.
func CompareNumbers(a, b string) int {
	d, _ := ParseNumber(a)
	e, _ := ParseNumber(b)
	if sign := d.sign(); sign != e.sign() || sign == 0 {
		return cmp.Compare(sign, e.sign())
	}
	// Digits begin with one that is not zero: they compare like text.
	return d.sign() * cmp.Or(cmp.Compare(d.exponent, e.exponent), strings.Compare(d.figures(), e.figures()))
}
