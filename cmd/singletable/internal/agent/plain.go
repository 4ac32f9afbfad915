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
		return list(v.Value, number)
	case *types.AttributeValueMemberBS:
		return v.Value
	case *types.AttributeValueMemberL:
		return list(v.Value, plainValue)
	case *types.AttributeValueMemberM:
		return plain(v.Value)
	}
	return nil
}

func list[T any](values []T, plain func(T) any) []any {
	all := make([]any, len(values))
	for i, value := range values {
		all[i] = plain(value)
	}
	return all
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
