package readmodel

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/table"
)

// Record is a record as the read model has it.
type Record struct {
	ID         string
	Type       string
	Code       string
	Name       string
	Version    int64
	Attributes map[string]any
	UpdatedAt  string
	UpdatedBy  string
}

// Search returns a page of the tenant's records whose name contains a text, whatever the
// case of its ASCII letters, by the first 200 characters of the name. It is a query that the
// table has no key for. Limit is at least 1.
func (m *Model) Search(ctx context.Context, tenant, name string, limit int, after string) (table.Page[Record], error) {
	scope := fmt.Appendf(nil, "search %q %q", tenant, name)
	from := paginate.Position{Values: make([]paginate.Value, 2)}
	if after != "" {
		var err error
		if from, err = m.cursors.Open(after, scope); err != nil {
			return table.Page[Record]{}, err
		}
	}
	pattern := "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(lower(text(name))) + "%"
	column := `lower(name)` // of ASCII letters only, in SQLite
	if m.postgres {
		column = `lower(name COLLATE "C")` // the same, whatever the locale of the database
	}
	var ends []paginate.Position
	found, err := collect(ctx, m, func(scan func(...any) error) (r Record, err error) {
		var attributes []byte
		var first, key string
		if err := scan(&r.ID, &r.Type, &r.Code, &r.Name, &r.Version, &attributes, &r.UpdatedAt, &r.UpdatedBy, &first, &key); err != nil {
			return r, err
		}
		ends = append(ends, paginate.Position{Values: []paginate.Value{{Kind: paginate.String, Data: first}, {Kind: paginate.String, Data: key}}})
		return r, json.Unmarshal(attributes, &r.Attributes)
	}, `SELECT id, type, code, name, version, attributes, updated_at, updated_by, substr(name, 1, 200), record_key FROM records
		WHERE tenant_key = $1 AND `+column+` LIKE $2 ESCAPE '\' AND (substr(name, 1, 200), record_key) > ($3, $4)
		ORDER BY substr(name, 1, 200), record_key LIMIT $5`,
		digest(tenant), pattern, from.Values[0].Data, from.Values[1].Data, limit+1)
	page := table.Page[Record]{Items: found}
	if err == nil && len(found) > limit {
		page.Items = found[:limit]
		page.Next, err = m.cursors.Seal(ends[limit-1], scope)
	}
	return page, err
}

// lower returns the text with its ASCII letters in lower case, as the databases do.
func lower(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}, s)
}

// Count says how many records of a type there are, and how many versions they have had.
type Count struct {
	Type              string
	Records, Versions int64
}

// Counts returns the counts of the tenant's types, in the order of the types.
func (m *Model) Counts(ctx context.Context, tenant string) ([]Count, error) {
	return collect(ctx, m, func(scan func(...any) error) (c Count, err error) {
		err = scan(&c.Type, &c.Records, &c.Versions)
		return c, err
	}, `SELECT type, count(DISTINCT record_key), count(*) FROM versions
		WHERE tenant_key = $1 GROUP BY type ORDER BY type`, digest(tenant))
}

// collect returns what read makes of the rows of a query.
func collect[T any](ctx context.Context, m *Model, read func(scan func(...any) error) (T, error), query string, args ...any) ([]T, error) {
	if _, err := m.Active(ctx); err != nil {
		return nil, err
	}
	rows, err := m.db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("readmodel: %w", err)
	}
	defer func() { _ = rows.Close() }()
	var all []T
	for rows.Next() {
		v, err := read(rows.Scan)
		if err != nil {
			return nil, fmt.Errorf("readmodel: %w", err)
		}
		all = append(all, v)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("readmodel: %w", err)
	}
	return all, nil
}
