// Package keypattern compares keys with the patterns of a schema.Kind.
package keypattern

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// IsPrefix reports whether a pattern is what keys begin with, and not a whole key.
func IsPrefix(pattern string) bool {
	last, _ := utf8.DecodeLastRuneInString(pattern)
	return !unicode.IsLetter(last) && !unicode.IsDigit(last)
}

// Has reports whether a key is of a pattern.
func Has(pattern, key string) bool {
	if IsPrefix(pattern) {
		return strings.HasPrefix(key, pattern)
	}
	return key == pattern
}
