package readmodel_test

import (
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/singletable/singletable/examples/cqrs/readmodel"
	"github.com/singletable/singletable/examples/internal/check"
)

func TestSQLite(t *testing.T) {
	t.Parallel()
	suite(t, func(tb testing.TB) *sql.DB {
		tb.Helper()
		db := check.Must(readmodel.Connect(tb.Context(), filepath.Join(tb.TempDir(), "a name?.db")))(tb)
		tb.Cleanup(func() { _ = db.Close() })
		return db
	})
}

func TestADatabaseThatCannotBeOpenedIsAnError(t *testing.T) {
	t.Parallel()
	for _, name := range []string{filepath.Join(t.TempDir(), "none", "x.db"), "postgres://127.0.0.1:1/none?connect_timeout=2"} {
		if _, err := readmodel.Connect(t.Context(), name); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
