package schema

import (
	"cmp"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Index describes one secondary index of a table.
type Index struct {
	// Name is the index's name.
	Name string `json:"name"`
	// PK is the name of the partition key attribute. A local index leaves it
	// empty: it has the table's.
	PK string `json:"pk,omitzero"`
	// SK is the name of the sort key attribute; empty for an index without one.
	SK string `json:"sk,omitzero"`
	// PKType and SKType are the types of the key attributes; string by default.
	PKType types.ScalarAttributeType `json:"pkType,omitzero"`
	SKType types.ScalarAttributeType `json:"skType,omitzero"`
	// PKs and SKs take the place of PK and SK in a global index whose keys have
	// several attributes: one to four for the partition, none to four to sort by, in
	// their order. An item is in the index if it has all of them, so the attributes
	// are those that it has anyway, and no key function is needed. The type
	// attribute can be one; as the first of PKs it keeps entities apart.
	//
	// AWS: "Multi-attribute keys pattern", Amazon DynamoDB Developer Guide; CreateTable,
	// Amazon DynamoDB API Reference. Seen: paritysuite/dynamodb-conformance,
	// query/multiAttributeGsiKey.test.ts.
	PKs []Attribute `json:"pks,omitempty"`
	SKs []Attribute `json:"sks,omitempty"`
	// Local makes a local secondary index; global otherwise.
	Local bool `json:"local,omitzero"`
	// Projection says which attributes the index holds; all by default. Reads of
	// an index that does not hold the TTL attribute return expired items, and
	// views made by [table.Table.OfType] cannot use one without the type attribute.
	Projection types.ProjectionType `json:"projection,omitzero"`
	// Include names the attributes that an INCLUDE projection holds in addition
	// to the keys.
	Include []string `json:"include,omitempty"`
	// ProvisionedThroughput and WarmThroughput are those of a global index. See
	// the fields of [Table] of the same names.
	ProvisionedThroughput Throughput `json:"provisionedThroughput,omitzero"`
	WarmThroughput        Throughput `json:"warmThroughput,omitzero"`
}

// Attribute is a key attribute of an index.
type Attribute struct {
	Name string `json:"name"`
	// Type is the attribute's type; string by default.
	Type types.ScalarAttributeType `json:"type,omitzero"`
}

// Keys returns the index's key attributes in their order, whether they are given by
// PK and SK or by PKs and SKs. In the schema of a table, [table.Table.Schema], no type is
// left to a default.
func (x Index) Keys() (partition, sort []Attribute) {
	if x.composite() {
		return x.PKs, x.SKs
	}
	if x.PK != "" {
		partition = []Attribute{{x.PK, x.PKType}}
	}
	if x.SK != "" {
		sort = []Attribute{{x.SK, x.SKType}}
	}
	return partition, sort
}

// composite reports whether the keys are given by PKs and SKs.
func (x Index) composite() bool { return len(x.PKs)+len(x.SKs) > 0 }

// several reports whether one of the keys has several attributes.
func (x Index) several() bool { return len(x.PKs) > 1 || len(x.SKs) > 1 }

// recent reports whether the table has indexes of a kind that many engines for tests do not
// have: vector indexes, and those with several attributes in a key.
func (t Table) recent() bool {
	return len(t.Vectors) > 0 || slices.ContainsFunc(t.Indexes, Index.several)
}

// maxKeyAttributes is how many attributes each of the two keys of a global index can
// have. AWS: "Multi-attribute keys pattern", Amazon DynamoDB Developer Guide;
// CreateTable, Amazon DynamoDB API Reference.
const maxKeyAttributes = 4

// withTypes returns a copy in which no type is left to a default.
func withTypes(attributes []Attribute) []Attribute {
	attributes = slices.Clone(attributes)
	for i := range attributes {
		attributes[i].Type = cmp.Or(attributes[i].Type, types.ScalarAttributeTypeS)
	}
	return attributes
}

// problems adds what is wrong with x as an index of t.
func (x Index) problems(p problems, t Table) {
	if x.composite() {
		x.attributeProblems(p)
	} else if x.PK == "" {
		p.add("PK: is empty, and an index needs a partition key attribute")
	}
	if x.PK != "" && x.PK == x.SK {
		p.add("SK: %q is the index's partition key attribute already", x.SK)
	}
	if x.Local && !x.composite() && x.PK != t.PK {
		p.add("PK: a local index has the table's partition key %q, not %q", t.PK, x.PK)
	}
	if x.Local && t.SimpleKey {
		p.add("Local: a table without sort key has no local indexes")
	}
	if x.Local && !x.composite() && x.SK == "" {
		p.add("SK: is empty, and a local index needs a sort key attribute")
	}
	p.projection(x.Projection, x.Include)
	x.settingsProblems(p, t.BillingMode)
}

// projection adds what is wrong with the projection of an index.
func (p problems) projection(projection types.ProjectionType, include []string) {
	if !slices.Contains(projection.Values(), projection) {
		p.add("Projection: %q is not ALL, KEYS_ONLY or INCLUDE", projection)
	}
	if (projection == types.ProjectionTypeInclude) != (len(include) > 0) {
		p.add("Include: goes with the projection INCLUDE and only with it")
	}
	for i, name := range include {
		if name == "" || !attributeName(name) {
			p.add("Include[%d]: %q is not UTF-8 of 1 to %d characters", i, name, maxAttributeName)
		}
		if slices.Contains(include[:i], name) {
			p.add("Include[%d]: %q is there already", i, name)
		}
	}
}

// attributeProblems adds what is wrong with PKs and SKs.
func (x Index) attributeProblems(p problems) {
	if x.Local {
		p.add("Local: a local index has one sort key attribute, SK")
	}
	if x.SK != "" || x.SKType != "" || !x.Local && (x.PK != "" || x.PKType != "") {
		p.add("PKs: take the place of PK and SK and do not go together with them")
	}
	if n := len(x.PKs); n < 1 || n > maxKeyAttributes {
		p.add("PKs: %d attributes are not 1 to %d", n, maxKeyAttributes)
	}
	if n := len(x.SKs); n > maxKeyAttributes {
		p.add("SKs: %d attributes are more than %d", n, maxKeyAttributes)
	}
	seen := map[string]bool{}
	for i, a := range slices.Concat(x.PKs, x.SKs) {
		field, n := "PKs", i
		if i >= len(x.PKs) {
			field, n = "SKs", i-len(x.PKs)
		}
		if a.Name == "" {
			p.add("%s[%d].Name: is empty", field, n)
		}
		if seen[a.Name] {
			p.add("%s[%d].Name: %q is in the index's keys twice", field, n, a.Name)
		}
		seen[a.Name] = true
	}
}

func keySchema(x Index) []types.KeySchemaElement {
	var elements []types.KeySchemaElement
	partition, sort := x.Keys()
	for _, a := range partition {
		elements = append(elements, types.KeySchemaElement{AttributeName: aws.String(a.Name), KeyType: types.KeyTypeHash})
	}
	for _, a := range sort {
		elements = append(elements, types.KeySchemaElement{AttributeName: aws.String(a.Name), KeyType: types.KeyTypeRange})
	}
	return elements
}
