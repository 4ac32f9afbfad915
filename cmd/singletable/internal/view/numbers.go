package view

import (
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/cmd/singletable/internal/quantity"
)

// manyNumbers is how many numbers a list has at least that is shown as a vector: by its
// length and its beginning.
const manyNumbers = 9

// numbersShown is how many numbers of a vector are shown.
const numbersShown = 3

// numbers returns a list of many numbers in one line. It is not ok for other lists.
func numbers(list []types.AttributeValue) (line string, ok bool) {
	if len(list) < manyNumbers {
		return "", false
	}
	var first []string
	for _, e := range list {
		n, ok := e.(*types.AttributeValueMemberN)
		if !ok {
			return "", false
		}
		if len(first) < numbersShown {
			first = append(first, shortNumber(n.Value))
		}
	}
	return quantity.Of(len(list), "number") + ": " + strings.Join(first, ", ") + ", …", true
}

// shortNumber returns a number with at most four decimals. Other numbers than those of
// vectors stay as they are.
func shortNumber(n string) string {
	f, err := strconv.ParseFloat(n, 64)
	if err != nil || len(n) < 8 || !strings.Contains(n, ".") || math.Abs(f) >= 1000 {
		return n
	}
	return strconv.FormatFloat(math.Round(f*1e4)/1e4, 'f', -1, 64)
}

// source is a text of a program, with lists of many numbers apart. A page shows the
// beginning of these, and what is copied has all of them.
type source []sourcePart

// sourcePart is a part of a source.
type sourcePart struct {
	Text    string
	Numbers int // 0 if it is no list of numbers
}

// String returns the whole text.
func (s source) String() string {
	var b strings.Builder
	for _, p := range s {
		b.WriteString(p.Text)
	}
	return b.String()
}

// element is a number as it is written in the JSON of a request or in Go, and manyElements
// several of them in a row.
var (
	element      = regexp.MustCompile(`\{"N": ?"[^"]*"\}|&types\.AttributeValueMemberN\{Value: "[^"]*"\}`)
	manyElements = regexp.MustCompile(`(?:(?:` + element.String() + `), ?)+(?:` + element.String() + `)`)
)

func newSource(text string) source {
	var s source
	plain := 0
	for _, at := range manyElements.FindAllStringIndex(text, -1) {
		n := len(element.FindAllStringIndex(text[at[0]:at[1]], -1))
		if n < manyNumbers {
			continue
		}
		s = append(s, sourcePart{Text: text[plain:at[0]]}, sourcePart{text[at[0]:at[1]], n})
		plain = at[1]
	}
	if plain < len(text) {
		s = append(s, sourcePart{Text: text[plain:]})
	}
	return s
}
