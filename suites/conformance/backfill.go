package conformance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/backfill"
	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

func backfillTests() tests {
	return tests{
		"brings every item over":               backfills,
		"continues in the middle of a segment": backfillContinued,
		"sets aside what it cannot bring over": backfillAside,
		"writers win":                          backfillWriters,
		"copies another table":                 backfillMapped,
		"keeps to its budget":                  backfillBudget,
		"transfers an export":                  transfers,
	}
}

func customerName(i int) (id, email, first, last string) {
	return fmt.Sprintf("c-%03d", i), fmt.Sprintf("c%d@x", i), fmt.Sprintf("First%d", i), fmt.Sprintf("Last%d", i)
}

// seedCustomers stores n customers of shape 0, and items of other types.
func seedCustomers(t *testing.T, tbl *table.Table, n int) {
	t.Helper()
	r := newRepo(t, tbl, customer0Entity)
	for i := range n {
		id, email, first, last := customerName(i)
		must(t, r.Create(t.Context(), &customer0{ID: id, Email: email, Name: first + " " + last, Months: "12 months", Fax: "1"}))
	}
	for i := range 5 {
		must(t, tbl.Do(t.Context(), table.Put(txKey(i), note{Type: "OTHER", N: i})))
	}
}

// wantCustomers checks that n customers have the present shape.
func wantCustomers(t *testing.T, what string, tbl *table.Table, n int) {
	t.Helper()
	r := newRepo(t, tbl, customerEntity)
	for i := range n {
		id, email, first, last := customerName(i)
		c := expect.Value(r.Consistent().Get(t.Context(), accountKey(id)))(t)
		equal(t, what, c, customer{ID: id, Email: email, First: first, Last: last, Months: 12, Tier: "basic", Revision: c.Revision})
		wantShape(t, what, tbl, c)
	}
	for i := range 5 {
		stored(t, tbl, txKey(i), note{Type: "OTHER", N: i})
	}
}

func customerJob(t *testing.T, tbl *table.Table) backfill.Job {
	t.Helper()
	return backfill.Job{Name: "shape 5", Table: tbl, Entities: []backfill.Entity{newRepo(t, tbl, customerEntity)}, Segments: 3, Concurrency: 2}
}

func backfills(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	seedCustomers(t, tbl, 20)
	job := customerJob(t, tbl)
	before := expect.Value(table.ScanPage[table.Item](t.Context(), tbl, table.Scan{Limit: 1000}))(t)
	dry := expect.Value(job.DryRun(t.Context()))(t)
	equal(t, "would change", dry.Changed, 20)
	equal(t, "matched", dry.Matched, 40)
	if dry.Complete() || dry.WriteUnits != 20*2*2 || dry.ReadUnits <= 0 {
		t.Errorf("dry run: %v", dry)
	}
	equal(t, "items after the dry run", len(expect.Value(table.ScanPage[table.Item](t.Context(), tbl, table.Scan{Limit: 1000}))(t).Items), len(before.Items))

	var last backfill.Progress
	job.Progress = func(p backfill.Progress) { last = p }
	report := expect.Value(job.Run(t.Context()))(t)
	equal(t, "changed", report.Changed, 20)
	equal(t, "progress", last.Report, report)
	if !h.Capabilities.WrongTransactionCapacity && report.WriteUnits < 20*2*2 {
		t.Errorf("%v", report)
	}
	wantCustomers(t, "brought over", tbl, 20)
	if done := expect.Value(job.DryRun(t.Context()))(t); !done.Complete() || done.Current != 40 {
		t.Errorf("verified: %v", done)
	}
	// A finished job is finished, until it is forgotten.
	patched(t, tbl, accountKey("c-003"), table.Item{"gsi1sk": str("X")})
	equal(t, "run again", expect.Value(job.Run(t.Context()))(t), report)
	must(t, backfill.Forget(t.Context(), tbl, job.Name))
	equal(t, "run after Forget", expect.Value(job.Run(t.Context()))(t).Changed, 1)
	wantCustomers(t, "run after Forget", tbl, 20)
}

// backfillContinued kills jobs after the first page of a segment, over keys of all
// types.
func backfillContinued(t *testing.T, h Harness) {
	const items = 1100 // more than two pages
	target := h.newTable(t, appCore())
	for _, kind := range []types.ScalarAttributeType{"S", "N", "B"} {
		var source *table.Table
		if kind == "S" {
			source = h.newTable(t, appCore())
		} else {
			source = h.newTable(t, schema.Table{PKType: kind, SKType: kind})
		}
		ops := make([]table.Op, items)
		for i := range ops {
			text := fmt.Sprint(1 + i)
			ops[i] = table.Put(keys.Key{PK: keys.PK(text), SK: keys.SK(text)}, nil)
		}
		must(t, source.BatchWrite(t.Context(), ops...))
		ctx, kill := context.WithCancel(t.Context())
		seen := map[keys.Key]int{}
		job := backfill.Job{
			Name: "keys of type " + string(kind), Table: target, Source: source, Segments: 1,
			Map: func(_ context.Context, item table.Item) ([]table.Op, error) {
				seen[source.KeyOf("", item)]++
				return nil, nil
			},
			Progress: func(backfill.Progress) { kill() },
		}
		wantErr(t, expect.ErrOf(job.Run(ctx)), context.Canceled)
		first := len(seen)
		if first == 0 || first == items {
			t.Fatalf("%s: killed after %d items", kind, first)
		}
		job.Progress = nil
		report := expect.Value(job.Run(t.Context()))(t)
		equal(t, string(kind)+": scanned", report.Scanned, items)
		for key, n := range seen {
			if n != 1 {
				t.Errorf("%s: %v was read %d times", kind, key, n)
			}
		}
		equal(t, string(kind)+": items", len(seen), items)
	}
}

func backfillAside(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	seedCustomers(t, tbl, 6)
	patched(t, tbl, accountKey("c-001"), table.Item{"months": str("secret")})                                  // does not convert
	patched(t, tbl, accountKey("c-002"), table.Item{"email": str("c3@x")})                                     // another one's copy
	patched(t, tbl, accountKey("c-004"), table.Item{"months": mapOf(table.Item{"secret": str("x")})})          // does not decode
	must(t, tbl.Do(t.Context(), table.Put(keys.Key{PK: "SECRET", SK: "S"}, raw(t, tbl, accountKey("c-005"))))) // under no key of its
	before := map[keys.Key]table.Item{}
	for _, key := range []keys.Key{accountKey("c-001"), accountKey("c-002"), accountKey("c-004"), {PK: "SECRET", SK: "S"}} {
		before[key] = raw(t, tbl, key)
	}
	job := customerJob(t, tbl)
	dry := expect.Value(job.DryRun(t.Context()))(t)
	report := expect.Value(job.Run(t.Context()))(t)
	// The stray copy of c-002, under the key that its entity does not give any more, is deleted.
	equal(t, "set aside", report.SetAside, 4)
	equal(t, "set aside in a dry run", dry.SetAside, 4)
	found := map[keys.Key]string{}
	for a, err := range backfill.SetAside(t.Context(), tbl, job.Name) {
		must(t, err)
		found[a.Key] = a.Reason
		equal(t, "type", a.Type, customerType)
		if a.Reason == "" || strings.Contains(a.Reason, "secret") || strings.Contains(a.Reason, "SECRET") || !a.At.Equal(now) {
			t.Errorf("%+v", a)
		}
	}
	for key, item := range before {
		if found[key] == "" {
			t.Errorf("%v is not set aside", key)
		}
		equal(t, "item", diffItems(item, raw(t, tbl, key)), "")
	}
	equal(t, "reports", len(found), 4)
	wantShape(t, "others", tbl, expect.Value(newRepo(t, tbl, customerEntity).Consistent().Get(t.Context(), accountKey("c-005")))(t))

	// When the cause is gone, the job can be run again.
	patched(t, tbl, accountKey("c-001"), table.Item{"months": str("12 months")})
	must(t, backfill.Forget(t.Context(), tbl, job.Name))
	equal(t, "set aside again", expect.Value(job.Run(t.Context()))(t).SetAside, 3)
}

func backfillWriters(t *testing.T, h Harness) {
	const customers, writers = 12, 3
	tbl := h.newTable(t, appCore())
	seedCustomers(t, tbl, customers)
	r0, r5 := newRepo(t, tbl, customer0Entity), newRepo(t, tbl, customerEntity)
	ctx, stop := context.WithCancel(t.Context())
	var group sync.WaitGroup
	var counts [customers]atomic.Int64
	for w := range writers {
		group.Go(func() {
			for i := w; ctx.Err() == nil; i++ {
				n := i % customers
				id, _, _, _ := customerName(n)
				// An old program writes until the item has the new shape.
				_, err := r0.Update(context.Background(), accountKey(id), func(c *customer0) error {
					var months int
					_, err := fmt.Sscan(c.Months, &months)
					c.Months = fmt.Sprintf("%d months", months+1)
					return err
				})
				if errors.Is(err, table.ErrNewerShape) {
					_, err = r5.Update(context.Background(), accountKey(id), func(c *customer) error { c.Months++; return nil })
				}
				switch {
				case err == nil:
					counts[n].Add(1)
				case !errors.Is(err, table.ErrConflict):
					t.Error(err)
				}
			}
		})
	}
	job := customerJob(t, tbl)
	_, err := job.Run(t.Context())
	stop()
	group.Wait()
	must(t, err)
	for i := range customers {
		id, _, _, _ := customerName(i)
		must(t, expect.ErrOf(r5.Refresh(t.Context(), accountKey(id)))) // if it was set aside as busy
		c := expect.Value(r5.Consistent().Get(t.Context(), accountKey(id)))(t)
		equal(t, "months", c.Months, 12+int(counts[i].Load()))
		wantShape(t, "with writers", tbl, c)
	}
}

func backfillMapped(t *testing.T, h Harness) {
	spec := schema.Table{PK: "id", SimpleKey: true, PKType: "N"}
	source, target := h.newTable(t, spec), h.newTable(t, appCore())
	for i := range 10 {
		must(t, source.Do(t.Context(), table.Put(keys.Key{PK: keys.PK(fmt.Sprint(i))}, table.Item{"n": num(fmt.Sprint(i * i)), "v": num("1")})))
	}
	newer := table.Item{"n": num("1000"), "v": num("2")}
	must(t, target.Do(t.Context(), table.Put(accountKey("3"), newer)))
	failing := errors.New("is not wanted")
	job := backfill.Job{Name: "numbers", Table: target, Source: source, Map: func(_ context.Context, item table.Item) ([]table.Op, error) {
		id := string(source.KeyOf("", item).PK)
		switch id {
		case "5":
			return nil, nil
		case "6":
			return nil, failing
		}
		older := expression.Name("v").AttributeNotExists().Or(expression.Name("v").LessThan(expression.Value(item["v"])))
		copied := maps.Clone(item)
		delete(copied, "id")
		return []table.Op{table.Put(accountKey(id), copied).If(older)}, nil
	}}
	report := expect.Value(job.Run(t.Context()))(t)
	equal(t, "counts", [3]int64{report.Changed, report.Current, report.SetAside}, [3]int64{7 + 0, 2, 1})
	equal(t, "newer", diffItems(table.Item{"n": newer["n"]}, table.Item{"n": raw(t, target, accountKey("3"))["n"]}), "")
	equal(t, "copied", diffItems(table.Item{"n": num("81")}, table.Item{"n": raw(t, target, accountKey("9"))["n"]}), "")
	for a, err := range backfill.SetAside(t.Context(), target, job.Name) {
		must(t, err)
		equal(t, "aside", a.Key, keys.Key{PK: "6"})
	}
}

// backfillBudget runs a job by the clock of a bubble, in which requests take no
// time.
func backfillBudget(t *testing.T, h Harness) {
	plain := h.newTable(t, appCore())
	type single struct {
		ID       string `dynamodbav:"id"`
		N        int    `dynamodbav:"n"`
		Text     string `dynamodbav:"text"`
		Revision string `dynamodbav:"revision"`
	}
	e := repo.Entity[single]{Type: "SINGLE", Version: "revision", Key: func(s single) keys.Key { return accountKey(s.ID) }}
	old := newRepo(t, plain, e)
	for i := range 60 {
		must(t, old.Create(t.Context(), &single{ID: fmt.Sprint(i), Text: strings.Repeat("x", 1500)}))
	}
	e.Upgrades = []repo.Upgrade{repo.Default("n", 7)}
	var x outside
	client := h.prompt(t, promptRetries, x.install(t))
	opts := options()
	tbl := h.open(t, client, plain.Schema(), opts)
	r := newRepo(t, tbl, e)
	for _, tt := range []struct {
		reads, writes float64
	}{{0, 20}, {20, 0}} {
		synctest.Test(t, func(t *testing.T) {
			job := backfill.Job{
				Name: fmt.Sprint(tt), Table: tbl, Entities: []backfill.Entity{r}, Segments: 4, Concurrency: 4,
				ReadUnits: tt.reads, WriteUnits: tt.writes,
			}
			begun := time.Now()
			report := expect.Value(job.Run(t.Context()))(t)
			spent, rate := report.WriteUnits, tt.writes
			if tt.reads > 0 {
				spent, rate = report.ReadUnits, tt.reads
			}
			// The last of the debt is not waited for.
			took := time.Since(begun).Seconds()
			if least := spent/rate*0.9 - 1; took < least || took > spent/rate*1.1+1 {
				t.Errorf("%v units at %v a second in %.1f s: %v", spent, rate, took, report)
			}
		})
	}
}
