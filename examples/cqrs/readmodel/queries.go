package readmodel

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
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

// Search returns the tenant's records whose name contains a text, whatever the case of
// its ASCII letters, by name. It is a query that the table has no key for.
func (m *Model) Search(ctx context.Context, tenant, name string, limit int) ([]Record, error) {
	pattern := "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(strings.ToLower(text(name))) + "%"
	return collect(ctx, m, func(scan func(...any) error) (r Record, err error) {
		var attributes []byte
		if err := scan(&r.ID, &r.Type, &r.Code, &r.Name, &r.Version, &attributes, &r.UpdatedAt, &r.UpdatedBy); err != nil {
			return r, err
		}
		return r, json.Unmarshal(attributes, &r.Attributes)
	}, `SELECT id, type, code, name, version, attributes, updated_at, updated_by FROM records
		WHERE tenant_key = $1 AND lower(name) LIKE $2 ESCAPE '\' ORDER BY name, record_key LIMIT $3`,
		digest(tenant), pattern, limit)
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
