package main_test

import (
	"strconv"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"
)

// BenchmarkGet reads one record.
func BenchmarkGet(b *testing.B) {
	want := recordAt(0)
	compare(b, func(b *testing.B, _ place, lib library) {
		ctx := b.Context()
		op := func() (record, error) { return lib.get(ctx, want.UserID, want.CreatedAt, want.ID) }
		got, err := op()
		must(b, err)
		mustEqual(b, got, want)
		measure(b, func() error {
			_, err := op()
			return err
		})
	})
}

// BenchmarkQuery reads a page of pageSize records.
func BenchmarkQuery(b *testing.B) {
	want := newestPage()
	compare(b, func(b *testing.B, _ place, lib library) {
		ctx := b.Context()
		got, more, err := lib.page(ctx, user)
		must(b, err)
		mustEqual(b, got, want)
		mustEqual(b, more, true)
		measure(b, func() error {
			_, _, err := lib.page(ctx, user)
			return err
		})
	})
}

// BenchmarkCreate stores a new record and its copy, in one transaction.
func BenchmarkCreate(b *testing.B) {
	r, n := unkeyed(0), 0
	compare(b, func(b *testing.B, p place, lib library) {
		ctx := b.Context()
		op := func() error {
			n++
			r.ID = "new-" + strconv.Itoa(n)
			return lib.create(ctx, r)
		}
		r.ID = "new-" + strconv.Itoa(n+1)
		p.mustWrite(b, "TransactWriteItems", both(r), op)
		measure(b, op)
	})
}

// BenchmarkUpdate changes one field of a record without a copy.
func BenchmarkUpdate(b *testing.B) {
	r := unkeyed(0)
	compare(b, func(b *testing.B, p place, lib library) {
		ctx := b.Context()
		op := func() error {
			r.Amount++
			return lib.update(ctx, r.UserID, r.CreatedAt, r.ID, r.Amount)
		}
		want := keyed(r)
		want.Amount++
		p.mustWrite(b, "UpdateItem", []record{want}, op)
		measure(b, op)
	})
}

// BenchmarkUpdateBoth changes one field of a record and of its copy, in one
// transaction.
func BenchmarkUpdateBoth(b *testing.B) {
	r := unkeyed(0)
	compare(b, func(b *testing.B, p place, lib library) {
		ctx := b.Context()
		op := func() error {
			r.Amount++
			return lib.updateBoth(ctx, r.UserID, r.CreatedAt, r.ID, r.Amount)
		}
		want := r
		want.Amount++
		p.mustWrite(b, "TransactWriteItems", both(want), op)
		measure(b, op)
	})
}

// BenchmarkTransactCreate creates a hundred records in one transaction.
func BenchmarkTransactCreate(b *testing.B) {
	n := 0
	compare(b, func(b *testing.B, p place, lib library) {
		ctx, records := b.Context(), hundred()
		op := func() error {
			n++
			for i := range records {
				records[i].ID = "new-" + strconv.Itoa(n)
			}
			return lib.transactCreate(ctx, records)
		}
		want := keyed(records[7])
		want.ID = "new-" + strconv.Itoa(n+1)
		p.mustWrite(b, "TransactWriteItems", []record{keyed(want)}, op)
		measure(b, op)
	})
}

// BenchmarkTransactPut stores three records in one transaction.
func BenchmarkTransactPut(b *testing.B) {
	n := 0
	compare(b, func(b *testing.B, p place, lib library) {
		ctx, records := b.Context(), hundred()[:3]
		op := func() error {
			n++
			for i := range records {
				records[i].ID = "put-" + strconv.Itoa(n)
			}
			return lib.transactPut(ctx, records)
		}
		want := keyed(records[2])
		want.ID = "put-" + strconv.Itoa(n+1)
		p.mustWrite(b, "TransactWriteItems", []record{keyed(want)}, op)
		measure(b, op)
	})
}

// BenchmarkTransact creates a record and its copy, and takes its amount from
// another one on a condition, in one transaction.
func BenchmarkTransact(b *testing.B) {
	from, r, n := recordAt(1), unkeyed(0), 0
	r.Amount = 0 // so that it can be taken without end
	compare(b, func(b *testing.B, p place, lib library) {
		ctx := b.Context()
		op := func() error {
			n++
			r.ID = "paid-" + strconv.Itoa(n)
			return lib.pay(ctx, from, r)
		}
		r.ID = "paid-" + strconv.Itoa(n+1)
		p.mustWrite(b, "TransactWriteItems", both(r), op)
		measure(b, op)
	})
}

// both returns the items of a record with a copy.
func both(r record) []record {
	r = keyed(r)
	return []record{r, copied(r)}
}

// place is where the libraries do their jobs.
type place struct {
	client *dynamodb.Client
	table  string
	// mustWrite fails the benchmark unless op writes the records, each with
	// another revision than before, by one request of the operation.
	mustWrite func(tb testing.TB, operation string, want []record, op func() error)
}

// compare runs a benchmark in each place with each library.
func compare(b *testing.B, run func(*testing.B, place, library)) {
	for _, on := range []struct {
		name string
		open func(testing.TB) place
	}{
		{"stub", stubPlace},
		{"engine", enginePlace},
	} {
		b.Run("on="+on.name, func(b *testing.B) {
			p := on.open(b)
			for _, l := range libraries {
				b.Run("lib="+l.name, func(b *testing.B) { run(b, p, l.open(p.client, p.table)) })
			}
		})
	}
}

// measure runs op, which has been seen to work, again and again.
func measure(b *testing.B, op func() error) {
	b.ReportAllocs()
	start := cpuTime()
	for b.Loop() {
		if err := op(); err != nil {
			b.Fatal(err)
		}
	}
	if used := cpuTime() - start; used > 0 {
		b.ReportMetric(float64(used)/float64(b.N), "cpu-ns/op")
	}
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

func mustEqual[T any](tb testing.TB, got, want T) {
	tb.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		tb.Fatalf("wrong result (-want +got):\n%s", diff)
	}
}
