package conformance

import (
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/shard"
	"github.com/singletable/singletable/table"
)

func sparseTests() tests {
	return tests{
		"ten items behind megabytes of others": sparseWalks,
	}
}

const (
	sparseItems = 10
	// hiddenSize is that of an item in the way, near the largest that there is.
	hiddenSize = 390 << 10
)

// sparse is a partition, and an index, of ten items behind megabytes of others,
// which a filter drops, or which have expired by a later clock.
type sparse struct {
	table, later *table.Table
	megabytes    int
}

func (s sparse) pk() keys.PK { return keys.User.PK(fmt.Sprint(s.megabytes, " MB")) }

func (s sparse) index() shard.Index {
	return shard.Index{Index: "GSI1", Prefix: keys.Prefix(fmt.Sprint("SPARSE_", s.megabytes)), Shards: 2}
}

func (s sparse) key(i int) keys.Key { return keys.Key{PK: s.pk(), SK: txKey(i).SK} }

func (s sparse) seed(t *testing.T) {
	t.Helper()
	hidden := s.megabytes<<20/hiddenSize + 1
	var ops []table.Op
	for i := range hidden + sparseItems {
		at := s.index().Key(fmt.Sprint("tx-", i), shardSK(i))
		v := map[string]any{"entityType": "tx", "n": i - hidden, "gsi1pk": at.PK, "gsi1sk": at.SK, "id": "shown"}
		if i < hidden {
			v["id"], v["expiresAt"], v["text"] = "hidden", now.Unix()+60, long(hiddenSize)
		}
		ops = append(ops, table.Put(s.key(i), v))
	}
	must(t, s.table.BatchWrite(t.Context(), ops...))
}

// sparseWalks reads the ten items in every way, with no limit and with others.
func sparseWalks(t *testing.T, h Harness) {
	opts := options()
	tbl, _ := h.withFaults(t, appCore(), opts)
	opts.Now = func() time.Time { return now.Add(time.Hour) }
	later := h.open(t, h.Client(t), tbl.Schema(), opts)
	for _, megabytes := range []int{1, 3, 20} {
		s := sparse{tbl, later, megabytes}
		s.seed(t)
		filtered := table.Query{PK: s.pk(), Filter: expression.Name("id").Equal(value("shown"))}
		expired := table.Query{PK: s.pk(), Limit: sparseItems}
		if megabytes > 3 { // once each, for the time that it takes
			s.walk(t, "filtered", s.table, filtered)
			s.walk(t, "expired", s.later, expired)
			s.shards(t, 0)
			continue
		}
		for _, limit := range []int{0, 1, sparseItems - 1, sparseItems, sparseItems + 1} {
			filtered.Limit, expired.Limit = limit, limit
			s.walk(t, "filtered", s.table, filtered)
			s.walk(t, "expired", s.later, expired)
			s.shards(t, limit)
		}
	}
}

// walk reads a query to its end or limit.
func (s sparse) walk(t *testing.T, how string, tbl *table.Table, q table.Query) {
	t.Helper()
	txs := newRepo(t, tbl, repo.Entity[note]{Type: "tx", Key: func(n note) keys.Key { return s.key(n.N) }})
	want := span(0, sparseItems-1)
	whole := want
	if q.Limit > 0 {
		want = want[:min(q.Limit, len(want))]
	}
	what := fmt.Sprintf("%d MB %s, limit %d: ", s.megabytes, how, q.Limit)

	all := expect.Value(table.Collect(table.All[note](t.Context(), tbl, q)))(t)
	equal(t, what+"All", numbers(all), want)
	all = expect.Value(table.Collect(txs.All(t.Context(), q)))(t)
	equal(t, what+"Repo.All", numbers(all), want)

	var collected, streamed []note
	must(t, repo.Collect(t.Context(), tbl, q, txs.AppendTo(&collected)))
	equal(t, what+"repo.Collect", numbers(collected), want)
	for v, err := range repo.Stream(t.Context(), tbl, q, txs) {
		must(t, err)
		streamed = append(streamed, v.(note))
	}
	equal(t, what+"repo.Stream", numbers(streamed), want)

	equal(t, what+"pages", joined(pages(t, tbl, q, nil)), whole)
}

// shards reads the index, where the items in the way have expired.
func (s sparse) shards(t *testing.T, limit int) {
	t.Helper()
	r := shardReader(t, s.later, s.index(), nil)
	want := span(0, sparseItems-1)
	if limit > 0 {
		want = want[:min(limit, len(want))]
	}
	q := shard.Query{Limit: limit}
	all := expect.Value(table.Collect(r.All(t.Context(), q)))(t)
	equal(t, fmt.Sprintf("%d MB, limit %d: shard.All", s.megabytes, limit), numbers(all), want)
	var paged []int
	for range 1000 {
		page := expect.Value(r.Page(t.Context(), q))(t)
		paged = append(paged, numbers(page.Items)...)
		if q.After = page.Next; q.After == "" {
			break
		}
	}
	equal(t, fmt.Sprintf("%d MB, limit %d: shard.Page", s.megabytes, limit), paged, span(0, sparseItems-1))
}
