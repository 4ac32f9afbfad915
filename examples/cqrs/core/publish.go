package core

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/singletable/singletable/table"
)

// Change is what a command is to make of a record: its name and its attributes,
// as a whole.
type Change struct {
	Ref
	Name       string         `dynamodbav:"name"`
	Attributes map[string]any `dynamodbav:"attributes"`
	// Version is that of the record which the caller has seen; 0 for a new one.
	Version int64 `dynamodbav:"version"`
}

// Publish carries a command out: it creates the command and the history of the next
// Version in one transaction. The key of the history holds the version, so of many
// commands for one version one is carried out. Another version than the record's is
// [table.ErrStale], and nothing is written. The read model follows by the stream.
func (t Tenant) Publish(ctx context.Context, c Change) (Record, error) {
	old := Record{}
	if err := c.check(); err != nil {
		return old, err
	}
	if c.Version != 0 {
		// The record knows who created it. History is never deleted, so the version
		// still exists when the transaction creates the next one.
		found, err := t.Version(ctx, c.Ref, c.Version)
		switch {
		case c.Version < 0, errors.Is(err, table.ErrNotFound):
			return old, fmt.Errorf("%w: there is no version %d", table.ErrStale, c.Version)
		case err != nil:
			return old, err
		}
		old = found.Record
	}
	next, ops := t.publishOps(c, old)
	if err := t.table.Transact(ctx, ops...); err != nil {
		return Record{}, explain(err)
	}
	return next, nil
}

// publishOps returns the ops of a command, two or three, and the record that
// they make. old is the zero Record for a new one.
func (t Tenant) publishOps(c Change, old Record) (Record, []table.Op) {
	now := t.table.Now().UTC()
	next := Record{
		ID: recordID(t.caller.Tenant, c.Ref), Code: c.Code, Name: c.Name, Parents: c.Parents,
		TenantCode: t.caller.Tenant, Type: c.Type, Version: c.Version + 1, Attributes: c.Attributes,
		CreatedBy: t.caller.User, CreatedAt: now, CreatedIP: t.caller.IP,
		UpdatedBy: t.caller.User, UpdatedAt: now, UpdatedIP: t.caller.IP,
	}
	asked := next // the command is created now, whatever the age of the record
	if c.Version > 0 {
		next.CreatedBy, next.CreatedAt, next.CreatedIP = old.CreatedBy, old.CreatedAt, old.CreatedIP
	}
	ops := t.commands.CreateOps(new(Command{Record: asked, Expected: c.Version}))
	ops = append(ops, t.history.CreateOps(new(History{Record: next, Seq: next.Version}))...)
	if k, _ := kindOf(c.Type); k.tree && len(c.Parents) > 0 {
		parent := histories.key(t.caller.Tenant, NewRef(c.Type, c.Parents...), 1)
		ops = append(ops, table.Check(parent, expression.AttributeExists(expression.Name("version"))).WithName(opParent))
	}
	return next, ops
}

const opParent = "parent"

// explain says what of a command made its transaction fail.
func explain(err error) error {
	if failed(err, opParent) {
		return fmt.Errorf("%w: %w", ErrNoParent, err)
	}
	if errors.Is(err, table.ErrExists) {
		return fmt.Errorf("%w: %w", table.ErrStale, err) // the version that it makes
	}
	return err
}

// failed reports whether an op of that name failed its condition in a
// transaction.
func failed(err error, name string) bool {
	op, ok := table.FailedOp(err, name)
	return ok && errors.Is(op, table.ErrConditionFailed)
}
