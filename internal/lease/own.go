package lease

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// The types of what packages backfill and stream store: leases, and what was set aside.
// Their partition keys have the type for a prefix.
const (
	JobType    = "BACKFILL"
	ReaderType = "STREAM"
)

// Owned reports whether an item is one that this package has stored with a type. An entity
// of the program can have the same type. So an attribute tells, too, and for [JobType] and
// [ReaderType] the partition.
func Owned(spec *schema.Table, stored table.Item, itemType string) bool {
	switch {
	case item.Text(stored[spec.TypeAttribute]) != itemType:
		return false
	case itemType == Type: // under a key of the user's
		return stored[revision] != nil
	}
	//mutants:guard backfill: an entity of the type of jobs is no progress | TestEntityOfTheTypeOfJobs ./backfill | stored[asideKey] != nil => true
	//mutants:guard stream: an item of the library is told by its key, too | TestOwnItemsAreNoChanges ./stream | itemType+"#" => ""
	return strings.HasPrefix(item.Text(stored[spec.PK]), itemType+"#") && (stored[revision] != nil || stored[asideKey] != nil)
}

// Check reports why a table cannot hold leases under keys like key: its own attributes
// would overwrite those of a lease, or an index has one of them for a key of another type.
// With aside, the same is true of what is set aside.
func Check(t *table.Table, key keys.Key, aside bool) error {
	samples := []any{&Record[struct{}]{Owner: "-", Until: 1, Revision: "-"}}
	if aside {
		samples = append(samples, &Aside{PK: []byte("-"), SK: []byte("-"), Type: "-", Sequence: "-", EventID: "-", Reason: "-", Millis: 1})
	}
	own, err := t.IndexKey("", key)
	if err != nil {
		return err
	}
	spec := t.Schema()
	for _, sample := range samples {
		value, err := item.Encode(sample)
		if err != nil {
			return err
		}
		attributes := value.(*types.AttributeValueMemberM).Value // of a struct
		for _, name := range slices.Sorted(maps.Keys(attributes)) {
			if slices.Contains([]string{spec.PK, spec.SK, spec.TypeAttribute, spec.TTLAttribute}, name) {
				return fmt.Errorf("%w: the table has the lease's attribute %q for its key, its type or its expiry", table.ErrInvalid, name)
			}
		}
		maps.Copy(attributes, own)
		if err := t.CheckItem(attributes); err != nil {
			return fmt.Errorf("a lease would not be stored: %w", err)
		}
	}
	return nil
}
