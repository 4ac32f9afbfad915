package agent

import (
	"encoding/json"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/table"
)

// plain returns an item as JSON has it: sets are arrays, bytes base64.
func plain(item table.Item) map[string]any {
	all := make(map[string]any, len(item))
	for name, value := range item {
		all[name] = plainValue(value)
	}
	return all
}

func plainValue(value types.AttributeValue) any {
	switch v := value.(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		return number(v.Value)
	case *types.AttributeValueMemberB:
		return v.Value
	case *types.AttributeValueMemberBOOL:
		return v.Value
	case *types.AttributeValueMemberSS:
		return v.Value
	case *types.AttributeValueMemberNS:
		return numbers(v.Value)
	case *types.AttributeValueMemberBS:
		return v.Value
	case *types.AttributeValueMemberL:
		list := make([]any, len(v.Value))
		for i, e := range v.Value {
			list[i] = plainValue(e)
		}
		return list
	case *types.AttributeValueMemberM:
		return plain(v.Value)
	}
	return nil
}

// number returns a number, or its text if it has more digits than programs keep that read a
// number of JSON as one of 64 bits.
func number(text string) any {
	const exact = 15
	if digits := strings.Trim(text, "-"); len(digits) <= exact && json.Valid([]byte(text)) {
		return json.Number(text)
	}
	return text
}

func numbers(set []string) []any {
	all := make([]any, len(set))
	for i, n := range set {
		all[i] = number(n)
	}
	return all
}
