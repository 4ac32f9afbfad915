package table

import (
	"fmt"
	"slices"
	"strconv"
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
// satisfy it. If the item is of another type, or has none, the op fails with
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

// identifies reports whether the guard requires a version or revision, which only a
// stored item has.
func (g *guard) identifies() bool {
	return g.version.set && g.version.want != 0 || g.revision.set && g.revision.want != ""
}

// needsLive reports whether a missing item fails the guard.
func (g *guard) needsLive() bool { return bool(g.exists) || g.identifies() }

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
	orExpired     = " OR #ttl BETWEEN :one AND :now"
	unlessExpired = " AND NOT #ttl BETWEEN :one AND :now"
)

// require puts the conditions of the op's guard before the op's own. Their
// placeholders are words, those of the expression package numbers, so they never
// meet.
func (t *Table) require(w *write) error {
	g := &w.op.guard
	if *g == (guard{}) {
		return nil
	}
	if err := g.checkNames(); err != nil {
		return err
	}
	clauses := make([]string, 0, 6)
	if g.missing {
		clauses = append(clauses, g.missing.clause(&w.bindings, &t.schema))
	}
	if bool(g.exists) && !g.identifies() {
		clauses = append(clauses, g.exists.clause(&w.bindings, &t.schema))
	}
	if g.ofType != "" {
		clauses = append(clauses, g.ofType.clause(&w.bindings, &t.schema, g.needsLive()))
	}
	if g.shape.set {
		clauses = append(clauses, g.shape.clause(&w.bindings, &t.schema))
	}
	if g.version.set {
		clauses = append(clauses, g.version.clause(&w.bindings))
	}
	if g.revision.set {
		clauses = append(clauses, g.revision.clause(&w.bindings))
	}
	condition := clauses[0]
	if len(clauses) > 1 {
		condition = "(" + strings.Join(clauses, ") AND (") + ")"
	}
	if t.schema.TTL != "" {
		condition = t.unexpired(w, condition)
	}
	if w.condition != nil {
		condition = "(" + condition + ") AND (" + *w.condition + ")"
	}
	w.condition = &condition
	return nil
}

// unexpired returns a condition that treats an expired item as a missing one, by the
// same rule as [Table.expired].
func (t *Table) unexpired(w *write, condition string) string {
	w.name("#ttl", t.schema.TTL)
	w.value(":one", &types.AttributeValueMemberN{Value: "1"})
	w.value(":now", &types.AttributeValueMemberN{Value: strconv.FormatInt(t.Now().Unix(), 10)})
	if w.op.guard.needsLive() {
		return "(" + condition + ")" + unlessExpired
	}
	return condition + orExpired
}

// reason is one error that a failed condition can be.
type reason struct {
	err error
	// holds means that the stored item satisfies the requirement. For the op's own
	// condition only DynamoDB knows.
	holds bool
}

// reasons returns what a failed condition of the op can be, and which it is for a
// stored item, which is nil if it is missing or expired.
func (o *Op) reasons(stored Item, s *schema.Table) []reason {
	g, all := &o.guard, make([]reason, 0, 7)
	if g.missing {
		all = append(all, reason{ErrExists, g.missing.holds(stored)})
	}
	if bool(g.exists) && !g.identifies() {
		all = append(all, reason{ErrNotFound, g.exists.holds(stored)})
	}
	if g.ofType != "" {
		all = append(all, reason{ErrWrongType, g.ofType.holds(stored, s)})
	}
	if g.shape.set {
		all = append(all, reason{ErrNewerShape, g.shape.holds(stored, s)})
	}
	stale := &staleError{o.key, g.version, g.revision}
	if g.version.set {
		all = append(all, reason{stale, g.version.holds(stored)})
	}
	if g.revision.set {
		all = append(all, reason{stale, g.revision.holds(stored)})
	}
	if o.condition.IsSet() {
		all = append(all, reason{ErrConditionFailed, true})
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
	if i := slices.IndexFunc(all, func(r reason) bool { return !r.holds }); i >= 0 {
		return all[i].err
	}
	if op.condition.IsSet() || len(all) == 0 {
		return ErrConditionFailed
	}
	return ErrConflict // another write came in between
}
