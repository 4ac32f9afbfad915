// Package shell writes command lines for people to paste.
package shell

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Quote returns the words as a line for bash, zsh and ksh. A word with a character that
// is not printable becomes $'…', so that the line can be shown in a terminal and has the
// same value when it is pasted.
func Quote(words ...string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = quote(word)
	}
	return strings.Join(quoted, " ")
}

func quote(word string) string {
	plain, safe := true, word != ""
	for i, r := range word {
		if !strconv.IsPrint(r) || r == utf8.RuneError && word[i] != "\ufffd"[0] {
			plain = false
		}
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		// At the beginning of a word, zsh replaces = and the name of a command.
		safe = safe && (letter || strings.ContainsRune("-_./:@%+,", r) || r == '=' && i > 0)
	}
	switch {
	case safe:
		return word
	case plain:
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	var b strings.Builder
	b.WriteString("$'")
	for i := range len(word) {
		// An octal escape has three digits at most, so what follows is not part of it.
		switch c := word[i]; {
		case c == '\'' || c == '\\':
			b.WriteString(`\` + string(c))
		case c >= ' ' && c <= '~':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, `\%03o`, c)
		}
	}
	b.WriteString("'")
	return b.String()
}
