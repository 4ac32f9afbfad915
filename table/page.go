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
	rows := rowsOf(r, itself[T])
	if err := readRows(ctx, r, rows, limit); err != nil {
		return page, err
	}
	page.Items, page.Stats = rows.values, r.stats
	page.Next, err = r.token()
	return page, err
}

// readRows is readPage for rows of any values.
func readRows[T, V any](ctx context.Context, r *reader, rows *rows[T, V], limit int) error {
	for !r.done && r.stats.Requests < r.t.options.MaxRounds {
		if err := next(ctx, r, rows, limit-len(rows.values)); err != nil {
			return err
		}
		if n := len(rows.values); n > 0 && (limit == 0 || n == limit) {
			break
		}
	}
	return nil
}
