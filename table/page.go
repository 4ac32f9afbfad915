package table

import "context"

// Page is one page of a query.
type Page[T any] struct {
	// Items are in the order of the query.
	Items []T
	// Next is the cursor for [Query].After that gives the next page. It is empty
	// exactly when DynamoDB says that there is nothing more. DynamoDB stops at
	// a limit without looking further, so the last page can be empty.
	Next string
	// Stats is what the page cost.
	Stats Stats
}

// readPage reads a page of at most limit items; if that is 0, of the first request
// that returns any.
func readPage[T any](ctx context.Context, r *reader, limit int) (page Page[T], err error) {
	if page.Items, err = readValues(ctx, r, limit, asItem[T]); err != nil {
		return page, err
	}
	page.Stats = r.stats
	page.Next, err = r.token()
	return page, err
}

// readValues is readPage for values that are made of items by as.
func readValues[T, V any](ctx context.Context, r *reader, limit int, as maker[T, V]) (values []V, err error) {
	for !r.done && r.stats.Requests < r.t.options.MaxRounds {
		if values, err = nextAs(ctx, r, limit-len(values), values, as); err != nil {
			return values, err
		}
		if len(values) > 0 && (limit == 0 || len(values) == limit) {
			break
		}
	}
	return values, nil
}
