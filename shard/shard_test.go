package shard_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/shard"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// schema is the table of all tests. The index's keys are in GSI1PK and GSI1SK.
var spec = schema.Table{Name: "AppCore", Indexes: []schema.Index{{Name: "GSI1", PK: "GSI1PK", SK: "GSI1SK"}}}

// noon is when the first transaction was made.
var noon = time.Date(2024, time.January, 15, 12, 0, 0, 0, time.UTC)

// tx is the value of all items.
type tx struct {
	ID     string  `dynamodbav:"id"`
	GSI1PK keys.PK `dynamodbav:"GSI1PK"`
	GSI1SK keys.SK `dynamodbav:"GSI1SK"`
	Note   string  `dynamodbav:"note,omitempty"`
}

func globalTx(shards int) shard.Index {
	return shard.Index{Index: "GSI1", Prefix: "GLOBAL_TX", Shards: shards}
}

func id(i int) string { return fmt.Sprintf("tx-%04d", i) }

func at(i int) time.Time { return noon.Add(time.Duration(i) * time.Second) }

// sortKey is the key of the i-th transaction in the index.
func sortKey(i int) keys.SK { return keys.None.SK(keys.Time(at(i)), keys.Str(id(i))) }

// put is the op that stores a transaction under its id.
func put(id string, key keys.Key) table.Op {
	return table.Put(keys.Key{PK: keys.Tx.PK(id), SK: keys.Metadata}, tx{ID: id, GSI1PK: key.PK, GSI1SK: key.SK})
}

// seed stores transactions 0 to n-1, spread by their ids.
func seed(tb testing.TB, tbl *table.Table, index shard.Index, n int) {
	tb.Helper()
	ops := make([]table.Op, n)
	for i := range ops {
		ops[i] = put(id(i), index.Key(id(i), sortKey(i)))
	}
	write(tb, tbl, ops...)
}

// partition returns the partition key of a shard.
func partition(index shard.Index, shard int) keys.PK {
	if shard == 0 {
		return index.Prefix.PK()
	}
	return index.Prefix.PK(fmt.Sprint(shard))
}

// seedAt stores one transaction for each number, all of them in one shard.
func seedAt(tb testing.TB, tbl *table.Table, index shard.Index, shard int, numbers ...int) {
	tb.Helper()
	var ops []table.Op
	for _, i := range numbers {
		ops = append(ops, put(id(i), keys.Key{PK: partition(index, shard), SK: sortKey(i)}))
	}
	write(tb, tbl, ops...)
}

func write(tb testing.TB, tbl *table.Table, ops ...table.Op) {
	tb.Helper()
	expect.OK(tb, tbl.BatchWrite(tb.Context(), ops...))
}

func newReader(tb testing.TB, tbl *table.Table, index shard.Index, options *shard.Options[tx]) *shard.Reader[tx] {
	tb.Helper()
	return expect.Value(shard.New(tbl, index, options))(tb)
}

// withFaults returns a new table and what stands between it and the engine.
func withFaults(tb testing.TB, options *table.Options) (*table.Table, *tabletest.Faults) {
	tb.Helper()
	faults := &tabletest.Faults{}
	return tabletest.NewWith(tb, tabletest.Client(tb, faults.Install), spec, options), faults
}

// queries is how many requests were sent for shards.
func queries(f *tabletest.Faults) int { return len(f.Requests("Query")) }

// pages walks a query from page to page. between, if set, is called after each
// page and returns the reader to go on with.
func pages(tb testing.TB, r *shard.Reader[tx], q shard.Query, between func(page int) *shard.Reader[tx]) [][]string {
	tb.Helper()
	var all [][]string
	for range 2000 {
		page := expect.Value(r.Page(tb.Context(), q))(tb)
		all = append(all, ids(page.Items))
		if page.Next == "" {
			return all
		}
		q.After = page.Next
		if between != nil {
			r = between(len(all))
		}
	}
	tb.Fatal("2000 pages and no end")
	return nil
}

func ids(txs []tx) []string {
	out := make([]string, len(txs))
	for i, v := range txs {
		out[i] = v.ID
	}
	return out
}

// span returns the ids from the first to the last number, either way.
func span(first, last int) []string {
	if first > last {
		s := span(last, first)
		slices.Reverse(s)
		return s
	}
	var s []string
	for i := first; i <= last; i++ {
		s = append(s, id(i))
	}
	return s
}

// upTo returns the numbers from first to before end.
func upTo(first, end int) []int {
	var s []int
	for i := first; i < end; i++ {
		s = append(s, i)
	}
	return s
}

// kilobyte is a note that makes a transaction a little smaller than 1 KB.
var kilobyte = strings.Repeat("x", 850)

// observer returns the options of a table that adds up what its requests cost.
// Only one request may be under way at a time.
func observer(capacity *float64) *table.Options {
	return &table.Options{Observe: func(_ context.Context, e table.Event) { *capacity += e.Capacity }}
}

// attribute returns a string as the value of an attribute.
func attribute(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func TestStatsAdd(t *testing.T) {
	t.Parallel()
	one := shard.Stats{Stats: table.Stats{Items: 1, Scanned: 2, Requests: 3, Capacity: 0.5}, Rounds: 4}
	two := shard.Stats{Stats: table.Stats{Items: 2, Scanned: 4, Requests: 6, Capacity: 1}, Rounds: 8}
	expect.Equal(t, "sum", one.Add(one), two)
}

// The least that Latest takes is one item.
func TestLatestOne(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, spec, nil)
	seed(t, tbl, globalTx(2), 3)
	r := newReader(t, tbl, globalTx(2), nil)
	expect.Equal(t, "latest", ids(expect.Value(r.Latest(t.Context(), 1))(t)), span(2, 2))
	_, err := r.Latest(t.Context(), 0)
	expect.Err(t, err, table.ErrInvalid)
}
