package item

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
)

// whole begins a name in which brackets are hidden. No attribute has such a name, since
// it is not UTF-8.
const whole = "\xff name with brackets: "

var (
	hideBrackets = strings.NewReplacer("[", "\xfe(", "]", "\xfe)")
	showBrackets = strings.NewReplacer("\xfe(", "[", "\xfe)", "]")
)

// Name returns the operand of an attribute in an expression, whatever its name. The
// expression has to be built by package table, which calls [PlainNames].
//
// [expression.Name] reads dots and brackets as a path, and [expression.NameNoDotSplit]
// still reads brackets so. A condition on such a path is always true, or always false.
func Name(attribute string) expression.NameBuilder { return NameAt(attribute, "") }

// NameAt is Name for a place in a list: places are such as [0][2].
func NameAt(attribute, places string) expression.NameBuilder {
	if strings.ContainsAny(attribute, "[]") {
		attribute = whole + hideBrackets.Replace(attribute)
	}
	return expression.NameNoDotSplit(attribute + places)
}

// PlainNames undoes what Name does, in the names of an expression.
func PlainNames(names map[string]string) {
	for placeholder, name := range names {
		if hidden, ok := strings.CutPrefix(name, whole); ok {
			names[placeholder] = showBrackets.Replace(hidden)
		}
	}
}
