package view

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/singletable/singletable/cmd/singletable/internal/escape"
)

// text is a text of the table in pieces. Templates escape each of them.
type text struct {
	Pieces []piece
	// Bytes is the length of the whole text if it is cut, 0 otherwise.
	Bytes int
}

// piece is a run of printable characters, or one character that a browser would
// hide, or let act on the text around it.
type piece struct {
	Text string
	// Code is the name of the character that Text stands for, such as U+202E. It is
	// empty for printable text.
	Code string
	// Newline means that the character ends a line.
	Newline bool
}

// The lengths that texts are cut to, in bytes.
const (
	shortText = 96      // in lists
	longText  = 4 << 10 // on the page of an item
)

// newText returns the text, cut to about limit bytes.
func newText(s string, limit int) text {
	var t text
	if len(s) > limit {
		t.Bytes = len(s)
		for limit > 0 && !utf8.RuneStart(s[limit]) {
			limit--
		}
		s = s[:limit]
	}
	plain := 0 // the beginning of the current run
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		invalid := r == utf8.RuneError && size == 1
		if invalid || !strconv.IsPrint(r) {
			if plain < i {
				t.Pieces = append(t.Pieces, piece{Text: s[plain:i]})
			}
			p := piece{Text: escaped(s[i : i+size]), Code: fmt.Sprintf("U+%04X", r), Newline: r == '\n'}
			if invalid {
				p.Code = "a byte that is not UTF-8"
			}
			t.Pieces = append(t.Pieces, p)
			plain = i + size
		}
		i += size
	}
	if plain < len(s) {
		t.Pieces = append(t.Pieces, piece{Text: s[plain:]})
	}
	return t
}

// String returns the pieces as they are shown.
func (t text) String() string {
	var b strings.Builder
	for _, p := range t.Pieces {
		b.WriteString(p.Text)
	}
	if t.Bytes > 0 {
		b.WriteString("…")
	}
	return b.String()
}

// escaped returns the text with every character that is not printable escaped.
func escaped(s string) string { return escape.Text(s, "") }
