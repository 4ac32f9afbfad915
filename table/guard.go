package table

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/schema"
)

// IfVersion returns the op with the condition that the number in that attribute
// of the stored item is version. A missing item, an attribute that is missing or
// NULL, and an expired item have version 0. If the item has another version, the op fails
// with [ErrStale]. It does not write the attribute: that is for the op's own
// value or update to do.
func (o Op) IfVersion(attribute string, version int64) Op {
	o.guard.version = hasVersion{set: true, attribute: attribute, want: version}
	return o
}

// IfRevision is [Op.IfVersion] for a string attribute, whose value is drawn at
// random for each write and never repeated, as an HTTP ETag is. A missing item, an
// attribute that is missing, NULL or empty, and an expired item have the revision
// "".
//
// A [Put] or [Patch] that writes the attribute is recognized by the value it
// wrote: after a lost response, Do returns nil if the stored item has that
// value, and [ErrOutcomeUnknown] if it has another one than the op expected.
func (o Op) IfRevision(attribute, revision string) Op {
	o.guard.revision = hasRevision{set: true, attribute: attribute, want: revision}
	return o
}

// IfExists returns the op with the condition that there is a live item under
// its key. If the item is missing or expired, the op fails with [ErrNotFound]; together
// with [Op.IfVersion] or [Op.IfRevision] of an item that was there, with [ErrStale].
func (o Op) IfExists() Op {
	o.guard.exists = true
	return o
}

// IfType returns the op with the condition that a live item under its key is of
// that type, by the schema's type attribute. A missing item and an expired one
// satisfy it: an [Update] creates the missing one, without a type. Together with
// [Op.IfExists] it does not. If the item is of another type, or has none, the op fails with
// [ErrWrongType].
func (o Op) IfType(name string) Op {
	o.guard.ofType = hasType(name)
	return o
}

// IfShape returns the op with the condition that the item under its key has no newer
// shape, by the attribute [schema.Table].Shape, than the given one. A missing item
// satisfies it. Otherwise the op fails with [ErrNewerShape]. It is for a program that
// would overwrite what a newer shape has.
func (o Op) IfShape(most int) Op {
	o.guard.shape = hasShape{set: true, most: most}
	return o
}

// IfAdmits is [Op.IfShape] for a program that keeps what it does not know: a newer
// shape that admits programs of the given one satisfies it, too.
func (o Op) IfAdmits(shape int) Op {
	o.guard.shape = hasShape{set: true, admits: true, most: shape}
	return o
}

// checkNames reports attribute names that DynamoDB would refuse.
func (g *guard) checkNames() error {
	for _, r := range []struct {
		method, attribute string
		set               bool
	}{
		{"IfVersion", g.version.attribute, g.version.set},
		{"IfRevision", g.revision.attribute, g.revision.set},
	} {
		if f := nameFault(r.attribute); r.set && f != nil {
			return fmt.Errorf("%w: %s: %w", errInvalidOp, r.method, f.in(r.attribute).err())
		}
	}
	return nil
}

// An expired item counts as missing, which makes a condition true or false.
const (
	//mutants:guard an expired item is no reason to refuse a create | TestIdempotency/Do,_expired$ ./suites/schedules | :one AND :now => :now AND :one
	orExpired     = " OR #ttl BETWEEN :one AND :now"
	unlessExpired = " AND NOT #ttl BETWEEN :one AND :now"
)

// require puts the conditions of the op's guard before the op's own.
func (t *Table) require(w *write) error {
	g := &w.op.guard
	if *g == (guard{}) {
		return nil
	}
	if err := g.checkNames(); err != nil {
		return err
	}
	var room [6]requirement
	all := g.requirements(room[:0], &w.bindings, &t.schema, nil)
	condition := all[0].clause
	if len(all) > 1 {
		clauses := make([]string, 0, len(room))
		for _, r := range all {
			clauses = append(clauses, r.clause)
		}
		condition = "(" + strings.Join(clauses, ") AND (") + ")"
	}
	if t.schema.TTL != "" {
		now, err := t.unixNow()
		if err != nil {
			return err
		}
		condition = t.unexpired(w, now, condition)
	}
	if w.condition != nil {
		condition = "(" + condition + ") AND (" + *w.condition + ")"
	}
	w.condition = &condition
	return nil
}

// unexpired returns a condition that treats an expired item as a missing one, by the
// same rule as [Table.expired].
func (t *Table) unexpired(w *write, now, condition string) string {
	w.name("#ttl", t.schema.TTL)
	w.value(":one", &types.AttributeValueMemberN{Value: "1"})
	w.value(":now", &types.AttributeValueMemberN{Value: now})
	if w.op.guard.needsLive() {
		return "(" + condition + ")" + unlessExpired
	}
	return condition + orExpired
}

// reasons returns what can fail a condition of the op, and what does for a stored item,
// which is nil if it is missing or expired.
func (o *Op) reasons(stored Item, s *schema.Table) []requirement {
	all := o.guard.requirements(nil, &bindings{}, s, stored)
	for i := range all {
		if all[i].err == ErrStale { //nolint:errorlint // the sentinel itself
			all[i].err = &staleError{o.key, o.guard.version, o.guard.revision}
		}
	}
	if o.condition.IsSet() {
		all = append(all, requirement{err: ErrConditionFailed, holds: true}) // as far as anybody but DynamoDB knows
	}
	return all
}

// reason returns why the conditions of an op failed on the stored item, which is nil
// if it is missing, or if there can be one reason only.
func (t *Table) reason(op *Op, stored Item) error {
	if t.expired(watched(stored, t.schema.TTL), t.Now()) {
		stored = nil
	}
	all := op.reasons(stored, &t.schema)
	if len(all) == 1 {
		return all[0].err
	}
	if i := slices.IndexFunc(all, func(r requirement) bool { return !r.holds }); i >= 0 {
		return all[i].err
	}
	if op.condition.IsSet() || len(all) == 0 {
		return ErrConditionFailed
	}
	return ErrConflict // another write came in between
}
