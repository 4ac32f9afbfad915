package table

// For tests.
var (
	KeyText    = keyText
	Repeatable = repeatable
)

// CursorScope returns what the cursors of a query are bound to.
func CursorScope(t *Table, q Query) ([]byte, error) {
	r, err := t.newReader(q)
	if err != nil {
		return nil, err
	}
	return r.cursorScope(), nil
}

// MaxItemSize is what DynamoDB takes.
const MaxItemSize = maxItemSize
