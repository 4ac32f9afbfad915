// Package ours keeps the bookings of a ferry company with this library. Packages
// sdk and guregu do the same work with others, on the same items; the guides in
// docs quote all three.
package ours

import (
	"context"
	"errors"
	"time"

	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// Schema is the table.
var Schema = schema.Table{
	Name:         "Bookings",
	TTLAttribute: "expiresAt",
	Indexes:      []schema.Index{{Name: "GSI1", PK: "GSI1PK", SK: "GSI1SK"}},
}

// Booking is a number of seats on a ferry. It is found by its id, and in the
// list of its guest.
type Booking struct {
	ID      string    `dynamodbav:"id"`
	Guest   string    `dynamodbav:"guest"`
	Ferry   string    `dynamodbav:"ferry"`
	At      time.Time `dynamodbav:"at"`
	Seats   int       `dynamodbav:"seats"`
	Version int64     `dynamodbav:"version"`
}

const (
	booking keys.Prefix = "BOOKING"
	guest   keys.Prefix = "GUEST"
	ferry   keys.Prefix = "FERRY"
)

func bookingKey(id string) keys.Key { return keys.Key{PK: booking.PK(id), SK: keys.Metadata} }

func ferryKey(id string) keys.Key { return keys.Key{PK: ferry.PK(id), SK: keys.Metadata} }

var entity = repo.Entity[Booking]{
	Type: "BOOKING",
	Key:  func(b Booking) keys.Key { return bookingKey(b.ID) },
	Indexes: repo.Indexes[Booking]{"GSI1": func(b Booking) keys.Key {
		return keys.Key{PK: guest.PK(b.Guest), SK: booking.SK(keys.Time(b.At), keys.Str(b.ID))}
	}},
	// Ids are not used again, so a number tells the states of an entity apart.
	Version: "version",
}

// Ferry has seats.
type Ferry struct {
	ID        string `dynamodbav:"id"`
	SeatsLeft int    `dynamodbav:"seatsLeft"`
}

var ferryEntity = repo.Entity[Ferry]{Type: "FERRY", Key: func(f Ferry) keys.Key { return ferryKey(f.ID) }}

// ErrFull means that the ferry has not seats enough.
var ErrFull = errors.New("not enough seats")

// Bookings reads and writes bookings.
type Bookings struct {
	table    *table.Table
	bookings *repo.Repo[Booking]
	ferries  *repo.Repo[Ferry]
	requests *idempotency.Store
}

// New returns the bookings in a table.
func New(t *table.Table) (*Bookings, error) {
	s := &Bookings{table: t}
	var errs [3]error
	s.bookings, errs[0] = repo.New(t, entity)
	s.ferries, errs[1] = repo.New(t, ferryEntity)
	s.requests, errs[2] = idempotency.New(t, nil)
	return s, errors.Join(errs[:]...)
}

// Create stores a new booking.
func (s *Bookings) Create(ctx context.Context, b Booking) error {
	return s.bookings.Create(ctx, new(b))
}

// Get reads a booking by its id.
func (s *Bookings) Get(ctx context.Context, id string) (Booking, error) {
	return s.bookings.Get(ctx, bookingKey(id))
}

// Page reads some of a guest's bookings, newest first, and the token for the
// next ones.
func (s *Bookings) Page(ctx context.Context, of, after string) ([]Booking, string, error) {
	page, err := s.bookings.Query(ctx, table.Query{
		Index: "GSI1", PK: guest.PK(of), Range: booking.All(), Descending: true, Limit: 20,
		After: after, Scope: of,
	})
	return page.Items, page.Next, err
}

// Move puts a booking on another departure.
func (s *Bookings) Move(ctx context.Context, id string, at time.Time) (Booking, error) {
	return s.bookings.Update(ctx, bookingKey(id), func(b *Booking) error {
		b.At = at
		return nil
	})
}

// Cancel removes a booking.
func (s *Bookings) Cancel(ctx context.Context, id string) error {
	return s.bookings.Delete(ctx, bookingKey(id))
}

// Book stores a new booking and takes its seats, or neither.
func (s *Bookings) Book(ctx context.Context, b Booking) error {
	err := s.table.Transact(ctx, s.ops(b)...)
	if op, failed := table.FailedOp(err, ferryEntity.Type); failed && errors.Is(op, table.ErrConditionFailed) {
		return ErrFull
	}
	return err
}

func (s *Bookings) ops(b Booking) []table.Op {
	take := s.ferries.PatchOps(ferryKey(b.Ferry), repo.Patch{
		Add: map[string]any{"seatsLeft": -b.Seats},
		If:  table.If("seatsLeft >= ?", b.Seats),
	})
	return append(s.bookings.CreateOps(new(b)), take...)
}

// BookOnce is Book for a request that its client may repeat. A repeated one gets
// the booking that the first has made.
func (s *Bookings) BookOnce(ctx context.Context, key string, b Booking) (Booking, error) {
	wanted := b
	wanted.ID = "" // each attempt draws another
	request := idempotency.Request{Scope: b.Guest + ":Book", Key: key, Payload: idempotency.JSON(wanted)}
	result, err := idempotency.Do(ctx, s.requests, request, func(context.Context) (idempotency.Plan[Booking], error) {
		made := b
		made.Version = 1
		return idempotency.Snapshot(made, s.ops(b)...), nil
	})
	if op, failed := table.FailedOp(err, ferryEntity.Type); failed && errors.Is(op, table.ErrConditionFailed) {
		return b, ErrFull
	}
	return result.Value, err
}
