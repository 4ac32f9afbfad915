package core

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/singletable/singletable/examples/internal/strictjson"
	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/keys"
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

// Publish runs a command: it creates the command and the history of the next version in
// one transaction. The key of the history holds the version, so of many commands for one
// version one succeeds. Records of types without Stream are put in the same transaction;
// the others follow by the stream.
//
// A repeated command with the RequestID of an earlier one has its result.
//
// Errors:
//   - [ErrInvalid], if no record can be called so or have such attributes, or only a
//     sequence creates it.
//   - [table.ErrStale], if the record is at another version.
//   - [ErrNoParent].
//   - [idempotency.ErrPayloadMismatch], if the RequestID was used for another command.
func (t Tenant) Publish(ctx context.Context, c Change) (Record, error) {
	if err := t.entities.given(c); err != nil {
		return Record{}, err // also if the RequestID is that of another command
	}
	return t.once(ctx, c, func(context.Context) (Change, []table.Op, error) { return c, nil, nil })
}

// Members are the fields of a change by their names in JSON, for [strictjson.Object].
func (c *Change) Members() map[string]any {
	return map[string]any{
		"type": &c.Type, "path": (*path)(&c.Ref), "name": &c.Name, "attributes": (*attributes)(&c.Attributes), "version": &c.Version,
	}
}

// UnmarshalJSON implements [json.Unmarshaler].
func (c *Change) UnmarshalJSON(text []byte) error { return strictjson.Object(text, c.Members()) }

// path is the path of a ref, which is an array in JSON.
type path Ref

// UnmarshalJSON implements [json.Unmarshaler].
func (p *path) UnmarshalJSON(text []byte) error {
	var codes []string
	err := json.Unmarshal(text, &codes)
	r := NewRef(p.Type, codes...)
	p.Parents, p.Code = r.Parents, r.Code
	return err
}

// attributes keep their numbers as they are written, until they are prepared.
type attributes map[string]any

// UnmarshalJSON implements [json.Unmarshaler].
func (a *attributes) UnmarshalJSON(text []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	return decoder.Decode((*map[string]any)(a))
}

// once runs the command that change returns, with its ops. Two requests with the same id must
// have the same payload; then the second one has the result of the first. With an id, change is
// called again if what it has read is stale.
func (t Tenant) once(ctx context.Context, payload Change, change func(context.Context) (Change, []table.Op, error)) (Record, error) {
	plan := func(ctx context.Context) (idempotency.Plan[History], error) {
		next, ops, err := t.plan(ctx, change)
		h := History{Record: next, Seq: next.Version}
		return idempotency.Reference(h, h.Key(), ops...), err
	}
	if t.caller.RequestID == "" {
		next, ops, err := t.plan(ctx, change)
		if err == nil {
			err = explain(t.table.Transact(ctx, ops...))
		}
		if err != nil {
			return Record{}, err
		}
		return next, nil
	}
	result, err := idempotency.Do(ctx, t.requests, idempotency.Request{
		Scope: string(keys.None.PK(t.caller.Tenant, t.caller.User)), Key: t.caller.RequestID, Payload: idempotency.JSON(payload),
	}, plan)
	return result.Value.Record, explain(err)
}

// plan reads what a command needs to know, and returns its ops and the record that they
// make.
func (t Tenant) plan(ctx context.Context, change func(context.Context) (Change, []table.Op, error)) (Record, []table.Op, error) {
	c, also, err := change(ctx)
	if err == nil {
		c, err = t.entities.prepare(c)
	}
	old := Record{}
	switch {
	case err != nil:
	case c.Version < 0 || c.Version >= lastVersion:
		err = fmt.Errorf("%w: no record has this version", table.ErrStale)
	case c.Version > 0:
		// The record knows who created it. History is never deleted, so the version
		// still exists when the transaction creates the next one.
		var found History
		found, err = t.Version(ctx, c.Ref, c.Version)
		if errors.Is(err, table.ErrNotFound) {
			err = fmt.Errorf("%w: there is no version %d", table.ErrStale, c.Version)
		}
		old = found.Record
	}
	if err != nil {
		return Record{}, nil, err
	}
	next, ops := t.publishOps(c, old)
	return next, append(ops, also...), nil
}

// publishOps returns the ops of a command, two to four, and the record that they make.
// old is the zero Record for a new one.
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
	ops := t.commands.CreateOps(new(Command{
		Record: asked, Expected: c.Version, Source: t.caller.Source, RequestID: t.caller.RequestID,
	}))
	ops = append(ops, t.history.CreateOps(new(History{Record: next, Seq: next.Version}))...)
	entity := t.entities[c.Type]
	if !entity.Stream {
		ops = append(ops, t.dataOp(next))
	}
	if entity.Tree && len(c.Parents) > 0 {
		parent := histories.key(t.caller.Tenant, NewRef(c.Type, c.Parents...), 1)
		ops = append(ops, table.CheckExists(parent).WithName(opParent))
	}
	return next, ops
}

// dataOp puts the data, unless a later version is stored.
func (t Tenant) dataOp(r Record) table.Op {
	newer := table.If("attribute_not_exists(version) OR version < ?", r.Version)
	return t.data.PutOps(new(Data{r}))[0].If(newer)
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
	return ok && (errors.Is(op, table.ErrConditionFailed) || errors.Is(op, table.ErrExists) || errors.Is(op, table.ErrNotFound))
}
