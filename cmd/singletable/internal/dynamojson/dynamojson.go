// Package dynamojson reads and writes items in the JSON of the DynamoDB API, such as
// {"name": {"S": "ana"}}. Reading is strict, since what is read is written to tables: it
// refuses what would become another item.
package dynamojson

import (
	"encoding/json"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/table"
)

// Item is an item that package json reads and writes in this form. It is null for nil.
type Item table.Item

// MarshalJSON returns what [Append] appends.
func (i Item) MarshalJSON() ([]byte, error) {
	if i == nil {
		return []byte("null"), nil
	}
	return Append(nil, table.Item(i))
}

// UnmarshalJSON reads attributes. Its errors are those of [Decode].
func (i *Item) UnmarshalJSON(text []byte) error {
	item, _, err := parse(text, (*parser).root)
	*i = Item(item)
	return err
}

// Value is [Item] for one value. It is written only. The zero Value is null.
type Value struct{ types.AttributeValue }

// MarshalJSON returns the value with its type.
func (v Value) MarshalJSON() ([]byte, error) {
	if v.AttributeValue == nil {
		return []byte("null"), nil
	}
	return appendValue(nil, v.AttributeValue)
}

var (
	_ json.Marshaler   = Value{}
	_ json.Unmarshaler = (*Item)(nil)
)
