package repo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// maxUpserts bounds how often an entity is created that expires or is deleted
// before it can be updated.
const maxUpserts = 4

// Upsert applies an update to the entity under v's key and returns the stored
// result. If the entity is missing or expired, it stores v first. For a stored
// entity it is one request, whatever the number of callers. Each caller gets
// its own value: of a counter, or the next number of a sequence.
//
// It writes the next version or revision, and has no condition on the stored
// one. An entity with copies, claims or index keys is [table.ErrInvalid], since
// DynamoDB cannot compute these: use [Repo.Update]. So is an attribute that T
// does not have, or that the repository writes itself. After a lost response,
// an update that counts is [table.ErrOutcomeUnknown], and so is any update of
// an entity with an integer version: see [table.DoReturning].
//
// It returns what [Repo.Get] would. An item of an older shape, or which a program of an
// older shape has written since, is upgraded first: see [Repo.Refresh]. An attribute in
// [Upgrade].Writes or Removes is [table.ErrInvalid]. One that a Compatible upgrade only reads
// is not known as such: change it with [Repo.Update], together with what is computed of it.
//
// After the update, the item must still decode into T, and must have the same
// key. Upsert cannot check this: the update is applied. If the item does not
// decode, every later read fails. If its key differs, every other write is
// [ErrOrphan].
//
// AWS: "Update expressions", Amazon DynamoDB Developer Guide.
func (r *Repo[T]) Upsert(ctx context.Context, v T, update expression.UpdateBuilder) (T, error) {
	return value[T](r.core.upsert(ctx, &v, update))
}

func (c *core) upsert(ctx context.Context, v any, update expression.UpdateBuilder) (any, error) {
	key := c.entity.Key(v)
	op, err := c.upsertOp(key, update)
	if err != nil {
		return nil, c.fail("Upsert", key, err)
	}
	present := c.shapes.derives()
	for attempt := 1; ; attempt++ {
		updated, err := c.entity.update(ctx, c.reads, c.withNext(op, present))
		if err == nil || attempt == maxUpserts {
			return updated, err
		}
		switch {
		case errors.Is(err, table.ErrConditionFailed):
			// From the third attempt on, older programs write all the time.
			present, err = c.admit(ctx, key, err, present && attempt == 1)
		case errors.Is(err, table.ErrNotFound), racesCreation(err):
			err = c.send(ctx, c.createOps(v, c.entity.zero()))
			if errors.Is(err, table.ErrExists) {
				err = nil
			}
		default:
			return updated, err
		}
		if err != nil {
			return nil, err
		}
	}
}

// upsertOp returns the op that applies an update to a stored entity.
func (c *core) upsertOp(key keys.Key, update expression.UpdateBuilder) (table.Op, error) {
	if len(c.items) > 1 || len(c.indexAttributes) > 0 || c.entity.Claims != nil {
		return table.Op{}, fmt.Errorf("%w: %q has copies, claims or index keys; use Update", errInvalidEntity, c.entity.Type)
	}
	built, err := expression.NewBuilder().WithUpdate(update).Build()
	if err == nil {
		err = c.checkNames(*built.Update(), built.Names(), func(name string) bool { return c.reserved[name] })
	}
	if err != nil {
		return table.Op{}, fmt.Errorf("%w: update: %w", table.ErrInvalid, err)
	}
	op := table.Update(key, update).IfExists().IfType(c.entity.Type).IfAdmits(c.shapes.current).WithName(c.entity.Type)
	if c.shapes.current > 0 {
		op = op.If(item.Name(c.shapes.attribute).GreaterThanEqual(expression.Value(c.shapes.current)))
	}
	if c.counter == versioned {
		op = op.If(c.counts())
	}
	return op, nil
}

// withNext returns an op that stores the next version too, or another revision. With
// present, the op expects an item of the current shape that no older program has written
// since, and keeps it so. Without, the item says after it that an older one has, and reads
// derive again what upgrades derive, which is right for any item.
func (c *core) withNext(op table.Op, present bool) table.Op {
	var also []string
	if present {
		//mutants:guard an upsert leaves nothing to derive again | TestUpsertOfWhatAnOlderReleaseWrites ./suites/schedules
		also = []string{c.shapes.at}
		op = op.If(item.Name(c.shapes.attribute).Equal(expression.Value(c.shapes.current)).
			And(item.Name(c.shapes.at).Equal(item.Name(c.entity.Version))))
	}
	switch c.counter {
	case versioned:
		return op.WithNextVersion(c.entity.Version, also...)
	case revised:
		return op.WithRevision(c.entity.Version, c.next(stamp{}).revision, also...)
	}
	return op
}

// admit refreshes a stored item whose shape or version the op of an upsert did not
// admit. It returns present, false for an item of a newer shape: what that derives is not
// for this program to store.
func (c *core) admit(ctx context.Context, key keys.Key, refusal error, present bool) (bool, error) {
	failed, ok := table.FailedOp(refusal, "")
	if ok && present && c.shapes.of(failed.Stored) > c.shapes.current {
		return false, nil
	}
	_, err := c.refreshStored(ctx, key)
	return present, err
}

// racesCreation reports whether the conditions of an update have failed and hold by
// now: another writer has created the item in between.
func racesCreation(err error) bool {
	_, refused := errors.AsType[*types.ConditionalCheckFailedException](err)
	return refused && errors.Is(err, table.ErrConflict)
}

// counts is the condition that 1 can be added to the version of a stored item, if it has one.
// One that is NULL or a text is refreshed first.
func (c *core) counts() expression.ConditionBuilder {
	version := item.Name(c.entity.Version)
	return version.AttributeNotExists().Or(version.Between(expression.Value(0), expression.Value(maxVersion)))
}

// checkFilter reports attributes in a filter that T does not have: a filter on a misspelled
// one returns nothing, without an error. It also reports one on an attribute of an upgrade,
// which would miss items that are not upgraded yet.
func (c *core) checkFilter(q table.Query) error {
	if !q.Filter.IsSet() {
		return nil
	}
	built, err := expression.NewBuilder().WithFilter(q.Filter).Build()
	if err != nil {
		return nil // as package table will say
	}
	if err := c.checkNames(*built.Filter(), built.Names(), nil); err != nil {
		return fmt.Errorf("%w: Filter: %w", table.ErrInvalid, err)
	}
	return nil
}

// checkNames reports the first attribute of an expression that items of the
// entity do not have, or that is refused.
func (c *core) checkNames(text string, names map[string]string, refused func(string) bool) error {
	for _, placeholder := range slices.Sorted(maps.Keys(names)) {
		name := names[placeholder]
		switch {
		case !topLevel(text, placeholder):
			continue
		case refused != nil && refused(name):
			return fmt.Errorf("attribute %q is written by the repository", name)
		}
		if err := c.checkName(name); err != nil {
			return err
		}
	}
	return nil
}

// checkName reports an attribute that items of the entity, or some of them, do not have.
func (c *core) checkName(name string) error {
	switch _, upgraded := c.shapes.touched[name]; {
	case upgraded:
		return fmt.Errorf("attribute %q is of an upgrade, which stored items may not have yet; raise OldestShape after a backfill", name)
	case c.known && !c.stores(name):
		return c.unknown(name)
	}
	return nil
}

// stores reports whether items of the entity can have an attribute.
func (c *core) stores(name string) bool {
	_, field := slices.BinarySearch(c.attributes, name)
	return field || c.reserved[name] || name == c.schema.TTL
}

func (c *core) unknown(name string) error {
	return fmt.Errorf("%v has no attribute %q; package table takes any", c.entity.typ, name)
}

// topLevel reports whether a placeholder stands for an attribute of an item, and
// not only for members of one.
func topLevel(text, placeholder string) bool {
	for rest := text; ; {
		before, after, found := strings.Cut(rest, placeholder)
		if !found {
			return false
		}
		longer := after != "" && after[0] >= '0' && after[0] <= '9'
		if !longer && !strings.HasSuffix(before, ".") {
			return true
		}
		rest = after
	}
}
