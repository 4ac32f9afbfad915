package agent

import (
	"encoding/json"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/table"
)

// plain returns an item as JSON has it: numbers are numbers, sets are arrays, bytes base64.
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
		return json.Number(v.Value)
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

func numbers(set []string) []json.Number {
	all := make([]json.Number, len(set))
	for i, n := range set {
		all[i] = json.Number(n)
	}
	return all
}
