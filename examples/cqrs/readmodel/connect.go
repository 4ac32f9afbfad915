package readmodel

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib" // and the driver pgx
	_ "modernc.org/sqlite"           // the driver sqlite
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

// ConnectPostgres opens the PostgreSQL database that URL names. It is called for each new
// connection, so that a password can change.
func ConnectPostgres(ctx context.Context, url func(context.Context) (string, error)) (*sql.DB, error) {
	db := sql.OpenDB(postgres(url))
	if err := db.PingContext(ctx); err != nil {
		_ = db.Close()
		return nil, fmt.Errorf("readmodel: %w", err)
	}
	return db, nil
}

// postgres makes the connections of [ConnectPostgres].
type postgres func(context.Context) (string, error)

// Connect implements [driver.Connector].
func (p postgres) Connect(ctx context.Context) (driver.Conn, error) {
	name, err := p(ctx)
	if err != nil {
		return nil, err
	}
	config, err := pgx.ParseConfig(name)
	if err != nil {
		return nil, err
	}
	return stdlib.GetConnector(*config).Connect(ctx)
}

// Driver implements [driver.Connector].
func (postgres) Driver() driver.Driver { return stdlib.GetDefaultDriver() }

// ParseSecret returns the URL of a database that a secret names: as a URL, or as the JSON
// of Amazon RDS. Its error does not quote the secret.
func ParseSecret(text string) (string, error) {
	text = strings.TrimSpace(text)
	var s struct {
		Username, Password, Host, DBName string
		Port                             json.Number
	}
	switch err := json.Unmarshal([]byte(text), &s); {
	case isPostgres(text):
	case err != nil || s.Username == "" || s.Host == "":
		return "", errors.New("the secret is no URL of PostgreSQL, and no JSON with username, password and host")
	default:
		text = (&url.URL{
			Scheme: "postgres", User: url.UserPassword(s.Username, s.Password),
			Host: net.JoinHostPort(s.Host, cmp.Or(s.Port.String(), "5432")), Path: "/" + cmp.Or(s.DBName, "postgres"),
		}).String()
	}
	if _, err := pgx.ParseConfig(text); err != nil {
		return "", errors.New("the URL of PostgreSQL in the secret is malformed")
	}
	return text, nil
}

func isPostgres(name string) bool {
	return strings.HasPrefix(name, "postgres://") || strings.HasPrefix(name, "postgresql://")
}
