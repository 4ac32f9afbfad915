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

// A requirement is one thing that an op requires of the stored item. An expired item
// counts as missing, and a missing one is nil. DynamoDB checks the clause, which adds
// its placeholders to the bindings. holds is the same rule for an item that DynamoDB
// returned or that was read afterwards: it tells why a write failed.

// isMissing requires that there is no item, as [Create] and [CheckMissing] do.
type isMissing bool

func (isMissing) clause(b *bindings, s *schema.Table) string {
	return "attribute_not_exists(" + b.partition(s) + ")"
}

func (isMissing) holds(stored Item) bool { return stored == nil }

// exists requires an item.
type exists bool

func (exists) clause(b *bindings, s *schema.Table) string {
	return "attribute_exists(" + b.partition(s) + ")"
}

func (exists) holds(stored Item) bool { return stored != nil }

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
	missing  isMissing
	exists   exists
	ofType   hasType
	shape    hasShape
	version  hasVersion
	revision hasRevision
}
