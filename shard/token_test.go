package shard_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/shard"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// refused checks that a reader takes no such token and sends nothing.
func refused(t *testing.T, what string, r *shard.Reader[tx], q shard.Query, sent func() int) {
	t.Helper()
	before := sent()
	page, err := r.Page(t.Context(), q)
	if !errors.Is(err, paginate.ErrInvalidCursor) || table.Classify(err) != table.Permanent || len(page.Items) > 0 {
		t.Errorf("%s: %v, %v", what, page, err)
	}
	for _, err := range r.All(t.Context(), q) {
		if !errors.Is(err, paginate.ErrInvalidCursor) {
			t.Errorf("%s: %v", what, err)
		}
	}
	equal(t, what+": requests", sent()-before, 0)
}

func TestForeignTokens(t *testing.T) {
	t.Parallel()
	tbl, faults := withFaults(t, nil)
	sent := func() int { return queries(faults) }
	client, s := tabletest.Client(t, faults.Install), tbl.Schema()
	s.Indexes = append(s.Indexes, table.Index{Name: "GSI2", PK: "GSI1PK", SK: "GSI1SK"})
	twin, err := table.New(client, s, nil)
	must(t, err)
	s.Name = "Another"
	elsewhere, err := table.New(client, s, nil)
	must(t, err)

	index := globalTx(8)
	seed(t, tbl, index, 40)
	r := newReader(t, tbl, index, nil)
	mine := shard.Query{Limit: 5, Scope: "alice", Range: keys.None.Since(at(3))}
	page, err := r.Page(t.Context(), mine)
	must(t, err)
	mine.After = page.Next
	_, err = r.Page(t.Context(), mine)
	must(t, err)

	for what, change := range map[string]func(*shard.Query){
		"direction":   func(q *shard.Query) { q.OldestFirst = true },
		"scope":       func(q *shard.Query) { q.Scope = "bob" },
		"no scope":    func(q *shard.Query) { q.Scope = "" },
		"range":       func(q *shard.Query) { q.Range = keys.None.Since(at(4)) },
		"prefix":      func(q *shard.Query) { q.Range = keys.Tx.All() },
		"whole index": func(q *shard.Query) { q.Range = keys.Range{} },
	} {
		q := mine
		change(&q)
		refused(t, what, r, q, sent)
	}
	ties, name, second := index, index, index
	ties.Ties, name.Name, second.Index = true, "GLOBAL", "GSI2"
	refused(t, "ties", newReader(t, tbl, ties, nil), mine, sent)
	refused(t, "name", newReader(t, tbl, name, nil), mine, sent)
	refused(t, "index", newReader(t, twin, second, nil), mine, sent)
	refused(t, "table", newReader(t, elsewhere, index, nil), mine, sent)

	// Page size, number of shards and labels may change on the way.
	mine.Limit = 3
	labelled := index
	labelled.Shards, labelled.Labels = 0, []string{"0", "1", "2", "3", "4", "5", "6", "7", "8"}
	for _, x := range []shard.Index{globalTx(8), globalTx(9), globalTx(64), labelled} {
		page, err := newReader(t, twin, x, nil).Page(t.Context(), mine)
		must(t, err)
		equal(t, "items", ids(page.Items), span(34, 32))
	}
}

// TestTokensOfTheTable gives tokens of a plain query to a reader, and the other
// way round, also with a scope that could be taken for the same.
func TestTokensOfTheTable(t *testing.T) {
	t.Parallel()
	tbl, faults := withFaults(t, nil)
	sent := func() int { return queries(faults) }
	index := globalTx(1)
	seed(t, tbl, index, 20)
	r := newReader(t, tbl, index, nil)

	plain := table.Query{Index: "GSI1", PK: "GLOBAL_TX", Reverse: true, Limit: 5}
	page, err := table.QueryPage[tx](t.Context(), tbl, plain)
	must(t, err)
	refused(t, "a token of the table", r, shard.Query{Limit: 5, After: page.Next}, sent)

	merged, err := r.Page(t.Context(), shard.Query{Limit: 5})
	must(t, err)
	before := sent()
	plain.After = merged.Next
	if _, err := table.QueryPage[tx](t.Context(), tbl, plain); !errors.Is(err, paginate.ErrInvalidCursor) {
		t.Errorf("a token of a reader: %v", err)
	}
	equal(t, "requests", sent()-before, 0)
}

func TestBrokenTokens(t *testing.T) {
	t.Parallel()
	tbl, faults := withFaults(t, nil)
	sent := func() int { return queries(faults) }
	seed(t, tbl, globalTx(4), 10)
	r := newReader(t, tbl, globalTx(4), nil)
	q := shard.Query{Limit: 3}
	page, err := r.Page(t.Context(), q)
	must(t, err)
	token := page.Next
	for i := range token {
		other := "A"
		if token[i] == 'A' {
			other = "B"
		}
		q.After = token[:i] + other + token[i+1:]
		refused(t, "changed", r, q, sent)
		if q.After = token[:i]; i > 0 {
			refused(t, "cut", r, q, sent)
		}
	}
	for _, after := range []string{token + "A", " " + token, "x", strings.Repeat("A", 10<<20)} {
		q.After = after
		refused(t, "other", r, q, sent)
	}
}

// TestTokenSize is the budget of a watermark.
func TestTokenSize(t *testing.T) {
	t.Parallel()
	codec, err := paginate.New([]paginate.Key{paginate.NewKey()}, nil)
	must(t, err)
	tbl, _ := withFaults(t, &table.Options{Cursors: codec})
	index := globalTx(64)
	write(t, tbl,
		put("tx-abc", index.Key("tx-abc", "2024-01-15T10:05:00.000Z#tx-abc")),
		put("tx-abd", index.Key("tx-abd", "2024-01-15T10:05:01.000Z#tx-abd")),
	)
	page, err := newReader(t, tbl, index, nil).Page(t.Context(), shard.Query{Limit: 1})
	must(t, err)
	if n := len(page.Next); n == 0 || n > 88 {
		t.Errorf("a token of %d characters", n)
	}
	t.Logf("%d characters", len(page.Next))
	last, err := newReader(t, tbl, index, nil).Page(t.Context(), shard.Query{Limit: 1, After: page.Next})
	must(t, err)
	equal(t, "items", ids(last.Items), []string{"tx-abc"})
}

// TestTokensOfEarlierReleases fails when tokens in clients' hands would stop
// opening because what they are bound to is computed in another way.
func TestTokensOfEarlierReleases(t *testing.T) {
	t.Parallel()
	ring, err := paginate.ParseKeys("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
	must(t, err)
	codec, err := paginate.New(ring, &paginate.Options{Now: func() time.Time { return noon }})
	must(t, err)
	// There is no such table: a token that opens leads to a request that fails.
	missing := schema
	missing.Name = "no-such-table"
	tbl, err := table.New(tabletest.Client(t), missing, &table.Options{Cursors: codec})
	must(t, err)
	for token, ties := range map[string]bool{
		"SWMNzSmYSS4-wHawyhq9YjIx0sCTMFwvBaW2pdEVOxNEKSSyGpJqqw2AxypLnfumT5HzGK8":                            false,
		"SWMNzSmsn_XT8lH9iwH7DXpfAd9EB9nTPh-Bwgoy3OjahX65aJ6K_Eq2zYplyvr0QxFLo6CYi5hBWQDg1_2NB9VyJuMVIVbCog": true,
	} {
		index := globalTx(4)
		index.Ties = ties
		_, err := newReader(t, tbl, index, nil).Page(t.Context(), shard.Query{Limit: 5, Scope: "alice", After: token})
		if _, sent := errors.AsType[*types.ResourceNotFoundException](err); !sent {
			t.Errorf("ties %t: error %v; want that of a missing table", ties, err)
		}
	}
}
