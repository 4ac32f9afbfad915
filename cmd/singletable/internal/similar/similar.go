// Package similar makes searches of vector indexes that begin at a stored item.
package similar

import (
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// To returns a search near an item, in the item's partition of the index. Partition is
// empty if the item has none.
//
// Errors: [table.ErrInvalid], if the item has no vector of finite numbers in the attribute.
// Their number is not checked.
func To(x schema.VectorIndex, item table.Item) (table.Search, error) {
	s := table.Search{Index: x.Name, Partition: textOf(item, x.Partition)}
	list, ok := item[x.Attribute].(*types.AttributeValueMemberL)
	if !ok {
		return s, noVector(x)
	}
	for _, e := range list.Value {
		n, ok := e.(*types.AttributeValueMemberN)
		if !ok {
			return s, noVector(x)
		}
		f, err := strconv.ParseFloat(n.Value, 32)
		if err != nil {
			return s, fmt.Errorf("%w: the vector of the item has a number that is not one of 32 bits", table.ErrInvalid)
		}
		s.Near = append(s.Near, float32(f))
	}
	return s, nil
}

func noVector(x schema.VectorIndex) error {
	return fmt.Errorf("%w: the item has no vector in %s", table.ErrInvalid, x.Attribute)
}

// textOf returns the value of an attribute as a search takes it, "" if the item has none of
// its type.
func textOf(item table.Item, a schema.Attribute) string {
	switch v := item[a.Name].(type) {
	case *types.AttributeValueMemberS:
		if a.Type == "" || a.Type == types.ScalarAttributeTypeS {
			return v.Value
		}
	case *types.AttributeValueMemberN:
		if a.Type == types.ScalarAttributeTypeN {
			return v.Value
		}
	case *types.AttributeValueMemberB:
		if a.Type == types.ScalarAttributeTypeB {
			return string(v.Value)
		}
	}
	return ""
}
