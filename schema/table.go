package schema

import (
	"cmp"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Table says how one physical table is laid out. It is a value, declared once,
// next to the application's key functions. Only Name has no default.
//
// It can be written and read as JSON, in a file for tools that are not this
// program, and loses nothing on the way.
type Table struct {
	// Name is the table's name.
	Name string `json:"name"`

	// PK and SK are the names of the key attributes; by default "pk" and "sk".
	PK string `json:"pk,omitzero"`
	SK string `json:"sk,omitzero"`
	// SimpleKey means that the table has a partition key and no sort key.
	SimpleKey bool `json:"simpleKey,omitzero"`
	// PKType and SKType are the types of the key attributes; string by default.
	// In a [keys.Key] a number is written as plain decimal text without
	// needless zeros (0, -12.5), a binary value as its bytes.
	PKType types.ScalarAttributeType `json:"pkType,omitzero"`
	SKType types.ScalarAttributeType `json:"skType,omitzero"`

	// TypeAttribute is the name of the attribute that holds an item's type; by default
	// "entityType".
	TypeAttribute string `json:"type,omitzero"`
	// Kinds recognize items that have no type attribute: see [Kind].
	Kinds []Kind `json:"kinds,omitempty"`
	// Shape is the name of the attribute that holds the number of an item's shape;
	// by default "entityShape". An item without it has shape 0. Package repo writes
	// it for entities with upgrades, and next to it, under the name with "From" at
	// its end, the oldest shape whose programs may read and write the item.
	Shape string `json:"shape,omitzero"`
	// TTLAttribute is the name of the attribute that holds an item's expiry as a number
	// of seconds since 1970 UTC. Empty means that items do not expire. An item with
	// an expiry of another type does not expire either, for DynamoDB and for reads.
	// DynamoDB deletes no item whose expiry is more than five years ago: reads do not
	// show it, and it stays until a program deletes it. Writes refuse an expiry after
	// the year 9999, such as one in milliseconds, but not in an item that is stored as it
	// is. AWS: "Using time to live (TTL) in DynamoDB", Amazon DynamoDB Developer Guide.
	TTLAttribute string `json:"ttl,omitzero"`

	// Indexes are the secondary indexes that the application uses. The live
	// table may have others.
	Indexes []Index `json:"indexes,omitempty"`
	// Vectors are the vector indexes that the application searches. DynamoDB has them in
	// tables on demand only.
	Vectors []VectorIndex `json:"vectors,omitempty"`

	// The fields below say how the table is operated. Zero means that the schema
	// does not manage the setting: a new table gets the default of DynamoDB,
	// except for BillingMode, and [Table.Verify] does not look at it.

	// Stream is the view of the table's stream of changes, such as
	// NEW_AND_OLD_IMAGES. The stream is on if Stream is set.
	Stream types.StreamViewType `json:"stream,omitzero"`
	// BillingMode is PAY_PER_REQUEST or PROVISIONED. A new table is
	// PAY_PER_REQUEST if the field is empty.
	BillingMode types.BillingMode `json:"billingMode,omitzero"`
	// ProvisionedThroughput is the capacity of the table, in units per second.
	// It is required with the billing mode PROVISIONED and refused without. It
	// is set when the table is created and never compared, since auto scaling
	// changes it. AWS: "Managing throughput capacity automatically with DynamoDB auto
	// scaling", Amazon DynamoDB Developer Guide.
	ProvisionedThroughput Throughput `json:"provisionedThroughput,omitzero"`
	// WarmThroughput is the load, in units per second, that the new table can
	// take from its first second. It is never compared: DynamoDB raises it. AWS:
	// "Understanding DynamoDB warm throughput", Amazon DynamoDB Developer Guide.
	WarmThroughput Throughput `json:"warmThroughput,omitzero"`
	// TableClass is STANDARD or STANDARD_INFREQUENT_ACCESS. It is never compared.
	TableClass types.TableClass `json:"tableClass,omitzero"`
	// PointInTimeRecovery turns continuous backups on, with the recovery period
	// that DynamoDB has by default, 35 days. Local engines have no such backups:
	// clear the field there. AWS: PointInTimeRecoverySpecification, Amazon DynamoDB API
	// Reference.
	PointInTimeRecovery bool `json:"pointInTimeRecovery,omitzero"`
	// DeletionProtection makes DynamoDB refuse to delete the table. In templates
	// of package tablemodel it also keeps CloudFormation and Terraform from
	// deleting or replacing the table. AWS: CreateTable, Amazon DynamoDB API Reference.
	DeletionProtection bool `json:"deletionProtection,omitzero"`
	// Tags are the tags of a new table. They are never compared.
	Tags map[string]string `json:"tags,omitempty"`
}

// Throughput is a number of read and write units per second. The zero value
// means that none is set.
type Throughput struct {
	Read  int64 `json:"read,omitzero"`
	Write int64 `json:"write,omitzero"`
}

const (
	defaultPK   = "pk"
	defaultSK   = "sk"
	defaultType = "entityType"

	defaultShape = "entityShape"
)

// maxAttributeName is the maximum length, in characters, of the names of key
// attributes, projected attributes and the TTL attribute. AWS: KeySchemaElement,
// Projection and TimeToLiveSpecification, Amazon DynamoDB API Reference; "Constraints in
// Amazon DynamoDB", Amazon DynamoDB Developer Guide.
const maxAttributeName = 255

// maxLocalIndexes and maxIncluded are limits of DynamoDB: of local indexes, and of the
// attributes that all INCLUDE projections of a table name. AWS: CreateTable and Projection,
// Amazon DynamoDB API Reference.
const (
	maxLocalIndexes = 5
	maxIncluded     = 100
)

// defaultGlobalIndexes is how many global indexes a table can have by default. AWS
// raises this quota on request, so more of them are no error. AWS: "Quotas in Amazon
// DynamoDB", Amazon DynamoDB Developer Guide.
const defaultGlobalIndexes = 20

func attributeName(s string) bool {
	return utf8.ValidString(s) && utf8.RuneCountInString(s) <= maxAttributeName
}

// WithDefaults returns a copy of the schema in which no name, type or projection is
// left to a default.
func (t Table) WithDefaults() Table {
	t.PK = cmp.Or(t.PK, defaultPK)
	t.PKType = cmp.Or(t.PKType, types.ScalarAttributeTypeS)
	if !t.SimpleKey {
		t.SK = cmp.Or(t.SK, defaultSK)
		t.SKType = cmp.Or(t.SKType, types.ScalarAttributeTypeS)
	}
	t.TypeAttribute = cmp.Or(t.TypeAttribute, defaultType)
	t.Shape = cmp.Or(t.Shape, defaultShape)
	t.Kinds = slices.Clone(t.Kinds)
	t.Tags = maps.Clone(t.Tags)
	t.Indexes = slices.Clone(t.Indexes)
	for i := range t.Indexes {
		x := &t.Indexes[i]
		x.Include = slices.Clone(x.Include)
		if x.Local {
			x.PK = cmp.Or(x.PK, t.PK)
			x.PKType = cmp.Or(x.PKType, t.PKType)
		}
		x.PKs, x.SKs = withTypes(x.PKs), withTypes(x.SKs)
		if x.PK != "" {
			x.PKType = cmp.Or(x.PKType, types.ScalarAttributeTypeS)
		}
		if x.SK != "" {
			x.SKType = cmp.Or(x.SKType, types.ScalarAttributeTypeS)
		}
		x.Projection = cmp.Or(x.Projection, types.ProjectionTypeAll)
	}
	t.Vectors = slices.Clone(t.Vectors)
	for i, x := range t.Vectors {
		t.Vectors[i] = x.withDefaults()
	}
	return t
}

// ShapeFrom returns the name of the attribute that holds the oldest shape whose programs
// may read and write an item: Shape with "From" at its end.
func (t Table) ShapeFrom() string { return cmp.Or(t.Shape, defaultShape) + "From" }

// ShapeAt returns the name of the attribute that holds the version or revision of an item
// when a program of its shape last wrote it: Shape with "At" at its end. If the item has
// another one, an older program has written it since.
func (t Table) ShapeAt() string { return cmp.Or(t.Shape, defaultShape) + "At" }

// Validate checks the schema by itself, without a request. It returns a
// [*Error] that lists everything that is wrong and matches
// [keys.ErrInvalid], or nil.
func (t Table) Validate() error {
	t = t.WithDefaults()
	p := problems{all: new([]string)}
	p.name(t.Name)
	if t.SimpleKey && t.SK != "" {
		p.add("SimpleKey: is set, and so is SK %q", t.SK)
	}
	if t.PK == t.SK {
		p.add("SK: %q is the partition key's attribute already", t.SK)
	}
	if t.TTLAttribute == t.TypeAttribute {
		p.add("TTLAttribute: %q is the type attribute already", t.TTLAttribute)
	}
	if !attributeName(t.TTLAttribute) {
		p.add("TTLAttribute: %q is not UTF-8 of at most %d characters", t.TTLAttribute, maxAttributeName)
	}
	if t.Shape == t.TypeAttribute || t.Shape == t.TTLAttribute {
		p.add("Shape: %q is the TTL or type attribute already", t.Shape)
	}
	if !attributeName(t.Shape) {
		p.add("Shape: %q is not UTF-8 of at most %d characters", t.Shape, maxAttributeName)
	}
	t.kindProblems(p)
	t.settingsProblems(p)
	seen := map[string]bool{}
	local, included := 0, 0
	for i, x := range t.Indexes {
		if x.Local {
			local++
		}
		included += len(x.Include)
		x.problems(p.index("Indexes", i, x.Name, seen), t)
	}
	if local > maxLocalIndexes {
		p.add("Indexes: %d are local, DynamoDB allows %d", local, maxLocalIndexes)
	}
	if included > maxIncluded {
		p.add("Indexes: they include %d attributes, DynamoDB allows %d", included, maxIncluded)
	}
	t.vectorProblems(p, seen, t.attributeTypes(p))
	return listed(t.Name, errInvalid, *p.all)
}

// attributeTypes returns the type of every key attribute of t, and of what searches of
// vector indexes are for. It adds what is wrong with them: a type that a key cannot have, one
// attribute with two types.
func (t Table) attributeTypes(p problems) map[string]types.ScalarAttributeType {
	keys := []Attribute{{t.PK, t.PKType}, {t.SK, t.SKType}}
	var parts []Attribute // which items have anyway
	for _, x := range t.Indexes {
		if x.composite() {
			parts = slices.Concat(parts, x.PKs, x.SKs)
		} else {
			partition, sort := x.Keys()
			keys = slices.Concat(keys, partition, sort)
		}
	}
	for _, x := range t.Vectors {
		parts = append(parts, x.searched()...)
	}
	all := map[string]types.ScalarAttributeType{}
	for i, a := range slices.Concat(keys, parts) {
		if a.Name == "" {
			continue
		}
		if !attributeName(a.Name) {
			p.add("key attribute %q: is not UTF-8 of at most %d characters", a.Name, maxAttributeName)
		}
		if !slices.Contains(a.Type.Values(), a.Type) {
			p.add("key attribute %q: type %q is not S, N or B", a.Name, a.Type)
		}
		if had, ok := all[a.Name]; ok && had != a.Type {
			p.add("key attribute %q: is %s in one place and %s in another", a.Name, had, a.Type)
		}
		all[a.Name] = a.Type
		switch {
		case a.Name == t.Shape, i < len(keys) && a.Name == t.TTLAttribute:
			p.add("key attribute %q: is the TTL or shape attribute too", a.Name)
		case i < len(keys) && a.Name == t.TypeAttribute:
			p.add("key attribute %q: is the type attribute too, which no key function makes; an index of types names it in PKs or SKs", a.Name)
		}
	}
	if kind := all[t.TypeAttribute]; kind != "" && kind != types.ScalarAttributeTypeS {
		p.add("key attribute %q: is the type attribute, a string, and not %s", t.TypeAttribute, kind)
	}
	if kind := all[t.TTLAttribute]; kind != "" && kind != types.ScalarAttributeTypeN {
		p.add("key attribute %q: is the TTL attribute, a number, and not %s", t.TTLAttribute, kind)
	}
	return all
}

// CreateTableInput returns the request that creates the table, with everything
// that the schema says except TTL and point-in-time recovery. AWS has requests
// of their own for these: see [Table.Ensure].
//
// The error matches [keys.ErrInvalid].
//
// AWS: UpdateTimeToLive and UpdateContinuousBackups, Amazon DynamoDB API Reference.
func (t Table) CreateTableInput() (*dynamodb.CreateTableInput, error) {
	if err := t.Validate(); err != nil {
		return nil, err
	}
	t = t.WithDefaults()
	in := &dynamodb.CreateTableInput{
		TableName:             aws.String(t.Name),
		KeySchema:             keySchema(Index{PK: t.PK, SK: t.SK}),
		BillingMode:           cmp.Or(t.BillingMode, types.BillingModePayPerRequest),
		ProvisionedThroughput: t.ProvisionedThroughput.provisioned(),
		WarmThroughput:        t.WarmThroughput.warm(),
		TableClass:            t.TableClass,
	}
	if t.Stream != "" {
		in.StreamSpecification = &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: t.Stream}
	}
	if t.DeletionProtection {
		in.DeletionProtectionEnabled = aws.Bool(true)
	}
	for _, key := range slices.Sorted(maps.Keys(t.Tags)) {
		in.Tags = append(in.Tags, types.Tag{Key: aws.String(key), Value: aws.String(t.Tags[key])})
	}
	kinds := t.attributeTypes(problems{all: new([]string)}) // Validate has found none
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{
			AttributeName: aws.String(name), AttributeType: kinds[name],
		})
	}
	for _, x := range t.Indexes {
		projection := &types.Projection{ProjectionType: x.Projection, NonKeyAttributes: x.Include}
		if x.Local {
			in.LocalSecondaryIndexes = append(in.LocalSecondaryIndexes, types.LocalSecondaryIndex{
				IndexName: aws.String(x.Name), KeySchema: keySchema(x), Projection: projection,
			})
			continue
		}
		in.GlobalSecondaryIndexes = append(in.GlobalSecondaryIndexes, types.GlobalSecondaryIndex{
			IndexName: aws.String(x.Name), KeySchema: keySchema(x), Projection: projection,
			ProvisionedThroughput: x.ProvisionedThroughput.provisioned(),
			WarmThroughput:        x.WarmThroughput.warm(),
		})
	}
	for _, x := range t.Vectors {
		in.VectorIndexes = append(in.VectorIndexes, x.input())
	}
	return in, nil
}
