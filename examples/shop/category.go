package main

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
	Key:  func(c Category) keys.Key { return categoryKey(c.ID) },
}

func categoryKey(id string) keys.Key {
	return keys.Key{PK: categoriesPrefix.PK(), SK: categoryPrefix.SK(keys.Str(id))}
}

// addCategory creates a category. One that is there already is [table.ErrExists].
func (s *shop) addCategory(ctx context.Context, c Category) error {
	return s.categories.Create(ctx, &c)
}

var allCategories = table.Query{PK: categoriesPrefix.PK(), Range: categoryPrefix.All()}

// listCategories returns all categories, in order of their ids.
func (s *shop) listCategories(ctx context.Context) ([]Category, error) {
	return table.Collect(s.categories.All(ctx, allCategories))
}
