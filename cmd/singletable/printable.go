package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/singletable/singletable/cmd/singletable/internal/escape"
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
	return plainOrQuoted(text)
}

// plainOrQuoted returns the text as it is if a terminal shows it as it is, and in quotation
// marks otherwise.
func plainOrQuoted(text string) string {
	if quoted := strconv.Quote(text); len(quoted) != len(text)+2 || strings.TrimSpace(text) != text || text == "" {
		return quoted
	}
	return text
}

// oneLine returns the text with its line ends escaped, so that it cannot look
// like a further line of output.
func oneLine(text string) string {
	return strings.ReplaceAll(text, "\n", `\n`)
}

// escaper is a writer for terminals. Texts of an endpoint, a file or the command
// line can hold terminal escapes, and characters that hide or reorder text. It
// writes every character that is not printable as \uXXXX, and bytes that are not
// UTF-8 as \xXX. Line ends and tabs stay. JSON has the same value afterwards.
//
// A character must not be split between two writes.
type escaper struct{ w io.Writer }

func (e escaper) Write(text []byte) (int, error) {
	if _, err := io.WriteString(e.w, escape.Text(string(text), "\n\t")); err != nil {
		return 0, err
	}
	return len(text), nil
}
