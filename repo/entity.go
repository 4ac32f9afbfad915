package repo

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// Entity describes how values of a Go type are stored in a table. The type
// itself needs nothing but the struct tags of the SDK's attributevalue package.
//
// Type and Key are required. The functions must depend on their argument only;
// they are called from several goroutines at once.
type Entity[T any] struct {
	// Type is written into the type attribute of each item, and looked for when
	// items are read.
	Type string

	// Key gives the key of the entity's item.
	Key func(T) keys.Key
	// Indexes gives the keys under which that item stands in indexes.
	Indexes Indexes[T]

	// Copies are further items that hold the whole entity under other keys.
	// Every write of the entity writes them too, in one transaction. A copy
	// under a key made of an attribute, such as EMAIL#ana@example.com, makes the
	// attribute unique: a second entity with it is [table.ErrExists].
	Copies []Placement[T]

	// Version is the name of a number attribute that counts the writes of an
	// entity and guards them: T has an integer field for it. A write expects
	// the version that the value was read with and stores one more, so that a
	// write of a stale value is [table.ErrStale]. An item without the
	// attribute has version 0. Empty means no versions: the last write wins.
	//
	// An entity that is deleted and created anew begins at version 1 again. A
	// write that has read the former one at the same version, and comes a moment
	// after both, takes the new one for it, and can leave a copy of the new one
	// behind if its key is another. Give entities that come and go ids that are
	// not used again, or copies whose keys do not change.
	//
	// A [table.Update] of the item knows nothing of versions. Where it meets
	// writes of the repository, it must add 1 to the attribute itself, or they
	// do not notice it.
	Version string
}

// Placement is one more item in which an entity is stored.
type Placement[T any] struct {
	// Name is what errors call it, after the entity's type: "USER by email";
	// "copy 1" and so on by default.
	Name string
	// Key gives the key of the item.
	Key func(T) keys.Key
	// Indexes gives the keys under which this item stands in indexes.
	Indexes Indexes[T]
}

// Indexes gives the keys of an item in indexes, by the name of the index. A
// zero key leaves the item out of the index. Each index belongs to one
// placement of an entity, or a query of it would return the entity twice.
type Indexes[T any] map[string]func(T) keys.Key

// ErrInvalidEntity means that the description of an entity cannot be right, or
// does not allow the operation. Nothing was sent.
var ErrInvalidEntity = errors.New("invalid entity")

// EntityError lists what is wrong with the description of an entity. It matches
// [ErrInvalidEntity].
type EntityError struct {
	// Type is the entity's.
	Type     string
	Problems []string
}

// Error lists all problems in one line.
func (e *EntityError) Error() string {
	return fmt.Sprintf("singletable: %v %q: %s", ErrInvalidEntity, e.Type, strings.Join(e.Problems, "; "))
}

// Unwrap returns [ErrInvalidEntity].
func (e *EntityError) Unwrap() error { return ErrInvalidEntity }

// placements returns all items of the entity, the one under Key first.
func (e Entity[T]) placements() []Placement[T] {
	all := []Placement[T]{{Name: e.Type, Key: e.Key, Indexes: maps.Clone(e.Indexes)}}
	for i, c := range e.Copies {
		if c.Name == "" {
			c.Name = "copy " + strconv.Itoa(i+1)
		}
		c.Name, c.Indexes = e.Type+" "+c.Name, maps.Clone(c.Indexes)
		all = append(all, c)
	}
	return all
}

// validate reports everything that is wrong with the description.
func (e Entity[T]) validate(schema table.Schema) error {
	var problems []string
	bad := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }

	if e.Type == "" {
		bad("Type: is empty")
	}
	owner := map[string]string{}
	for i, p := range e.placements() {
		field := "Key"
		if i > 0 {
			field = fmt.Sprintf("Copies[%d].Key", i-1)
		}
		if p.Key == nil {
			bad("%s: is nil", field)
		}
		for _, index := range slices.Sorted(maps.Keys(p.Indexes)) {
			switch first, twice := owner[index]; {
			case twice:
				bad("Indexes: %q is on %s and on %s, and a query of it would return the entity twice", index, first, p.Name)
			case !slices.ContainsFunc(schema.Indexes, func(x table.Index) bool { return x.Name == index }):
				bad("Indexes: the schema has no index %q", index)
			case p.Indexes[index] == nil:
				bad("Indexes[%q]: is nil", index)
			}
			owner[index] = p.Name
		}
	}
	if problem := e.checkVersion(schema); problem != "" {
		bad("Version: %s", problem)
	}
	if len(problems) > 0 {
		return &EntityError{Type: e.Type, Problems: problems}
	}
	return nil
}

// checkVersion tries whether the version attribute finds its way into T and
// back.
func (e Entity[T]) checkVersion(schema table.Schema) string {
	switch e.Version {
	case "":
		return ""
	case schema.PK, schema.SK, schema.Type, schema.TTL:
		return fmt.Sprintf("attribute %q has another use in the schema", e.Version)
	}
	var v T
	if err := setVersion(&v, e.Version, 7); err != nil {
		return fmt.Sprintf("attribute %q: %v", e.Version, err)
	}
	item, err := attributevalue.MarshalMap(v)
	if err != nil {
		return fmt.Sprintf("attribute %q: %v", e.Version, err)
	}
	if n, ok := item[e.Version].(*types.AttributeValueMemberN); !ok || n.Value != "7" {
		return fmt.Sprintf("%T has no integer field for attribute %q", v, e.Version)
	}
	return ""
}

// setVersion stores a version in the field of v that the attribute belongs to.
func setVersion[T any](v *T, attribute string, version int64) error {
	return table.Item{attribute: versionValue(version)}.Decode(v)
}

func versionValue(version int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(version, 10)}
}
