package table

// For tests.
var (
	KeyText    = keyText
	Repeatable = repeatable
	AddsOnly   = addsOnly
	MayRewrite = mayRewrite
)

// CursorScope returns what the cursors of a query are bound to.
func CursorScope(t *Table, q Query) ([]byte, error) {
	r, err := t.newReader(q)
	if err != nil {
		return nil, err
	}
	return r.cursorScope(), nil
}

// Directly returns a table that takes its client's middleware for one that only looks.
func Directly(t *Table) *Table {
	view := *t
	view.mayRewrite = false
	return &view
}

// MaxItemSize is what DynamoDB takes.
const MaxItemSize = maxItemSize
