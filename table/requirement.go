package table

import (
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/schema"
)

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
	b.name("#type", s.Type)
	b.value(":type", &types.AttributeValueMemberS{Value: string(r)})
	if live {
		return "#type = :type"
	}
	return "attribute_not_exists(" + b.partition(s) + ") OR #type = :type"
}

func (r hasType) holds(stored Item, s *schema.Table) bool {
	return stored == nil || item.Text(stored[s.Type]) == string(r)
}

// hasShape requires that an item has no newer shape; with admits, than one that
// admits programs of this one.
type hasShape struct {
	set, admits bool
	most        int
}

func (r hasShape) clause(b *bindings, s *schema.Table) string {
	b.name("#shape", s.Shape)
	b.value(":shape", &types.AttributeValueMemberN{Value: strconv.Itoa(r.most)})
	clause := "attribute_not_exists(#shape) OR #shape <= :shape"
	if r.admits {
		b.name("#from", s.ShapeFrom())
		clause += " OR #from <= :shape"
	}
	return clause
}

func (r hasShape) holds(stored Item, s *schema.Table) bool {
	shape := stored[s.Shape]
	return shape == nil || r.isAtMost(shape) || r.admits && r.isAtMost(stored[s.ShapeFrom()])
}

func (r hasShape) isAtMost(shape types.AttributeValue) bool {
	n, ok := shape.(*types.AttributeValueMemberN)
	return ok && item.CompareNumbers(n.Value, strconv.Itoa(r.most)) <= 0
}

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
	//mutants:guard a write expects the version | TestRepo/version/Put,_Put ./suites/schedules | = :version" => = :version OR #version <> :version"
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
	//mutants:guard a write expects the revision | TestRepo/revision/Put,_Put ./suites/schedules | = :revision" => = :revision OR #revision <> :revision"
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
	if g.version.set {
		all = append(all, requirement{g.version.clause(b), g.version.holds(stored), ErrStale})
	}
	if g.revision.set {
		all = append(all, requirement{g.revision.clause(b), g.revision.holds(stored), ErrStale})
	}
	return all
}
