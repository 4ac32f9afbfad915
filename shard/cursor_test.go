package shard_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/shard"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// TestCursorsOfOtherOrders passes cursors to readers that order items with equal sort
// keys in another way.
func TestCursorsOfOtherOrders(t *testing.T) {
	t.Parallel()
	tbl, faults := withFaults(t, nil)
	seed(t, tbl, globalTx(4), 10)
	dedupe := &shard.Options[tx]{Dedupe: func(v tx) string { return v.ID }}
	nonUnique := globalTx(4)
	nonUnique.NonUniqueSortKeys = true
	readers := map[string]*shard.Reader[tx]{
		"unique":             newReader(t, tbl, globalTx(4), nil),
		"unique, Dedupe":     newReader(t, tbl, globalTx(4), dedupe),
		"not unique":         newReader(t, tbl, nonUnique, nil),
		"not unique, Dedupe": newReader(t, tbl, nonUnique, dedupe),
	}
	for of, from := range readers {
		first := expect.Value(from.Page(t.Context(), shard.Query{Limit: 3, Descending: true}))(t)
		for offered, to := range readers {
			before := queries(faults)
			page, err := to.Page(t.Context(), shard.Query{Limit: 3, After: first.Next, Descending: true})
			if of == offered || strings.HasPrefix(of, "unique") && strings.HasPrefix(offered, "unique") {
				expect.OK(t, err)
				expect.Equal(t, of+" to "+offered, ids(page.Items), span(6, 4))
				continue
			}
			refusal, ok := errors.AsType[*paginate.Error](err)
			if !ok || refusal.Reason != paginate.Mismatch || page.Items != nil {
				t.Errorf("%s to %s: %v, %v", of, offered, page, err)
			}
			expect.Equal(t, of+" to "+offered+": requests", queries(faults)-before, 0)
		}
	}
}

// TestMovingBounds pages through windows that move between the pages.
func TestMovingBounds(t *testing.T) {
	t.Parallel()
	tbl, faults := withFaults(t, nil)
	seed(t, tbl, globalTx(4), 60)
	r := newReader(t, tbl, globalTx(4), nil)
	for name, tt := range map[string]struct {
		oldestFirst   bool
		before, after keys.Range
		first, second []string
	}{
		"the last seconds":           {false, keys.None.Since(at(10)), keys.None.Since(at(20)), span(59, 50), span(49, 40)},
		"no lower bound":             {false, keys.None.Since(at(10)), keys.Range{}, span(59, 50), span(49, 40)},
		"the end moves closer":       {false, keys.None.Since(at(10)), keys.None.Since(at(45)), span(59, 50), span(49, 45)},
		"the end moves past":         {false, keys.None.Since(at(10)), keys.None.Since(at(55)), span(59, 50), nil},
		"the beginning moves ahead":  {false, keys.None.Until(at(50)), keys.None.Until(at(30)), span(49, 40), span(29, 20)},
		"the beginning moves back":   {false, keys.None.Until(at(50)), keys.None.Until(at(60)), span(49, 40), span(39, 30)},
		"a window that opens":        {true, keys.None.Since(at(10)), keys.None.Since(at(12)), span(10, 19), span(20, 29)},
		"a window that has moved on": {true, keys.None.Since(at(10)), keys.None.Since(at(30)), span(10, 19), span(30, 39)},
		"the end is the position":    {true, keys.None.Since(at(0)), keys.Range{From: sortKey(0), To: sortKey(9)}, span(0, 9), nil},
		"both bounds":                {true, keys.None.Between(at(5), at(20)), keys.None.Between(at(10), at(18)), span(5, 14), span(15, 17)},
		"empty, below the position":  {true, keys.None.Since(at(10)), keys.None.Between(at(5), at(5)), span(10, 19), nil},
		"empty, above the position":  {true, keys.None.Since(at(10)), keys.None.Between(at(50), at(50)), span(10, 19), nil},
		"the item at the position":   {false, keys.None.Since(at(10)), keys.Exactly(sortKey(50)), span(59, 50), nil},
	} {
		q := shard.Query{Limit: 10, Descending: !tt.oldestFirst, Range: tt.before}
		page := expect.Value(r.Page(t.Context(), q))(t)
		expect.Equal(t, name+": first page", ids(page.Items), tt.first)
		q.After, q.Range = page.Next, tt.after
		page = expect.Value(r.Page(t.Context(), q))(t)
		expect.Equal(t, name+": second page", append([]string(nil), ids(page.Items)...), tt.second)
		q.Limit = 1000
		all := expect.Value(table.Collect(r.All(t.Context(), q)))(t)
		if tt.second == nil && (len(all) > 0 || page.Next != "") {
			t.Errorf("%s: %v, %q after the end", name, ids(all), page.Next)
		}
	}
	// A walk that is at its end needs no request.
	page := expect.Value(r.Page(t.Context(), shard.Query{Limit: 10, Descending: true}))(t)
	before := queries(faults)
	page = expect.Value(r.Page(t.Context(), shard.Query{Limit: 10, After: page.Next, Range: keys.None.Since(at(55)), Descending: true}))(t)
	expect.Equal(t, "page", page, shard.Page[tx]{Items: []tx{}, Prev: page.Prev})
	expect.Equal(t, "requests", queries(faults)-before, 0)

	// These are other ranges, not windows that have moved.
	oldest := expect.Value(r.Page(t.Context(), shard.Query{Limit: 10}))(t)
	newest := expect.Value(r.Page(t.Context(), shard.Query{Limit: 10, Descending: true}))(t)
	for name, q := range map[string]shard.Query{
		"above the range":    {After: oldest.Next, Range: keys.None.Until(at(8))},
		"one other item":     {After: newest.Next, Range: keys.Exactly(sortKey(33)), Descending: true},
		"without the prefix": {After: newest.Next, Range: keys.Tx.Since(at(0)), Descending: true},
	} {
		before := queries(faults)
		page, err := r.Page(t.Context(), q)
		if refusal, ok := errors.AsType[*paginate.Error](err); !ok || refusal.Reason != paginate.OutOfRange || page.Items != nil {
			t.Errorf("%s: %v, %v", name, page, err)
		}
		expect.Equal(t, name+": requests", queries(faults)-before, 0)
	}
}

func TestFollowing(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", keys.MaxSK-1)
	for prefix, want := range map[keys.SK]keys.SK{
		"TX#":                        "TX$",
		"$service#entity_":           "$service#entity`",
		"a":                          "b",
		"\x00":                       "\x01",
		"~":                          "\x7f",
		"\x7f":                       "\u0080",
		"é":                          "ê",
		"\uD7FF":                     "\uE000",
		"\uFFFF":                     "\U00010000",
		"a\U0010FFFF":                "b",
		"a\U0010FFFF\U0010FFFF":      "b",
		"\U0010FFFE":                 "\U0010FFFF",
		"\U0010FFFF":                 "",
		keys.SK(long + "a"):          keys.SK(long + "b"),
		keys.SK(long + "\x7f"):       keys.SK(long[1:] + "y"),
		keys.SK(long[1:] + "\u07FF"): keys.SK(long[2:] + "y"),
	} {
		expect.Equal(t, fmt.Sprintf("%q", prefix), shard.Following(prefix), want)
	}
}

// TestCursorSize is the budget of a watermark.
func TestCursorSize(t *testing.T) {
	t.Parallel()
	codec := expect.Value(paginate.New([]paginate.Key{paginate.NewKey()}, nil))(t)
	tbl, _ := withFaults(t, &table.Options{Cursors: codec})
	index := globalTx(64)
	write(t, tbl,
		put("tx-abc", index.Key("tx-abc", "2024-01-15T10:05:00.000Z#tx-abc")),
		put("tx-abd", index.Key("tx-abd", "2024-01-15T10:05:01.000Z#tx-abd")),
	)
	page := expect.Value(newReader(t, tbl, index, nil).Page(t.Context(), shard.Query{Limit: 1, Descending: true}))(t)
	if n := len(page.Next); n == 0 || n > 88 {
		t.Errorf("a cursor of %d characters", n)
	}
	t.Logf("%d characters", len(page.Next))
	last := expect.Value(newReader(t, tbl, index, nil).Page(t.Context(), shard.Query{Limit: 1, After: page.Next, Descending: true}))(t)
	expect.Equal(t, "items", ids(last.Items), []string{"tx-abc"})
}

// A cursor holds a sort key of any length.
func TestCursorOfTheLongestSortKey(t *testing.T) {
	t.Parallel()
	tbl, _ := withFaults(t, nil)
	index := globalTx(2)
	longest := func(last string) keys.SK { return keys.SK(strings.Repeat("x", keys.MaxSK-1) + last) }
	write(t, tbl, put("tx-a", index.Key("tx-a", longest("a"))), put("tx-b", index.Key("tx-b", longest("b"))))
	r := newReader(t, tbl, index, nil)
	page := expect.Value(r.Page(t.Context(), shard.Query{Limit: 1}))(t)
	page = expect.Value(r.Page(t.Context(), shard.Query{Limit: 1, After: page.Next}))(t)
	expect.Equal(t, "items", ids(page.Items), []string{"tx-b"})
}

// A cursor of an index with a Prefix does not depend on its Suffixes.
func TestCursorAfterOneMoreSuffix(t *testing.T) {
	t.Parallel()
	tbl, _ := withFaults(t, nil)
	byRegion := func(suffixes ...string) shard.Index {
		return shard.Index{Index: "GSI1", Prefix: "GLOBAL_TX", Suffixes: suffixes}
	}
	index := byRegion("#eu", "#us")
	write(t, tbl, put("tx-a", keys.Key{PK: "GLOBAL_TX#eu", SK: "1"}), put("tx-b", keys.Key{PK: "GLOBAL_TX#us", SK: "2"}))
	page := expect.Value(newReader(t, tbl, index, nil).Page(t.Context(), shard.Query{Limit: 1}))(t)
	index = byRegion("#ap", "#eu", "#us")
	page = expect.Value(newReader(t, tbl, index, nil).Page(t.Context(), shard.Query{Limit: 1, After: page.Next}))(t)
	expect.Equal(t, "items", ids(page.Items), []string{"tx-b"})
}

// TestCursorsOfEarlierReleases fails when cursors in clients' hands would stop
// opening because what they are bound to is computed in another way.
func TestCursorsOfEarlierReleases(t *testing.T) {
	t.Parallel()
	ring := expect.Value(paginate.ParseKeys("UJdLfcdaVtscrZUutZjwC8XDpElAe190T3ipbjovgSA="))(t)
	codec := expect.Value(paginate.New(ring, &paginate.Options{Now: func() time.Time { return noon }}))(t)
	// There is no such table: a cursor that opens leads to a request that fails.
	missing := spec
	missing.Name = "no-such-table"
	tbl := expect.Value(table.New(tabletest.Client(t), missing, &table.Options{Cursors: codec}))(t)
	dedupe := &shard.Options[tx]{Dedupe: func(v tx) string { return v.ID }}
	for name, tt := range map[string]struct {
		nonUnique bool
		options   *shard.Options[tx]
		cursor    string
	}{
		"unique":     {false, nil, "SWImQe4gXYjjJUePTyT0RgKzezRRf6rfP10LnUmvIS38BxZiOjmNMETihRDsFAqOPaYNtoY"},
		"not unique": {true, nil, "SWImQe6m_2Qf55fnaaU_D9iBQyQYZMKM-EW-x-rDSAUDNvRyLw4uRR9G_PEEpya5Hn75ZK0vRq46BnwO8SX_CUsjnRr_MgLzZw"},
		"Dedupe":     {true, dedupe, "SWImQe4vnQa5yh8GToTGFegbfTzi_ml63WnlXMUNX6joKsHWgJ_yci7amdp6Eeq8GvL09OBCGDUEv0sVFg"},
	} {
		index := globalTx(4)
		index.NonUniqueSortKeys = tt.nonUnique
		_, err := newReader(t, tbl, index, tt.options).Page(t.Context(), shard.Query{Limit: 5, Scope: "alice", After: tt.cursor, Descending: true})
		if _, sent := errors.AsType[*types.ResourceNotFoundException](err); !sent {
			t.Errorf("%s: error %v; want that of a missing table", name, err)
		}
	}
}
