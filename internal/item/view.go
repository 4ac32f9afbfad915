package item

import "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

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
	// Part is given a pointer to each value that was made of a part of an item: of a
	// projection, or from an index that does not project all attributes. Nil does
	// nothing.
	Part func(v any) error
	// Copy reports whether a value that was read under a key is of a copy that is less than
	// the entity, and so a part, too. stored returns the item that the value was made of. Nil
	// means that no value is.
	Copy func(v any, stored func() map[string]types.AttributeValue, pk, sk string) bool
}
