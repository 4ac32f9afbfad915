package main_test

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/table/tabletest"
)

// BenchmarkJob does each job in each place with each library.
func BenchmarkJob(b *testing.B) {
	for _, j := range jobs() {
		for _, on := range []struct {
			name string
			open func(testing.TB) place
		}{
			{"stub", stubPlace},
			{"engine", enginePlace},
		} {
			b.Run("job="+j.name+"/on="+on.name, func(b *testing.B) {
				p := on.open(b)
				for _, l := range libraries {
					lib := l.open(p.client, p.table)
					b.Run("lib="+l.name, func(b *testing.B) {
						j.check(b, p, lib)
						measure(b, func() error { return j.do(b.Context(), lib) })
					})
				}
			})
		}
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

// TestCreateConditions shows that every library stores a record and its copy, or all
// records of a transaction, only if each of them is new.
func TestCreateConditions(t *testing.T) {
	t.Parallel()
	for _, l := range libraries {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			p := enginePlace(t)
			lib := l.open(p.client, p.table)
			refused := func(create func(context.Context) error, all []record, taken int) {
				t.Helper()
				existing, free := all[taken], all[(taken+1)%len(all)]
				existing.Note = "already there"
				put(t, p.client, p.table, existing)
				if err := create(t.Context()); err == nil {
					t.Errorf("item %d of %d was created once more", taken, len(all))
				}
				mustEqual(t, read(t, p.client, p.table, existing), existing)
				mustEqual(t, read(t, p.client, p.table, free), record{})
			}
			for i := range 2 {
				r := unkeyed(i)
				r.ID = "new-" + strconv.Itoa(i)
				refused(func(ctx context.Context) error { return lib.create(ctx, r) }, both(r), i)
			}
			for _, i := range []int{0, 41, 99} {
				records, items := hundred(), make([]record, 100)
				for j := range records {
					records[j].ID = "all-" + strconv.Itoa(i)
					items[j] = keyed(records[j])
				}
				refused(func(ctx context.Context) error { return lib.createAll(ctx, records) }, items, i)
			}
		})
	}
}

// TestUpdateConditions shows that every library's update fails if the record is
// another one when it is written than when it was read.
func TestUpdateConditions(t *testing.T) {
	t.Parallel()
	for _, l := range libraries {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			p := enginePlace(t)
			r := recordAt(0)
			for name, update := range map[string]func(library) error{
				"update":     func(lib library) error { return lib.update(t.Context(), user, r.CreatedAt, r.ID, 7) },
				"updateBoth": func(lib library) error { return lib.updateBoth(t.Context(), user, r.CreatedAt, r.ID, 7) },
			} {
				put(t, p.client, p.table, r)
				var faults tabletest.Faults
				faults.Always("GetItem", func(q *http.Request, next http.RoundTripper) (*http.Response, error) {
					resp, err := next.RoundTrip(q)
					_, deleteErr := p.client.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &p.table, Key: keyItem(r.PK, r.SK)})
					return resp, errors.Join(err, deleteErr)
				})
				if err := update(l.open(tabletest.Client(t, faults.Install), p.table)); err == nil {
					t.Errorf("%s of a deleted record: no error", name)
				}
				mustEqual(t, read(t, p.client, p.table, r), record{})
			}
		})
	}
}
