package benchmarks_test

import (
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

// BenchmarkTransact creates, puts and updates a record in one transaction. The
// update and its condition are the caller's, who has them from the SDK's
// expression package with singletable as with sdk-expression: that is the one to
// compare it with. BenchmarkTransactCreate has none of that.
func BenchmarkTransact(b *testing.B) {
	c, n := newChange(), 0
	compare(b, func(b *testing.B, p place, lib library) {
		ctx := b.Context()
		op := func() error {
			n++
			return lib.transact(ctx, c.numbered(n))
		}
		p.mustWrite(b, c.numbered(n+1).stored(), op)
		measure(b, op)
	})
}

// BenchmarkTransactCreate creates three records in one transaction.
func BenchmarkTransactCreate(b *testing.B) {
	records, n := newTrio(), 0
	compare(b, func(b *testing.B, p place, lib library) {
		ctx := b.Context()
		op := func() error {
			n++
			return lib.transactPut(ctx, records.numbered(n))
		}
		p.mustWrite(b, records.numbered(n+1).stored(), op)
		measure(b, op)
	})
}

// place is where the libraries do their jobs.
type place struct {
	client *dynamodb.Client
	table  string
	// mustWrite fails the benchmark unless op writes the records.
	mustWrite func(tb testing.TB, want []record, op func() error)
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
