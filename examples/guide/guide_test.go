// Package guide_test checks that the programs which the guides compare do the
// same.
package guide_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
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
	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/generated"
	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// job is what all of them do.
type job = bookings[ours.Booking]

// program is a job with its errors.
type program struct {
	open                           func(*testing.T, *table.Table, *dynamodb.Client) job
	notFound, exists, full, reused error
}

var programs = map[string]program{
	"singletable": {
		open: func(t *testing.T, tbl *table.Table, client *dynamodb.Client) job {
			return check.Must(ours.New(check.Must(table.New(client, tbl.Schema(), nil))(t)))(t)
		},
		notFound: table.ErrNotFound, exists: table.ErrExists, full: ours.ErrFull, reused: idempotency.ErrPayloadMismatch,
	},
	"sdk": {
		open: func(_ *testing.T, tbl *table.Table, client *dynamodb.Client) job {
			return adapter[sdk.Booking]{
				sdk.New(client, tbl.Schema().Name),
				func(b sdk.Booking) ours.Booking { return ours.Booking(b) }, func(b ours.Booking) sdk.Booking { return sdk.Booking(b) },
			}
		},
		notFound: sdk.ErrNotFound, exists: sdk.ErrExists, full: sdk.ErrFull, reused: sdk.ErrPayloadMismatch,
	},
	"guregu": {
		open: func(_ *testing.T, tbl *table.Table, client *dynamodb.Client) job {
			return adapter[guregu.Booking]{
				guregu.New(client, tbl.Schema().Name),
				func(b guregu.Booking) ours.Booking { return ours.Booking(b) }, func(b ours.Booking) guregu.Booking { return guregu.Booking(b) },
			}
		},
		notFound: dynamo.ErrNotFound, exists: guregu.ErrExists, full: guregu.ErrFull, reused: guregu.ErrPayloadMismatch,
	},
}

// bookings is a job with bookings of a type of its own, that has the fields of ours.
type bookings[B any] interface {
	Create(context.Context, B) error
	Get(ctx context.Context, id string) (B, error)
	Page(ctx context.Context, guest, after string) ([]B, string, error)
	Move(ctx context.Context, id string, at time.Time) (B, error)
	Cancel(ctx context.Context, id string) error
	Book(context.Context, B) error
	BookOnce(ctx context.Context, key string, b B) (B, error)
}

// adapter makes a job of them.
type adapter[B any] struct {
	bookings[B]
	to   func(B) ours.Booking
	from func(ours.Booking) B
}

func (a adapter[B]) Create(ctx context.Context, b ours.Booking) error {
	return a.bookings.Create(ctx, a.from(b))
}

func (a adapter[B]) Get(ctx context.Context, id string) (ours.Booking, error) {
	b, err := a.bookings.Get(ctx, id)
	return a.to(b), err
}

func (a adapter[B]) Page(ctx context.Context, guest, after string) (page []ours.Booking, next string, err error) {
	bs, next, err := a.bookings.Page(ctx, guest, after)
	for _, b := range bs {
		page = append(page, a.to(b))
	}
	return page, next, err
}

func (a adapter[B]) Move(ctx context.Context, id string, at time.Time) (ours.Booking, error) {
	b, err := a.bookings.Move(ctx, id, at)
	return a.to(b), err
}

func (a adapter[B]) Book(ctx context.Context, b ours.Booking) error {
	return a.bookings.Book(ctx, a.from(b))
}

func (a adapter[B]) BookOnce(ctx context.Context, key string, b ours.Booking) (ours.Booking, error) {
	made, err := a.bookings.BookOnce(ctx, key, a.from(b))
	return a.to(made), err
}

var noon = time.Date(2030, 6, 1, 12, 0, 0, 0, time.UTC)

func booking(id string, hour int) ours.Booking {
	return ours.Booking{ID: id, Guest: "ana", Ferry: "f-1", At: noon.Add(time.Duration(hour) * time.Hour), Seats: 2}
}

// ferry is a table with a ferry that has 5 seats.
func ferry(t *testing.T) *table.Table {
	t.Helper()
	tbl := tabletest.New(t, ours.Schema, nil)
	check.OK(t, tbl.Do(t.Context(), table.Create(ferryKey, map[string]any{"entityType": "FERRY", "seatsLeft": 5})))
	return tbl
}

var ferryKey = keys.Key{PK: "FERRY#f-1", SK: keys.Metadata}

func seatsLeft(t *testing.T, tbl *table.Table) int {
	t.Helper()
	f := check.Must(table.Get[struct {
		Left int `dynamodbav:"seatsLeft"`
	}](t.Context(), tbl, ferryKey))(t)
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
	j := p.open(t, tbl, tabletest.Client(t))
	b := booking("b-1", 0)
	check.OK(t, j.Create(ctx, b))
	check.Is(t, j.Create(ctx, b), p.exists, "created twice")
	got := check.Must(j.Get(ctx, "b-1"))(t)
	b.Version = 1
	check.Equal(t, "read", got, b)
	check.OK(t, j.Cancel(ctx, "b-1"))
	check.Is(t, check.Err(j.Get(ctx, "b-1")), p.notFound, "read after it was removed")
}

func testPages(t *testing.T, p program) {
	ctx, tbl := t.Context(), ferry(t)
	j := p.open(t, tbl, tabletest.Client(t))
	for i := range 25 {
		check.OK(t, j.Create(ctx, booking(fmt.Sprintf("b-%02d", i), i)))
	}
	first, next, err := j.Page(ctx, "ana", "")
	check.OK(t, err)
	rest, end, err := j.Page(ctx, "ana", next)
	check.OK(t, err)
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
	j := p.open(t, tbl, tabletest.Client(t))
	check.OK(t, j.Create(ctx, booking("b-1", 0)))
	check.OK(t, j.Create(ctx, booking("b-2", 5)))
	check.Together(4, func(i int) {
		if _, err := j.Move(ctx, "b-1", noon.Add(time.Duration(6+i)*time.Hour)); err != nil {
			t.Error(err)
		}
	})
	if _, err := j.Move(ctx, "b-1", noon.Add(20*time.Hour)); err != nil {
		t.Error(err)
	}
	page, _, err := j.Page(ctx, "ana", "")
	check.OK(t, err)
	moved := booking("b-1", 20)
	moved.Version = 6
	if len(page) != 2 || !cmp.Equal(page[0], moved) {
		t.Errorf("after five moves the list is %+v, want %+v first", page, moved)
	}
	check.Is(t, check.Err(j.Move(ctx, "b-3", noon)), p.notFound, "moving what is not there")
}

func testSeats(t *testing.T, p program) {
	ctx, tbl := t.Context(), ferry(t)
	j := p.open(t, tbl, tabletest.Client(t))
	check.OK(t, j.Book(ctx, booking("b-1", 0)))
	check.OK(t, j.Book(ctx, booking("b-2", 0)))
	check.Is(t, j.Book(ctx, booking("b-3", 0)), p.full, "two seats of one")
	one := booking("b-1", 0)
	one.Seats = 1
	check.Is(t, j.Book(ctx, one), p.exists, "booked twice")
	check.Equal(t, "seats left", seatsLeft(t, tbl), 1)
}

func testOnce(t *testing.T, p program) {
	ctx, tbl := t.Context(), ferry(t)
	j := p.open(t, tbl, tabletest.Client(t))
	first := check.Must(j.BookOnce(ctx, "key-1", booking("b-1", 0)))(t)
	again := check.Must(j.BookOnce(ctx, "key-1", booking("b-2", 0)))(t)
	check.Equal(t, "version", first.Version, 1)
	check.Equal(t, "repeated", again, first)
	check.Is(t, check.Err(j.Get(ctx, "b-2")), p.notFound, "the second attempt's booking")
	other := booking("b-3", 0)
	other.Seats = 1
	check.Is(t, check.Err(j.BookOnce(ctx, "key-1", other)), p.reused, "another request under the key")
	check.OK(t, j.Book(ctx, booking("b-4", 0)))
	check.Is(t, check.Err(j.BookOnce(ctx, "key-2", booking("b-5", 0))), p.full, "two seats of one")
	if again, err := j.BookOnce(ctx, "key-1", booking("b-6", 0)); err != nil || again != first {
		t.Errorf("repeated when the ferry was full: %+v and error %v, want %+v", again, err, first)
	}
}

// When the first response to a create is lost, the SDK retries it, and the retry
// meets its own item. The guides describe the outcome.
func TestALostResponseToACreate(t *testing.T) {
	t.Parallel()
	for name, p := range programs {
		var faults tabletest.Faults
		j := p.open(t, ferry(t), tabletest.Client(t, faults.Install))
		faults.Next("PutItem", tabletest.DropResponse())
		want := p.exists
		if name == "singletable" {
			want = nil
		}
		check.Is(t, j.Create(t.Context(), booking("b-1", 0)), want, name)
		if n := len(faults.Requests("PutItem")); n != 2 {
			t.Errorf("%s: %d puts, want 2", name, n)
		}
	}
}

// Another writer of the same ferry is no reason to say that it is full.
func TestAConflictIsNotAFullFerry(t *testing.T) {
	t.Parallel()
	var faults tabletest.Faults
	client := tabletest.Client(t, faults.Install)
	tbl := check.Must(table.New(client, ferry(t).Schema(), &table.Options{MaxAttempts: 2}))(t)
	j := check.Must(ours.New(tbl))(t)
	faults.Always("TransactWriteItems", tabletest.CancelTransaction("None", "TransactionConflict", "None"))
	check.Is(t, j.Book(t.Context(), booking("b-1", 0)), table.ErrConflict)
	check.Is(t, check.Err(j.BookOnce(t.Context(), "key-1", booking("b-1", 0))), table.ErrConflict)
}

// What one program has stored the others can read, and it is the same.
func TestProgramsShareATable(t *testing.T) {
	t.Parallel()
	stored := map[string]table.Item{}
	for writer, w := range programs {
		tbl := ferry(t)
		check.OK(t, w.open(t, tbl, tabletest.Client(t)).Book(t.Context(), booking("b-1", 3)))
		item := check.Must(table.Get[table.Item](t.Context(), tbl, keys.Key{PK: "BOOKING#b-1", SK: keys.Metadata}))(t)
		stored[writer] = item
		for reader, r := range programs {
			page, _, err := r.open(t, tbl, tabletest.Client(t)).Page(t.Context(), "ana", "")
			check.OK(t, err)
			want := booking("b-1", 3)
			want.Version = 1
			check.Equal(t, fmt.Sprintf("%s reads what %s has written", reader, writer), page, []ours.Booking{want})
		}
	}
	for _, writer := range slices.Sorted(maps.Keys(stored)) {
		if diff := cmp.Diff(stored["singletable"], stored[writer], cmpopts.IgnoreUnexported(stringValue, numberValue)); diff != "" {
			t.Errorf("%s stores (-singletable +%s):\n%s", writer, writer, diff)
		}
	}
}

// All count the version, so none loses what another one writes.
func TestProgramsMoveOneBooking(t *testing.T) {
	t.Parallel()
	ctx, tbl := t.Context(), ferry(t)
	jobs := []job{}
	for _, name := range slices.Sorted(maps.Keys(programs)) {
		jobs = append(jobs, programs[name].open(t, tbl, tabletest.Client(t)))
	}
	check.OK(t, jobs[0].Create(ctx, booking("b-1", 0)))
	check.Together(6, func(i int) {
		if _, err := jobs[i%len(jobs)].Move(ctx, "b-1", noon.Add(time.Duration(6+i)*time.Hour)); err != nil {
			t.Error(err)
		}
	})
	check.Equal(t, "version", check.Must(jobs[0].Get(ctx, "b-1"))(t).Version, 7)
}

var (
	stringValue = types.AttributeValueMemberS{}
	numberValue = types.AttributeValueMemberN{}
)

//go:generate go test . -run ^TestTheGuidesQuoteTheCode$ -update

func TestTheGuidesQuoteTheCode(t *testing.T) {
	t.Parallel()
	for guide, least := range map[string]int{
		"from-the-sdk": 7, "from-electrodb": 2, "change-your-table": 4,
	} {
		if n := generated.Code(t, "../../docs/"+guide+".md", "."); n < least {
			t.Errorf("%s quotes %d times, want %d", guide, n, least)
		}
	}
}
