package table

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/item"
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

// Guarded returns the op with what package repo requires of the item under its key: nobody
// else can make an [item.Guard].
func (o Op) Guarded(g item.Guard) Op {
	if g.ByShape {
		o.guard.shape = hasShape{set: true, Shape: g.Shape}
	}
	if g.OrStale || g.Uncounted || g.Same != nil {
		if was := o.expects; was != nil {
			g.OrStale, g.Uncounted = g.OrStale || was.OrStale, g.Uncounted || was.Uncounted
			if g.Same == nil {
				g.Same = was.Same
			}
		}
		expects := g // Or each call would allocate.
		o.expects = &expects
	}
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
	var room [7]requirement
	all := g.requirements(room[:0], &w.bindings, &t.schema, nil)
	condition := all[0].clause
	if len(all) > 1 {
		clauses := make([]string, 0, len(room))
		for _, r := range all {
			clauses = append(clauses, r.clause)
		}
		condition = "(" + strings.Join(clauses, ") AND (") + ")"
	}
	if t.schema.TTLAttribute != "" {
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
	w.name("#ttl", t.schema.TTLAttribute)
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
			all[i].err = o.stale()
		}
	}
	if o.adds != nil && o.verb == verbUpdate {
		all = append(all, o.adds.requirements(stored)...)
	}
	if o.condition.IsSet() {
		all = append(all, requirement{err: o.unmet(stored), holds: true}) // as far as anybody but DynamoDB knows
	}
	return all
}

func (o *Op) stale() error { return &staleError{o.key, o.guard.version, o.guard.revision} }

// errStillCounted is the reason of a create over an expired entity that counters still count.
var errStillCounted = fmt.Errorf("%w: an expired item under the key is still counted: take it back first, by Uncount of its repository", ErrConditionFailed)

// unmet returns the error of the op's own conditions, on a stored item.
func (o *Op) unmet(stored Item) error {
	switch e := o.expects; {
	case e == nil:
	//mutants:guard a caller's condition is told from a stale mark | TestConditionsOfOpsThatCount ./repo | stored != nil && e.Same != nil && isSame(stored, e.Same) => false
	case stored != nil && e.Same != nil && isSame(stored, e.Same):
	case e.OrStale:
		return o.stale()
	case e.Uncounted:
		return errStillCounted
	}
	return ErrConditionFailed
}

// isSame reports whether an item has attributes as they are expected; nil means that one is missing.
func isSame(stored, expected Item) bool {
	for name, value := range expected {
		if is := stored[name]; (is == nil) != (value == nil) || is != nil && !item.EqualUnordered(is, value) {
			return false
		}
	}
	return true
}

// reason returns why the conditions of an op failed on the stored item, which is nil
// if it is missing, or if there can be one reason only.
func (t *Table) reason(op *Op, stored Item) error {
	if t.expired(watched(stored, t.schema.TTLAttribute), t.Now()) {
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
		return op.unmet(stored)
	}
	return ErrConflict // another write came in between
}

// bindings are what the placeholders in the expressions of a write stand for.
type bindings struct {
	names  map[string]string
	values map[string]types.AttributeValue
}

// partition returns the placeholder of the table's partition key, which every item
// has.
func (b *bindings) partition(s *schema.Table) string {
	if s.PK == "pk" {
		// It is no reserved word. Without a placeholder the request is smaller
		// and takes no map.
		return s.PK
	}
	b.name("#pk", s.PK)
	return "#pk"
}

func (b *bindings) name(placeholder, attribute string) {
	if b.names == nil {
		b.names = make(map[string]string, 2)
	}
	b.names[placeholder] = attribute
}

func (b *bindings) value(placeholder string, value types.AttributeValue) {
	if b.values == nil {
		b.values = make(map[string]types.AttributeValue, 2)
	}
	b.values[placeholder] = value
}

// requirement is one thing that an op requires of the stored item. An expired item
// counts as missing, and a missing one is nil.
type requirement struct {
	// clause is what DynamoDB checks.
	clause string
	// holds is the same rule for an item that DynamoDB returned or that was read
	// afterwards: it tells why a write failed.
	holds bool
	// err is that of a write which it fails.
	err error
}

// hasType requires that an item is of a type, if there is one. Unless another
// requirement needs a live item, a missing one must satisfy its clause.
type hasType string

func (r hasType) clause(b *bindings, s *schema.Table, live bool) string {
	is := "#type = :type"
	if k := s.KindOf(string(r)); k != nil {
		is = "attribute_exists(" + b.partition(s) + ")"
		if all := kindClauses(k, b, s, func(string) bool { return false }); len(all) > 0 {
			is = strings.Join(all, " AND ")
		}
	} else {
		b.name("#type", s.TypeAttribute)
		b.value(":type", &types.AttributeValueMemberS{Value: string(r)})
	}
	if live {
		return is
	}
	return "attribute_not_exists(" + b.partition(s) + ") OR " + is
}

func (r hasType) holds(stored Item, s *schema.Table) bool {
	return stored == nil || s.TypeOf(stored) == string(r)
}

// hasShape requires that an item has a shape.
type hasShape struct {
	set bool
	item.Shape
}

func (r hasShape) clause(b *bindings, s *schema.Table) string {
	b.name("#shape", s.Shape)
	b.value(":shape", &types.AttributeValueMemberN{Value: strconv.Itoa(r.Most)})
	clause := "attribute_not_exists(#shape) OR #shape <= :shape"
	if r.Admits {
		b.name("#from", s.ShapeFrom())
		clause += " OR #from <= :shape"
	}
	return clause
}

func (r hasShape) holds(stored Item, s *schema.Table) bool {
	shape := stored[s.Shape]
	return shape == nil || isAtMost(shape, r.Most) || r.Admits && isAtMost(stored[s.ShapeFrom()], r.Most)
}

func isAtMost(shape types.AttributeValue, most int) bool {
	n, ok := shape.(*types.AttributeValueMemberN)
	return ok && item.CompareNumbers(n.Value, strconv.Itoa(most)) <= 0
}

// leastClause is the clause of Least.
func (r hasShape) leastClause(b *bindings) string {
	b.value(":least", &types.AttributeValueMemberN{Value: strconv.Itoa(r.Least)})
	return "#shape >= :least"
}

// isOlder reports whether a stored item has an older shape than Least, or none.
func (r hasShape) isOlder(stored Item, s *schema.Table) bool {
	return stored != nil && (stored[s.Shape] == nil || isAtMost(stored[s.Shape], r.Least-1))
}

// errOlder is the reason of an op on an item of an older shape.
var errOlder = fmt.Errorf("%w: the item is of an older shape: bring it to the present one, by Repo.Refresh", ErrStale)

// hasVersion requires that a number attribute has a value. One that is missing or
// NULL has the value 0.
type hasVersion struct {
	set       bool
	attribute string
	want      int64
}

func (r hasVersion) clause(b *bindings) string {
	b.name("#version", r.attribute)
	b.value(":version", &types.AttributeValueMemberN{Value: strconv.FormatInt(r.want, 10)})
	if r.want == 0 {
		b.value(":null", &types.AttributeValueMemberS{Value: "NULL"})
		return "attribute_not_exists(#version) OR attribute_type(#version, :null) OR #version = :version"
	}
	//mutants:guard a write expects the version | TestRepo/version/Save,_Save ./suites/schedules | = :version" => = :version OR #version <> :version"
	return "#version = :version"
}

func (r hasVersion) holds(stored Item) bool {
	switch version := stored[r.attribute].(type) {
	case nil, *types.AttributeValueMemberNULL:
		return r.want == 0
	case *types.AttributeValueMemberN:
		return item.CompareNumbers(version.Value, strconv.FormatInt(r.want, 10)) == 0
	}
	return false
}

// hasRevision requires that a string attribute has a value. One that is missing or
// NULL has the value "".
type hasRevision struct {
	set             bool
	attribute, want string
}

func (r hasRevision) clause(b *bindings) string {
	b.name("#revision", r.attribute)
	if r.want == "" {
		b.value(":null", &types.AttributeValueMemberS{Value: "NULL"})
		// Only the empty string is less. Some engines take no empty values.
		b.value(":revision", &types.AttributeValueMemberS{Value: "\x00"})
		return "attribute_not_exists(#revision) OR attribute_type(#revision, :null) OR #revision < :revision"
	}
	b.value(":revision", &types.AttributeValueMemberS{Value: r.want})
	//mutants:guard a write expects the revision | TestRepo/revision/Save,_Save ./suites/schedules | = :revision" => = :revision OR #revision <> :revision"
	return "#revision = :revision"
}

func (r hasRevision) holds(stored Item) bool {
	switch revision := stored[r.attribute].(type) {
	case nil, *types.AttributeValueMemberNULL:
		return r.want == ""
	case *types.AttributeValueMemberS:
		return revision.Value == r.want
	}
	return false
}

// guard is what an op requires of the stored item in addition to its own
// condition.
type guard struct {
	// missing requires that there is no item, as [Create] and [CheckMissing] do, and
	// exists that there is one.
	missing, exists bool
	ofType          hasType
	shape           hasShape
	version         hasVersion
	revision        hasRevision
}

// identifies reports whether the guard requires a version or revision, which only a
// stored item has.
func (g *guard) identifies() bool {
	return g.version.set && g.version.want != 0 || g.revision.set && g.revision.want != ""
}

// needsLive reports whether a missing item fails the guard.
func (g *guard) needsLive() bool { return g.exists || g.identifies() }

// requirements appends what the guard requires of a stored item to all, and adds the
// placeholders of the clauses to the bindings.
func (g *guard) requirements(all []requirement, b *bindings, s *schema.Table, stored Item) []requirement {
	if g.missing {
		//mutants:guard a create expects no item | TestRepo/copies/nobody:_Create,_Create$ ./suites/schedules | "attribute_not => "attribute_exists(" + b.partition(s) + ") OR " + "attribute_not
		//mutants:guard shop: an e-mail is created, not put | TestScheduleUniqueEmail ./examples/shop/store | "attribute_not => "attribute_exists(" + b.partition(s) + ") OR " + "attribute_not
		all = append(all, requirement{"attribute_not_exists(" + b.partition(s) + ")", stored == nil, ErrExists})
	}
	if g.exists && !g.identifies() {
		all = append(all, requirement{"attribute_exists(" + b.partition(s) + ")", stored != nil, ErrNotFound})
	}
	if g.ofType != "" {
		all = append(all, requirement{g.ofType.clause(b, s, g.needsLive()), g.ofType.holds(stored, s), ErrWrongType})
	}
	if g.shape.set {
		all = append(all, requirement{g.shape.clause(b, s), g.shape.holds(stored, s), ErrNewerShape})
	}
	if g.shape.Least > 0 {
		//mutants:guard a patch is of the present shape | TestPatchOfAnOlderShape ./repo
		all = append(all, requirement{g.shape.leastClause(b), !g.shape.isOlder(stored, s), errOlder})
	}
	if g.version.set {
		all = append(all, requirement{g.version.clause(b), g.version.holds(stored), ErrStale})
	}
	if g.revision.set {
		all = append(all, requirement{g.revision.clause(b), g.revision.holds(stored), ErrStale})
	}
	return all
}
