// Package costs_test measures what the operations of the library consume, for
// docs/costs.md.
package costs_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/singletable/singletable/backfill"
	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/generated"
	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/shard"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

//go:generate go test . -run ^TestThePage -update

const page = "../../../docs/costs.md"

var spec = schema.Table{
	Name: "Costs", TTLAttribute: "expiresAt",
	Indexes: []schema.Index{{Name: "GSI1", PK: "GSI1PK", SK: "GSI1SK"}},
}

// doc is stored in an item of nearly 1 KB.
type doc struct {
	ID       string `dynamodbav:"id"`
	Name     string `dynamodbav:"name"`
	Text     string `dynamodbav:"text"`
	Count    int    `dynamodbav:"count"`
	Revision string `dynamodbav:"revision"`
	Version  int64  `dynamodbav:"version,omitempty"`
}

func newDoc(i int) *doc {
	return &doc{ID: fmt.Sprintf("d-%03d", i), Name: fmt.Sprintf("n-%03d", i), Text: strings.Repeat("x", 860)}
}

const (
	docs  keys.Prefix = "DOC"
	names keys.Prefix = "NAME"
)

func key(i int) keys.Key { return newKey(*newDoc(i)) }

// All documents are in one partition.
func newKey(d doc) keys.Key { return keys.Key{PK: docs.PK("all"), SK: docs.SK(keys.Str(d.ID))} }

func byName(d doc) keys.Key { return keys.Key{PK: names.PK(d.Name), SK: keys.Metadata} }

func entity() repo.Entity[doc] {
	return repo.Entity[doc]{Type: "DOC", Key: newKey, Version: "revision"}
}

func copied() repo.Entity[doc] {
	e := entity()
	e.Copies = []repo.Copy[doc]{{Name: "by name", Key: byName}}
	return e
}

func counted() repo.Entity[doc] {
	e := copied()
	e.Version = "version"
	return e
}

func indexed() repo.Entity[doc] {
	e := entity()
	e.Indexes = repo.Indexes[doc]{"GSI1": byName}
	return e
}

var shards = shard.Index{Index: "GSI1", Prefix: "DOCS", Shards: 4}

func sharded() repo.Entity[doc] {
	e := entity()
	e.Indexes = repo.Indexes[doc]{"GSI1": func(d doc) keys.Key { return shards.Key(d.ID, docs.SK(keys.Str(d.ID))) }}
	return e
}

func unversioned() repo.Entity[doc] { return repo.Entity[doc]{Type: "DOC", Key: newKey} }

// env is a table with 100 documents of an entity. Requests under quiet are not measured.
type env struct {
	ctx   context.Context
	quiet context.Context
	table *table.Table
	docs  *repo.Repo[doc]
}

// row is an operation, the requests that it sends, and what it has to consume by AWS's rules.
type row struct {
	name        string
	requests    string
	entity      func() repo.Entity[doc]
	run         func(env) error
	read, write float64
	rule        string
}

func rename(e env) error {
	return check.Err(e.docs.Update(e.ctx, key(1), func(d *doc) error { d.Name = "other"; return nil }))
}

func count(e env) error {
	return check.Err(e.docs.Update(e.ctx, key(1), func(d *doc) error { d.Count++; return nil }))
}

var one = repo.Patch{Add: map[string]any{"count": 1}}

func pay(ctx context.Context, e env, i int) error {
	store, err := idempotency.New(e.table, nil)
	if err != nil {
		return err
	}
	d := newDoc(i)
	return check.Err(idempotency.Do(ctx, store, idempotency.Request{Scope: "s", Key: "k", Payload: idempotency.JSON("p")},
		func(context.Context) (idempotency.Plan[string], error) {
			return idempotency.Snapshot(d.ID, e.docs.CreateOps(d)...), nil
		}))
}

// groups are the rows of the page, with AWS's rules. Their sources are on the page.
var groups = []struct {
	part string
	rows []row
}{
	{"reads", []row{
		{"`Get`", "GetItem", entity, func(e env) error { return check.Err(e.docs.Get(e.ctx, key(1))) }, 0.5, 0, "half a unit for each 4 KB"},
		{"`Get`, `Consistent`", "GetItem", entity, func(e env) error { return check.Err(e.docs.Consistent().Get(e.ctx, key(1))) }, 1, 0, "a unit for each 4 KB"},
		{"`Get` of a copy", "GetItem", copied, func(e env) error { return check.Err(e.docs.Get(e.ctx, byName(*newDoc(1)))) }, 0.5, 0, "as of the main item"},
		{"`BatchGet` of 10", "BatchGetItem", entity, func(e env) error { return check.Err(e.docs.BatchGet(e.ctx, ten())) }, 5, 0, "each item is rounded up by itself"},
		{"`TransactGet` of 10", "TransactGetItems", entity, func(e env) error { return check.Err(table.TransactGet[doc](e.ctx, e.table, ten())) }, 20, 0, "two units for each 4 KB of each"},
		{"`Query`, a page of 20", "Query", entity, func(e env) error { return check.Err(e.docs.Query(e.ctx, all(20))) }, 2.5, 0, "the sum of the items, rounded up once"},
		{"… of which a filter drops half", "2 × Query", entity, func(e env) error {
			q := all(20)
			q.Filter = expression.Name("count").Equal(expression.Value(0))
			return check.Err(e.docs.Query(e.ctx, q))
		}, 5, 0, "what is dropped is paid for"},
		{"… with `Project`", "Query", entity, func(e env) error {
			q := all(20)
			q.Project = []string{"id"}
			return check.Err(table.QueryPage[struct {
				ID string `dynamodbav:"id"`
			}](e.ctx, e.docs.View(), q))
		}, 2.5, 0, "whole items count"},
		{"a page of 20 over 4 shards", "4 × Query", sharded, func(e env) error {
			r, err := shard.New[doc](e.docs.View(), shards, nil)
			if err != nil {
				return err
			}
			return check.Err(r.Page(e.ctx, shard.Query{Limit: 20}))
		}, 4, 0, "each shard is rounded up, and read a little further than needed"},
		{"`Count` of 100", "Query", entity, func(e env) error { return check.Err(e.docs.Count(e.ctx, all(0))) }, 12, 0, "as a query that reads all of them"},
	}},
	{"writes", []row{
		{"`Create`", "PutItem", entity, create, 0, 1, "a unit for each KB"},
		{"`Create`, in one index", "PutItem", indexed, create, 0, 2, "a unit more for each KB in each index"},
		{"`Create`, with one copy", "TransactWriteItems", copied, create, 0, 4, "two items, in a transaction: twice their units"},
		{"`Save` of what is stored", "GetItem, UpdateItem", entity, put, 1, 1, "a consistent read, and the difference"},
		{"`Update`", "GetItem, UpdateItem", entity, count, 1, 1, "a consistent read; the write costs the whole item"},
		{"`Update`, nothing differs", "GetItem", entity, func(e env) error {
			return check.Err(e.docs.Update(e.ctx, key(1), func(*doc) error { return nil }))
		}, 1, 0, "nothing is written"},
		{"`Update`, in one index", "GetItem, UpdateItem", indexed, count, 1, 2, "the index is written too, if it holds the attribute"},
		{"`Update` of the index key", "GetItem, UpdateItem", indexed, rename, 1, 3, "the index deletes one entry and writes another"},
		{"`Update`, with one copy", "GetItem, TransactWriteItems", copied, count, 1, 4, "two items, in a transaction"},
		{"… and an integer version", "2 × GetItem, TransactWriteItems", counted, count, 2, 4, "the copy is read, too, as in `Save` and `Delete`"},
		{"`Update` of the copy's key", "2 × GetItem, TransactWriteItems", copied, rename, 2, 6, "the former copy is read, too, and deleted"},
		{"`Patch`, `Upsert`", "UpdateItem", unversioned, func(e env) error { return check.Err(e.docs.Upsert(e.ctx, *newDoc(1), one)) }, 0, 1, "no read"},
		{"`Delete`, with one copy", "GetItem, TransactWriteItems", copied, func(e env) error { return e.docs.Delete(e.ctx, key(1)) }, 1, 4, "as much as writing what is there"},
		{"`CreateOps` of 3", "TransactWriteItems", entity, func(e env) error {
			return e.table.Transact(e.ctx, slices.Concat(e.docs.CreateOps(newDoc(200)), e.docs.CreateOps(newDoc(201)), e.docs.CreateOps(newDoc(202)))...)
		}, 0, 6, "twice the units"},
		{"`BatchWrite` of 10", "BatchWriteItem", unversioned, func(e env) error {
			var ops []table.Op
			for i := range 10 {
				ops = append(ops, e.docs.PutOps(newDoc(200+i))...)
			}
			return e.table.BatchWrite(e.ctx, ops...)
		}, 0, 10, "a batch saves requests, no units"},
		{"`idempotency.Do`, one `Create`", "TransactWriteItems", entity, func(e env) error { return pay(e.ctx, e, 200) }, 0, 4, "the item and the record, in a transaction"},
		{"… and the same request again", "TransactWriteItems", entity, func(e env) error {
			if err := pay(e.quiet, e, 200); err != nil {
				return err
			}
			return pay(e.ctx, e, 201)
		}, 0, 0, "the transaction is refused, and consumes units all the same"},
	}},
	{"jobs", []row{
		{"`backfill`, dry run, 100 entities as described", "Scan", entity, dryRun, 24, 0, "a consistent scan"},
		{"`backfill`, 100 entities get an index key", "3 × GetItem, PutItem, Scan, 101 × UpdateItem", entity, func(e env) error { return fill(e, indexed()) }, 27, 202, "a write of each, twice with the index; the progress is an item"},
		{"`DeleteAll` of 100", "100 × DeleteItem, 100 × GetItem, 2 × Query", entity, func(e env) error { return check.Err(e.docs.DeleteAll(e.ctx, all(0), nil)) }, 125, 100, "a consistent query, and a read and a write for each"},
	}},
}

func ten() []keys.Key {
	var ks []keys.Key
	for i := range 10 {
		ks = append(ks, key(i))
	}
	return ks
}

func all(limit int) table.Query {
	return table.Query{PK: docs.PK("all"), Range: docs.All(), Limit: limit}
}

func create(e env) error { return e.docs.Create(e.ctx, newDoc(200)) }

func put(e env) error {
	d, err := e.docs.Get(e.quiet, key(1))
	if err != nil {
		return err
	}
	d.Count++
	return e.docs.Save(e.ctx, &d)
}

func dryRun(e env) error {
	return check.Err(backfill.Job{Name: "j", Table: e.table, Entities: []backfill.Entity{e.docs}, Segments: 1}.DryRun(e.ctx))
}

func fill(e env, to repo.Entity[doc]) error {
	r, err := repo.New(e.table, to)
	if err != nil {
		return err
	}
	return check.Err(backfill.Job{Name: "j", Table: e.table, Entities: []backfill.Entity{r}, Segments: 1}.Run(e.ctx))
}

// TestThePageShowsWhatOperationsCost measures each operation on a table of its own.
func TestThePageShowsWhatOperationsCost(t *testing.T) {
	t.Parallel()
	for _, g := range groups {
		var b strings.Builder
		b.WriteString("| operation | read units | write units |\n|---|---:|---:|\n")
		for _, r := range g.rows {
			requests, read, write := measure(t, r)
			written := fmt.Sprint(write)
			if write == 0 && strings.Contains(requests, "Write") {
				written = "not reported"
			}
			check.Equal(t, r.name, requests, r.requests)
			fmt.Fprintf(&b, "| %s | %g | %s |\n", r.name, read, written)
			if read != r.read || write != r.write {
				t.Errorf("%s: %g read and %g write units, by the rule %g and %g: %s", r.name, read, write, r.read, r.write, r.rule)
			}
		}
		t.Log(b.String())
		generated.Part(t, page, g.part, b.String())
	}
}

// measure returns the requests that an operation sends, and what they consume.
func measure(t *testing.T, r row) (requests string, read, write float64) {
	t.Helper()
	tbl := tabletest.New(t, spec, nil)
	d := check.Must(repo.New(tbl, r.entity()))(t)
	for i := range 100 {
		v := newDoc(i)
		v.Count = i % 2
		check.OK(t, d.Create(t.Context(), v))
	}
	var mu sync.Mutex
	sent := map[string]int{}
	ctx := table.WithObserver(t.Context(), func(_ context.Context, e table.Event) {
		mu.Lock()
		defer mu.Unlock()
		sent[e.Operation]++
		switch e.Operation {
		case "GetItem", "BatchGetItem", "TransactGetItems", "Query", "Scan":
			read += e.Capacity
		default:
			write += e.Capacity
		}
	})
	if err := r.run(env{ctx, t.Context(), tbl, d}); err != nil {
		t.Fatalf("%s: %v", r.name, err)
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(sent)) {
		text := name
		if sent[name] > 1 {
			text = fmt.Sprintf("%d × %s", sent[name], name)
		}
		names = append(names, text)
	}
	return strings.Join(names, ", "), read, write
}
