package readmodel

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"strings"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver pgx
	_ "modernc.org/sqlite"             // the driver sqlite
)

// Connect opens a database: PostgreSQL for a URL such as postgres://user@host/name, and
// otherwise the SQLite file of that name, which is created if it is missing.
func Connect(ctx context.Context, name string) (*sql.DB, error) {
	driver, source := "pgx", name
	if !isPostgres(name) {
		options := url.Values{"_pragma": {"busy_timeout(10000)", "journal_mode(WAL)"}, "_txlock": {"immediate"}}
		driver, source = "sqlite", "file:"+(&url.URL{Path: name}).EscapedPath()+"?"+options.Encode()
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		return nil, fmt.Errorf("readmodel: %w", err)
	}
	if err := db.PingContext(ctx); err != nil {
		_ = db.Close()
		return nil, fmt.Errorf("readmodel: %w", err)
	}
	return db, nil
}

func isPostgres(name string) bool {
	return strings.HasPrefix(name, "postgres://") || strings.HasPrefix(name, "postgresql://")
}
