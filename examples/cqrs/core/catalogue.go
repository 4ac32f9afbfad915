package core

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
)

// Listing is a product in the catalogue, and what it has cost:
// CATALOGUE#<tenant> / CATALOGUE#<code>. It is another shape of the history: all versions
// of the product, taken together in their order.
//
// A version without a price has none, which is not a price of 0: it changes neither Price
// nor Lowest, and is no change of the price. A price is compared with the last one that
// there was.
type Listing struct {
	TenantCode   string  `dynamodbav:"tenantCode"`
	Code         string  `dynamodbav:"code"`
	Name         string  `dynamodbav:"name"`
	Price        float64 `dynamodbav:"price"` // the last one: see Priced
	Lowest       float64 `dynamodbav:"lowest"`
	PriceChanges int     `dynamodbav:"priceChanges"`
	Version      int64   `dynamodbav:"version"` // the last one that it holds
	// NoPriceSince is the first of the latest versions without a price: 0 if there is a
	// price, and 1 if there was never one. Earlier releases did not store it, and took a
	// missing price for 0: [Tenant.RebuildCatalogue] makes such listings right.
	NoPriceSince int64 `dynamodbav:"noPriceSince,omitempty"`
}

// Priced reports whether the product has a price now.
func (l Listing) Priced() bool { return l.NoPriceSince == 0 }

// EverPriced reports whether the product has or has had a price.
func (l Listing) EverPriced() bool { return l.NoPriceSince != 1 }

// Records of listedType have a listing, with their attribute listedPrice.
const listedType, listedPrice = "PRODUCT", "price"

const cataloguePrefix keys.Prefix = "CATALOGUE"

var listingEntity = repo.Entity[Listing]{Type: "LISTING", Key: Listing.Key}

// Key returns the key of the listing.
func (l Listing) Key() keys.Key { return listingKey(l.TenantCode, l.Code) }

func listingKey(tenant, code string) keys.Key {
	return keys.Key{PK: cataloguePrefix.PK(tenant), SK: cataloguePrefix.SK(keys.Str(code))}
}

// after returns the listing after the next version of its product.
func (l Listing) after(h History) Listing {
	price, ok := h.Attributes[listedPrice].(float64)
	switch {
	case !ok:
		if l.Priced() {
			l.NoPriceSince = h.Seq
		}
	case l.Version == 0 || !l.EverPriced():
		l.Price, l.Lowest, l.NoPriceSince = price, price, 0
	default:
		if price != l.Price {
			l.PriceChanges++
		}
		l.Price, l.Lowest, l.NoPriceSince = price, min(l.Lowest, price), 0
	}
	l.TenantCode, l.Code, l.Name, l.Version = h.TenantCode, h.Code, h.Name, h.Seq
	return l
}

// project brings the listing of a product up to its history: from what the listing
// holds, or afresh from the first version. It writes on the condition that the listing
// is still at the version that was read, so it can run at any time, in any number, and
// whatever is deleted concurrently.
func (t Tenant) project(ctx context.Context, r Ref, afresh bool) error {
	key := listingKey(t.caller.Tenant, r.Code)
	return t.table.Retry(ctx, func(ctx context.Context) error {
		stored, err := t.listings.Consistent().Get(ctx, key)
		if err != nil && !errors.Is(err, table.ErrNotFound) {
			return err
		}
		listing := stored
		if afresh {
			listing = Listing{}
		}
		later := histories.since(t.caller.Tenant, r, listing.Version+1)
		for h, err := range t.history.Consistent().All(ctx, later) {
			if err != nil {
				return err
			}
			listing = listing.after(h)
		}
		if listing == stored {
			return nil
		}
		//mutants:guard cqrs: a listing is written at the version that was read | TestScheduleCatalogue | .IfVersion("version", stored.Version) =>
		return t.table.Do(ctx, t.listings.PutOps(&listing)[0].IfVersion("version", stored.Version))
	})
}

// Catalogue reads a page of the tenant's products and what they have cost.
func (t Tenant) Catalogue(ctx context.Context, limit int, after string) (table.Page[Listing], error) {
	return t.listings.Query(ctx, table.Query{
		PK: cataloguePrefix.PK(t.caller.Tenant), Range: cataloguePrefix.All(), Limit: limit, After: after,
		Scope: t.caller.Tenant,
	})
}

// DropCatalogue deletes the tenant's listings and returns their number. The next command
// for a product, or a rebuild, makes its listing again.
func (t Tenant) DropCatalogue(ctx context.Context) (int, error) {
	var ops []table.Op
	for l, err := range t.listings.Consistent().All(ctx, table.Query{PK: cataloguePrefix.PK(t.caller.Tenant)}) {
		if err != nil {
			return 0, err
		}
		ops = append(ops, table.Delete(l.Key()))
	}
	return len(ops), t.table.BatchWrite(ctx, ops...)
}

const (
	rebuildTask = "rebuild"
	// rebuildChunk is how many versions are replayed in a step.
	rebuildChunk = 25
)

// RebuildCatalogue has the catalogue made afresh of the history, by a task: for
// listings that were lost or made by a mistake, and after a change of [Listing].
// Commands can go on.
func (t Tenant) RebuildCatalogue(ctx context.Context, id string) error {
	return t.createTask(ctx, id, rebuildTask, 0)
}

// rebuildSome replays the next versions of the history, record by record, and moves the
// task behind them. What there is to do is only known at the end, so Total grows with
// Done.
func (t Tenant) rebuildSome(ctx context.Context, task Task) error {
	page, err := t.history.Query(ctx, table.Query{
		PK:    histories.prefix(Ref{Type: listedType}).PK(t.caller.Tenant),
		Range: keys.Range{From: keys.SK(task.Position) + "\x00"}, Limit: rebuildChunk, Consistent: true,
	})
	if err != nil {
		return err
	}
	n := len(page.Items)
	if n == 0 {
		return t.finishTask(ctx, task.ID)
	}
	for i, h := range page.Items {
		if i+1 < n && page.Items[i+1].Code == h.Code {
			continue
		}
		if err := t.project(ctx, h.Ref(), true); err != nil {
			return err
		}
	}
	u := expression.Set(expression.Name("position"), expression.Value(page.Items[n-1].Key().SK)).
		Add(expression.Name("total"), expression.Value(n)).Add(expression.Name("done"), expression.Value(n))
	return t.turn(ctx, t.step(task.ID, u, Running).If(table.If("position = ?", task.Position)))
}
