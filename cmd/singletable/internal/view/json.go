package view

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/singletable/singletable/cmd/singletable/internal/dynamojson"
	"github.com/singletable/singletable/table"
)

// dynamoJSON returns an item as DynamoDB writes it, with the types of the values.
// Characters that are not printable are written as \uXXXX.
func dynamoJSON(item table.Item) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if e.Encode(dynamojson.Item(item)) != nil {
		return "" // Nothing in it can fail.
	}
	return readable(b.String())
}

// scalar is a value with its type, over three lines. A line end is never part of a text
// in JSON.
var scalar = regexp.MustCompile(`\{\n\s*("(?:S|N|B|BOOL|NULL)": [^\n]*)\n\s*\}`)

// manyLines are numbers of a list over several lines, and lineEnd the space between two.
var (
	manyLines = regexp.MustCompile(`\{"N": "[^"\n]*"\}(?:,\n\s*\{"N": "[^"\n]*"\})+`)
	lineEnd   = regexp.MustCompile(`\n\s*`)
)

// readable returns indented JSON with what is not printable as \uXXXX, and with values
// that have no members, and the numbers of a list, in one line.
func readable(text string) string {
	text = scalar.ReplaceAllString(text, "{$1}")
	text = manyLines.ReplaceAllStringFunc(text, func(list string) string { return lineEnd.ReplaceAllString(list, " ") })
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = escaped(line)
	}
	return strings.Join(lines, "\n")
}
