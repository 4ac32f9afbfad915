//go:build postgres

package readmodel_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/singletable/singletable/examples/cqrs/readmodel"
	"github.com/singletable/singletable/examples/internal/check"
)

// postgresVariable holds the URL of a PostgreSQL database for tests. Each test makes a
// schema in it, and drops the schema at its end.
const postgresVariable = "SINGLETABLE_POSTGRES"

func TestPostgreSQL(t *testing.T) {
	t.Parallel()
	base, err := url.Parse(os.Getenv(postgresVariable))
	if err != nil || base.Scheme != "postgres" {
		t.Fatalf("%s must be the URL of a PostgreSQL database. make postgres starts one and runs the tests; it needs: apt-get install postgresql", postgresVariable)
	}
	suite(t, func(tb testing.TB) *sql.DB {
		tb.Helper()
		admin := check.Must(readmodel.Connect(tb.Context(), base.String()))(tb)
		spec := "test_" + strings.ToLower(rand.Text())
		check.Must(admin.ExecContext(tb.Context(), "CREATE SCHEMA "+spec))(tb)
		own := *base
		query := own.Query()
		query.Set("search_path", spec)
		own.RawQuery = query.Encode()
		db := check.Must(readmodel.Connect(tb.Context(), own.String()))(tb)
		tb.Cleanup(func() {
			check.OK(tb, db.Close())
			_, err := admin.ExecContext(context.Background(), "DROP SCHEMA "+spec+" CASCADE")
			check.OK(tb, err, admin.Close())
		})
		return db
	})
}
