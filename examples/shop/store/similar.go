package store

import (
	"context"

	"github.com/singletable/singletable/examples/internal/embedding"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
)

// productVector is the vector of an active product. It is stored once, as
// PRODUCT#<product> / VECTOR, and is in the index of vectors. It is an item of its own, so
// that a sale does not write it and a list does not read it. An inactive product has none:
// a search need not filter.
type productVector struct {
	ProductID string    `dynamodbav:"productId"`
	Vector    []float32 `dynamodbav:"vector"`
}

var productVectorEntity = repo.Entity[productVector]{
	Type: "PRODUCT_VECTOR",
	Key:  func(v productVector) keys.Key { return VectorKey(v.ProductID) },
}

// VectorKey is the key of the vector of a product.
func VectorKey(id string) keys.Key {
	return keys.Key{PK: productPrefix.PK(id), SK: "VECTOR"}
}

// dimensions is how many numbers a vector has. With another model it is the model's.
const dimensions = 64

// A Model makes the vector of a text.
type Model func(ctx context.Context, text string) ([]float32, error)

// letters is a model that needs no network: texts with the same letters in a row are near.
func letters(_ context.Context, text string) ([]float32, error) {
	return embedding.Of(text, dimensions), nil
}

// text is what the model reads of a product.
func (p Product) text() string { return p.Name + "\n" + p.Category }

// vectorOps returns the ops that bring the vector of a product to the product after a
// change: none if neither its text nor whether it is active has changed. before is zero
// for a new product.
func (s *Shop) vectorOps(ctx context.Context, before, p Product) ([]table.Op, error) {
	switch {
	case before.Active && !p.Active:
		return s.vectors.DeleteOps(productVector{ProductID: p.ID}), nil
	case !p.Active, before.Active && before.text() == p.text():
		return nil, nil
	}
	vector, err := s.Model(ctx, p.text())
	if err != nil {
		return nil, err
	}
	return s.vectors.PutOps(&productVector{p.ID, vector}), nil
}

// maxSimilar is how many products are similar to one, at most.
const maxSimilar = 5

// SimilarProducts returns the active products whose vectors are nearest to that of an active
// product, the nearest first. A product that is missing or inactive is [table.ErrNotFound].
func (s *Shop) SimilarProducts(ctx context.Context, id string) ([]Product, error) {
	v, err := s.vectors.Get(ctx, VectorKey(id))
	if err != nil {
		return nil, err
	}
	type found struct { // which a search returns without the vector
		ProductID string `dynamodbav:"productId"`
	}
	matches, _, err := table.SearchVectors[found](ctx, s.vectors.View(), table.Search{Index: similar, Near: v.Vector, Top: maxSimilar + 1})
	if err != nil {
		return nil, err
	}
	var near []keys.Key
	for _, m := range matches {
		if m.Item.ProductID != id && len(near) < maxSimilar {
			near = append(near, ProductKey(m.Item.ProductID))
		}
	}
	stored, err := s.products.BatchGet(ctx, near)
	var products []Product
	for _, key := range near {
		if p := stored[key]; p.Active { // the index may be behind
			products = append(products, p)
		}
	}
	return products, err
}
