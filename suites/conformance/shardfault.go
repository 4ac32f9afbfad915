package conformance

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/shard"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

func shardThrottled(t *testing.T, h Harness) {
	tbl, faults := h.withFaults(t, appCore(), nil)
	spreadTx(t, tbl, global(16), 0, 60)
	r := shardReader(t, tbl, global(16), nil)
	fifth := func(r tabletest.Request) bool { return strings.Contains(string(r.Body), `"GLOBAL_TX#5"`) }
	faults.Always("Query", tabletest.Match(fifth, tabletest.Throttle()))
	page, err := r.Page(t.Context(), shard.Query{Limit: 10, Descending: true})
	wantErr(t, err, table.ErrThrottled)
	equal(t, "class", table.Classify(err), table.Transient)
	if e, ok := errors.AsType[*table.Error](err); !ok || e.Name != "shard 5" || e.Index != "GSI1" || page.Items != nil || page.Next != "" ||
		!strings.Contains(err.Error(), `"shard 5"`) {
		t.Errorf("%v, %v", page, err)
	}
	yields := 0
	for v, err := range r.All(t.Context(), shard.Query{}) {
		yields++
		wantErr(t, err, table.ErrThrottled)
		equal(t, "value beside the error", v, note{})
	}
	equal(t, "yields", yields, 1)
	faults.Always("Query", nil)
	latest := expect.Value(r.Latest(t.Context(), 10))(t)
	equal(t, "items", numbers(latest), span(59, 50))
}

func shardConcurrency(t *testing.T, h Harness) {
	faults := &tabletest.Faults{}
	tbl := h.newTable(t, appCore())
	spreadTx(t, tbl, global(32), 0, 100)
	own := expect.Value(table.New(h.Client(t, faults.Install), tbl.Schema(), nil))(t)
	r := shardReader(t, own, global(32), &shard.Options[note]{Concurrency: 4})
	latest := expect.Value(r.Latest(t.Context(), 50))(t)
	equal(t, "items", numbers(latest), span(99, 50))
	if n := faults.MaxInFlight(); n > 4 {
		t.Errorf("%d requests in flight", n)
	}
}

func shardCancelled(t *testing.T, h Harness) {
	tbl, faults := h.withFaults(t, appCore(), nil)
	spreadTx(t, tbl, global(16), 0, 30)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	faults.Next("Query", nil, nil, nil)
	faults.Always("Query", func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		cancel()
		return tabletest.Block(nil)(r, next)
	})
	start := time.Now()
	r := shardReader(t, tbl, global(16), nil)
	page, err := r.Page(ctx, shard.Query{Limit: 10, Descending: true})
	wantErr(t, err, context.Canceled)
	if d := time.Since(start); d > 10*time.Second || page.Items != nil {
		t.Errorf("%v after %v", page, d)
	}
	faults.Always("Query", nil)
	before := sent(faults)
	wantErr(t, expect.ErrOf(r.Latest(ctx, 10)), context.Canceled)
	equal(t, "requests after the end of the context", sent(faults)-before, 0)

	between, stop := context.WithCancel(t.Context())
	defer stop()
	items := 0
	for _, err = range r.All(between, shard.Query{}) {
		if err == nil {
			items++
		}
		stop()
	}
	wantErr(t, err, context.Canceled)
	equal(t, "items before the end of the context", items, 1)
}

func shardCursors(t *testing.T, h Harness) {
	tbl, faults := h.withFaults(t, appCore(), nil)
	spec := tbl.Schema()
	spec.Indexes = append(spec.Indexes, schema.Index{Name: "GSI2", PK: "gsi1pk", SK: "gsi1sk"})
	twin := expect.Value(table.New(h.Client(t, faults.Install), spec, options()))(t)
	spec.Name = "Another"
	elsewhere := expect.Value(table.New(h.Client(t, faults.Install), spec, options()))(t)
	index := global(1)
	spreadTx(t, tbl, index, 0, 9)
	mine := shard.Query{Limit: 2, Scope: "alice", Range: keys.None.Since(txTime(1)), Descending: true}
	page := expect.Value(shardReader(t, tbl, index, nil).Page(t.Context(), mine))(t)
	onTable := table.Query{Index: "GSI1", PK: "GLOBAL_TX", Descending: true, Limit: 2, Scope: "alice"}
	plain := expect.Value(table.QueryPage[note](t.Context(), tbl, onTable))(t)

	renamed, onTwin := index, index
	renamed.Prefix, onTwin.Index = "GLOBAL", "GSI2"
	bob, oldest, prefix, changed, ofTable := mine, mine, mine, mine, mine
	bob.Scope, oldest.Descending, prefix.Range = "bob", false, keys.Tx.All()
	for _, q := range []*shard.Query{&mine, &bob, &oldest, &prefix} {
		q.After = page.Next
	}
	changed.After, ofTable.After = page.Next+"A", plain.Next
	before := sent(faults)
	for what, tt := range map[string]struct {
		tbl   *table.Table
		index shard.Index
		query shard.Query
	}{
		"scope":               {tbl, index, bob},
		"direction":           {tbl, index, oldest},
		"range's prefix":      {tbl, index, prefix},
		"changed":             {tbl, index, changed},
		"of a plain query":    {tbl, index, ofTable},
		"index's prefix":      {tbl, renamed, mine},
		"index":               {twin, onTwin, mine},
		"table":               {elsewhere, index, mine},
		"whole partition key": {tbl, shard.Index{Index: "GSI1", Suffixes: []string{"GLOBAL", "GLOBAL_TX"}}, mine},
	} {
		r := shardReader(t, tt.tbl, tt.index, nil)
		page, err := r.Page(t.Context(), tt.query)
		wantErr(t, err, paginate.ErrInvalidCursor)
		_, all := table.Collect(r.All(t.Context(), tt.query))
		wantErr(t, all, paginate.ErrInvalidCursor)
		if table.Classify(err) != table.Permanent || page.Items != nil {
			t.Errorf("%s: %v, %v", what, page, err)
		}
	}
	onTable.After = page.Next
	wantErr(t, expect.ErrOf(table.QueryPage[note](t.Context(), tbl, onTable)), paginate.ErrInvalidCursor)
	equal(t, "requests", sent(faults)-before, 0)

	// Page size, bounds, number of shards and suffixes may change on the way.
	mine.Limit, mine.Range = 3, keys.None.Since(txTime(2))
	suffixes := shard.Index{Index: "GSI1", Prefix: index.Prefix, Suffixes: []string{"", "#1"}}
	for _, x := range []shard.Index{index, global(2), global(64), suffixes} {
		page = expect.Value(shardReader(t, twin, x, nil).Page(t.Context(), mine))(t)
		equal(t, "items", numbers(page.Items), span(6, 4))
	}
}
