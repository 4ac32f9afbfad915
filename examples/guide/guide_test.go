// Package guide_test checks that the programs which the guides compare do the
// same.
package guide_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/guregu/dynamo/v2"

	"github.com/singletable/singletable/examples/guide/guregu"
	"github.com/singletable/singletable/examples/guide/ours"
	"github.com/singletable/singletable/examples/guide/sdk"
	"github.com/singletable/singletable/examples/internal/generated"
	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// job is what all of them do.
type job interface {
	Create(context.Context, ours.Booking) error
	Get(ctx context.Context, id string) (ours.Booking, error)
	Page(ctx context.Context, guest, after string) ([]ours.Booking, string, error)
	Move(ctx context.Context, id string, at time.Time) (ours.Booking, error)
	Cancel(ctx context.Context, id string) error
	Book(context.Context, ours.Booking) error
	BookOnce(ctx context.Context, key string, b ours.Booking) (ours.Booking, error)
}

// program is a job with its errors.
type program struct {
	open                           func(*testing.T, *table.Table) job
	notFound, exists, full, reused error
}

var programs = map[string]program{
	"singletable": {
		open: func(t *testing.T, tbl *table.Table) job {
			s, err := ours.New(tbl)
			must(t, err)
			return s
		},
		notFound: table.ErrNotFound, exists: table.ErrExists, full: ours.ErrFull, reused: idempotency.ErrPayloadMismatch,
	},
	"sdk": {
		open: func(t *testing.T, tbl *table.Table) job {
			return sdkJob{sdk.New(tabletest.Client(t), tbl.Schema().Name)}
		},
		notFound: sdk.ErrNotFound, exists: sdk.ErrExists, full: sdk.ErrFull, reused: sdk.ErrPayloadMismatch,
	},
	"guregu": {
		open: func(t *testing.T, tbl *table.Table) job {
			return gureguJob{guregu.New(tabletest.Client(t), tbl.Schema().Name)}
		},
		notFound: dynamo.ErrNotFound, exists: guregu.ErrExists, full: guregu.ErrFull, reused: guregu.ErrPayloadMismatch,
	},
}

type sdkJob struct{ *sdk.Bookings }

func (j sdkJob) Create(ctx context.Context, b ours.Booking) error {
	return j.Bookings.Create(ctx, sdk.Booking(b))
}

func (j sdkJob) Get(ctx context.Context, id string) (ours.Booking, error) {
	b, err := j.Bookings.Get(ctx, id)
	return ours.Booking(b), err
}

func (j sdkJob) Page(ctx context.Context, guest, after string) (page []ours.Booking, next string, err error) {
	bs, next, err := j.Bookings.Page(ctx, guest, after)
	for _, b := range bs {
		page = append(page, ours.Booking(b))
	}
	return page, next, err
}

func (j sdkJob) Move(ctx context.Context, id string, at time.Time) (ours.Booking, error) {
	b, err := j.Bookings.Move(ctx, id, at)
	return ours.Booking(b), err
}

func (j sdkJob) Book(ctx context.Context, b ours.Booking) error {
	return j.Bookings.Book(ctx, sdk.Booking(b))
}

func (j sdkJob) BookOnce(ctx context.Context, key string, b ours.Booking) (ours.Booking, error) {
	made, err := j.Bookings.BookOnce(ctx, key, sdk.Booking(b))
	return ours.Booking(made), err
}

type gureguJob struct{ *guregu.Bookings }

func (j gureguJob) Create(ctx context.Context, b ours.Booking) error {
	return j.Bookings.Create(ctx, guregu.Booking(b))
}

func (j gureguJob) Get(ctx context.Context, id string) (ours.Booking, error) {
	b, err := j.Bookings.Get(ctx, id)
	return ours.Booking(b), err
}

func (j gureguJob) Page(ctx context.Context, guest, after string) (page []ours.Booking, next string, err error) {
	bs, next, err := j.Bookings.Page(ctx, guest, after)
	for _, b := range bs {
		page = append(page, ours.Booking(b))
	}
	return page, next, err
}

func (j gureguJob) Move(ctx context.Context, id string, at time.Time) (ours.Booking, error) {
	b, err := j.Bookings.Move(ctx, id, at)
	return ours.Booking(b), err
}

func (j gureguJob) Book(ctx context.Context, b ours.Booking) error {
	return j.Bookings.Book(ctx, guregu.Booking(b))
}

func (j gureguJob) BookOnce(ctx context.Context, key string, b ours.Booking) (ours.Booking, error) {
	made, err := j.Bookings.BookOnce(ctx, key, guregu.Booking(b))
	return ours.Booking(made), err
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var noon = time.Date(2030, 6, 1, 12, 0, 0, 0, time.UTC)

func booking(id string, hour int) ours.Booking {
	return ours.Booking{ID: id, Guest: "ana", Ferry: "f-1", At: noon.Add(time.Duration(hour) * time.Hour), Seats: 2}
}

// ferry is a table with a ferry that has 5 seats.
func ferry(t *testing.T) *table.Table {
	t.Helper()
	tbl := tabletest.New(t, ours.Schema, nil)
	must(t, tbl.Do(t.Context(), table.Create(ferryKey, map[string]any{"entityType": "FERRY", "seatsLeft": 5})))
	return tbl
}

var ferryKey = keys.Key{PK: "FERRY#f-1", SK: keys.Metadata}

func seatsLeft(t *testing.T, tbl *table.Table) int {
	t.Helper()
	f, err := table.Get[struct {
		Left int `dynamodbav:"seatsLeft"`
	}](t.Context(), tbl, ferryKey)
	must(t, err)
	return f.Left
}

func TestAllProgramsDoTheSame(t *testing.T) {
	t.Parallel()
	for name, p := range programs {
		t.Run(name+"/one booking", func(t *testing.T) { t.Parallel(); testOneBooking(t, p) })
		t.Run(name+"/pages", func(t *testing.T) { t.Parallel(); testPages(t, p) })
		t.Run(name+"/moves", func(t *testing.T) { t.Parallel(); testMoves(t, p) })
		t.Run(name+"/seats", func(t *testing.T) { t.Parallel(); testSeats(t, p) })
		t.Run(name+"/once", func(t *testing.T) { t.Parallel(); testOnce(t, p) })
	}
}

func testOneBooking(t *testing.T, p program) {
	ctx, tbl := t.Context(), ferry(t)
	j := p.open(t, tbl)
	b := booking("b-1", 0)
	must(t, j.Create(ctx, b))
	if err := j.Create(ctx, b); !errors.Is(err, p.exists) {
		t.Errorf("created twice: error %v, want %v", err, p.exists)
	}
	got, err := j.Get(ctx, "b-1")
	must(t, err)
	b.Version = 1
	if diff := cmp.Diff(b, got); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
	must(t, j.Cancel(ctx, "b-1"))
	if _, err := j.Get(ctx, "b-1"); !errors.Is(err, p.notFound) {
		t.Errorf("read after it was removed: error %v, want %v", err, p.notFound)
	}
}

func testPages(t *testing.T, p program) {
	ctx, tbl := t.Context(), ferry(t)
	j := p.open(t, tbl)
	for i := range 25 {
		must(t, j.Create(ctx, booking(fmt.Sprintf("b-%02d", i), i)))
	}
	first, next, err := j.Page(ctx, "ana", "")
	must(t, err)
	rest, end, err := j.Page(ctx, "ana", next)
	must(t, err)
	var ids []string
	for _, b := range slices.Concat(first, rest) {
		ids = append(ids, b.ID)
	}
	if len(first) != 20 || end != "" || len(ids) != 25 || !slices.IsSorted(reversed(ids)) {
		t.Errorf("pages of %d and %d bookings, then %q, in the order %v", len(first), len(rest), end, ids)
	}
	if _, _, err := j.Page(ctx, "bob", next); err == nil {
		t.Error("another guest's token was taken")
	}
	if _, _, err := j.Page(ctx, "ana", "no token"); err == nil {
		t.Error("a token that is none was taken")
	}
}

func reversed(s []string) []string {
	s = slices.Clone(s)
	slices.Reverse(s)
	return s
}

func testMoves(t *testing.T, p program) {
	ctx, tbl := t.Context(), ferry(t)
	j := p.open(t, tbl)
	must(t, j.Create(ctx, booking("b-1", 0)))
	must(t, j.Create(ctx, booking("b-2", 5)))
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			if _, err := j.Move(ctx, "b-1", noon.Add(time.Duration(6+i)*time.Hour)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if _, err := j.Move(ctx, "b-1", noon.Add(20*time.Hour)); err != nil {
		t.Error(err)
	}
	page, _, err := j.Page(ctx, "ana", "")
	must(t, err)
	moved := booking("b-1", 20)
	moved.Version = 6
	if len(page) != 2 || !cmp.Equal(page[0], moved) {
		t.Errorf("after five moves the list is %+v, want %+v first", page, moved)
	}
	if _, err := j.Move(ctx, "b-3", noon); !errors.Is(err, p.notFound) {
		t.Errorf("moving what is not there: error %v, want %v", err, p.notFound)
	}
}

func testSeats(t *testing.T, p program) {
	ctx, tbl := t.Context(), ferry(t)
	j := p.open(t, tbl)
	must(t, j.Book(ctx, booking("b-1", 0)))
	must(t, j.Book(ctx, booking("b-2", 0)))
	if err := j.Book(ctx, booking("b-3", 0)); !errors.Is(err, p.full) {
		t.Errorf("two seats of one: error %v, want %v", err, p.full)
	}
	one := booking("b-1", 0)
	one.Seats = 1
	if err := j.Book(ctx, one); !errors.Is(err, p.exists) {
		t.Errorf("booked twice: error %v, want %v", err, p.exists)
	}
	if left := seatsLeft(t, tbl); left != 1 {
		t.Errorf("%d seats left, want 1", left)
	}
}

func testOnce(t *testing.T, p program) {
	ctx, tbl := t.Context(), ferry(t)
	j := p.open(t, tbl)
	first, err := j.BookOnce(ctx, "key-1", booking("b-1", 0))
	must(t, err)
	again, err := j.BookOnce(ctx, "key-1", booking("b-2", 0))
	must(t, err)
	if diff := cmp.Diff(first, again); diff != "" || first.Version != 1 {
		t.Errorf("repeated (-first +again):\n%s", diff)
	}
	if _, err := j.Get(ctx, "b-2"); !errors.Is(err, p.notFound) {
		t.Errorf("the second attempt's booking: error %v, want %v", err, p.notFound)
	}
	other := booking("b-3", 0)
	other.Seats = 1
	if _, err := j.BookOnce(ctx, "key-1", other); !errors.Is(err, p.reused) {
		t.Errorf("another request under the key: error %v, want %v", err, p.reused)
	}
	must(t, j.Book(ctx, booking("b-4", 0)))
	if _, err := j.BookOnce(ctx, "key-2", booking("b-5", 0)); !errors.Is(err, p.full) {
		t.Errorf("two seats of one: error %v, want %v", err, p.full)
	}
	if again, err := j.BookOnce(ctx, "key-1", booking("b-6", 0)); err != nil || again != first {
		t.Errorf("repeated when the ferry was full: %+v and error %v, want %+v", again, err, first)
	}
}

// A create whose first answer is lost is repeated by the SDK, and meets its own
// item. The guides say what becomes of it.
func TestALostAnswerToACreate(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*dynamodb.Client, string) (job, error){
		"singletable": func(client *dynamodb.Client, name string) (job, error) {
			schema := ours.Schema
			schema.Name = name
			tbl, err := table.New(client, schema, nil)
			if err != nil {
				return nil, err
			}
			return ours.New(tbl)
		},
		"sdk": func(client *dynamodb.Client, name string) (job, error) { return sdkJob{sdk.New(client, name)}, nil },
		"guregu": func(client *dynamodb.Client, name string) (job, error) {
			return gureguJob{guregu.New(client, name)}, nil
		},
	} {
		var faults tabletest.Faults
		j, err := open(tabletest.Client(t, faults.Install), ferry(t).Schema().Name)
		must(t, err)
		faults.Next("PutItem", tabletest.DropResponse())
		want := programs[name].exists
		if name == "singletable" {
			want = nil
		}
		if err := j.Create(t.Context(), booking("b-1", 0)); !errors.Is(err, want) {
			t.Errorf("%s: error %v, want %v", name, err, want)
		}
		if n := len(faults.Requests("PutItem")); n != 2 {
			t.Errorf("%s: %d puts, want 2", name, n)
		}
	}
}

// What one program has stored the others can read, and it is the same.
func TestProgramsShareATable(t *testing.T) {
	t.Parallel()
	stored := map[string]table.Item{}
	for writer, w := range programs {
		tbl := ferry(t)
		must(t, w.open(t, tbl).Book(t.Context(), booking("b-1", 3)))
		item, err := table.Get[table.Item](t.Context(), tbl, keys.Key{PK: "BOOKING#b-1", SK: keys.Metadata})
		must(t, err)
		stored[writer] = item
		for reader, r := range programs {
			page, _, err := r.open(t, tbl).Page(t.Context(), "ana", "")
			must(t, err)
			want := booking("b-1", 3)
			want.Version = 1
			if diff := cmp.Diff([]ours.Booking{want}, page); diff != "" {
				t.Errorf("%s reads what %s has written (-want +got):\n%s", reader, writer, diff)
			}
		}
	}
	for _, writer := range slices.Sorted(maps.Keys(stored)) {
		if diff := cmp.Diff(stored["singletable"], stored[writer], cmpopts.IgnoreUnexported(stringValue, numberValue)); diff != "" {
			t.Errorf("%s stores (-singletable +%s):\n%s", writer, writer, diff)
		}
	}
}

var (
	stringValue = types.AttributeValueMemberS{}
	numberValue = types.AttributeValueMemberN{}
)

//go:generate go test . -run ^TestTheGuidesQuoteTheCode$ -update

func TestTheGuidesQuoteTheCode(t *testing.T) {
	t.Parallel()
	for guide, least := range map[string]int{
		"from-the-sdk": 14, "from-guregu-dynamo": 14, "from-electrodb": 8, "from-powertools-idempotency": 1,
		"releases-side-by-side": 2,
	} {
		if n := generated.Code(t, "../../docs/"+guide+".md", "."); n < least {
			t.Errorf("%s quotes %d times, want %d", guide, n, least)
		}
	}
}
