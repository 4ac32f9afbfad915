package telemetry_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
	"github.com/singletable/singletable/table/telemetry"
)

func TestSummary(t *testing.T) {
	t.Parallel()
	var s telemetry.Summary
	expect.Equal(t, "rows before the first event", len(s.Rows()), 0)
	f := open(t, s.Observe, 3)
	ctx := telemetry.WithPattern(t.Context(), "show profile")
	f.Faults.Next("GetItem", tabletest.Throttle())
	expect.OK(t, f.Get(ctx))
	expect.OK(t, f.Get(ctx))
	expect.OK(t, expect.ErrOf(table.QueryPage[table.Item](ctx, f.Table, table.Query{Index: "GSI1", PK: "G"})))
	expect.OK(t, f.Do(t.Context(), table.Put(profile, nil)))
	if f.Do(t.Context(), table.Create(profile, nil)) == nil {
		t.Error("no error")
	}

	got := s.Rows()
	for i, r := range got {
		if r.Slowest <= 0 || r.Duration < r.Slowest || (r.Requests > 1) != (r.Duration > r.Slowest) {
			t.Errorf("%d requests took %v, the slowest %v", r.Requests, r.Duration, r.Slowest)
		}
		got[i].Duration, got[i].Slowest = 0, 0
	}
	expect.Equal(t, "rows", got, []telemetry.Row{
		{Operation: "PutItem", Requests: 2, Attempts: 2, Errors: 1, WriteUnits: 1},
		{Pattern: "show profile", Operation: "GetItem", Requests: 2, Attempts: 3, ReadUnits: 1},
		{Pattern: "show profile", Operation: "Query", Index: "GSI1", Requests: 1, Attempts: 1, ReadUnits: 0.5},
	})
}

func TestSummaryIsATable(t *testing.T) {
	t.Parallel()
	var s telemetry.Summary
	ctx := telemetry.WithPattern(t.Context(), "list transactions")
	for _, e := range []table.Event{
		{Operation: "Query", Index: "GSI1", Duration: 1500 * time.Microsecond, Capacity: 0.5, Attempts: 1},
		{Operation: "Query", Index: "GSI1", Duration: 500 * time.Microsecond, Capacity: 12, Attempts: 1},
	} {
		s.Observe(ctx, e)
	}
	s.Observe(t.Context(), table.Event{Operation: "UpdateItem", Duration: 2*time.Second + 1, Attempts: 3, Err: errors.New("x")})
	const want = `pattern            operation   index  requests  attempts  errors  read units  write units  mean       slowest
-                  UpdateItem  -      1         3         1       0           0            2s         2s
list transactions  Query       GSI1   2         2         0       12.5        0            1ms        1.5ms
total              -           -      3         5         1       12.5        0            667.333ms  2s
`
	expect.Equal(t, "String", s.String(), want)
	var b strings.Builder
	n := expect.Value(s.WriteTo(&b))(t)
	expect.Equal(t, "WriteTo", []any{b.String(), n}, []any{want, int64(len(want))})
	if _, err := s.WriteTo(broken{}); !errors.Is(err, errBroken) {
		t.Errorf("error %v, want %v", err, errBroken)
	}
}

var errBroken = errors.New("broken pipe")

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errBroken }

func TestSummaryCountsVectors(t *testing.T) {
	t.Parallel()
	var s telemetry.Summary
	for _, e := range []table.Event{
		{Operation: "SearchVectors", Index: "similar", Attempts: 1, VectorBytes: 400.5},
		{Operation: "SearchVectors", Index: "similar", Attempts: 1, VectorBytes: 400},
		{Operation: "PutItem", Attempts: 1, Capacity: 2, VectorBytes: 1024},
		{Operation: "GetItem", Attempts: 1},
	} {
		s.Observe(t.Context(), e)
	}
	const want = `pattern  operation      index    requests  attempts  errors  read units  write units  mean  slowest  vector bytes
-        GetItem        -        1         1         0       0           0            0s    0s       0
-        PutItem        -        1         1         0       0           2            0s    0s       1024
-        SearchVectors  similar  2         2         0       0           0            0s    0s       800
total    -              -        4         4         0       0           2            0s    0s       1824
`
	expect.Equal(t, "the table", s.String(), want)
}

func TestSummaryIsBounded(t *testing.T) {
	t.Parallel()
	var s telemetry.Summary
	const events = 1500
	for i := range events {
		ctx := telemetry.WithPattern(t.Context(), fmt.Sprintf("user %04d", i))
		s.Observe(ctx, table.Event{Operation: "GetItem"})
	}
	// A pattern that is there already is still told apart.
	s.Observe(telemetry.WithPattern(t.Context(), "user 0007"), table.Event{Operation: "GetItem"})
	rows := s.Rows()
	expect.Equal(t, "rows", len(rows), 1001)
	expect.Equal(t, "first", rows[0], telemetry.Row{Pattern: "(other)", Operation: "GetItem", Requests: 500})
	expect.Equal(t, "eighth", rows[8], telemetry.Row{Pattern: "user 0007", Operation: "GetItem", Requests: 2})
}

func TestSummaryIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	var s telemetry.Summary
	f := open(t, s.Observe, 3)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 10 {
				if err := f.Get(t.Context()); err != nil {
					t.Error(err)
				}
				_ = s.String()
			}
		})
	}
	wg.Wait()
	expect.Equal(t, "requests", s.Rows()[0].Requests, 80)
}
