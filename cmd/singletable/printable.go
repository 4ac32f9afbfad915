package main

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The longest text that is shown whole, and how much is shown of a longer one.
const (
	maxShown = 100
	shown    = 60
)

// printable returns the text for a terminal: as it is if that shows it as it is,
// in quotation marks otherwise, and cut if it is long.
func printable(text string) string {
	if utf8.RuneCountInString(text) > maxShown {
		runes := []rune(text)
		return fmt.Sprintf("%s… (%d bytes)", printable(string(runes[:shown])), len(text))
	}
	if quoted := strconv.Quote(text); len(quoted) != len(text)+2 || strings.TrimSpace(text) != text || text == "" {
		return quoted
	}
	return text
}
