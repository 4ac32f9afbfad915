package repo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"reflect"
	"slices"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// Patch is a change of attributes of an entity, by the names that T's tags give them. An
// attribute is in one of Set, Add and Remove.
//
// It is [table.ErrInvalid], and nothing is sent, if T has no such attribute or its field does
// not hold the value; and for the Version, the expiry, the type, the attributes that Key reads,
// those of Counted, and those that an upgrade writes or removes. New finds out what Key reads with two samples:
// have Key read attributes as they are, since what reads a part of one, as n/10, can hide it.
//
// Attributes have the names of T's tags: one that another program has stored in other letters,
// "N" for "n", is not seen. [Repo.Update] sees it.
type Patch struct {
	// Set gives attributes other values. They are stored as T's fields are, by type and tag: a
	// value that the field leaves out, such as an empty text with omitempty, is removed, and so is an
	// empty set. A slice is stored as a set only if its field has the tag option stringset, numberset
	// or binaryset. Nil is the zero value of the field. A map or struct is replaced as a whole, also the members
	// that T does not have; [Repo.Update] keeps these.
	Set map[string]any
	// Add adds to numbers, of which a missing one is 0, and adds members to sets. A sum that
	// the integer field does not hold is [table.ErrConditionFailed], as is one with a number that
	// is stored as NULL. DynamoDB refuses to add to what is stored as another type. AWS: "Update
	// expressions", Amazon DynamoDB Developer Guide.
	Add map[string]any
	// Remove removes attributes. They are read as the zero values of their fields.
	Remove []string
	// If is a condition on the stored entity. One that does not hold is
	// [table.ErrConditionFailed].
	If expression.ConditionBuilder
	// IfRevision or IfVersion is the revision or version that the entity has, as from an If-Match
	// header. With another one, or none, the patch is [table.ErrStale]. The zero value means any.
	IfRevision string
	IfVersion  int64
}

// Patch changes the entity under its key by one request, without a read, and returns it as it is
// after that. It writes the next version or revision. What another writer has changed of other
// attributes stays.
//
// The item must be there and have the entity's type. One of an older shape is refreshed first,
// which takes further requests: see [Repo.Refresh]. It stays refreshed if the patch is refused. An item of a newer shape that admits this
// program is patched. After a Set or Remove, reads compute again what a Compatible upgrade
// computes. After an Add alone they do not: do not add to what an upgrade reads.
//
// Errors:
//   - [table.ErrInvalid], for a patch that [Patch] excludes, and for an entity with Indexes,
//     Copies, Claims or Counters, which DynamoDB cannot compute, or whose T is a map or makes its
//     attributes itself: use [Repo.Update] or [Repo.UpdateWith].
//   - [table.ErrNotFound], [table.ErrWrongType] and [table.ErrNewerShape], for what is stored.
//   - [table.ErrStale] and [table.ErrConditionFailed]: see [Patch].
//   - [ErrOrphan], if the item is of the type but is not the entity's own, such as a former
//     copy. It is changed.
//   - [table.ErrOutcomeUnknown], after a lost response, if the stored revision does not prove
//     that the patch took effect. A patch with an Add, or of an entity with an integer
//     version, is not sent again then.
//
// AWS: "Update expressions", Amazon DynamoDB Developer Guide.
func (r *Repo[T]) Patch(ctx context.Context, key keys.Key, p Patch) (T, error) {
	return value[T](r.core.patch(ctx, "Patch", key, p, nil))
}

// PatchOps returns the op of [Repo.Patch], for a transaction. It does not refresh: for an item
// of an older shape it fails with [table.ErrStale], and for one whose version is NULL, or has
// another type than the field, with [table.ErrConditionFailed]. It does not see what Patch sees
// after the write, that an item is no main item: give it the key of one.
func (r *Repo[T]) PatchOps(key keys.Key, p Patch) []table.Op {
	op, _, err := r.core.patchOp(key, p, false)
	if err != nil {
		return r.core.refused(err)
	}
	return []table.Op{op}
}

// Upsert is [Repo.Patch] of the entity under v's key. If that is missing or expired, it
// stores v first, which stays if the patch is refused then. So it creates or counts: each caller
// gets its own value of a counter.
func (r *Repo[T]) Upsert(ctx context.Context, v T, p Patch) (T, error) {
	return value[T](r.core.patch(ctx, "Upsert", r.core.entity.Key(&v), p, &v))
}

// maxPatches bounds how often an entity is refreshed, or created, before it is patched.
const maxPatches = 4

// patch is [Repo.Patch], and [Repo.Upsert] of a value to create.
func (c *core) patch(ctx context.Context, name string, key keys.Key, p Patch, create any) (any, error) {
	keep := c.shapes.derives() && len(p.Set)+len(p.Remove) == 0
	for attempt := 1; ; attempt++ {
		op, next, err := c.patchOp(key, p, keep)
		if err != nil {
			return nil, c.fail(name, key, err)
		}
		v, err := c.entity.update(ctx, c.reads, op)
		switch {
		case err == nil && c.entity.Key(v) != key:
			return nil, c.fail(name, key, fmt.Errorf("%w: it was patched, and gives another key", ErrOrphan))
		case err == nil:
			return v, nil
		case errors.Is(err, table.ErrOutcomeUnknown) && next.revision != "":
			//mutants:guard a patch whose response was lost is known by its revision | TestPatchWithALostResponse
			if s, unread := c.loadMain(ctx, key); unread == nil && s.stamp == next {
				return s.v, nil
			}
		case attempt < maxPatches:
			err = c.readmit(ctx, key, err, &keep, &p, create)
			keep = keep && attempt == 1 // later, older programs write all the time
		}
		if err != nil {
			return nil, c.named(name, key, err)
		}
	}
}

// readmit has a patch that was refused succeed the next time: it creates the entity, or refreshes
// it. It returns the refusal if that would not help, as if the caller's own conditions have failed,
// and clears keep for an item of a newer shape: what that derives is not for this program to store.
// A refresh of the revision or version that the patch expects gives it the next one to expect.
func (c *core) readmit(ctx context.Context, key keys.Key, err error, keep *bool, p *Patch, create any) error {
	refusal, refused := errors.AsType[*types.ConditionalCheckFailedException](err)
	if !refused {
		return err
	}
	var stored table.Item
	if failed, ok := table.FailedOp(err, ""); ok {
		stored = failed.Stored
	}
	unmet, stale := errors.Is(err, table.ErrConditionFailed), errors.Is(err, table.ErrStale)
	shape, version := c.shapes.of(stored), item.ValueOf(stored[c.entity.Version])
	own := (unmet || stale) && shape < c.shapes.current ||
		unmet && c.counter == versioned && (stored == nil || version.Kind == item.NULL) ||
		unmet && c.counter != unversioned && c.checkStamp(stored) != nil ||
		unmet && *keep && (shape != c.shapes.current || !item.Equal(stored[c.shapes.at], stored[c.entity.Version]))
	switch {
	case errors.Is(err, table.ErrNotFound) && create != nil:
		if err = c.commit(ctx, c.createOps(create, c.entity.zero())); errors.Is(err, table.ErrExists) {
			return nil
		}
	case own && (stored != nil || refusal.Item != nil): // middleware may have changed it
		if *keep && shape > c.shapes.current {
			*keep = false
			return nil
		}
		return c.refreshExpected(ctx, key, p)
	//mutants:guard an item that was created after an upsert was refused does not refuse it | TestUpsertIsBounded
	case refusal.Item == nil && !stale && (unmet || errors.Is(err, table.ErrConflict)):
		return nil // there was no item
	}
	return err
}

// refreshExpected refreshes an item for a patch, unless the patch expects another revision or
// version than it has.
func (c *core) refreshExpected(ctx context.Context, key keys.Key, p *Patch) error {
	expected := stamp{revision: p.IfRevision, version: p.IfVersion}
	if expected == (stamp{}) {
		_, err := c.refreshStored(ctx, key)
		return err
	}
	//mutants:guard a patch that expects a revision refreshes no other one | TestPatchExpectsTheRevisionOfAnOlderShape | &expected => nil
	next, _, err := c.refreshFrom(ctx, key, &expected)
	p.IfRevision, p.IfVersion = next.revision, next.version
	return err
}

// patchOp returns the op of a patch, and the stamp that it writes. With keep, the op expects an
// item of the current shape that no older program has written since, and keeps it so. Without,
// the item says after it that an older one has, and reads derive again what upgrades derive,
// which is right for any item.
func (c *core) patchOp(key keys.Key, p Patch, keep bool) (op table.Op, next stamp, err error) {
	changes, err := c.changesOf(p)
	if err != nil {
		return op, next, err
	}
	conditions := append(changes.fit, p.If)
	written := changes.set
	switch version := item.Name(c.entity.Version); c.counter {
	case revised:
		next = c.next(stamp{})
		if p.IfRevision == "" {
			//mutants:guard a patch writes no revision over an attribute of another type | TestPatchOfAnOddVersion | conditions = => _ =
			conditions = append(conditions, version.AttributeNotExists().Or(version.AttributeType(expression.String), version.AttributeType(expression.Null)))
		}
	case versioned:
		next, written = stamp{version: 1}, changes.add
		conditions = append(conditions, c.counts())
	}
	if c.counter != unversioned {
		//mutants:guard a patch writes the next revision | TestPatch$
		written[c.entity.Version] = next.value()
	}
	if keep {
		//mutants:guard an upsert leaves nothing to derive again | TestUpsertOfWhatAnOlderReleaseWrites ./suites/schedules
		written[c.shapes.at] = next.value()
		conditions = append(conditions, item.Name(c.shapes.attribute).Equal(expression.Value(c.shapes.current)),
			item.Name(c.shapes.at).Equal(item.Name(c.entity.Version)))
	}
	op = changes.op(key).IfExists().IfType(c.entity.Type).WithName(c.entity.Type).
		Guarded(item.Guard{ByShape: true, Shape: item.Shape{Most: c.shapes.current, Admits: true, Least: c.shapes.current}})
	switch {
	case p.IfRevision != "":
		op = op.IfRevision(c.entity.Version, p.IfRevision)
	case p.IfVersion != 0:
		op = op.IfVersion(c.entity.Version, p.IfVersion)
	}
	for _, condition := range conditions {
		op = op.If(condition)
	}
	return op, next, nil
}

// counts is the condition that 1 can be added to the version of a stored item, if it has one.
// One that is NULL or a text is refreshed first.
func (c *core) counts() expression.ConditionBuilder {
	version := item.Name(c.entity.Version)
	return version.AttributeNotExists().Or(version.Between(expression.Value(0), expression.Value(maxVersion)))
}

// patched is what a patch changes, as it is stored.
type patched struct {
	diff
	add table.Item
	// fit are the conditions that fields hold the sums.
	fit []expression.ConditionBuilder
}

// op returns the op that makes the changes.
func (p patched) op(key keys.Key) table.Op {
	if len(p.add) == 0 {
		return table.Patch(key, p.set, p.remove...)
	}
	var update expression.UpdateBuilder
	for _, name := range slices.Sorted(maps.Keys(p.set)) {
		update = update.Set(item.Name(name), expression.Value(p.set[name]))
	}
	for _, name := range p.remove {
		update = update.Remove(item.Name(name))
	}
	for _, name := range slices.Sorted(maps.Keys(p.add)) {
		update = update.Add(item.Name(name), expression.Value(p.add[name]))
	}
	return table.Update(key, update)
}

// changesOf checks a patch, and returns what it changes.
func (c *core) changesOf(p Patch) (patched, error) {
	changes := patched{diff: diff{set: table.Item{}, remove: slices.Clone(p.Remove)}, add: table.Item{}}
	if err := c.checkPatch(p); err != nil {
		return changes, err
	}
	for _, name := range slices.Sorted(maps.Keys(p.Set)) {
		value, err := item.FieldValue(c.entity.typ, name, p.Set[name])
		if err != nil {
			return changes, fmt.Errorf("%w: Set: %w", table.ErrInvalid, err)
		}
		_, kind := item.FieldKind(c.entity.typ, name)
		if value == nil || kind == item.SS && item.ValueOf(value).Kind == item.NULL { // an empty set
			changes.remove = append(changes.remove, name)
		} else {
			changes.set[name] = value
		}
	}
	changes.diff = c.withoutEmptyIndexFields(changes.diff)
	for _, name := range slices.Sorted(maps.Keys(p.Add)) {
		value, fits, err := c.addend(name, p.Add[name])
		if err != nil {
			return changes, fmt.Errorf("%w: Add: %w", table.ErrInvalid, err)
		}
		changes.add[name], changes.fit = value, append(changes.fit, fits)
	}
	return changes, nil
}

// isPlain reports whether a write changes nothing that DynamoDB cannot compute.
func (c *core) isPlain() bool {
	return len(c.items) == 1 && len(c.entity.Indexes) == 0 && c.entity.Claims == nil && len(c.entity.Counters) == 0
}

// checkPatch reports a patch that the entity does not allow.
func (c *core) checkPatch(p Patch) error {
	switch {
	case c.entity.shared.is:
		return c.errShared("a write without a read")
	case !c.isPlain():
		return fmt.Errorf("%w: %q has Indexes, Copies, Claims or Counters, which DynamoDB cannot compute: use Update, or UpdateWith in a transaction", errInvalidEntity, c.entity.Type)
	case !c.known:
		return fmt.Errorf("%w: it is not known which attributes of a %v Key reads: use Update", errInvalidEntity, c.entity.typ)
	case p.IfRevision != "" && c.counter != revised, p.IfVersion != 0 && c.counter != versioned:
		return fmt.Errorf("%w: IfRevision and IfVersion: %q has no such Version", table.ErrInvalid, c.entity.Type)
	case len(p.Set)+len(p.Add)+len(p.Remove) == 0:
		return fmt.Errorf("%w: the patch changes nothing", table.ErrInvalid)
	}
	given := map[string]bool{}
	for _, name := range slices.Concat(slices.Sorted(maps.Keys(p.Set)), slices.Sorted(maps.Keys(p.Add)), p.Remove) {
		err := c.checkPatched(name)
		if err == nil && given[name] {
			err = fmt.Errorf("attribute %q is there twice", name)
		}
		if err != nil {
			return fmt.Errorf("%w: %w", table.ErrInvalid, err)
		}
		given[name] = true
	}
	return c.checkCondition("If", p.If)
}

// checkPatched reports an attribute that no patch may change.
func (c *core) checkPatched(name string) error {
	switch _, field := slices.BinarySearch(c.attributes, name); {
	case slices.Contains(c.entity.Counted, name):
		return fmt.Errorf("attribute %q is what the Counters of other entities count, and changes with these only", name)
	case name != "" && c.reserved[name]:
		return fmt.Errorf("attribute %q is written by the repository", name)
	case name != "" && name == c.schema.TTLAttribute:
		return fmt.Errorf("attribute %q is the expiry: use Update", name)
	case !field:
		return c.unknown(name)
	case slices.Contains(c.keyed, name):
		return fmt.Errorf("attribute %q is read by Key: use Update, which moves the entity", name)
	}
	return c.checkName(name)
}

// addend returns what is added to a number or a set, and the condition that the field of an
// integer holds the sum.
func (c *core) addend(name string, value any) (by types.AttributeValue, fits expression.ConditionBuilder, err error) {
	empty, _ := item.FieldValue(c.entity.typ, name, nil)
	f, kind := item.FieldKind(c.entity.typ, name)
	if kind == item.SS { // of whatever elements
		if by, err = item.FieldValue(c.entity.typ, name, value); err != nil {
			return by, fits, err
		}
	} else {
		by, err = item.EncodeToRead(value)
	}
	added := item.ValueOf(by)
	switch {
	case kind != item.N && kind != item.SS || isTime(f):
		err = fmt.Errorf("a %v is neither a number nor a set", f)
	case item.ValueOf(empty).Kind == item.NULL:
		err = errors.New("it is NULL if the field is empty, and nothing can be added to that: add omitempty to its tag")
	case err != nil:
	case kind == item.N && added.Kind != item.N, kind == item.SS && (added.Kind == 0 || added.Kind == item.NULL):
		err = fmt.Errorf("a %T has nothing to add to a %v", value, f)
	case reflect.Zero(f).CanInt() || reflect.Zero(f).CanUint():
		n, whole := new(big.Int).SetString(added.Text, 10)
		if !whole {
			err = fmt.Errorf("a %T does not fit the field of type %v", value, f)
			break
		}
		least, most := new(big.Int), new(big.Int).Lsh(big.NewInt(1), uint(f.Bits()))
		if reflect.Zero(f).CanInt() {
			least.Neg(most.Rsh(most, 1))
		}
		least, most = least.Sub(least, n), most.Sub(most, n.Add(n, big.NewInt(1)))
		//mutants:guard a sum that the field does not hold is not stored | TestPatchSaysWhatFailed
		fits = item.Name(name).Between(decimal(least), decimal(most))
		if least.Sign() <= 0 && most.Sign() >= 0 { // a missing one is 0
			fits = fits.Or(item.Name(name).AttributeNotExists())
		}
	}
	if err != nil {
		err = fmt.Errorf("attribute %q: %w", name, err)
	}
	return by, fits, err
}

func decimal(n *big.Int) expression.ValueBuilder {
	return expression.Value(attributevalue.Number(n.String()))
}
