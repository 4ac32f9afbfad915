// Package similar finds products that are like another one, or like a text, among those of
// one tenant.
package similar

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// Dimensions is how many numbers a vector of the model has.
const Dimensions = 64

// Schema has one vector index. It is divided by the tenant.
var Schema = schema.Table{
	Name: "Catalogue", Stream: types.StreamViewTypeNewAndOldImages,
	Vectors: []schema.VectorIndex{{
		Name: "similar", Attribute: "embedding", Dimensions: Dimensions,
		Partition: schema.Attribute{Name: "tenantId"},
		Filters:   []schema.Attribute{{Name: "category"}},
	}},
}

// Product is a product of a tenant.
type Product struct {
	Tenant      string `dynamodbav:"tenantId"`
	ID          string `dynamodbav:"productId"`
	Category    string `dynamodbav:"category"`
	Name        string `dynamodbav:"name"`
	Description string `dynamodbav:"description"`
	Price       int64  `dynamodbav:"price"`
	// Embedding is the vector of the text with the hash Embedded, once the model has made it.
	Embedding []float32 `dynamodbav:"embedding,omitempty"`
	Embedded  string    `dynamodbav:"embedded,omitempty"`
	Revision  string    `dynamodbav:"revision"`
}

// text is what the model reads.
func (p Product) text() string { return p.Name + "\n" + p.Description }

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// Key is the key of a product.
func Key(tenant, id string) keys.Key {
	return keys.Key{PK: keys.Prefix("CATALOGUE").PK(tenant), SK: keys.Prefix("PRODUCT").SK(keys.Str(id))}
}

// Entity says how products are stored.
var Entity = repo.Entity[Product]{
	Type: "PRODUCT", Version: "revision",
	Key: func(p Product) keys.Key { return Key(p.Tenant, p.ID) },
}

// Model makes the vector of a text.
type Model func(ctx context.Context, text string) ([]float32, error)

// Catalogue has the products of all tenants. It is safe for concurrent use.
type Catalogue struct {
	Products *repo.Repo[Product]
	table    *table.Table
	model    Model
}

// New returns the catalogue in a table.
func New(t *table.Table, model Model) (*Catalogue, error) {
	products, err := repo.New(t, Entity)
	return &Catalogue{products, t, model}, err
}

// Similar returns up to ten products of the same tenant and category, the most alike first.
func (c *Catalogue) Similar(ctx context.Context, tenant, id string) (alike []Product, err error) {
	p, err := c.Products.Get(ctx, Key(tenant, id))
	if err != nil || len(p.Embedding) == 0 {
		return nil, err // its vector comes later
	}
	matches, _, err := c.Products.Search(ctx, table.Search{
		Index: "similar", Partition: tenant, Near: p.Embedding, Filter: map[string]string{"category": p.Category}, Top: 11,
	})
	for _, m := range matches {
		if m.Item.ID != id { // it is the most alike itself
			alike = append(alike, m.Item)
		}
	}
	return alike, err
}

// Find returns up to ten products of a tenant that are like a text.
func (c *Catalogue) Find(ctx context.Context, tenant, text string) ([]table.Match[Product], error) {
	near, err := c.model(ctx, text)
	if err != nil {
		return nil, err
	}
	matches, _, err := c.Products.Search(ctx, table.Search{Index: "similar", Partition: tenant, Near: near})
	return matches, err
}
