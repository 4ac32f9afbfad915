package tablemodel

import (
	"context"

	"github.com/singletable/singletable/table"
)

// defaultMax is how many items [Scan] reads unless it is told.
const defaultMax = 1000

// Scan reads items of a table until it has limit of them, 1,000 if limit is zero, or
// there are no more. It is for development tables and tables of tests: it reads
// by the view of t, and costs what [table.ScanPage] does. Expired items are not returned.
func Scan(ctx context.Context, t *table.Table, limit int) ([]table.Item, error) {
	if limit == 0 {
		limit = defaultMax
	}
	var items []table.Item
	for scan := (table.Scan{Limit: limit}); ; {
		page, err := table.ScanPage[table.Item](ctx, t, scan)
		if err != nil {
			return nil, err
		}
		items = append(items, page.Items...)
		scan.After, scan.Limit = page.Next, limit-len(items)
		if scan.After == "" || scan.Limit <= 0 {
			return items, nil
		}
	}
}
