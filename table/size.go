package table

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Limits in bytes. AWS: "Service, account, and table quotas", Amazon DynamoDB
// Developer Guide.
const (
	maxItemSize        = 400 << 10
	maxTransactionSize = 4 << 20
)

// Size returns the size of the item in bytes as DynamoDB counts it: the UTF-8
// bytes of the attribute names and the sizes of the values. Where AWS says
// "approximately" (numbers), it returns what the service is seen to count.
//
// AWS: "DynamoDB item sizes and formats", Amazon DynamoDB Developer Guide.
func (i Item) Size() int {
	size := 0
	for name, value := range i {
		size += len(name) + valueSize(value)
	}
	return size
}

func valueSize(value types.AttributeValue) int {
	// A list or map counts 3 bytes, and 1 more for each element.
	const container, element = 3, 1
	switch v := value.(type) {
	case *types.AttributeValueMemberS:
		return len(v.Value)
	case *types.AttributeValueMemberN:
		return numberSize(v.Value)
	case *types.AttributeValueMemberB:
		return len(v.Value)
	case *types.AttributeValueMemberBOOL, *types.AttributeValueMemberNULL:
		return 1
	case *types.AttributeValueMemberSS:
		size := 0
		for _, s := range v.Value {
			size += len(s)
		}
		return size
	case *types.AttributeValueMemberNS:
		size := 0
		for _, n := range v.Value {
			size += numberSize(n)
		}
		return size
	case *types.AttributeValueMemberBS:
		size := 0
		for _, b := range v.Value {
			size += len(b)
		}
		return size
	case *types.AttributeValueMemberL:
		size := container
		for _, e := range v.Value {
			size += element + valueSize(e)
		}
		return size
	case *types.AttributeValueMemberM:
		size := container
		for name, e := range v.Value {
			size += element + len(name) + valueSize(e)
		}
		return size
	}
	return 0
}

// numberSize counts one byte for the exponent, one for two significant digits,
// which are paired from the decimal point on, and one for a minus sign.
func numberSize(s string) int {
	negative, digits, exponent, ok := parseNumber(s)
	if !ok || digits == "" {
		return 1
	}
	n := len(digits)
	if exponent%2 != 0 {
		n++ // the first digit stands alone in its pair
	}
	size := 1 + (n+1)/2
	if negative {
		size++
	}
	return size
}

// checkSize refuses an item that DynamoDB would refuse for its size.
func checkSize(size int) error {
	if size > maxItemSize {
		return fmt.Errorf("%w: the item has %d bytes, DynamoDB takes %d", ErrTooLarge, size, maxItemSize)
	}
	return nil
}
