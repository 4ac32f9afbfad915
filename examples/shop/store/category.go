package store

import (
	"context"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
)

// Category is stored once, as CATEGORIES / CATEGORY#<id>. There are few, so one
// partition holds them all.
type Category struct {
	ID   string `dynamodbav:"categoryId"`
	Name string `dynamodbav:"name"`
}

var categoryEntity = repo.Entity[Category]{
	Type: "CATEGORY",
	Key:  func(c Category) keys.Key { return CategoryKey(c.ID) },
}

// CategoryKey is the key of a category.
func CategoryKey(id string) keys.Key {
	return keys.Key{PK: categoriesPrefix.PK(), SK: categoryPrefix.SK(keys.Str(id))}
}

// AddCategory creates a category. One that is there already is [table.ErrExists].
func (s *Shop) AddCategory(ctx context.Context, c Category) error {
	return s.categories.Create(ctx, &c)
}

// CategoriesQuery is the query for all categories.
var CategoriesQuery = table.Query{PK: categoriesPrefix.PK(), Range: categoryPrefix.All()}

// Categories returns all categories, in order of their ids.
func (s *Shop) Categories(ctx context.Context) ([]Category, error) {
	return table.Collect(s.categories.All(ctx, CategoriesQuery))
}
