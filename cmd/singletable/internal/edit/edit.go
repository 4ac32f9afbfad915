// Package edit changes single items by hand, as an operator does: a [Plan] shows the
// difference to the stored item, and is applied only if that item is still the one that
// was shown.
//
// An item whose entity has a version attribute is guarded by it, and gets a new version or
// revision, so that services notice the change. Every other item is guarded by all
// attributes that were read. Attributes that a plan does not touch are not written.
//
// Copies of an entity are items of their own. [Editor.PutEntity] and [Editor.DeleteEntity]
// plan for all of them, and [Editor.ApplyAll] writes the plans in one transaction. Claims of
// an entity are items that no plan follows.
package edit

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// ErrChanged means that the stored item is not the one that the plan was made for.
// Nothing was written.
var ErrChanged = errors.New("the stored item was changed in between; nothing was written")

// MaxCompared is how many attributes the guard of an item without a version can have,
// the keys not counted: DynamoDB takes 300 operators in a condition, and each attribute
// needs two. AWS: "Constraints in Amazon DynamoDB", Amazon DynamoDB Developer Guide.
const MaxCompared = 150

// Editor makes and applies plans for items of one table. It is safe for concurrent use.
type Editor struct {
	// table has no TTL: an expired item is a stored item here.
	table   *table.Table
	version func(table.Item) string
}

// New returns an editor. version returns the name of the attribute that guards writes
// of a stored item's entity, and "" if that is unknown; nil means that it always is.
//
// Errors: [table.ErrInvalid] for the schema.
func New(client table.Client, spec schema.Table, version func(table.Item) string) (*Editor, error) {
	spec.TTLAttribute = ""
	tbl, err := table.NewWithClient(client, spec, nil)
	if err != nil {
		return nil, err
	}
	if version == nil {
		version = func(table.Item) string { return "" }
	}
	return &Editor{tbl, version}, nil
}

// Guard is what a plan is conditional on.
type Guard string

// The guards.
const (
	ByVersion Guard = "version"        // the version or revision that was read
	ByAll     Guard = "all attributes" // that were read
	ByMissing Guard = "missing"        // there is no item
)

// Plan is one change of one item, with what was stored when it was made.
type Plan struct {
	Key keys.Key
	// Old is the stored item, nil if it is missing. New is the item as it will be
	// stored, with a new version or revision; nil if it will be deleted.
	Old, New table.Item
	// Differences are in the order of their paths, without the version. There are none
	// if the item is stored already as it should be; Apply then does nothing.
	Differences []Difference
	Guard       Guard
	// Version is the attribute of the guard ByVersion.
	Version string
	// Stale means that the item of a Put has another version than the stored one: it was
	// read before that was written.
	Stale bool
	// Seen names what is stored, for a plan that is made again for an earlier one: equal
	// items have equal names.
	Seen string
	// ReadUnits is what it took to read the item.
	ReadUnits float64

	op table.Op
	// writes means that the op changes something, if it is the version only.
	writes bool
}

// Put plans to store an item. It reads the stored one.
//
// Errors:
//   - [table.ErrInvalid], [table.ErrTooLarge] and keys.ErrInvalid, if DynamoDB would refuse
//     the item. Nothing was sent.
//   - table.ErrInvalid for a stored item that cannot be guarded, since it has more than
//     [MaxCompared] attributes and no version.
//   - those of [table.Get] but [table.ErrNotFound].
func (e *Editor) Put(ctx context.Context, item table.Item) (Plan, error) {
	if err := e.table.CheckItem(item); err != nil {
		return Plan{}, err
	}
	plan, err := e.read(ctx, e.table.KeyOf("", item))
	if err != nil {
		return Plan{}, err
	}
	return e.put(plan, item, nil)
}

// put plans to store an item. The items of an entity get the same version.
func (e *Editor) put(plan Plan, item table.Item, version types.AttributeValue) (Plan, error) {
	var err error
	plan.New = maps.Clone(item)
	plan.Differences = differences(plan.Old, plan.New, plan.Version)
	switch {
	case plan.Guard == ByMissing:
		if name := e.version(item); name != "" {
			plan.Version = name
			_, revision := item[name].(*types.AttributeValueMemberS)
			switch {
			case version != nil:
				plan.New[name] = version
				plan.Differences = differences(nil, plan.New, name)
			case revision:
				// A writer that holds the revision of a deleted item must not meet it again.
				plan.New[name] = &types.AttributeValueMemberS{Value: rand.Text()}
			}
		}
		plan.op, plan.writes = table.Create(plan.Key, plan.New), true
		return plan, nil
	case len(plan.Differences) == 0 && version == nil:
		plan.New = plan.Old
		return plan, nil
	case plan.Guard == ByVersion:
		given := item[plan.Version]
		plan.Stale = given != nil && !Equal(given, plan.Old[plan.Version])
		if version == nil {
			version = next(plan.Old[plan.Version])
		}
		plan.New[plan.Version] = version
	}
	// What the plan does not touch is not written: an attribute that another writer adds
	// in between, which no condition can exclude, stays.
	set := table.Item{}
	for name, v := range plan.New {
		if !Equal(plan.Old[name], v) {
			set[name] = v
		}
	}
	var remove []string
	for _, name := range slices.Sorted(maps.Keys(plan.Old)) {
		if _, stays := plan.New[name]; !stays {
			remove = append(remove, name)
		}
	}
	plan.writes = len(set)+len(remove) > 0
	plan.op, err = e.guarded(table.Patch(plan.Key, set, remove...), plan)
	return plan, err
}

// Delete plans to delete the item under a key. It reads the item.
//
// An attribute that another writer adds in between is deleted with an item that has no
// version: no condition can exclude it.
//
// Errors: those of Put.
func (e *Editor) Delete(ctx context.Context, key keys.Key) (Plan, error) {
	plan, err := e.read(ctx, key)
	if err != nil || plan.Old == nil {
		return plan, err
	}
	plan.Differences, plan.writes = differences(plan.Old, nil, ""), true
	plan.op, err = e.guarded(table.Delete(key), plan)
	return plan, err
}

// Apply writes what the plan says, if the stored item is still as it was.
//
// Errors:
//   - [ErrChanged].
//   - those of [table.Table.Do].
func (e *Editor) Apply(ctx context.Context, plan Plan) error {
	if len(plan.Differences) == 0 {
		return nil
	}
	return changed(e.table.Do(ctx, plan.op))
}

// changed returns the error of a write, as ErrChanged if its condition failed.
func changed(err error) error {
	for _, failed := range []error{table.ErrConditionFailed, table.ErrStale, table.ErrExists, table.ErrNotFound} {
		if errors.Is(err, failed) {
			return fmt.Errorf("%w: %w", ErrChanged, err)
		}
	}
	return err
}

// read begins a plan with what is stored.
func (e *Editor) read(ctx context.Context, key keys.Key) (Plan, error) {
	var tenths atomic.Int64
	ctx = table.WithObserver(ctx, func(_ context.Context, event table.Event) { tenths.Add(int64(event.Capacity * 10)) })
	old, err := table.Get[table.Item](ctx, e.table.Consistent(), key)
	plan := Plan{Key: key, Old: old, ReadUnits: float64(tenths.Load()) / 10}
	switch {
	case errors.Is(err, table.ErrNotFound):
		plan.Old, plan.Guard = nil, ByMissing
	case err != nil:
		return Plan{}, err
	default:
		plan.Guard = ByAll
		if name := e.version(old); name != "" && next(old[name]) != nil {
			plan.Guard, plan.Version = ByVersion, name
		}
	}
	plan.Seen = Seen(plan.Old)
	return plan, nil
}

// next returns the version or revision after a stored one, nil if the value is neither.
func next(stored types.AttributeValue) types.AttributeValue {
	switch v := stored.(type) {
	case *types.AttributeValueMemberS:
		if v.Value != "" {
			return &types.AttributeValueMemberS{Value: rand.Text()}
		}
	case *types.AttributeValueMemberN:
		if n, err := strconv.ParseInt(v.Value, 10, 64); err == nil && n+1 > n {
			return &types.AttributeValueMemberN{Value: strconv.FormatInt(n+1, 10)}
		}
	}
	return nil
}

// IsVersion reports whether a value can be the version or revision of an item.
func IsVersion(v types.AttributeValue) bool { return next(v) != nil }

// guarded adds the guard of a plan to its op.
func (e *Editor) guarded(op table.Op, plan Plan) (table.Op, error) {
	if plan.Guard == ByVersion {
		switch v := plan.Old[plan.Version].(type) {
		case *types.AttributeValueMemberS:
			return op.IfRevision(plan.Version, v.Value), nil
		case *types.AttributeValueMemberN:
			n, err := strconv.ParseInt(v.Value, 10, 64)
			return op.IfVersion(plan.Version, n), err
		}
	}
	spec := e.table.Schema()
	var all []expression.ConditionBuilder
	for _, name := range slices.Sorted(maps.Keys(plan.Old)) {
		if name != spec.PK && name != spec.SK { // The item under the key has these.
			// [expression.Key] takes the whole name. [expression.NameNoDotSplit] reads a[0]
			// as an element of a list.
			all = append(all, expression.Equal(expression.Key(name), expression.Value(plan.Old[name])))
		}
	}
	switch {
	case len(all) > MaxCompared:
		return op, fmt.Errorf("the stored item has %d attributes and no known version, and a condition can compare %d: %w",
			len(all), MaxCompared, table.ErrInvalid)
	case len(all) == 0:
		return op.IfExists(), nil
	case len(all) == 1:
		return op.If(all[0]), nil
	}
	return op.If(expression.And(all[0], all[1], all[2:]...)), nil
}
