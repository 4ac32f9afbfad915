package ferry

import (
	"context"
	"errors"
	"time"

	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/shard"
	"github.com/singletable/singletable/table"
)

// ErrFull means that a departure has not seats enough.
var ErrFull = errors.New("not enough seats")

// Ferries is the door to the table. It is safe for concurrent use.
type Ferries struct {
	table      *table.Table
	guests     *repo.Repo[Guest]
	departures *repo.Repo[Departure]
	bookings   *repo.Repo[Booking]
	views      *repo.Repo[Views]
	newest     *shard.Reader[Booking]
	requests   *idempotency.Store
}

// New returns the ferries in a table.
func New(t *table.Table) (*Ferries, error) {
	f := &Ferries{table: t}
	var errs [6]error
	f.guests, errs[0] = repo.New(t, guestEntity)
	f.departures, errs[1] = repo.New(t, departureEntity)
	f.bookings, errs[2] = repo.New(t, bookingEntity)
	f.newest, errs[3] = shard.New[Booking](t.OfType(bookingEntity.Type), latest, nil)
	f.requests, errs[4] = idempotency.New(t, nil)
	f.views, errs[5] = repo.New(t, viewsEntity)
	return f, errors.Join(errs[:]...)
}

// SignUp adds a guest. An e-mail that another guest has is [table.ErrExists].
func (f *Ferries) SignUp(ctx context.Context, g Guest) error {
	return f.guests.Create(ctx, new(g))
}

// ByEmail reads a guest by the e-mail.
func (f *Ferries) ByEmail(ctx context.Context, address string) (Guest, error) {
	return f.guests.Get(ctx, emailKey(address))
}

// Schedule adds a departure.
func (f *Ferries) Schedule(ctx context.Context, d Departure) error {
	return f.departures.Create(ctx, new(d))
}

// Departures reads a route's departures from one time to another.
func (f *Ferries) Departures(ctx context.Context, of string, from, to time.Time) ([]Departure, error) {
	return table.Collect(f.departures.All(ctx, table.Query{PK: route.PK(of), Range: departure.Between(from, to)}))
}

// Booking reads a booking by its id.
func (f *Ferries) Booking(ctx context.Context, id string) (Booking, error) {
	return f.bookings.Get(ctx, bookingKey(id))
}

// OfGuest reads a page of a guest's bookings, newest first.
func (f *Ferries) OfGuest(ctx context.Context, id, after string) (table.Page[Booking], error) {
	return f.bookings.Query(ctx, table.Query{
		PK: guest.PK(id), Range: booking.All(), Descending: true, Limit: 20, After: after, Scope: id,
	})
}

// OnBoard reads the bookings of a departure.
func (f *Ferries) OnBoard(ctx context.Context, of string, leaves time.Time) ([]Booking, error) {
	return table.Collect(f.bookings.All(ctx, table.Query{Index: "GSI1", PK: onBoard(of, leaves), Range: booking.All()}))
}

// Newest reads the n newest bookings of all guests.
func (f *Ferries) Newest(ctx context.Context, n int) ([]Booking, error) {
	return f.newest.Latest(ctx, n)
}

// Book stores a booking and takes its seats, once for each key of the guest.
func (f *Ferries) Book(ctx context.Context, key string, b Booking) (Booking, error) {
	request := idempotency.Request{
		Scope: b.Guest + ":Book", Key: key,
		Payload: idempotency.JSON(map[string]any{"route": b.Route, "leaves": b.Leaves, "seats": b.Seats}),
	}
	result, err := idempotency.Do(ctx, f.requests, request, func(context.Context) (idempotency.Plan[Booking], error) {
		take := f.departures.PatchOps(departureKey(b.Route, b.Leaves), repo.Patch{
			Add: map[string]any{"seatsLeft": -b.Seats},
			If:  table.If("seatsLeft >= ?", b.Seats),
		})
		made := b
		ops := append(f.bookings.CreateOps(&made), take...)
		return idempotency.Snapshot(made, ops...), nil
	})
	if op, failed := table.FailedOp(err, departureEntity.Type); failed && errors.Is(op, table.ErrConditionFailed) {
		return b, ErrFull
	}
	return result.Value, err
}

// View counts that a visitor has looked at a route.
func (f *Ferries) View(ctx context.Context, of, visitor string) error {
	_, err := f.views.Upsert(ctx, viewsOf(of, visitor), repo.Patch{Add: map[string]any{"count": 1}})
	return err
}

// Views returns how often a route was looked at.
func (f *Ferries) Views(ctx context.Context, of string) (total int, err error) {
	var ks []keys.Key
	for n := range uint32(viewShards) {
		ks = append(ks, viewsEntity.Key(Views{Route: of, Shard: n}))
	}
	counts, err := f.views.BatchGet(ctx, ks)
	for _, c := range counts {
		total += c.Count
	}
	return total, err
}
