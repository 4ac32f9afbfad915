package table

import "context"

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
		var err error
		if page.Items, err = next(ctx, r, limit-len(page.Items), page.Items); err != nil {
			return page, err
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
