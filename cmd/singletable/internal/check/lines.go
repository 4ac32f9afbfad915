package check

import (
	"encoding/json"
	"fmt"
	"strings"
)

// linesOf returns the lines of the members and elements of a JSON text, by their paths, such as
// entities[0].items[1].indexes.GSI1. A text that is no JSON has the lines up to its fault.
func linesOf(text string) map[string]int {
	r := lineReader{text: text, d: json.NewDecoder(strings.NewReader(text)), lines: map[string]int{}, line: 1}
	r.value("")
	return r.lines
}

type lineReader struct {
	text  string
	d     *json.Decoder
	lines map[string]int
	// line is that of the offset at.
	line int
	at   int64
}

// token reads a token, and counts the lines up to its end.
func (r *lineReader) token() (json.Token, bool) {
	token, err := r.d.Token()
	end := r.d.InputOffset()
	r.line += strings.Count(r.text[r.at:end], "\n")
	r.at = end
	return token, err == nil
}

// value reads a value, and reports whether there is one.
func (r *lineReader) value(path string) bool {
	token, ok := r.token()
	if _, named := r.lines[path]; !named && path != "" {
		r.lines[path] = r.line
	}
	switch token {
	case json.Delim('['):
		for i := 0; ok && r.d.More(); i++ {
			ok = r.value(fmt.Sprintf("%s[%d]", path, i))
		}
	case json.Delim('{'):
		for ok && r.d.More() {
			name, _ := r.token()
			member := strings.TrimPrefix(fmt.Sprintf("%s.%v", path, name), ".")
			r.lines[member] = r.line
			ok = r.value(member)
		}
	default:
		return ok
	}
	if ok {
		_, ok = r.token() // The closing bracket.
	}
	return ok
}
