package schema

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/response"
)

// VectorIndex describes an index that is searched by similarity. An item is in it if it
// has the vector and, where the index has a Partition, that attribute. Reads by
// table.SearchVectors alone use it.
//
// AWS: "Vector search: Requirements and limitations", Amazon DynamoDB Developer Guide.
type VectorIndex struct {
	// Name is the index's name. No other index of the table has it.
	Name string `json:"name"`
	// Attribute is the name of the attribute with the vector, a list of Dimensions numbers.
	// The index keeps them as 32-bit floating point numbers. All indexes of one attribute
	// have the same Dimensions.
	Attribute string `json:"attribute"`
	// Dimensions is how many numbers a vector has: 1 to 4,096.
	Dimensions int `json:"dimensions"`
	// Distance is how two vectors are compared: COSINE by default, EUCLIDEAN or
	// DOT_PRODUCT.
	Distance types.VectorDistanceFunction `json:"distance,omitzero"`
	// Partition is the attribute that divides the index, such as one with the tenant. A
	// search is of one value of it, and finds no item that has another one. Without a
	// Partition every search is of the whole index.
	Partition Attribute `json:"partition,omitzero"`
	// Filters are attributes whose values a search can ask for: 18 at most. An item
	// without one of them is in the index, and matches no value of it.
	Filters []Attribute `json:"filters,omitempty"`
	// Projection says which attributes a search returns; all by default, except for the
	// vector. The keys of the table, Partition and Filters are always among them.
	Projection types.ProjectionType `json:"projection,omitzero"`
	// Include names the attributes that an INCLUDE projection holds in addition.
	Include []string `json:"include,omitempty"`
}

// Limits of vector indexes. AWS: "Quotas in Amazon DynamoDB", Amazon DynamoDB Developer
// Guide.
const (
	maxVectorIndexes = 5
	maxDimensions    = 4096
	maxVectorFilters = 18
)

// searched returns the attributes that a search can name: Partition, if there is one, and
// Filters.
func (x VectorIndex) searched() []Attribute {
	if x.Partition.Name == "" {
		return x.Filters
	}
	return slices.Concat([]Attribute{x.Partition}, x.Filters)
}

// Holds reports whether items in the index have an attribute if those of the table with
// this schema do. The vector is not among what a search returns unless it is asked for.
func (x VectorIndex) Holds(t Table, attribute string) bool {
	return x.Projection == types.ProjectionTypeAll || attribute == x.Attribute ||
		slices.Contains(x.Include, attribute) || attribute == t.PK || attribute == t.SK ||
		slices.ContainsFunc(x.searched(), func(a Attribute) bool { return a.Name == attribute })
}

func (x VectorIndex) withDefaults() VectorIndex {
	x.Distance = cmp.Or(x.Distance, types.VectorDistanceFunctionCosine)
	x.Projection = cmp.Or(x.Projection, types.ProjectionTypeAll)
	x.Include = slices.Clone(x.Include)
	x.Filters = withTypes(x.Filters)
	if x.Partition.Name != "" {
		x.Partition.Type = cmp.Or(x.Partition.Type, types.ScalarAttributeTypeS)
	}
	return x
}

// vectorProblems adds what is wrong with the vector indexes. names are those of the other
// indexes, and definitions the types of all key attributes.
func (t Table) vectorProblems(p problems, names map[string]bool, definitions map[string]types.ScalarAttributeType) {
	if n := len(t.Vectors); n > maxVectorIndexes {
		p.add("Vectors: are %d, DynamoDB allows %d", n, maxVectorIndexes)
	}
	if len(t.Vectors) > 0 && t.BillingMode == types.BillingModeProvisioned {
		p.add("Vectors: need the billing mode PAY_PER_REQUEST")
	}
	dimensions := map[string]int{}
	for i, x := range t.Vectors {
		p := p.index("Vectors", i, x.Name, names)
		if n := x.Dimensions; n < 1 || n > maxDimensions {
			p.add("Dimensions: %d is not 1 to %d", n, maxDimensions)
		}
		if other, there := dimensions[x.Attribute]; there && other != x.Dimensions {
			p.add("Dimensions: %d, and another index of %q has %d", x.Dimensions, x.Attribute, other)
		}
		dimensions[x.Attribute] = x.Dimensions
		x.problems(p, t, definitions)
	}
}

// problems adds what is wrong with the attributes of x as an index of t.
func (x VectorIndex) problems(p problems, t Table, definitions map[string]types.ScalarAttributeType) {
	oneOf(p, "Distance", x.Distance)
	switch {
	case x.Attribute == "" || !attributeName(x.Attribute):
		p.add("Attribute: %q is not UTF-8 of 1 to %d characters", x.Attribute, maxAttributeName)
	case definitions[x.Attribute] != "":
		p.add("Attribute: %q is a key of the table or of an index, or a search is for its value", x.Attribute)
	case slices.Contains([]string{t.TypeAttribute, t.TTLAttribute, t.Shape, t.ShapeFrom(), t.ShapeAt()}, x.Attribute):
		p.add("Attribute: %q is the TTL, type or shape attribute too", x.Attribute)
	}
	if x.Partition.Name == "" && x.Partition.Type != "" {
		p.add("Partition: has a type and no name")
	}
	if n := len(x.Filters); n > maxVectorFilters {
		p.add("Filters: are %d, DynamoDB allows %d", n, maxVectorFilters)
	}
	for i, a := range x.Filters {
		switch {
		case a.Name == "":
			p.add("Filters[%d].Name: is empty", i)
		case a.Name == x.Partition.Name, slices.ContainsFunc(x.Filters[:i], func(other Attribute) bool { return other.Name == a.Name }):
			p.add("Filters[%d].Name: %q is there already", i, a.Name)
		}
	}
	p.projection(x.Projection, x.Include)
}

// input is the index in a request that creates the table.
func (x VectorIndex) input() types.VectorIndex {
	v := types.VectorIndex{
		IndexName: aws.String(x.Name), VectorAttribute: &types.VectorAttributeDefinition{AttributeName: aws.String(x.Attribute)},
		Dimensions: aws.Int64(int64(x.Dimensions)), DistanceFunction: x.Distance,
		Projection: &types.Projection{ProjectionType: x.Projection, NonKeyAttributes: x.Include},
	}
	for _, a := range x.searched() {
		role := types.SearchSchemaElementTypeInlineFilter
		if a == x.Partition {
			role = types.SearchSchemaElementTypeHash
		}
		v.SearchSchema = append(v.SearchSchema, types.SearchSchemaElement{AttributeName: aws.String(a.Name), SearchSchemaElementType: role})
	}
	return v
}

// vectorText says in words what a vector index is.
func vectorText(
	attribute *types.VectorAttributeDefinition, dimensions *int64, distance types.VectorDistanceFunction,
	elements []types.SearchSchemaElement, attributes map[string]types.ScalarAttributeType,
) string {
	text := "none"
	if attribute != nil {
		text = fmt.Sprintf("%s of %d by %s", aws.ToString(attribute.AttributeName), aws.ToInt64(dimensions), distance)
	}
	var filters []string
	for _, e := range elements {
		name := aws.ToString(e.AttributeName)
		filters = append(filters, fmt.Sprintf(" and %s %s (%s)", e.SearchSchemaElementType, name, attributes[name]))
	}
	slices.Sort(filters) // whose order has no meaning
	for _, f := range filters {
		text += f
	}
	return text
}

// missingVectorIndex completes the difference of a vector index that the live table lacks.
func (i *inspector) missingVectorIndex(d difference, x types.VectorIndex) difference {
	if action := i.vectorObstacle(x); action != "" {
		d.Action = action
		return d
	}
	var names []string
	for _, e := range x.SearchSchema {
		names = append(names, *e.AttributeName)
	}
	attributes, ok := i.definitions(names, &d)
	if !ok {
		return d
	}
	d.kind, d.Action = byEnsure, vectorAddition(i.have)
	d.update, d.request = true, i.updateTable(&dynamodb.UpdateTableInput{
		AttributeDefinitions: attributes,
		VectorIndexUpdates: []types.VectorIndexUpdate{{Create: &types.CreateVectorIndexAction{
			IndexName: x.IndexName, VectorAttribute: x.VectorAttribute, Dimensions: x.Dimensions, DistanceFunction: x.DistanceFunction,
			SearchSchema: x.SearchSchema, Projection: x.Projection,
		}}},
	})
	return d
}

// vectorObstacle returns what a person has to do before the live table can have a vector
// index, "" for nothing.
func (i *inspector) vectorObstacle(x types.VectorIndex) string {
	attribute := *x.VectorAttribute.AttributeName
	if billingMode(i.have) == types.BillingModeProvisioned {
		return "make the table on demand: DynamoDB has vector indexes of no other"
	}
	if i.hasIndex(*x.IndexName) {
		return handName
	}
	if typesOf(i.have.AttributeDefinitions)[attribute] != "" {
		return fmt.Sprintf("store the vector in another attribute: %s is a key in the live table", attribute)
	}
	for _, live := range i.have.VectorIndexes {
		if d := aws.ToInt64(live.Dimensions); live.VectorAttribute != nil && aws.ToString(live.VectorAttribute.AttributeName) == attribute && d != *x.Dimensions {
			return fmt.Sprintf("store vectors of %d numbers in another attribute: the live index %s of %s has %d",
				*x.Dimensions, aws.ToString(live.IndexName), attribute, d)
		}
	}
	// Indexes that the schema does not name count, too.
	if after := len(i.have.VectorIndexes) + 1; after > maxVectorIndexes {
		return fmt.Sprintf("delete one first: the live table has %d vector indexes, which is all that DynamoDB allows", maxVectorIndexes)
	}
	return ""
}

// vectorAddition says what adding a vector index to the table takes. DynamoDB charges the
// bytes that it writes to vector indexes, and no write units for them. AWS: "Monitoring
// vector index capacity", Amazon DynamoDB Developer Guide.
func vectorAddition(have *types.TableDescription) string {
	items := aws.ToInt64(have.ItemCount)
	if items < 1 {
		return "add it; DynamoDB charges by the bytes that it writes, and how many is not known until it counts, about every 6 hours"
	}
	return fmt.Sprintf("add it; DynamoDB charges by the bytes that it writes, which are those of the vectors and projections of at most %d items, "+
		"by its count, which is up to about 6 hours old", items)
}

// unsearchable are the codes of errors that say that an index is not there or not filled, or
// that the table itself is not there yet.
var unsearchable = []string{"ValidationException", "ResourceNotFoundException"}

// searchDifferences are the vector indexes that take no searches yet: the description of a
// table can be ahead of them.
func (e *ensuring) searchDifferences(ctx context.Context) (all []difference, err error) {
	client, ok := e.client.(interface {
		SearchVectors(context.Context, *dynamodb.SearchVectorsInput, ...func(*dynamodb.Options)) (*dynamodb.SearchVectorsOutput, error)
	})
	if !ok {
		return nil, nil
	}
	for _, x := range e.schema.WithDefaults().Vectors {
		if e.searched[x.Name] || !e.hasIndex(x.Name) { // the engine does not have those
			continue
		}
		_, err := client.SearchVectors(ctx, x.probe(e.schema.Name), response.Limit)
		switch api, _ := response.Of(err); {
		case err == nil:
			e.searched[x.Name] = true
		case api != nil && slices.Contains(unsearchable, api.ErrorCode()):
			all = append(all, differs(x.Name, byEnsure, "wait until it takes searches", "vector index %s: takes no searches yet", x.Name))
		default:
			return nil, err
		}
	}
	return all, nil
}

// probe is a search of the index that is valid.
func (x VectorIndex) probe(table string) *dynamodb.SearchVectorsInput {
	number := &types.AttributeValueMemberN{Value: "1"}
	in := &dynamodb.SearchVectorsInput{
		TableName: aws.String(table), IndexName: aws.String(x.Name), TopK: aws.Int32(1),
		SearchVector: slices.Repeat([]types.AttributeValue{number}, x.Dimensions),
	}
	var of types.AttributeValue = number
	switch x.Partition.Type {
	case "":
		return in
	case types.ScalarAttributeTypeS:
		of = &types.AttributeValueMemberS{Value: "1"}
	case types.ScalarAttributeTypeB:
		of = &types.AttributeValueMemberB{Value: []byte("1")}
	}
	in.SearchConditionExpression = aws.String("#partition = :partition")
	in.ExpressionAttributeNames = map[string]string{"#partition": x.Partition.Name}
	in.ExpressionAttributeValues = map[string]types.AttributeValue{":partition": of}
	return in
}
