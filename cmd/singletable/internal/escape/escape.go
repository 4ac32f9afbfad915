// Package escape writes texts of others so that they cannot act on what shows them.
package escape

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// unseen are characters that count as printable, and are not seen: a text can be hidden in them.
var unseen = []*unicode.RangeTable{unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector}

// Text returns the text with every character that is not printable, or that nothing shows, as
// \n, \t or \uXXXX, and bytes that are not UTF-8 as \xXX. The characters in keep stay as they are. JSON has
// the same value afterwards.
func Text(text, keep string) string {
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[0])
		case strconv.IsPrint(r) && !unicode.In(r, unseen...), strings.ContainsRune(keep, r):
			b.WriteString(text[:size])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		default:
			for _, unit := range utf16.AppendRune(nil, r) {
				fmt.Fprintf(&b, `\u%04x`, unit)
			}
		}
		text = text[size:]
	}
	return b.String()
}
