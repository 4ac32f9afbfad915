package backfill_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/backfill"
	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

var membersSpec = schema.Table{Indexes: []schema.Index{{Name: "GSI1", PK: "GSI1PK", SK: "GSI1SK"}}}

// clock is the time of a process, after the zero time of the others.
type clock struct{ ahead atomic.Int64 }

func (c *clock) options() *table.Options {
	start := time.Date(2024, time.January, 15, 10, 5, 0, 0, time.UTC)
	return &table.Options{Now: func() time.Time { return start.Add(time.Duration(c.ahead.Load())) }}
}

// newMembers returns a table with n members as an older release has stored them.
func newMembers(t *testing.T, n int, o *table.Options, settings ...func(*dynamodb.Options)) *table.Table {
	t.Helper()
	type older struct {
		ID       string `dynamodbav:"id"`
		Email    string `dynamodbav:"email"`
		Years    string `dynamodbav:"years"`
		Revision string `dynamodbav:"revision"`
	}
	tbl := tabletest.NewWith(t, tabletest.Client(t, settings...), membersSpec, o)
	before := expect.Value(repo.New(tbl, repo.Entity[older]{
		Type: "MEMBER", Version: "revision", Key: func(m older) keys.Key { return metadata("MEMBER", m.ID) },
		Copies: []repo.Copy[older]{{Key: func(m older) keys.Key { return metadata("EMAIL", m.Email) }}},
	}))(t)
	for i := range n {
		expect.OK(t, before.Create(t.Context(), &older{ID: fmt.Sprint(i), Email: fmt.Sprint(i, "@x"), Years: fmt.Sprint(i, " years")}))
	}
	return tbl
}

func membersJob(t *testing.T, tbl *table.Table, segments int) backfill.Job {
	t.Helper()
	members := expect.Value(repo.New(tbl, memberEntity))(t)
	return backfill.Job{Name: "years", Table: tbl, Entities: []backfill.Entity{members}, Segments: segments}
}

// wantMembers checks that all members are as the present release stores them.
func wantMembers(t *testing.T, what string, tbl *table.Table, n int) {
	t.Helper()
	members := expect.Value(repo.New(tbl, memberEntity))(t)
	for i := range n {
		got := expect.Value(members.Consistent().Get(t.Context(), metadata("MEMBER", fmt.Sprint(i))))(t)
		expect.Equal(t, what, got, member{ID: fmt.Sprint(i), Email: fmt.Sprint(i, "@x"), Years: i, Revision: got.Revision})
	}
	if done := expect.Value(membersJob(t, tbl, 1).DryRun(t.Context()))(t); !done.Complete() || done.Current != int64(2*n) {
		t.Errorf("%s: %v", what, done)
	}
}

// killed runs a job in a process that dies after some requests, and reports whether it did.
func killed(t *testing.T, tbl *table.Table, o *table.Options, requests int64) bool {
	t.Helper()
	ctx, die := context.WithCancel(t.Context())
	defer die()
	var left atomic.Int64
	left.Store(requests)
	var faults tabletest.Faults
	faults.Always("", func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if left.Add(-1) < 0 {
			die()
			return nil, errors.New("the process was killed")
		}
		return next.RoundTrip(r)
	})
	dying := expect.Value(table.New(tabletest.Client(t, faults.Install), tbl.Schema(), o))(t)
	job := membersJob(t, dying, 1)
	job.ReadUnits = 1e9 // whose first page is short
	_, err := job.Run(ctx)
	return err != nil
}

// TestJobContinues kills a job at each of its requests, and runs it to its end in another
// process when the lease is free.
func TestJobContinues(t *testing.T) {
	t.Parallel()
	const members = 11 // on two pages
	for after := int64(0); ; after += 3 {
		var c clock
		tbl := newMembers(t, members, c.options())
		died := killed(t, tbl, c.options(), after)
		c.ahead.Add(int64(2 * time.Minute))
		report := expect.Value(membersJob(t, tbl, 1).Run(t.Context()))(t)
		wantMembers(t, fmt.Sprintf("killed after %d requests", after), tbl, members)
		expect.Equal(t, "segments", report.SegmentsDone, report.Segments)
		if !died {
			if after < 10 {
				t.Errorf("a run of %d requests", after)
			}
			return
		}
	}
}

// TestJobTakesALeaseOfTheFuture has a process die whose clock was an hour ahead. Another one
// waits for as long as a lease lives, and no longer.
func TestJobTakesALeaseOfTheFuture(t *testing.T) {
	t.Parallel()
	var fast, own clock
	fast.ahead.Store(int64(time.Hour))
	tbl := newMembers(t, 2, own.options())
	if !killed(t, tbl, fast.options(), 6) {
		t.Fatal("the job was not killed")
	}
	ticking, stop := context.WithCancel(t.Context())
	defer stop()
	go func() { // a minute and more while the other process waits
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for ticking.Err() == nil {
			<-tick.C
			own.ahead.Add(int64(10 * time.Second))
		}
	}()
	expect.OK(t, expect.ErrOf(membersJob(t, tbl, 1).Run(t.Context())))
	wantMembers(t, "after the skew", tbl, 2)
	if own.ahead.Load() >= int64(time.Hour) {
		t.Error("it has waited for the clock of the dead process")
	}
}

// TestJobKeepsItsLease has items that take 15 seconds each by the table's clock, and looks at
// the lease with each.
func TestJobKeepsItsLease(t *testing.T) {
	t.Parallel()
	var c clock
	tbl := newMembers(t, 12, c.options())
	job := backfill.Job{Name: "slow", Table: tbl, Source: tbl, Segments: 1, Map: func(ctx context.Context, _ table.Item) ([]table.Op, error) {
		leases, err := table.Collect(table.All[table.Item](ctx, tbl.Consistent(), table.Query{PK: "BACKFILL#slow"}))
		if err != nil || len(leases) != 1 {
			return nil, fmt.Errorf("%d leases: %w", len(leases), err)
		}
		var lease struct {
			Until int64 `dynamodbav:"leaseUntil"`
		}
		expect.OK(t, leases[0].Decode(&lease))
		if left := time.UnixMilli(lease.Until).Sub(tbl.Now()); left <= 0 {
			t.Errorf("the lease has been free for %v", -left)
		}
		c.ahead.Add(int64(15 * time.Second))
		return nil, nil
	}}
	report := expect.Value(job.Run(t.Context()))(t)
	if report.SetAside > 0 || report.Current != 24 { // without the item of the lease
		t.Errorf("%v", report)
	}
}

// An entity can have the type of what a job stores, and be in its partition.
func TestEntityOfTheTypeOfJobs(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, membersSpec, nil)
	entity := memberEntity
	entity.Type, entity.Copies, entity.Upgrades = "BACKFILL", nil, nil
	entity.Key = func(m member) keys.Key { return metadata("BACKFILL", m.ID) }
	entity.FormerCopies = nil
	key := entity.Key(member{ID: "years"})
	stored := map[string]any{"entityType": "BACKFILL", "id": "years", "email": "@x", "years": 1, "revision": "r"}
	expect.OK(t, tbl.Do(t.Context(), table.Put(key, stored)))
	job := membersJob(t, tbl, 1)
	job.Entities = []backfill.Entity{expect.Value(repo.New(tbl, entity))(t)}
	report := expect.Value(job.Run(t.Context()))(t)
	expect.Equal(t, "changed", report.Changed, 1)
	expect.Equal(t, "scanned", report.Scanned, 1)

	expect.OK(t, backfill.Forget(t.Context(), tbl, job.Name))
	left := expect.Value(table.ScanPage[table.Item](t.Context(), tbl, table.Scan{}))(t).Items
	expect.Equal(t, "items after Forget", len(left), 1)
	expect.Equal(t, "key", tbl.KeyOf("", left[0]), key)

	transfer := backfill.Transfer{Table: tbl, Entities: job.Entities}
	line := `{"Item":{"pk":{"S":"BACKFILL#years"},"sk":{"S":"METADATA"},"entityType":{"S":"BACKFILL"},"id":{"S":"years"},"email":{"S":""},"years":{"N":"1"}}}`
	moved := expect.Value(transfer.Run(strings.NewReader(line), io.Discard, io.Discard))(t)
	expect.Equal(t, "transferred", moved.Entities, 1)
}

func TestTableThatHoldsNoProgress(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"leaseUntil", "reason"} {
		job := backfill.Job{Name: "years", Map: func(context.Context, table.Item) ([]table.Op, error) { return nil, nil }}
		job.Table = expect.Value(table.New(tabletest.Client(t), schema.Table{Name: "Members", TypeAttribute: name}, nil))(t)
		expect.Err(t, expect.ErrOf(job.Run(t.Context())), table.ErrInvalid)
	}
}

// TestJobsShareSegments runs a job in three processes. None walks a segment of another.
func TestJobsShareSegments(t *testing.T) {
	t.Parallel()
	const members, segments = 20, 8
	tbl := newMembers(t, members, nil)
	var group sync.WaitGroup
	var total atomic.Int64
	for range 3 {
		group.Go(func() {
			job := membersJob(t, tbl, segments)
			job.Concurrency = 2
			var own int64
			job.Progress = func(p backfill.Progress) { own = p.Scanned }
			report, err := job.Run(t.Context())
			if err != nil || report.Changed != members || report.SegmentsDone != segments {
				t.Errorf("%v, %v", report, err)
			}
			total.Add(own)
		})
	}
	group.Wait()
	wantMembers(t, "shared", tbl, members)
	// A job that is done reports what it has done, in as many segments.
	expect.Equal(t, "items read", total.Load(), expect.Value(membersJob(t, tbl, segments).Run(t.Context()))(t).Scanned)
	expect.Err(t, expect.ErrOf(membersJob(t, tbl, 4).Run(t.Context())), table.ErrInvalid)
}

// TestJobEndsWithARefusal shows that a refusal of the service ends the job, and is not about
// an item.
func TestJobEndsWithARefusal(t *testing.T) {
	t.Parallel()
	var faults tabletest.Faults
	tbl := newMembers(t, 3, nil, faults.Install)
	faults.Always("TransactWriteItems", tabletest.Status(http.StatusBadRequest, "AccessDeniedException", "Injected."))
	job := membersJob(t, tbl, 3)
	report, err := job.Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), job.Name) || report.SetAside > 0 {
		t.Errorf("%v, %v", report, err)
	}
	faults.Always("TransactWriteItems", nil)
	expect.OK(t, expect.ErrOf(job.Run(t.Context())))
	wantMembers(t, "after the refusal", tbl, 3)
}

// TestJobOfADeletedEntity deletes a member before the job's write: there is nothing to do.
func TestJobOfADeletedEntity(t *testing.T) {
	t.Parallel()
	var faults tabletest.Faults
	tbl := newMembers(t, 1, nil, faults.Install)
	others := expect.Value(table.New(tabletest.Client(t), tbl.Schema(), nil))(t)
	faults.Next("TransactWriteItems", func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		for _, key := range []keys.Key{metadata("MEMBER", "0"), metadata("EMAIL", "0@x")} {
			expect.OK(t, others.Do(t.Context(), table.Delete(key)))
		}
		return next.RoundTrip(r)
	})
	report := expect.Value(membersJob(t, tbl, 1).Run(t.Context()))(t)
	expect.Equal(t, "changed, set aside", [2]int64{report.Changed, report.SetAside}, [2]int64{0, 0})
}

// TestJobEndsInAWait ends the context of a job that waits before it repeats a write.
func TestJobEndsInAWait(t *testing.T) {
	t.Parallel()
	var faults tabletest.Faults
	tbl := newMembers(t, 1, &table.Options{MaxAttempts: 1}, faults.Install)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	faults.Always("TransactWriteItems", func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		time.AfterFunc(20*time.Millisecond, cancel) // the wait is longer
		return tabletest.Throttle()(r, next)
	})
	expect.Err(t, expect.ErrOf(membersJob(t, tbl, 1).Run(ctx)), context.Canceled)
}

// TestJobOfAFailingMap sets aside the items of a Map that fails or panics, or whose ops are
// refused. The reasons do not quote.
func TestJobOfAFailingMap(t *testing.T) {
	t.Parallel()
	source := tabletest.New(t, schema.Table{PK: "id", SimpleKey: true}, nil)
	target := tabletest.New(t, membersSpec, nil)
	for _, id := range []string{"ana", "eva", "ida", "err", "panic"} {
		expect.OK(t, source.Do(t.Context(), table.Put(keys.Key{PK: keys.PK(id)}, nil)))
	}
	job := backfill.Job{Name: "users", Table: target, Source: source, Segments: 1, Map: func(_ context.Context, item table.Item) ([]table.Op, error) {
		id := string(source.KeyOf("", item).PK)
		switch id {
		case "err":
			return nil, errors.New("secret " + id)
		case "panic":
			panic("secret " + id)
		}
		// All have the same unique value.
		return []table.Op{table.Create(metadata("USER", id), nil), table.Create(metadata("EMAIL", "same@x"), map[string]string{"id": id})}, nil
	}}
	// What was copied before is current in the second run.
	for _, want := range [][3]int64{{1, 0, 4}, {0, 1, 4}} {
		report := expect.Value(job.Run(t.Context()))(t)
		expect.Equal(t, "changed, current, set aside", [3]int64{report.Changed, report.Current, report.SetAside}, want)
		for a, err := range backfill.SetAside(t.Context(), target, job.Name) {
			expect.OK(t, err)
			if strings.Contains(a.Reason, "secret") {
				t.Errorf("the reason quotes: %s", a.Reason)
			}
		}
		expect.OK(t, backfill.Forget(t.Context(), target, job.Name))
	}
}

func TestInvalidJobs(t *testing.T) {
	t.Parallel()
	var faults tabletest.Faults
	client := dynamodb.New(dynamodb.Options{Region: "us-east-1", Credentials: aws.AnonymousCredentials{}}, faults.Install)
	open := func(spec schema.Table) *table.Table { return expect.Value(table.New(client, spec, nil))(t) }
	spec := membersSpec
	spec.Name = "Members"
	tbl, simple := open(spec), open(schema.Table{Name: "Simple", PK: "id", SimpleKey: true})
	spec.Name = "Others"
	r := expect.Value(repo.New(tbl, memberEntity))(t)
	entities := []backfill.Entity{r}
	for name, job := range map[string]backfill.Job{
		"no name":        {Table: tbl, Entities: entities},
		"no table":       {Name: "x", Entities: entities},
		"no entities":    {Name: "x", Table: tbl},
		"nil entity":     {Name: "x", Table: tbl, Entities: []backfill.Entity{nil}},
		"twice":          {Name: "x", Table: tbl, Entities: []backfill.Entity{r, r}},
		"simple key":     {Name: "x", Table: simple, Entities: entities},
		"source, no map": {Name: "x", Table: tbl, Entities: entities, Source: simple},
		"both":           {Name: "x", Table: tbl, Entities: entities, Map: func(context.Context, table.Item) ([]table.Op, error) { return nil, nil }},
		"segments":       {Name: "x", Table: tbl, Entities: entities, Segments: -1},
		"many segments":  {Name: "x", Table: tbl, Entities: entities, Segments: 10_001},
		"name":           {Name: "a\xff", Table: tbl, Entities: entities},
		"other table":    {Name: "x", Table: open(spec), Entities: entities},
		"nil repository": {Name: "x", Table: tbl, Entities: []backfill.Entity{(*repo.Repo[member])(nil)}},
		"units":          {Name: "x", Table: tbl, Entities: entities, WriteUnits: -1},
	} {
		for how, err := range map[string]error{"Run": expect.ErrOf(job.Run(t.Context())), "DryRun": expect.ErrOf(job.DryRun(t.Context()))} {
			if !errors.Is(err, table.ErrInvalid) {
				t.Errorf("%s, %s: %v", name, how, err)
			}
		}
	}
	expect.Equal(t, "requests", len(faults.Requests()), 0)
}

// TestJobUnwindsItsCaller lets Progress panic in a goroutine of the library.
func TestJobUnwindsItsCaller(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, membersSpec, nil)
	members := expect.Value(repo.New(tbl, memberEntity))(t)
	calls := 0
	expect.Unwinds(t, "DryRun", func(unwind func()) {
		calls = 0
		_, _ = backfill.Job{
			Name: "unwinds", Table: tbl, Entities: []backfill.Entity{members}, Segments: 1000, Concurrency: 2,
			Progress: func(backfill.Progress) {
				if calls++; calls == 1 {
					unwind()
				}
			},
		}.DryRun(t.Context())
	})
	if calls > 100 {
		t.Errorf("the other walkers have gone on for %d segments", calls)
	}
}

// TestJobFreesTheKeyOfACopy gives an address to a member that the copy of a deleted one holds,
// which the job meets later.
func TestJobFreesTheKeyOfACopy(t *testing.T) {
	t.Parallel()
	for _, orphan := range []bool{true, false} {
		tbl := newMembers(t, 2, nil)
		set := func(key keys.Key, name, value string) {
			t.Helper()
			expect.OK(t, tbl.Do(t.Context(), table.Patch(key, table.Item{name: &types.AttributeValueMemberS{Value: value}})))
		}
		if orphan {
			expect.OK(t, tbl.Do(t.Context(), table.Delete(metadata("MEMBER", "0"))))
		}
		set(metadata("MEMBER", "1"), "email", "0@x")
		set(metadata("MEMBER", "1"), "revision", "of a release without copies")
		job := membersJob(t, tbl, 1)
		dry := expect.Value(job.DryRun(t.Context()))(t)
		report := expect.Value(job.Run(t.Context()))(t)
		want := int64(0)
		if !orphan {
			want = 1 // the address is another member's
		}
		expect.Equal(t, "set aside by a dry run and by the job", [2]int64{dry.SetAside, report.SetAside}, [2]int64{want, want})
		expect.Equal(t, "complete afterwards", expect.Value(job.DryRun(t.Context()))(t).Complete(), orphan)
	}
}
