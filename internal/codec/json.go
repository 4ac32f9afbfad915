package codec

import "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

// JSONOf returns valid attributes as DynamoDB's JSON has them, for package json.
func JSONOf(attributes map[string]types.AttributeValue) map[string]any {
	m := make(map[string]any, len(attributes))
	for name, value := range attributes {
		m[name] = jsonOf(value)
	}
	return m
}

func jsonOf(value types.AttributeValue) any {
	switch v := value.(type) {
	case *types.AttributeValueMemberS:
		return map[string]string{"S": v.Value}
	case *types.AttributeValueMemberN:
		return map[string]string{"N": v.Value}
	case *types.AttributeValueMemberB:
		return map[string][]byte{"B": append([]byte{}, v.Value...)} // nil would be null
	case *types.AttributeValueMemberBOOL:
		return map[string]bool{"BOOL": v.Value}
	case *types.AttributeValueMemberNULL:
		return map[string]bool{"NULL": v.Value}
	case *types.AttributeValueMemberSS:
		return map[string][]string{"SS": v.Value}
	case *types.AttributeValueMemberNS:
		return map[string][]string{"NS": v.Value}
	case *types.AttributeValueMemberBS:
		set := make([][]byte, len(v.Value))
		for i, b := range v.Value {
			set[i] = append([]byte{}, b...)
		}
		return map[string][][]byte{"BS": set}
	case *types.AttributeValueMemberL:
		list := make([]any, len(v.Value))
		for i, element := range v.Value {
			list[i] = jsonOf(element)
		}
		return map[string][]any{"L": list}
	case *types.AttributeValueMemberM:
		return map[string]any{"M": JSONOf(v.Value)}
	}
	return nil
}
