package repo

import (
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// count is what a counter has of an entity.
type count struct {
	// owner is the type of the item that has the number.
	owner, attribute string
	n                int64
	key              keys.Key
}

// counts are those of an entity by the names of the counters.
type counts map[string]count

// contest reports whether another count is in the same item, as one of another type. An item has
// one type: one of the two counts nothing any more.
func (all counts) contest(is count) bool {
	for _, other := range all {
		if other.key == is.key && other.owner != is.owner {
			return true
		}
	}
	return false
}

// countsIn returns what the mark of an item says.
func (c *core) countsIn(attributes table.Item) counts {
	all := counts{}
	in := item.ValueOf(attributes[item.Counted]).Map[item.CountedIn]
	for name, value := range item.ValueOf(in).Map {
		list := item.ValueOf(value).List
		if len(list) < 4 {
			continue
		}
		n, err := strconv.ParseInt(item.ValueOf(list[2]).Text, 10, 64)
		if err == nil {
			all[name] = count{item.Text(list[0]), item.Text(list[1]), n, c.listedKey(list[3:])}
		}
	}
	return all
}

// countedOf returns the key of the main item that a mark is of.
func (c *core) countedOf(attributes table.Item) keys.Key {
	of := item.ValueOf(attributes[item.Counted]).Map[item.CountedOf]
	if list := item.ValueOf(of).List; len(list) > 0 {
		return c.listedKey(list)
	}
	return keys.Key{}
}

// keyList returns a key as it is in marks.
func (c *core) keyList(key keys.Key) ([]types.AttributeValue, error) {
	of, err := c.table.IndexKey("", key)
	switch {
	case err != nil:
		return nil, err
	case c.schema.SK == "":
		return []types.AttributeValue{of[c.schema.PK]}, nil
	}
	return []types.AttributeValue{of[c.schema.PK], of[c.schema.SK]}, nil
}

// listedKey returns the key of a list of [core.keyList].
func (c *core) listedKey(list []types.AttributeValue) keys.Key {
	of := table.Item{c.schema.PK: list[0]}
	if c.schema.SK != "" && len(list) > 1 {
		of[c.schema.SK] = list[1]
	}
	return c.table.KeyOf("", of)
}

// mark returns the attribute that says what was counted of the entity under a key; nil for
// nothing.
func (c *core) mark(key keys.Key, all counts) (types.AttributeValue, error) {
	if len(all) == 0 {
		return nil, nil
	}
	in := make(map[string]types.AttributeValue, len(all))
	for name, is := range all {
		of, err := c.keyList(is.key)
		if err != nil {
			return nil, fmt.Errorf("counter %q: %w", name, err)
		}
		in[name] = &types.AttributeValueMemberL{Value: append([]types.AttributeValue{
			&types.AttributeValueMemberS{Value: is.owner}, &types.AttributeValueMemberS{Value: is.attribute},
			&types.AttributeValueMemberN{Value: strconv.FormatInt(is.n, 10)},
		}, of...)}
	}
	of, err := c.keyList(key)
	return &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{
		item.CountedOf: &types.AttributeValueMemberL{Value: of}, item.CountedIn: &types.AttributeValueMemberM{Value: in},
	}}, err
}

// unlessCounted returns the op that creates an item, with the condition that it replaces no
// expired item that is counted: no record of the stream would say that this has gone. Where the
// main item comes, any mark will do. A copy or claim can replace copies, which have marks, too:
// the key in these tells them from a main item.
func (c *core) unlessCounted(op table.Op, main bool) table.Op {
	if len(c.entity.Counters) == 0 || c.schema.TTLAttribute == "" {
		return op
	}
	none := item.Name(item.Counted).AttributeNotExists()
	if !main {
		key, err := c.keyList(op.Key())
		if err != nil {
			return op // which is refused
		}
		of := item.Name(item.Counted).AppendName(item.Name(item.CountedOf))
		none = of.Equal(expression.Value(&types.AttributeValueMemberL{Value: key})).Not()
	}
	return op.If(none).Guarded(item.Guard{Uncounted: true})
}
