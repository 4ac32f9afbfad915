package main_test

import (
	"context"
	"math"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// product has a vector, as a model makes it of a text.
type product struct {
	PK     string    `dynamodbav:"pk"`
	SK     string    `dynamodbav:"sk"`
	Type   string    `dynamodbav:"entityType"`
	ID     string    `dynamodbav:"id"`
	Tenant string    `dynamodbav:"tenant"`
	Vector []float32 `dynamodbav:"embedding"`
}

const dimensions = 1536

// embedded returns a product whose vector has length 1.
func embedded() product {
	p := product{PK: "PRODUCT#p-1", SK: "METADATA", Type: "PRODUCT", ID: "p-1", Tenant: "acme", Vector: make([]float32, dimensions)}
	for i := range p.Vector {
		p.Vector[i] = float32(math.Sin(float64(i*i)) / math.Sqrt(dimensions/2))
	}
	return p
}

// BenchmarkVector stores an item with a vector of 1,536 dimensions, and reads it.
func BenchmarkVector(b *testing.B) {
	p, want := stubPlace(b), embedded()
	indexed := schema.Table{Name: p.table, Vectors: []schema.VectorIndex{{
		Name: "byText", Attribute: "embedding", Dimensions: dimensions, Partition: schema.Attribute{Name: "tenant"},
	}}}
	t, err := table.New(p.client, indexed, nil)
	must(b, err)
	products, err := repo.New(t, repo.Entity[product]{
		Type: "PRODUCT", Key: func(p product) keys.Key { return keys.Key{PK: keys.PK("PRODUCT#" + p.ID), SK: keys.Metadata} },
	})
	must(b, err)
	must(b, products.Save(b.Context(), &want))
	key := map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: want.PK}, "sk": &types.AttributeValueMemberS{Value: want.SK}}
	for _, lib := range []struct {
		name  string
		write func(context.Context, product) error
		read  func(context.Context) (product, error)
	}{
		{
			"sdk",
			func(ctx context.Context, v product) error {
				item, err := attributevalue.MarshalMap(v)
				if err == nil {
					_, err = p.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String(p.table), Item: item})
				}
				return err
			},
			func(ctx context.Context) (v product, err error) {
				out, err := p.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: aws.String(p.table), Key: key})
				if err == nil {
					err = attributevalue.UnmarshalMap(out.Item, &v)
				}
				return v, err
			},
		},
		{
			"singletable",
			func(ctx context.Context, v product) error { return products.Save(ctx, &v) },
			func(ctx context.Context) (product, error) {
				return products.Get(ctx, keys.Key{PK: keys.PK(want.PK), SK: keys.SK(want.SK)})
			},
		},
	} {
		b.Run("job=write/lib="+lib.name, func(b *testing.B) {
			measure(b, func() error { return lib.write(b.Context(), want) })
		})
		b.Run("job=read/lib="+lib.name, func(b *testing.B) {
			got, err := lib.read(b.Context())
			must(b, err)
			mustEqual(b, got, want)
			measure(b, func() error { _, err := lib.read(b.Context()); return err })
		})
	}
}
