package migrate

import (
	"context"
	"errors"
	"maps"
	"slices"
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

// outcome is what came of a copy.
type outcome int

const (
	absent outcome = iota // there is nothing to copy
	copied                // stored
	newer                 // not stored: what is there is as new or newer
	marked                // not stored: it was deleted
)

// catchUp copies an entity as the old table has it now.
func (r *Records[T]) catchUp(ctx context.Context, at T) (outcome, error) {
	v, err := r.old(ctx, at)
	if errors.Is(err, table.ErrNotFound) {
		return absent, nil
	}
	if err != nil {
		return absent, err
	}
	return r.copy(ctx, v)
}

// copy stores v in all of its items in the single table, unless there is a
// version as new or newer, or the entity was deleted.
func (r *Records[T]) copy(ctx context.Context, v T) (outcome, error) {
	ops, err := r.copyOps(v)
	if err != nil {
		return absent, err
	}
	err = r.single.Transact(ctx, ops...)
	switch {
	case err == nil:
		return copied, nil
	case failed(err, "mark"):
		return marked, nil
	case errors.Is(err, table.ErrConditionFailed):
		return newer, nil
	}
	return absent, err
}

// copyOps returns the ops of a copy.
func (r *Records[T]) copyOps(v T) ([]table.Op, error) {
	stored := expression.Name(r.Entity.Version)
	missing := expression.Name(r.single.Schema().PK).AttributeNotExists()
	ops, err := r.putOps(v)
	if err != nil {
		return nil, err
	}
	ops[0] = ops[0].If(missing.Or(stored.LessThan(expression.Value(*r.Version(&v)))))
	return append(ops, r.notMarked(v)), nil
}

// items returns all items that v has in the single table. A copy without a key is left
// out.
func (r *Records[T]) items(v T) []repo.Copy[T] {
	items := append([]repo.Copy[T]{{Key: r.Entity.Key, Indexes: r.Entity.Indexes}}, r.Entity.Copies...)
	return slices.DeleteFunc(items, func(c repo.Copy[T]) bool { return c.Key(v) == keys.Key{} })
}

// putOps returns the ops that store v in the single table as it is, with the
// version that it has in the old one.
func (r *Records[T]) putOps(v T) ([]table.Op, error) {
	fields, err := attributevalue.MarshalMap(v)
	if err != nil {
		return nil, err
	}
	fields[r.single.Schema().Type] = &types.AttributeValueMemberS{Value: r.Entity.Type}
	var ops []table.Op
	for _, p := range r.items(v) {
		item := maps.Clone(fields)
		for index, key := range p.Indexes {
			attributes, err := r.single.IndexKey(index, key(v))
			if err != nil {
				return nil, err
			}
			maps.Copy(item, attributes)
		}
		ops = append(ops, table.Put(p.Key(v), item))
	}
	return ops, nil
}

// deleteOps returns the ops that remove v from the single table, at whatever
// version.
func (r *Records[T]) deleteOps(v T) []table.Op {
	var ops []table.Op
	for _, p := range r.items(v) {
		ops = append(ops, table.Delete(p.Key(v)))
	}
	return ops
}

// markKey is the key of the mark of a deletion: DELETED#<kind>#<id> / METADATA.
// It is apart from the entity's items, so that no access pattern meets it.
func (r *Records[T]) markKey(v T) keys.Key {
	return keys.Key{PK: markPrefix.PK(r.Name, r.ID(v)), SK: keys.Metadata}
}

func (r *Records[T]) mark(v T) table.Op {
	until := r.single.Now().Add(markLife).Unix()
	return table.Put(r.markKey(v), map[string]any{"entityType": "DELETED", r.single.Schema().TTL: until}).WithName("mark")
}

func (r *Records[T]) notMarked(v T) table.Op {
	missing := expression.Name(r.single.Schema().PK).AttributeNotExists()
	return table.Check(r.markKey(v), missing).WithName("mark")
}
