// Package network measures reads over TLS with a latency of 5 ms: how many
// connections they open, what a fan-out costs next to one query, and what hedging
// does with late responses and in an outage.
//
//	go run ./suites/benchmarks network
//
// Server and client share the machine. All figures are ratios or counts from
// alternating rounds: the median, and in brackets the least and the greatest.
package network

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/hedge"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/shard"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// Command measures as its flags say.
func Command(flags *flag.FlagSet) func(context.Context) error {
	rounds := flags.Int("rounds", 5, "how often each measurement is repeated")
	pages := flags.Int("pages", 400, "the pages of a measurement")
	return func(ctx context.Context) error { return run(ctx, *rounds, *pages) }
}

// index is an index over so many shards. Its name is part of the prefix.
func index(shards int) shard.Index {
	return shard.Index{Index: "GSI1", Prefix: keys.Prefix(fmt.Sprint("S", shards)), Shards: shards}
}

func run(ctx context.Context, rounds, pages int) error {
	engine, err := tabletest.Start(ctx, nil)
	if err != nil {
		return err
	}
	defer engine.Close()
	spec := schema.Table{
		Name:    fmt.Sprintf("network-%d", time.Now().UnixNano()),
		Indexes: []schema.Index{{Name: "GSI1", PK: "GSI1PK", SK: "GSI1SK"}},
	}
	if err := fill(ctx, engine, spec); err != nil {
		return err
	}
	s := newServer(engine)
	defer s.Close()
	m := &measurement{server: s, schema: spec, rounds: rounds, pages: pages}
	for _, measure := range []func(context.Context) error{m.connections, m.fanOut, m.tail, m.outage} {
		if err := measure(ctx); err != nil {
			return err
		}
	}
	return nil
}

// payment is an item of 1 KB.
type payment struct {
	ID   string `dynamodbav:"id"`
	Note string `dynamodbav:"note"`
}

func fill(ctx context.Context, engine *tabletest.Engine, spec schema.Table) error {
	client := engine.Client()
	if err := spec.Ensure(ctx, client); err != nil {
		return err
	}
	tbl, err := table.New(client, spec, nil)
	if err != nil {
		return err
	}
	started := time.Date(2024, time.January, 15, 12, 0, 0, 0, time.UTC)
	var ops []table.Op
	for _, shards := range []int{1, 16, 32} {
		for i := range 40 * shards {
			id := fmt.Sprintf("pay-%d-%06d", shards, i)
			at := started.Add(time.Duration(i) * time.Second)
			item, err := tbl.IndexKey("GSI1", index(shards).Key(id, keys.None.SK(keys.Time(at), keys.Str(id))))
			if err != nil {
				return err
			}
			item["id"], item["note"] = text(id), text(strings.Repeat("x", 850))
			ops = append(ops, table.Put(keys.Key{PK: keys.Tx.PK(id), SK: keys.Metadata}, item))
		}
	}
	return tbl.BatchWrite(ctx, ops...)
}

// measurement is what all measurements have in common.
type measurement struct {
	*server
	schema        schema.Table
	rounds, pages int
}

// reader is a way to read.
type reader struct {
	read  func(context.Context) error
	stats func() hedge.Stats // 0 without hedges
}

// latest returns a reader of the newest ten items.
func (m *measurement) latest(shards int, wrapped, hedged bool) (*reader, error) {
	hedges := hedge.New(nil)
	client := dynamodb.New(m.client(wrapped).Options(), func(o *dynamodb.Options) {
		if hedged {
			hedges = hedge.New(o.HTTPClient)
			o.HTTPClient = hedges
		}
	})
	r := &reader{stats: hedges.Stats}
	tbl, err := table.New(client, m.schema, nil)
	if err != nil {
		return nil, err
	}
	reader, err := shard.New[payment](tbl, index(shards), nil)
	if err != nil {
		return nil, err
	}
	r.read = func(ctx context.Context) error {
		items, err := reader.Latest(ctx, 10)
		if err == nil && len(items) != 10 {
			err = fmt.Errorf("%d items, not 10", len(items))
		}
		return err
	}
	return r, nil
}

// times reads n times and returns how long each took, in order of duration.
func (r *reader) times(ctx context.Context, n int) ([]time.Duration, error) {
	all := make([]time.Duration, n)
	for i := range all {
		start := time.Now()
		if err := r.read(ctx); err != nil {
			return nil, err
		}
		all[i] = time.Since(start)
	}
	slices.Sort(all)
	return all, nil
}

// share returns how many hedges there were for each query since before.
func (r *reader) share(before hedge.Stats) float64 {
	now := r.stats()
	return float64(now.Hedges-before.Hedges) / float64(now.Reads-before.Reads)
}

// median and p99 are percentiles of times in order.
func median(times []time.Duration) time.Duration { return times[len(times)/2] }
func p99(times []time.Duration) time.Duration    { return times[len(times)*99/100] }

// figures are the results of rounds.
type figures []float64

func (f *figures) add(v float64) { *f = append(*f, v) }

func (f *figures) ratio(a, b time.Duration) { f.add(float64(a) / float64(b)) }

// String returns the median, the least and the greatest.
func (f figures) String() string {
	f = slices.Sorted(slices.Values(f))
	number := func(v float64) string { return strconv.FormatFloat(v, 'f', 3, 64) }
	return fmt.Sprintf("%s [%s, %s]", number(f[len(f)/2]), number(f[0]), number(f[len(f)-1]))
}

func line(what string, f figures) { fmt.Printf("%-68s %s\n", what, f) }
