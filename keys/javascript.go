package keys

import (
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// JSLower returns s in the lower case of JavaScript's String.prototype.toLowerCase, which
// differs from [strings.ToLower] for İ and for a Σ that ends a word. It is for keys that are
// written as strings; [LabelPrefix] calls it for the others.
//
// 55 upper-case letters that are newer than Unicode 15, and a Σ next to a character whose kind
// has changed since, give text that makes a key invalid: Node.js 20, 22 and 24 disagree with
// each other, and with their own first releases, about their lower case. A text that is not
// UTF-8 stays as it is.
func JSLower(s string) string {
	if !utf8.ValidString(s) {
		return s
	}
	b := make([]byte, 0, max(len(s), usualSize))
	for i, r := range s {
		switch {
		case r == 'İ':
			b = append(b, "i̇"...) // The dot is a character of its own.
		case r == 'Σ':
			sigma, settled := lowerSigma(s[:i], s[i+len("Σ"):])
			if !settled {
				return faultUnsettled
			}
			b = utf8.AppendRune(b, sigma)
		//mutants:guard a letter that versions of JavaScript lower differently makes the key invalid | TestLabelledKeysThatCannotBeWritten | unicode.Is(newUpper, r) => false
		case unicode.Is(newUpper, r): // also once Go knows them
			return faultUnsettled
		default:
			b = utf8.AppendRune(b, unicode.ToLower(r))
		}
	}
	return string(b)
}

// newUpper are the letters of Unicode 16 and 17 that have a lower case.
var newUpper = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x1C89, Hi: 0x1C89, Stride: 1},
		{Lo: 0xA7CB, Hi: 0xA7CC, Stride: 1},
		{Lo: 0xA7CE, Hi: 0xA7CE, Stride: 1},
		{Lo: 0xA7D2, Hi: 0xA7D4, Stride: 2},
		{Lo: 0xA7DA, Hi: 0xA7DC, Stride: 2},
	},
	R32: []unicode.Range32{
		{Lo: 0x10D50, Hi: 0x10D65, Stride: 1},
		{Lo: 0x16EA0, Hi: 0x16EB8, Stride: 1},
	},
}

// lowerSigma returns the lower case of a Σ between two texts: the final one after a cased
// letter and not before one, whatever characters without influence are between. Unicode calls
// the rule Final_Sigma. It is not settled if it depends on the version of Unicode.
func lowerSigma(before, after string) (sigma rune, settled bool) {
	influence := func(r rune) bool { return !caseIgnorable(r) }
	i, j := strings.LastIndexFunc(before, influence), strings.IndexFunc(after, influence)
	var left, right rune
	if i >= 0 {
		left, _ = utf8.DecodeRuneInString(before[i:])
	}
	if j >= 0 {
		right, _ = utf8.DecodeRuneInString(after[j:])
	}
	if cased(left) && !cased(right) {
		return 'ς', !changed(left) && !changed(right)
	}
	return 'σ', !changed(left) && !changed(right)
}

// changed reports whether versions of Unicode differ in the influence of r on a Σ: Go's own does
// not know it, or it is ʕ or U+1171E, which have changed their category since version 15.
func changed(r rune) bool {
	return r == 'ʕ' || r == '\U0001171E' || unicode.Is(unicode.Cn, r)
}

func cased(r rune) bool {
	return unicode.In(r, unicode.LC, unicode.Other_Lowercase, unicode.Other_Uppercase)
}

// caseIgnorable reports whether r has Unicode's property Case_Ignorable.
func caseIgnorable(r rune) bool {
	return unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Lm, unicode.Sk) && r != '\U0001171E' ||
		strings.ContainsRune("'.:·\u0387\u055F\u05F4\u2018\u2019\u2024\u2027\uFE13\uFE52\uFE55\uFF07\uFF0E\uFF1A", r)
}

// maxJSInteger is Number.MAX_SAFE_INTEGER. AWS's SDK for JavaScript stores no greater number
// that is a number of JavaScript.
const maxJSInteger = 1<<53 - 1

// JSNumber returns a number as JavaScript writes it into a text: 5, -3, 0.1, 1e-7. The order of
// such texts is not that of the numbers.
//
// NaN, and a number beyond ±9007199254740991, which AWS's SDK for JavaScript does not store,
// give text that makes a key invalid.
func JSNumber(n float64) string {
	switch {
	case !(math.Abs(n) <= maxJSInteger): // also NaN
		return faultJSNumber
	case n == 0:
		return "0" // also of -0
	case math.Abs(n) >= 1e-6:
		return strconv.FormatFloat(n, 'f', -1, 64)
	}
	// The exponent has no leading zero.
	return strings.Replace(strconv.FormatFloat(n, 'e', -1, 64), "e-0", "e-", 1)
}
