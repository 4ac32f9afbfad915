package ferry_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/singletable/singletable/examples/guide/ferry"
	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/generated"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tablemodel"
	"github.com/singletable/singletable/table/tabletest"
)

//go:generate go test . -run ^TestTheGuideQuotesTheCode$ -update

const guide = "../../../docs/model-your-table.md"

var (
	opened = time.Date(2030, 5, 20, 9, 0, 0, 0, time.UTC)
	eight  = time.Date(2030, 6, 1, 8, 0, 0, 0, time.UTC)
)

// open returns the ferries with two guests, three departures and three bookings.
func open(t *testing.T) (*ferry.Ferries, *table.Table) {
	t.Helper()
	tbl := tabletest.New(t, ferry.Schema, &table.Options{Now: func() time.Time { return opened }})
	f := check.Must(ferry.New(tbl))(t)
	for _, g := range []ferry.Guest{
		{ID: "g-ana", Email: "ana@example.com", Name: "Ana"},
		{ID: "g-bob", Email: "bob@example.com", Name: "Bob"},
	} {
		check.OK(t, f.SignUp(t.Context(), g))
	}
	for hour := range 3 {
		check.OK(t, f.Schedule(t.Context(), ferry.Departure{
			Route: "north", Leaves: eight.Add(time.Duration(4*hour) * time.Hour), SeatsLeft: 5,
		}))
	}
	for i, guest := range []string{"g-ana", "g-bob", "g-ana"} {
		check.Must(f.Book(t.Context(), fmt.Sprintf("key-%d", i), booking(i, guest)))(t)
	}
	return f, tbl
}

func booking(i int, guest string) ferry.Booking {
	return ferry.Booking{
		ID: fmt.Sprintf("b-%d", i), Guest: guest, Route: "north", Leaves: eight, Seats: 1 + i%2,
		Made: opened.Add(time.Duration(i) * time.Minute),
	}
}

func ids(bookings []ferry.Booking) []string {
	ids := []string{}
	for _, b := range bookings {
		ids = append(ids, b.ID)
	}
	return ids
}

func TestDepartures(t *testing.T) {
	t.Parallel()
	f, err := ferry.New(tabletest.New(t, ferry.Schema, nil))
	if err != nil {
		t.Fatal(err)
	}
	d := ferry.Departure{Route: "north", Leaves: eight, SeatsLeft: 5}
	if err := f.Schedule(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	found, err := f.Departures(t.Context(), "north", eight, eight.Add(time.Hour))
	if err != nil || len(found) != 1 {
		t.Errorf("departures %v and error %v, want one", found, err)
	}
}

func TestAccessPatterns(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	f, _ := open(t)

	other := ferry.Guest{ID: "g-other", Email: "ana@example.com"}
	check.Is(t, f.SignUp(ctx, other), table.ErrExists, "an e-mail that another guest has")
	g := check.Must(f.ByEmail(ctx, "ana@example.com"))(t)
	b := check.Must(f.Booking(ctx, "b-1"))(t)
	if g.ID != "g-ana" || b.Guest != "g-bob" {
		t.Errorf("by e-mail %+v, by id %+v", g, b)
	}

	page := check.Must(f.OfGuest(ctx, "g-ana", ""))(t)
	aboard := check.Must(f.OnBoard(ctx, "north", eight))(t)
	newest := check.Must(f.Newest(ctx, 2))(t)
	for _, tc := range []struct {
		of        string
		want, got []string
	}{
		{"the guest", []string{"b-2", "b-0"}, ids(page.Items)},
		{"the departure", []string{"b-0", "b-1", "b-2"}, ids(aboard)},
		{"the newest", []string{"b-2", "b-1"}, ids(newest)},
	} {
		check.Equal(t, fmt.Sprintf("bookings of %s", tc.of), tc.got, tc.want)
	}

	departures := check.Must(f.Departures(ctx, "north", eight, eight.Add(8*time.Hour)))(t)
	if len(departures) != 2 || departures[0].SeatsLeft != 1 || departures[1].SeatsLeft != 5 {
		t.Errorf("departures before 16:00: %+v", departures)
	}
}

func TestSeatsAreTakenOnceAndNotMoreThanThereAre(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	f, _ := open(t)
	again := check.Must(f.Book(ctx, "key-0", func() ferry.Booking { b := booking(0, "g-ana"); b.ID = "b-again"; return b }()))(t)
	if again.ID != "b-0" {
		t.Errorf("a repeated request got the booking %s, want b-0", again.ID)
	}
	check.Is(t, check.Err(f.Book(ctx, "key-3", booking(3, "g-bob"))), ferry.ErrFull, "two seats of one")
	elsewhere := booking(3, "g-bob")
	elsewhere.Route = "nowhere"
	check.Is(t, check.Err(f.Book(ctx, "key-4", elsewhere)), table.ErrNotFound, "no such departure")
}

func TestViewsAreCounted(t *testing.T) {
	t.Parallel()
	f, _ := open(t)
	for i := range 20 {
		check.OK(t, f.View(t.Context(), "north", fmt.Sprintf("visitor-%d", i)))
	}
	if total, err := f.Views(t.Context(), "north"); err != nil || total != 20 {
		t.Errorf("%d views and error %v, want 20", total, err)
	}
}

func TestTheSchemaFileHasAllEntities(t *testing.T) {
	t.Parallel()
	f, tbl := open(t)
	check.OK(t, f.View(t.Context(), "north", "ana"))
	file := check.Must(ferry.SchemaFile(t.Context(), tbl.Consistent()))(t)
	var model tablemodel.Model
	check.OK(t, json.Unmarshal(file, &model))
	for _, e := range model.Entities {
		if e.Type == "BOOKING" {
			check.Equal(t, "keys of a booking", e.Items, []tablemodel.Pattern{
				{PK: "BOOKING#{bookingId}", SK: "METADATA", Indexes: map[string]tablemodel.Pattern{
					"GSI1": {PK: "DEPARTURE#{route}#{leaves:time}", SK: "BOOKING#{bookingId}"},
					"GSI2": {PK: "LATEST#{1}", SK: "{made:time}#{bookingId}"},
				}},
				{PK: "GUEST#{guestId}", SK: "BOOKING#{made:time}#{bookingId}"},
			})
		}
	}
	check.Equal(t, "entities", len(model.Entities), 5)
}

func TestTheGuideQuotesTheCode(t *testing.T) {
	t.Parallel()
	if n := generated.Code(t, guide, "."); n < 5 {
		t.Errorf("%d quotations", n)
	}
}
