package migrate

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
)

const (
	markPrefix keys.Prefix = "DELETED"
	// markLife is how long a deletion is remembered: longer than any backfill.
	markLife = 30 * 24 * time.Hour
)

// catchUp copies an entity as the old table has it now. It reports whether it was
// copied: not if it is not there, or if the single table has a version as new. The
// error is [ErrDeleted] if a mark says that it was deleted.
func (r *Records[T]) catchUp(ctx context.Context, at T) (copied bool, err error) {
	v, err := r.old(ctx, at)
	if errors.Is(err, table.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	ops, err := r.copyOps(v)
	if err != nil {
		return false, err
	}
	err = r.single.Transact(ctx, ops...)
	switch {
	case failed(err, "mark"):
		return false, ErrDeleted
	case errors.Is(err, table.ErrConditionFailed):
		return false, nil
	}
	return err == nil, err
}

// copyOps returns the ops that store v in all of its items in the single table, unless
// there is a version as new or newer, or the entity was deleted.
func (r *Records[T]) copyOps(v T) ([]table.Op, error) {
	items, err := r.items(v)
	if err != nil {
		return nil, err
	}
	var ops []table.Op
	for _, item := range items {
		ops = append(ops, table.Put(r.single.KeyOf("", item), item))
	}
	stored := expression.Name(r.Entity.Version)
	missing := expression.Name(r.single.Schema().PK).AttributeNotExists()
	ops[0] = ops[0].If(missing.Or(stored.LessThan(expression.Value(*r.Version(&v)))))
	return append(ops, r.notMarked(v)), nil
}

// items returns all items that v has in the single table, the main item first, with
// the version that v has in the old one. A copy without a key is left out.
func (r *Records[T]) items(v T) ([]table.Item, error) {
	fields, err := attributevalue.MarshalMap(v)
	if err != nil {
		return nil, err
	}
	fields[r.single.Schema().Type] = &types.AttributeValueMemberS{Value: r.Entity.Type}
	var items []table.Item
	for _, c := range append([]repo.Copy[T]{{Key: r.Entity.Key, Indexes: r.Entity.Indexes}}, r.Entity.Copies...) {
		if c.Key(v) == (keys.Key{}) {
			continue
		}
		item := maps.Clone(fields)
		places := repo.Indexes[T]{"": c.Key}
		maps.Copy(places, c.Indexes)
		for index, key := range places {
			attributes, err := r.single.IndexKey(index, key(v))
			if err != nil {
				return nil, err
			}
			maps.Copy(item, attributes)
		}
		items = append(items, item)
	}
	return items, nil
}

// deleteOps returns the ops that remove v from the single table, at whatever version,
// and leave the mark that keeps copies from bringing it back.
func (r *Records[T]) deleteOps(v T) ([]table.Op, error) {
	items, err := r.items(v)
	until := r.single.Now().Add(markLife).Unix()
	ops := []table.Op{table.Put(r.markKey(v), map[string]any{"entityType": "DELETED", r.single.Schema().TTL: until})}
	for _, item := range items {
		ops = append(ops, table.Delete(r.single.KeyOf("", item)))
	}
	return ops, err
}

// markKey is the key of the mark of a deletion: DELETED#<kind>#<id> / METADATA.
// It is apart from the entity's items, so that no access pattern meets it.
func (r *Records[T]) markKey(v T) keys.Key {
	return keys.Key{PK: markPrefix.PK(r.Name, r.id(v)), SK: keys.Metadata}
}

func (r *Records[T]) notMarked(v T) table.Op {
	missing := expression.Name(r.single.Schema().PK).AttributeNotExists()
	return table.Check(r.markKey(v), missing).WithName("mark")
}

// failed reports whether the condition of the op of that name did not hold.
func failed(err error, name string) bool {
	op, ok := table.FailedOp(err, name)
	return ok && errors.Is(op, table.ErrConditionFailed)
}
