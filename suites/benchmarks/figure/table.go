// Package figure writes the figures of the documentation: tables in Markdown, and
// pictures.
package figure

import (
	"errors"
	"os"
	"strings"
)

// Table returns a table in Markdown. The first row is the head, and align is the line
// below it.
func Table(align string, rows ...[]string) string {
	var b strings.Builder
	for i, row := range rows {
		b.WriteString("|")
		for _, cell := range row {
			b.WriteString(strings.TrimRight(" "+cell, " ") + " |")
		}
		b.WriteString("\n")
		if i == 0 {
			b.WriteString(align + "\n")
		}
	}
	return b.String()
}

// WriteInto replaces what a file has between two marks.
func WriteInto(file, begin, end, text string) error {
	old, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(old), begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		return errors.New(file + " does not have the marks " + begin + " and " + end)
	}
	return os.WriteFile(file, []byte(before+begin+text+end+after), 0o644)
}
