package backfill_test

import (
	"testing"

	"github.com/singletable/singletable/backfill"
	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table/tabletest"
)

// TestJobUnwindsItsCaller lets Progress panic in a goroutine of the library.
func TestJobUnwindsItsCaller(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema.Table{Indexes: []schema.Index{{Name: "GSI1", PK: "GSI1PK", SK: "GSI1SK"}}}, nil)
	members := expect.Value(repo.New(tbl, memberEntity))(t)
	calls := 0
	expect.Unwinds(t, "DryRun", func(unwind func()) {
		calls = 0
		_, _ = backfill.Job{
			Name: "unwinds", Table: tbl, Entities: []backfill.Entity{members}, Segments: 1000, Concurrency: 2,
			Progress: func(backfill.Progress) {
				if calls++; calls == 1 {
					unwind()
				}
			},
		}.DryRun(t.Context())
	})
	if calls > 100 {
		t.Errorf("the other walkers have gone on for %d segments", calls)
	}
}
