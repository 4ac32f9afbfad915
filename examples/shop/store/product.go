package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/shard"
	"github.com/singletable/singletable/table"
)

// Product is stored once, as PRODUCT#<id> / METADATA. While it is active, the
// item is in both indexes, by category and by name. An inactive one is in a partition of
// its own of the first index, for admins, and not in the second: what reads the active ones
// need not filter.
type Product struct {
	ID       string `dynamodbav:"productId"`
	Name     string `dynamodbav:"name"`
	Category string `dynamodbav:"categoryId"`
	Price    int64  `dynamodbav:"price"` // in cents
	Stock    int    `dynamodbav:"stock"`
	Active   bool   `dynamodbav:"active"`
	// ChangedBy made the last change: see [Order].
	ChangedBy string `dynamodbav:"changedBy"`
	// Version counts all writes, also those of a sale, which takes from Stock
	// without reading it. So a change that is based on an older product is noticed,
	// and does not bring back sold stock.
	Version int64 `dynamodbav:"version"`
}

func (p Product) audited() (id, by string) { return p.ID, p.ChangedBy }

var productEntity = repo.Entity[Product]{
	Type:    ProductType,
	Key:     func(p Product) keys.Key { return ProductKey(p.ID) },
	Indexes: repo.Indexes[Product]{gsi1: InCategoryKey, gsi2: ByNameKey},
	Version: "version",
}

// ProductKey is the key of a product.
func ProductKey(id string) keys.Key {
	return keys.Key{PK: productPrefix.PK(id), SK: keys.Metadata}
}

// InCategoryKey is CATEGORY#<category> / NAME#<name>#<id>, and INACTIVE / NAME#<name>#<id>
// of an inactive product: in order of names. The id tells products of one name apart.
func InCategoryKey(p Product) keys.Key {
	pk := inactivePrefix.PK()
	if p.Active {
		pk = categoryPrefix.PK(p.Category)
	}
	return keys.Key{PK: pk, SK: namePrefix.SK(keys.Str(normalName(p.Name)), keys.Str(p.ID))}
}

// ByNameKey is INITIAL#<first letter> / NAME#<name>#<id>. A query names one
// partition exactly and can look for the beginning of a sort key only: so the
// name has to be the sort key, and the partition has to follow from any
// beginning of it, which its first letter does.
func ByNameKey(p Product) keys.Key {
	if !p.Active {
		return keys.Key{}
	}
	name := normalName(p.Name)
	return keys.Key{
		PK: initialPrefix.PK(initial(name)),
		SK: namePrefix.SK(keys.Str(name), keys.Str(p.ID)),
	}
}

// normalName returns the form in which names are searched: upper and lower case
// are the same, so is white space, however much, and so is a letter with an accent,
// whether it is one character or two.
func normalName(name string) string {
	return norm.NFC.String(strings.Join(strings.Fields(strings.ToLower(name)), " "))
}

func initial(name string) string {
	_, size := utf8.DecodeRuneInString(name)
	return name[:size]
}

// Errors of the catalogue.
var (
	ErrNoCategory  = errors.New("there is no such category")
	ErrProduct     = fmt.Errorf("a product has a name of up to 100 characters, a price of 0 to %d, and a stock of 0 to %d", MaxPrice, MaxStock)
	ErrEmptySearch = errors.New("a search needs a letter")
)

// The greatest price, in cents, and stock of a product. A total of an order stays far
// below what an int64 holds.
const (
	MaxPrice = 1_000_000_000
	MaxStock = 1_000_000_000
)

func (p Product) validate() error {
	if !validName(p.Name) || p.Price < 0 || p.Price > MaxPrice || p.Stock < 0 || p.Stock > MaxStock {
		return ErrProduct
	}
	return nil
}

const categoryExists = "category exists"

// checkCategory is the condition that a category exists.
func checkCategory(id string) table.Op {
	return table.Check(CategoryKey(id), table.If("attribute_exists(PK)")).WithName(categoryExists)
}

// noCategory returns err, and says so if it is the category that does not exist.
func noCategory(err error) error {
	if op, failed := table.FailedOp(err, categoryExists); failed && errors.Is(op, table.ErrConditionFailed) {
		return fmt.Errorf("%w: %w", ErrNoCategory, err)
	}
	return err
}

// AddProduct creates a product in a category that must exist. by is the acting
// user.
func (s *Shop) AddProduct(ctx context.Context, by string, p Product) error {
	if err := p.validate(); err != nil {
		return err
	}
	p.ChangedBy = by
	ops, err := s.vectorOps(ctx, Product{}, p)
	if err != nil {
		return err
	}
	ops = append(ops, checkCategory(p.Category))
	return noCategory(s.table.Transact(ctx, append(s.products.CreateOps(&p), ops...)...))
}

// ChangeProduct lets change modify a product. Concurrent sales are not lost:
// change is then called again, with the current product. by is the acting user.
// Another category must exist as well.
func (s *Shop) ChangeProduct(ctx context.Context, by, id string, change func(*Product) error) (Product, error) {
	p, err := s.products.UpdateWith(ctx, ProductKey(id), func(p *Product) ([]table.Op, error) {
		before := *p
		if err := change(p); err != nil || *p == before {
			return nil, err
		}
		p.ChangedBy = by
		if err := p.validate(); err != nil {
			return nil, err
		}
		ops, err := s.vectorOps(ctx, before, *p)
		if p.Category != before.Category {
			ops = append(ops, checkCategory(p.Category))
		}
		return ops, err
	})
	return p, noCategory(err)
}

// ProductByID returns one product, active or not.
func (s *Shop) ProductByID(ctx context.Context, id string) (Product, error) {
	return s.products.Get(ctx, ProductKey(id))
}

// ProductsQuery is the query for the active products of a category, by name.
func ProductsQuery(category string) table.Query {
	return table.Query{Index: gsi1, PK: categoryPrefix.PK(category), Range: namePrefix.All()}
}

// ProductsByCategory returns a page of the active products of a category, after
// the token of the page before.
func (s *Shop) ProductsByCategory(ctx context.Context, category string, limit int, after string) (table.Page[Product], error) {
	q := ProductsQuery(category)
	q.Limit, q.After = limit, after
	return s.products.Query(ctx, q)
}

// InactiveQuery is the query for the inactive products, by name.
var InactiveQuery = table.Query{Index: gsi1, PK: inactivePrefix.PK(), Range: namePrefix.All()}

// InactiveProducts returns a page of the inactive products of all categories, by name.
func (s *Shop) InactiveProducts(ctx context.Context, limit int, after string) (table.Page[Product], error) {
	q := InactiveQuery
	q.Limit, q.After = limit, after
	return s.products.Query(ctx, q)
}

// ActiveProducts returns a page of the active products of all categories, by name. It
// reads the categories, merges their partitions of the index, and so needs no scan. A
// category that is added between two pages is in the next one. Categories beyond the most
// that there may be are left out, so that the list never fails.
func (s *Shop) ActiveProducts(ctx context.Context, limit int, after string) (page table.Page[Product], err error) {
	categories, err := s.Categories(ctx)
	if err != nil || len(categories) == 0 {
		return page, err
	}
	index := shard.Index{Index: gsi1, Prefix: categoryPrefix}
	for _, c := range categories[:min(len(categories), maxCategories)] {
		index.Suffixes = append(index.Suffixes, strings.TrimPrefix(string(categoryPrefix.PK(c.ID)), string(categoryPrefix)))
	}
	active, err := shard.New[Product](s.table.OfType(ProductType), index, nil)
	if err != nil {
		return page, err
	}
	merged, err := active.Page(ctx, shard.Query{Range: namePrefix.All(), Limit: limit, After: after})
	return table.Page[Product]{Items: merged.Items, Next: merged.Next, Prev: merged.Prev}, err
}

// NamedQuery is the query for the active products whose names begin with
// text.
func NamedQuery(text string) (table.Query, error) {
	text = normalName(text)
	if text == "" {
		return table.Query{}, ErrEmptySearch
	}
	return table.Query{
		Index: gsi2,
		PK:    initialPrefix.PK(initial(text)),
		Range: namePrefix.Starting(text),
	}, nil
}

// SearchProducts returns a page of the active products whose names begin with
// text.
func (s *Shop) SearchProducts(ctx context.Context, text string, limit int, after string) (table.Page[Product], error) {
	q, err := NamedQuery(text)
	if err != nil {
		return table.Page[Product]{}, err
	}
	q.Limit, q.After = limit, after
	return s.products.Query(ctx, q)
}
