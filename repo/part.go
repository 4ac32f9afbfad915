package repo

import (
	"fmt"
	"maps"
	"math"
	"reflect"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/table"
)

// A value that was made of a part of an item has a reserved stamp, which no item has:
// a write of it would remove what was not read. Package table knows what is a part, and
// has the view of the repository mark it. Every write refuses the mark.

// partRevision is the revision of a part. It has spaces, so no revision is drawn that is
// equal, and no HTTP ETag can hold it.
const partRevision = "part of an item"

// partVersions are the versions of parts: the first one that the field for it holds. An
// unsigned one holds its greatest number, which no write gives it.
var partVersions = [...]string{"-1", "18446744073709551615", "4294967295", "65535", "255"}

// partStamp returns the mark of a part of a T.
func partStamp(t reflect.Type, attribute string, c counter) types.AttributeValue {
	if c == revised {
		return &types.AttributeValueMemberS{Value: partRevision}
	}
	for _, version := range partVersions {
		if mark := (&types.AttributeValueMemberN{Value: version}); keeps(t, attribute, mark) {
			return mark
		}
	}
	return &types.AttributeValueMemberN{Value: partVersions[0]}
}

// mark marks the value that v points to, of T or of another type.
func (c *core) mark(v any) error {
	name := c.entity.Version
	switch v := v.(type) {
	case *table.Item:
		return c.mark((*map[string]types.AttributeValue)(v))
	case *map[string]types.AttributeValue:
		*v = maps.Clone(*v) // it may be the client's
		(*v)[name] = c.part
		return nil
	}
	if item.Assign(v, name, c.part) {
		return nil
	}
	if err := setAttribute(v, v, name, c.part); err != nil {
		return fmt.Errorf("attribute %q does not take the stamp of a part of an item: %w", name, err)
	}
	return nil
}

// isPart reports whether the value that v points to is marked.
func (c *core) isPart(v any) bool {
	if c.counter == unversioned {
		return false
	}
	if c.field == nil {
		item, err := encode(v)
		return err == nil && c.isPartOf(item)
	}
	switch f := reflect.ValueOf(v).Elem().FieldByIndex(c.field); {
	case f.Kind() == reflect.String:
		//mutants:guard a value that was read in part is not written | TestPartsOfItems | f.String() == partRevision => false
		return f.String() == partRevision
	case f.CanInt():
		return f.Int() == -1
	default:
		return f.Uint() == math.MaxUint64>>(64-f.Type().Bits())
	}
}

// isPartOf reports whether an item is marked.
func (c *core) isPartOf(attributes table.Item) bool {
	return c.counter != unversioned && item.Equal(attributes[c.entity.Version], c.part)
}

// errPart is why a write refuses a part.
var errPart = fmt.Errorf("%w: the value was read in part, and a write of it would remove what was not read; read the whole entity, or use Update",
	table.ErrStale)

// checkWhole refuses the value that v points to if it is a part.
func (c *core) checkWhole(v any) error {
	if c.isPart(v) {
		return fmt.Errorf("%w: %w", errInvalidEntity, errPart)
	}
	return nil
}
