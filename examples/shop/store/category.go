package store

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"unicode/utf8"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
)

// Category is stored once, as CATEGORIES / CATEGORY#<id>. There are few, so one
// partition holds them all.
type Category struct {
	// ID is the slug of the category, such as home, which is in its address.
	ID          string `dynamodbav:"categoryId"`
	Name        string `dynamodbav:"name"`
	Description string `dynamodbav:"description,omitempty"`
}

// maxDescription is the greatest length of a description, in bytes.
const maxDescription = 1000

var slug = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// ErrCategory means that a category is not valid.
var ErrCategory = fmt.Errorf("a category has a slug of up to 50 lower-case letters, digits and hyphens, a name of up to 100 characters, and a description of up to %d bytes", maxDescription)

// maxCategories is the number of partitions that [Shop.ActiveProducts] can merge.
const maxCategories = 256

// ErrCategories means that there are as many categories as there may be.
var ErrCategories = fmt.Errorf("there are %d categories, which is the most", maxCategories)

var categoryEntity = repo.Entity[Category]{
	Type: "CATEGORY",
	Key:  func(c Category) keys.Key { return CategoryKey(c.ID) },
}

// CategoryKey is the key of a category.
func CategoryKey(id string) keys.Key {
	return keys.Key{PK: categoriesPrefix.PK(), SK: categoryPrefix.SK(keys.Str(id))}
}

// AddCategory creates a category. It counts the categories before. Concurrent calls may
// create a few more than the most, which [Shop.ActiveProducts] leaves out.
//
// Errors: [ErrCategory]; [table.ErrExists]; [ErrCategories].
func (s *Shop) AddCategory(ctx context.Context, c Category) error {
	if len(c.ID) > 50 || !slug.MatchString(c.ID) || !validName(c.Name) || len(c.Description) > maxDescription || !utf8.ValidString(c.Description) {
		return ErrCategory
	}
	all, err := table.Collect(s.categories.Consistent().All(ctx, CategoriesQuery))
	if err != nil {
		return err
	}
	if len(all) >= maxCategories && !slices.ContainsFunc(all, func(old Category) bool { return old.ID == c.ID }) {
		return ErrCategories
	}
	return s.categories.Create(ctx, &c)
}

// CategoryBySlug returns a category. A missing one is [table.ErrNotFound].
func (s *Shop) CategoryBySlug(ctx context.Context, slug string) (Category, error) {
	return s.categories.Get(ctx, CategoryKey(slug))
}

// CategoriesQuery is the query for all categories.
var CategoriesQuery = table.Query{PK: categoriesPrefix.PK(), Range: categoryPrefix.All()}

// Categories returns all categories, in order of their ids.
func (s *Shop) Categories(ctx context.Context) ([]Category, error) {
	return table.Collect(s.categories.All(ctx, CategoriesQuery))
}
