package table

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/codec"
	"github.com/singletable/singletable/keys"
)

// guard is what an op requires of the stored item in addition to its own
// condition. An expired item counts as missing.
type guard struct {
	// exists requires a live item, and ofType one of that type unless it is
	// missing.
	exists   bool
	ofType   string
	version  versionGuard
	revision revisionGuard
	shape    shapeGuard
}

// shapeGuard requires that an item has no newer shape; with admits, than one that
// admits programs of this one.
type shapeGuard struct {
	set, admits bool
	most        int
}

// versionGuard requires that a number attribute has a value.
type versionGuard struct {
	set       bool
	attribute string
	want      int64
}

// revisionGuard requires that a string attribute has a value.
type revisionGuard struct {
	set             bool
	attribute, want string
}

// IfVersion returns the op with the condition that the number in that attribute
// of the stored item is version. A missing item, an attribute that is missing or
// NULL, and an expired item have version 0. If the item has another version, the op fails
// with [ErrStale]. It does not write the attribute: that is for the op's own
// value or update to do.
func (o Op) IfVersion(attribute string, version int64) Op {
	o.guard.version = versionGuard{set: true, attribute: attribute, want: version}
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
	o.guard.revision = revisionGuard{set: true, attribute: attribute, want: revision}
	return o
}

// IfExists returns the op with the condition that there is a live item under
// its key. If the item is missing or expired, the op fails with [ErrNotFound].
func (o Op) IfExists() Op {
	o.guard.exists = true
	return o
}

// IfType returns the op with the condition that a live item under its key is of
// that type, by the schema's type attribute. A missing item and an expired one
// satisfy it. If the item is of another type, or has none, the op fails with
// [ErrWrongType].
func (o Op) IfType(name string) Op {
	o.guard.ofType = name
	return o
}

// IfShape returns the op with the condition that the item under its key has no newer
// shape, by the attribute [Schema].Shape, than the given one. A missing item
// satisfies it. Otherwise the op fails with [ErrNewerShape]. It is for a program that
// would overwrite what a newer shape has.
func (o Op) IfShape(most int) Op {
	o.guard.shape = shapeGuard{set: true, most: most}
	return o
}

// IfAdmits is [Op.IfShape] for a program that keeps what it does not know: a newer
// shape that admits programs of the given one satisfies it, too.
func (o Op) IfAdmits(shape int) Op {
	o.guard.shape = shapeGuard{set: true, admits: true, most: shape}
	return o
}

// WithNextVersion returns the op, an [Update], with 1 added to the number in that
// attribute, which is 0 where it is missing.
func (o Op) WithNextVersion(attribute string) Op {
	o.next = successor{verb: "ADD", attribute: attribute, value: &types.AttributeValueMemberN{Value: "1"}}
	return o
}

// WithRevision returns the op, an [Update], with that attribute set to revision,
// which is drawn for this write alone, as by [crypto/rand.Text].
func (o Op) WithRevision(attribute, revision string) Op {
	o.next = successor{verb: "SET", attribute: attribute, value: &types.AttributeValueMemberS{Value: revision}}
	return o
}

// successor is the change of a version or revision that an update makes in
// addition to its own changes.
type successor struct {
	verb, attribute string
	value           types.AttributeValue
}

// addNext adds to the update expression. The expression package writes each verb
// on a line of its own.
func (w *write) addNext(n successor) error {
	switch {
	case w.update == nil:
		return fmt.Errorf("%w: a %s has no next version or revision", errInvalidOp, w.op.verb)
	case n.attribute == "":
		return fmt.Errorf("%w: a next version or revision without an attribute", errInvalidOp)
	case n.verb == "SET" && codec.Text(n.value) == "":
		return fmt.Errorf("%w: WithRevision: the revision for attribute %q is empty", errInvalidOp, n.attribute)
	}
	w.name("#next", n.attribute)
	w.value(":next", n.value)
	part := "#next :next"
	if n.verb == "SET" {
		part = "#next = :next"
	}
	lines := strings.Split(strings.TrimSuffix(*w.update, "\n"), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, n.verb+" ") {
			lines[i] += ", " + part
			part = ""
		}
	}
	if part != "" {
		lines = append(lines, n.verb+" "+part)
	}
	text := strings.Join(lines, "\n")
	w.update = &text
	return nil
}

// requireGuard adds the conditions of the op's guard to the write.
func (t *Table) requireGuard(w *write) error {
	g := w.op.guard
	if g.version.set {
		if f := nameFault(g.version.attribute); f != nil {
			return fmt.Errorf("%w: IfVersion: %w", errInvalidOp, f.in(g.version.attribute).err())
		}
	}
	if g.revision.set {
		if f := nameFault(g.revision.attribute); f != nil {
			return fmt.Errorf("%w: IfRevision: %w", errInvalidOp, f.in(g.revision.attribute).err())
		}
	}
	live := g.needsLive()
	clauses := make([]string, 0, 5)
	if g.version.set {
		clauses = append(clauses, g.version.clause(w))
	}
	if g.revision.set {
		clauses = append(clauses, g.revision.clause(w))
	}
	if g.exists && !g.identifies() {
		w.name("#pk", t.schema.PK)
		clauses = append(clauses, "attribute_exists(#pk)")
	}
	if g.ofType != "" {
		w.name("#type", t.schema.Type)
		w.value(":type", &types.AttributeValueMemberS{Value: g.ofType})
		clause := "#type = :type"
		if !live {
			w.name("#pk", t.schema.PK)
			clause = "attribute_not_exists(#pk) OR #type = :type"
		}
		clauses = append(clauses, clause)
	}
	if g.shape.set {
		clauses = append(clauses, t.shapeClause(w, g.shape))
	}
	condition := clauses[0]
	if len(clauses) > 1 {
		condition = "(" + strings.Join(clauses, ") AND (") + ")"
	}
	switch {
	case !live:
		t.require(w, condition, orExpired)
	case t.schema.TTL != "":
		t.require(w, "("+condition+")", unlessExpired)
	default:
		t.require(w, condition, "")
	}
	return nil
}

func (t *Table) shapeClause(w *write, g shapeGuard) string {
	w.name("#shape", t.schema.Shape)
	w.value(":shape", &types.AttributeValueMemberN{Value: strconv.Itoa(g.most)})
	clause := "attribute_not_exists(#shape) OR #shape <= :shape"
	if g.admits {
		w.name("#from", t.schema.Shape+shapeFrom)
		clause += " OR #from <= :shape"
	}
	return clause
}

// fails reports whether the shape of a stored item fails the guard.
func (g shapeGuard) fails(stored Item, attribute string) bool {
	if !g.set || stored[attribute] == nil || isAtMost(stored[attribute], g.most) {
		return false
	}
	return !g.admits || !isAtMost(stored[attribute+shapeFrom], g.most)
}

func isAtMost(value types.AttributeValue, most int) bool {
	n, ok := value.(*types.AttributeValueMemberN)
	return ok && codec.CompareNumbers(n.Value, strconv.Itoa(most)) <= 0
}

// identifies reports whether the guard requires a version or revision that only
// a stored item has.
func (g guard) identifies() bool {
	return g.version.set && g.version.want != 0 || g.revision.set && g.revision.want != ""
}

// severalCauses reports whether the stored item decides which sentinel a failure
// is.
func (g guard) severalCauses() bool {
	return g.ofType != "" || g.shape.set || g.exists && (g.version.set || g.revision.set)
}

// needsLive reports whether a missing item fails the guard.
func (g guard) needsLive() bool { return g.exists || g.identifies() }

func (g versionGuard) clause(w *write) string {
	w.name("#version", g.attribute)
	w.value(":version", &types.AttributeValueMemberN{Value: strconv.FormatInt(g.want, 10)})
	if g.want == 0 {
		w.value(":null", &types.AttributeValueMemberS{Value: "NULL"})
		return "attribute_not_exists(#version) OR attribute_type(#version, :null) OR #version = :version"
	}
	return "#version = :version"
}

func (g revisionGuard) clause(w *write) string {
	w.name("#revision", g.attribute)
	if g.want == "" {
		w.value(":null", &types.AttributeValueMemberS{Value: "NULL"})
		// Only the empty string is less. Some engines take no empty values.
		w.value(":revision", &types.AttributeValueMemberS{Value: "\x00"})
		return "attribute_not_exists(#revision) OR attribute_type(#revision, :null) OR #revision < :revision"
	}
	w.value(":revision", &types.AttributeValueMemberS{Value: g.want})
	return "#revision = :revision"
}

// failure tells which part of the guard a stored item fails, nil if none. stored
// is nil for a missing and for an expired item.
func (g guard) failure(key keys.Key, stored Item, schema *Schema) error {
	switch {
	case stored == nil && g.exists && !g.identifies():
		return ErrNotFound
	case stored != nil && g.ofType != "" && codec.Text(stored[schema.Type]) != g.ofType:
		return ErrWrongType
	case g.shape.fails(stored, schema.Shape):
		return ErrNewerShape
	case g.version.set && versionOf(stored, g.version.attribute) != g.version.want:
		return g.stale(key)
	case g.revision.set && codec.Text(stored[g.revision.attribute]) != g.revision.want:
		return g.stale(key)
	}
	return nil
}

// stale is the [ErrStale] of the guard of an op on the item under a key.
func (g guard) stale(key keys.Key) error { return &staleError{key, g.version, g.revision} }
