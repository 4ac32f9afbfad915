package table

import (
	"cmp"
	"fmt"
	"reflect"
	"unicode/utf8"

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
	size, _ := i.measure()
	return size
}

// measure returns the size of the item, and why it cannot be stored as it is.
func (i Item) measure() (size int, err error) {
	for name, value := range i {
		n, fault := measure(value)
		switch {
		case fault != "":
		case name == "":
			fault = "has an empty name"
		case !utf8.ValidString(name):
			fault = "has a name that is not UTF-8"
		}
		if fault != "" && err == nil {
			err = fmt.Errorf("attribute %q %s", name, fault)
		}
		size += len(name) + n
	}
	return size, err
}

// What cannot be stored: the SDK leaves out nils in some places, and replaces
// what is not UTF-8.
const (
	hasNil     = "is nil, or has a nil inside"
	hasNoUTF8  = "is or has a string that is not UTF-8"
	hasNoValue = "is of no known type"
)

// measure returns the size of a value, and why it cannot be stored as it is.
func measure(value types.AttributeValue) (size int, fault string) {
	if value == nil || reflect.ValueOf(value).IsNil() {
		return 0, hasNil
	}
	// A list or map counts 3 bytes, and 1 more for each element.
	const container, element = 3, 1
	add := func(n int, f string) {
		size += n
		fault = cmp.Or(fault, f)
	}
	switch v := value.(type) {
	case *types.AttributeValueMemberS:
		return textSize(v.Value)
	case *types.AttributeValueMemberN:
		return numberSize(v.Value), ""
	case *types.AttributeValueMemberB:
		return len(v.Value), ""
	case *types.AttributeValueMemberBOOL, *types.AttributeValueMemberNULL:
		return 1, ""
	case *types.AttributeValueMemberSS:
		for _, s := range v.Value {
			add(textSize(s))
		}
	case *types.AttributeValueMemberNS:
		for _, n := range v.Value {
			size += numberSize(n)
		}
	case *types.AttributeValueMemberBS:
		for _, b := range v.Value {
			size += len(b)
		}
	case *types.AttributeValueMemberL:
		size = container + element*len(v.Value)
		for _, e := range v.Value {
			add(measure(e))
		}
	case *types.AttributeValueMemberM:
		size = container + element*len(v.Value)
		for name, e := range v.Value {
			add(textSize(name))
			add(measure(e))
		}
	default:
		return 0, hasNoValue
	}
	return size, fault
}

func textSize(s string) (size int, fault string) {
	if !utf8.ValidString(s) {
		fault = hasNoUTF8
	}
	return len(s), fault
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
