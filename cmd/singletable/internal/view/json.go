package view

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/table"
)

// maxSeconds is the last second that a time can be written for: the end of year 9999.
const maxSeconds = 253402300799

// wholeSeconds returns a number of seconds since 1970.
func wholeSeconds(number string) (int64, bool) {
	f, err := strconv.ParseFloat(number, 64)
	if err != nil || f < 0 || f > maxSeconds {
		return 0, false
	}
	return int64(f), true
}

// dynamoJSON returns an item as DynamoDB writes it, with the types of the values.
// Characters that are not printable are written as \uXXXX.
func dynamoJSON(item table.Item) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if e.Encode(members(item)) != nil {
		return "" // Nothing in it can fail.
	}
	return readable(b.String())
}

// readable returns JSON of several lines with what is not printable as \uXXXX.
func readable(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = escaped(line)
	}
	return strings.Join(lines, "\n")
}

func members(m map[string]types.AttributeValue) map[string]any {
	all := make(map[string]any, len(m))
	for name, v := range m {
		all[name] = typed(v)
	}
	return all
}

// typed returns a value with its type, for package json.
func typed(v types.AttributeValue) map[string]any {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return map[string]any{"S": v.Value}
	case *types.AttributeValueMemberN:
		return map[string]any{"N": v.Value}
	case *types.AttributeValueMemberB:
		return map[string]any{"B": v.Value}
	case *types.AttributeValueMemberBOOL:
		return map[string]any{"BOOL": v.Value}
	case *types.AttributeValueMemberNULL:
		return map[string]any{"NULL": v.Value}
	case *types.AttributeValueMemberSS:
		return map[string]any{"SS": v.Value}
	case *types.AttributeValueMemberNS:
		return map[string]any{"NS": v.Value}
	case *types.AttributeValueMemberBS:
		return map[string]any{"BS": v.Value}
	case *types.AttributeValueMemberL:
		all := make([]any, len(v.Value))
		for i, e := range v.Value {
			all[i] = typed(e)
		}
		return map[string]any{"L": all}
	case *types.AttributeValueMemberM:
		return map[string]any{"M": members(v.Value)}
	}
	return nil
}
