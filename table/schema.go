package table

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Schema says how one physical table is laid out. It is a value, declared once,
// next to the application's key functions. Only Name has no default.
//
// It can be written and read as JSON, in a file for tools that are not this
// program, and loses nothing on the way.
type Schema struct {
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

	// Type is the name of the attribute that holds an item's type; by default
	// "entityType".
	Type string `json:"type,omitzero"`
	// TTL is the name of the attribute that holds an item's expiry as a number
	// of seconds since 1970 UTC. Empty means that items do not expire.
	TTL string `json:"ttl,omitzero"`

	// Indexes are the secondary indexes that the application uses. The live
	// table may have others.
	Indexes []Index `json:"indexes,omitempty"`
}

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
	// Local makes a local secondary index; global otherwise.
	Local bool `json:"local,omitzero"`
	// Projection says which attributes the index holds; all by default. Reads of
	// an index that does not hold the TTL attribute return expired items, and
	// views made by [Table.OfType] cannot use one without the type attribute.
	Projection types.ProjectionType `json:"projection,omitzero"`
	// Include names the attributes that an INCLUDE projection holds beside the
	// keys.
	Include []string `json:"include,omitempty"`
}

const (
	defaultPK   = "pk"
	defaultSK   = "sk"
	defaultType = "entityType"
)

// maxAttributeName is the greatest length of the name of a key attribute or of
// the TTL attribute, in characters. AWS: KeySchemaElement and
// TimeToLiveSpecification, Amazon DynamoDB API Reference.
const maxAttributeName = 255

func attributeName(s string) bool {
	return utf8.ValidString(s) && utf8.RuneCountInString(s) <= maxAttributeName
}

// AWS: "Naming rules", Amazon DynamoDB Developer Guide.
var tableName = regexp.MustCompile(`^[a-zA-Z0-9_.-]{3,255}$`)

// withDefaults returns a copy of s in which nothing is left to a default.
func (s Schema) withDefaults() Schema {
	s.PK = cmp.Or(s.PK, defaultPK)
	s.PKType = cmp.Or(s.PKType, types.ScalarAttributeTypeS)
	if !s.SimpleKey {
		s.SK = cmp.Or(s.SK, defaultSK)
		s.SKType = cmp.Or(s.SKType, types.ScalarAttributeTypeS)
	}
	s.Type = cmp.Or(s.Type, defaultType)
	s.Indexes = slices.Clone(s.Indexes)
	for i := range s.Indexes {
		x := &s.Indexes[i]
		x.Include = slices.Clone(x.Include)
		if x.Local {
			x.PK = cmp.Or(x.PK, s.PK)
			x.PKType = cmp.Or(x.PKType, s.PKType)
		}
		x.PKType = cmp.Or(x.PKType, types.ScalarAttributeTypeS)
		if x.SK != "" {
			x.SKType = cmp.Or(x.SKType, types.ScalarAttributeTypeS)
		}
		x.Projection = cmp.Or(x.Projection, types.ProjectionTypeAll)
	}
	return s
}

// Validate checks the schema by itself, without a request. It returns a
// [*SchemaError] that lists everything that is wrong and matches
// [ErrInvalidSchema], or nil.
func (s Schema) Validate() error {
	s = s.withDefaults()
	var problems []string
	bad := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }

	if !tableName.MatchString(s.Name) {
		bad("Name: %q is not 3 to 255 of the characters a-z A-Z 0-9 _ . -", s.Name)
	}
	if s.SimpleKey && s.SK != "" {
		bad("SimpleKey: is set, and so is SK %q", s.SK)
	}
	if s.PK == s.SK {
		bad("SK: %q is the partition key's attribute already", s.SK)
	}
	if s.TTL == s.Type {
		bad("TTL: %q is the type attribute already", s.TTL)
	}
	if !attributeName(s.TTL) {
		bad("TTL: %q is not UTF-8 of at most %d characters", s.TTL, maxAttributeName)
	}
	seen := map[string]bool{}
	for i, x := range s.Indexes {
		where := fmt.Sprintf("Indexes[%d]", i)
		if !tableName.MatchString(x.Name) {
			bad("%s.Name: %q is not 3 to 255 of the characters a-z A-Z 0-9 _ . -", where, x.Name)
		}
		if seen[x.Name] {
			bad("%s.Name: %q is used twice", where, x.Name)
		}
		seen[x.Name] = true
		problems = append(problems, x.problems(where, s)...)
	}
	_, clashes := s.attributeTypes()
	problems = append(problems, clashes...)
	return schemaError(s.Name, ErrInvalidSchema, problems)
}

// problems lists what is wrong with x as an index of s.
func (x Index) problems(where string, s Schema) []string {
	var problems []string
	bad := func(format string, args ...any) {
		problems = append(problems, where+fmt.Sprintf(format, args...))
	}
	if x.PK == "" {
		bad(".PK: is empty, and an index needs a partition key attribute")
	}
	if x.PK != "" && x.PK == x.SK {
		bad(".SK: %q is the index's partition key attribute already", x.SK)
	}
	if x.Local && x.PK != s.PK {
		bad(".PK: a local index has the table's partition key %q, not %q", s.PK, x.PK)
	}
	if x.Local && s.SimpleKey {
		bad(".Local: a table without sort key has no local indexes")
	}
	if x.Local && x.SK == "" {
		bad(".SK: is empty, and a local index needs a sort key attribute")
	}
	if !slices.Contains(x.Projection.Values(), x.Projection) {
		bad(".Projection: %q is not ALL, KEYS_ONLY or INCLUDE", x.Projection)
	}
	if (x.Projection == types.ProjectionTypeInclude) != (len(x.Include) > 0) {
		bad(".Include: goes with the projection INCLUDE and only with it")
	}
	return problems
}

// attributeTypes returns the type of every key attribute of s, and what is
// wrong with them: a type that a key cannot have, one attribute with two types.
func (s Schema) attributeTypes() (map[string]types.ScalarAttributeType, []string) {
	all := map[string]types.ScalarAttributeType{}
	var problems []string
	add := func(name string, kind types.ScalarAttributeType) {
		if name == "" {
			return
		}
		if !attributeName(name) {
			problems = append(problems, fmt.Sprintf("key attribute %q: is not UTF-8 of at most %d characters", name, maxAttributeName))
		}
		if !slices.Contains(kind.Values(), kind) {
			problems = append(problems, fmt.Sprintf("key attribute %q: type %q is not S, N or B", name, kind))
		}
		if had, ok := all[name]; ok && had != kind {
			problems = append(problems, fmt.Sprintf("key attribute %q: is %s in one place and %s in another", name, had, kind))
		}
		if name == s.TTL || name == s.Type {
			problems = append(problems, fmt.Sprintf("key attribute %q: is the TTL or type attribute too", name))
		}
		all[name] = kind
	}
	add(s.PK, s.PKType)
	add(s.SK, s.SKType)
	for _, x := range s.Indexes {
		add(x.PK, x.PKType)
		add(x.SK, x.SKType)
	}
	return all, problems
}

// index returns the index of that name.
func (s *Schema) index(name string) (*Index, bool) {
	i := slices.IndexFunc(s.Indexes, func(x Index) bool { return x.Name == name })
	if i < 0 {
		return nil, false
	}
	return &s.Indexes[i], true
}

// CreateTableInput returns the request that creates the table with on-demand
// capacity (PAY_PER_REQUEST) and all indexes. TTL is not part of it: AWS has a
// request of its own for that, see [Schema.Ensure].
func (s Schema) CreateTableInput() (*dynamodb.CreateTableInput, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	s = s.withDefaults()
	in := &dynamodb.CreateTableInput{
		TableName:   aws.String(s.Name),
		BillingMode: types.BillingModePayPerRequest,
		KeySchema:   keySchema(s.PK, s.SK),
	}
	attributes, _ := s.attributeTypes()
	for name, kind := range attributes {
		in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{
			AttributeName: aws.String(name), AttributeType: kind,
		})
	}
	slices.SortFunc(in.AttributeDefinitions, func(a, b types.AttributeDefinition) int {
		return cmp.Compare(*a.AttributeName, *b.AttributeName)
	})
	for _, x := range s.Indexes {
		projection := &types.Projection{ProjectionType: x.Projection, NonKeyAttributes: x.Include}
		if x.Local {
			in.LocalSecondaryIndexes = append(in.LocalSecondaryIndexes, types.LocalSecondaryIndex{
				IndexName: aws.String(x.Name), KeySchema: keySchema(x.PK, x.SK), Projection: projection,
			})
			continue
		}
		in.GlobalSecondaryIndexes = append(in.GlobalSecondaryIndexes, types.GlobalSecondaryIndex{
			IndexName: aws.String(x.Name), KeySchema: keySchema(x.PK, x.SK), Projection: projection,
		})
	}
	return in, nil
}

func keySchema(pk, sk string) []types.KeySchemaElement {
	elements := []types.KeySchemaElement{{AttributeName: aws.String(pk), KeyType: types.KeyTypeHash}}
	if sk != "" {
		elements = append(elements, types.KeySchemaElement{AttributeName: aws.String(sk), KeyType: types.KeyTypeRange})
	}
	return elements
}
