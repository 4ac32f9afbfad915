package table

import (
	"context"
	"slices"
)

// Page is one page of a query.
type Page[T any] struct {
	// Items are in the order of the query.
	Items []T
	// Next is the token for [Query].After that gives the next page. It is empty
	// exactly when DynamoDB says that there is nothing more. DynamoDB stops at
	// a limit without looking further, so the last page can be empty.
	Next string
	// Stats is what the page cost.
	Stats Stats
}

// readPage reads a page of at most limit items; of one request if that is 0.
func readPage[T any](ctx context.Context, r *reader, limit int) (Page[T], error) {
	var page Page[T]
	for !r.done && r.stats.Requests < r.t.options.MaxRounds {
		items, err := r.next(ctx, limit-len(page.Items))
		if err != nil {
			return page, err
		}
		page.Items = slices.Grow(page.Items, len(items))
		now := r.t.Now()
		for i, item := range items {
			live, err := r.t.admit(item, now)
			if err != nil {
				return page, err
			}
			if !live {
				continue
			}
			// Decoding in place saves a copy of every item.
			page.Items = append(page.Items, *new(T))
			if err := Item(item).Decode(&page.Items[len(page.Items)-1]); err != nil {
				return page, err
			}
			r.stats.Items++
			if len(page.Items) == limit {
				r.stopAt(item, i == len(items)-1)
				break
			}
		}
		if limit == 0 || len(page.Items) == limit {
			break
		}
	}
	page.Stats = r.stats
	var err error
	page.Next, err = r.token()
	return page, err
}
