package item

import (
	"reflect"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// View is what the reads of a table do with the items of one type, before they are
// values. It is what package repo tells package table, and no part of the API.
type View struct {
	// Type is what the items have in the type attribute of the table.
	Type string
	// Shape is the shape that the program knows: the number in the shape attribute of
	// the table, 0 where it is missing.
	Shape int
	// Change is given every item of another shape, as a whole. It changes the item, and
	// with it the number of its shape, or the next reader that is given the item would
	// change it again. It is called by several goroutines at once.
	Change func(item map[string]types.AttributeValue, shape int) error
	// Version and At name two attributes, or nothing. An item of this shape in which they
	// differ is given to Change, too: a program of an older shape has written it.
	Version, At string
	// Attributes are those that Change can touch. A filter on one of them, and an index
	// that does not project all attributes, are refused, since they would miss items or
	// misread them. With a projection, items are read as a whole and cut afterwards.
	Attributes []string
	// Whole is the Go type of whole entities. A read that gives less than all of an item is
	// not read into it. Nil means any type may be less.
	Whole reflect.Type
	// Check is given a pointer to each value of the type Whole, and the key of its item. Its
	// error says why that is less than the entity. Nil means that no item is.
	Check func(v any, pk, sk string) error
}
