// Package readmodel keeps the records of all tenants in a relational database, SQLite or
// PostgreSQL, for what a table of DynamoDB has no key for: searches, sums, joins.
//
// A [Model] is fed by a handler of the table's stream with [Model.Apply]. It stores the
// version of each record, so a change that is delivered again, or after a later one,
// changes nothing. A projection is a set of tables; the views records and versions show
// the active one. [Model.Rebuild] makes a new projection of the whole history while the
// stream goes on, and then lets the views show it.
package readmodel

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/stdlib"

	"github.com/singletable/singletable/examples/cqrs/core"
	"github.com/singletable/singletable/paginate"
)

var (
	// ErrNotBuilt means that no projection is active yet: see [Model.Rebuild].
	ErrNotBuilt = errors.New("readmodel: there is no projection yet")
	// ErrName means that a projection cannot be called so.
	ErrName = errors.New("readmodel: invalid name of a projection")
	// ErrActive means that the views show a projection of that name already: a rebuild whose
	// result was lost has ended, or the name was used before.
	ErrActive = errors.New("readmodel: the projection is active already; a new one needs another name")
	// ErrReplaced means that another rebuild has ended first, and deleted the projection.
	ErrReplaced = errors.New("readmodel: another rebuild has ended first; call this one again")
)

// Model is the read model in a database. It is safe for concurrent use, also by several
// processes. Get one from [Open].
type Model struct {
	db       *sql.DB
	postgres bool
	cursors  *paginate.Codec
}

// Open returns the read model of a database, whose tables it creates if they are missing.
// Cursors seals the cursors of its pages.
func Open(ctx context.Context, db *sql.DB, cursors *paginate.Codec) (*Model, error) {
	_, postgres := db.Driver().(*stdlib.Driver)
	m := &Model{db: db, postgres: postgres, cursors: cursors}
	return m, m.change(ctx, `CREATE TABLE IF NOT EXISTS projections (name TEXT PRIMARY KEY, active INTEGER NOT NULL)`)
}

// The locks of transactions. SQLite has one writer at a time anyway. PostgreSQL fails when
// two processes create a table at once, also with IF NOT EXISTS, and when transactions
// wait for each other's rows and tables.
const (
	shared    = `SELECT pg_advisory_xact_lock_shared(4)` // changes of one record
	exclusive = `SELECT pg_advisory_xact_lock(4)`        // changes of many, and of tables
)

// change runs statements in one transaction.
func (m *Model) change(ctx context.Context, statements ...string) error {
	return m.transact(ctx, exclusive, func(tx *sql.Tx) error { return run(ctx, tx, statements) })
}

func run(ctx context.Context, tx *sql.Tx, statements []string) error {
	for _, s := range statements {
		if _, err := tx.ExecContext(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

func (m *Model) transact(ctx context.Context, lock string, do func(*sql.Tx) error) error {
	tx, err := m.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("readmodel: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // an error, if it was committed
	if m.postgres {
		if _, err := tx.ExecContext(ctx, lock); err != nil {
			return fmt.Errorf("readmodel: %w", err)
		}
	}
	if err := do(tx); err != nil {
		return fmt.Errorf("readmodel: %w", err)
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("readmodel: %w", err)
	}
	return nil
}

// Apply stores a version of a record in all projections, in one transaction. It can be
// called again, and with versions in any order.
func (m *Model) Apply(ctx context.Context, h core.History) error {
	return m.transact(ctx, shared, func(tx *sql.Tx) error {
		names, err := projections(ctx, tx)
		for _, name := range names {
			err = errors.Join(err, apply(ctx, tx, name, h))
		}
		return err
	})
}

// projections returns the names of all projections, the active one first.
func projections(ctx context.Context, tx *sql.Tx) (names []string, err error) {
	rows, err := tx.QueryContext(ctx, `SELECT name FROM projections ORDER BY active DESC, name`)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, rows.Err()
}

// apply stores a version in one projection.
func apply(ctx context.Context, tx *sql.Tx, projection string, h core.History) error {
	attributes := map[string]any{}
	for name, value := range h.Attributes {
		if s, ok := value.(string); ok {
			value = text(s)
		}
		attributes[name] = value
	}
	encoded, err := json.Marshal(attributes)
	if err != nil {
		return err
	}
	values := []any{
		digest(h.TenantCode), digest(h.ID), text(h.TenantCode), text(h.ID), h.Type, text(h.Code), text(h.Name),
		h.Version, string(encoded), h.UpdatedAt.UTC().Format("2006-01-02T15:04:05.000000000Z"), text(h.UpdatedBy),
	}
	const columns = `(tenant_key, record_key, tenant, id, type, code, name, version, attributes, updated_at, updated_by)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`
	_, err = tx.ExecContext(ctx, `INSERT INTO versions_`+projection+` `+columns+` ON CONFLICT (record_key, version) DO NOTHING`, values...)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO records_`+projection+` AS stored `+columns+`
		ON CONFLICT (record_key) DO UPDATE SET name = excluded.name, version = excluded.version,
			attributes = excluded.attributes, updated_at = excluded.updated_at, updated_by = excluded.updated_by
		WHERE stored.version < excluded.version`, values...)
	return err
}

// digest is what a tenant or a record is known by. Names come from outside, and are
// longer than PostgreSQL's keys may be, or hold what its texts cannot.
func digest(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:])
}

// text returns what a text can hold in every database.
func text(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// nameForm keeps names of projections plain: they become part of statements.
var nameForm = regexp.MustCompile(`^[a-z][a-z0-9_]{0,30}$`)

// Rebuild makes a projection of the whole history, lets the views show it, and deletes
// the others. Versions that are applied while it runs are in it. After an error it can be
// called again, and continues with what is there.
//
// Errors: [ErrName], [ErrActive], [ErrReplaced].
func (m *Model) Rebuild(ctx context.Context, projection string, history iter.Seq2[core.History, error]) error {
	if !nameForm.MatchString(projection) {
		return ErrName
	}
	switch active, err := m.Active(ctx); {
	case err != nil && !errors.Is(err, ErrNotBuilt):
		return err
	case projection == active:
		return fmt.Errorf("%w: %s", ErrActive, projection)
	}
	if err := m.create(ctx, projection); err != nil {
		return err
	}
	// From here on, Apply writes to the projection too. What it wrote before was in the
	// history before it was applied, and so before the history is read.
	const chunk = 500
	var some []core.History
	flush := func() error {
		defer func() { some = some[:0] }()
		return m.transact(ctx, exclusive, func(tx *sql.Tx) error {
			_, err := others(ctx, tx, projection)
			for _, h := range some {
				if err == nil {
					err = apply(ctx, tx, projection, h)
				}
			}
			return err
		})
	}
	for h, err := range history {
		if err != nil {
			return err
		}
		if some = append(some, h); len(some) == chunk {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if err := flush(); err != nil {
		return err
	}
	return m.activate(ctx, projection)
}

// create makes the tables of a projection.
func (m *Model) create(ctx context.Context, projection string) error {
	json := `TEXT`
	if m.postgres {
		json = `JSONB`
	}
	columns := `tenant_key TEXT NOT NULL, record_key TEXT NOT NULL, tenant TEXT NOT NULL, id TEXT NOT NULL,
		type TEXT NOT NULL, code TEXT NOT NULL, name TEXT NOT NULL, version BIGINT NOT NULL,
		attributes ` + json + ` NOT NULL, updated_at TEXT NOT NULL, updated_by TEXT NOT NULL`
	return m.change(ctx,
		`CREATE TABLE IF NOT EXISTS records_`+projection+` (`+columns+`, PRIMARY KEY (record_key))`,
		`CREATE TABLE IF NOT EXISTS versions_`+projection+` (`+columns+`, PRIMARY KEY (record_key, version))`,
		`CREATE INDEX IF NOT EXISTS records_of_tenant_`+projection+` ON records_`+projection+` (tenant_key, type)`,
		`CREATE INDEX IF NOT EXISTS versions_of_tenant_`+projection+` ON versions_`+projection+` (tenant_key, type)`,
		`INSERT INTO projections (name, active) VALUES ('`+projection+`', 0) ON CONFLICT (name) DO NOTHING`,
	)
}

// others returns the other projections, or [ErrReplaced] if it is gone.
func others(ctx context.Context, tx *sql.Tx, projection string) ([]string, error) {
	names, err := projections(ctx, tx)
	if err != nil {
		return nil, err
	}
	at := slices.Index(names, projection)
	if at < 0 {
		return nil, ErrReplaced
	}
	return slices.Delete(names, at, at+1), nil
}

// activate lets the views show a projection, and deletes the others.
func (m *Model) activate(ctx context.Context, projection string) error {
	return m.transact(ctx, exclusive, func(tx *sql.Tx) error {
		old, err := others(ctx, tx, projection)
		if err != nil {
			return err
		}
		statements := []string{
			`UPDATE projections SET active = 1 WHERE name = '` + projection + `'`,
			`DELETE FROM projections WHERE name <> '` + projection + `'`,
		}
		for _, view := range []string{"records", "versions"} {
			statements = append(statements, `DROP VIEW IF EXISTS `+view, `CREATE VIEW `+view+` AS SELECT * FROM `+view+`_`+projection)
			for _, name := range old {
				statements = append(statements, `DROP TABLE IF EXISTS `+view+`_`+name)
			}
		}
		return run(ctx, tx, statements)
	})
}

// Active returns the name of the projection that the views show, or [ErrNotBuilt].
func (m *Model) Active(ctx context.Context) (string, error) {
	var name string
	err := m.db.QueryRowContext(ctx, `SELECT name FROM projections WHERE active = 1`).Scan(&name)
	if errors.Is(err, sql.ErrNoRows) {
		return "", ErrNotBuilt
	}
	if err != nil {
		return "", fmt.Errorf("readmodel: %w", err)
	}
	return name, nil
}
