// Package electrodb keeps bookings next to a service on ElectroDB, which goes on writing them:
// docs/from-electrodb.md.
package electrodb

import (
	"context"
	"errors"
	"time"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// Schema is the table.
var Schema = schema.Table{
	Name: "Bookings", TypeAttribute: "__edb_e__",
	Indexes: []schema.Index{{Name: "GSI1", PK: "GSI1PK", SK: "GSI1SK"}},
}

// Booking is a number of seats on a ferry.
type Booking struct {
	ID      string        `dynamodbav:"id"`
	Guest   string        `dynamodbav:"guest"`
	Ferry   string        `dynamodbav:"ferry"`
	At      table.ISOTime `dynamodbav:"at"` // a key is made of its text
	Seats   int           `dynamodbav:"seats"`
	Updated int64         `dynamodbav:"updatedAt"`
}

// Beginnings of the keys, of the service, and of the entities with their model's version.
var (
	ferries = keys.LabelPrefix{Text: "$ferries"}
	booking = keys.LabelPrefix{Text: "$booking_1"}
	ferry   = keys.LabelPrefix{Text: "$ferry_1"}
)

func bookingKey(id string) keys.Key {
	return keys.Key{PK: ferries.PK(keys.Label("id", id)), SK: booking.SK()}
}

func ferryKey(id string) keys.Key {
	return keys.Key{PK: ferries.PK(keys.Label("id", id)), SK: ferry.SK()}
}

var model = map[string]string{"__edb_v__": "1"}

var bookingEntity = repo.Entity[Booking]{
	Type: "booking", Version: "updatedAt",
	Key: func(b Booking) keys.Key { return bookingKey(b.ID) },
	Indexes: repo.Indexes[Booking]{"GSI1": func(b Booking) keys.Key {
		return keys.Key{
			PK: ferries.PK(keys.Label("guest", b.Guest)),
			SK: booking.SK(keys.Label("at", b.At.String()), keys.Label("id", b.ID)),
		}
	}},
	Shared: &repo.Shared[Booking]{Constants: model},
}

// Ferry has seats.
type Ferry struct {
	ID        string `dynamodbav:"id"`
	SeatsLeft int    `dynamodbav:"seatsLeft"`
}

var ferryEntity = repo.Entity[Ferry]{
	Type: "ferry", Key: func(f Ferry) keys.Key { return ferryKey(f.ID) },
	Shared: &repo.Shared[Ferry]{Constants: model},
}

// ErrFull means that the ferry has not seats enough.
var ErrFull = errors.New("not enough seats")

// Bookings reads and writes bookings.
type Bookings struct {
	bookings *repo.Repo[Booking]
	ferries  *repo.Repo[Ferry]
}

// New returns the bookings in a table.
func New(t *table.Table) (*Bookings, error) {
	bs, err := repo.New(t, bookingEntity)
	fs, wrong := repo.New(t, ferryEntity)
	return &Bookings{bs, fs}, errors.Join(err, wrong)
}

// Create stores a new booking.
func (s *Bookings) Create(ctx context.Context, b Booking) error {
	return s.bookings.Create(ctx, &b)
}

// Get reads a booking by its id.
func (s *Bookings) Get(ctx context.Context, id string) (Booking, error) {
	return s.bookings.Get(ctx, bookingKey(id))
}

// Page reads some of a guest's bookings, the latest first, and the cursor for the next ones.
func (s *Bookings) Page(ctx context.Context, guest, after string) ([]Booking, string, error) {
	page, err := s.bookings.Query(ctx, table.Query{
		Index: "GSI1", PK: ferries.PK(keys.Label("guest", guest)), Range: booking.All(), Descending: true, Limit: 20,
		After: after, Scope: guest,
	})
	return page.Items, page.Next, err
}

// Move puts a booking on another departure.
func (s *Bookings) Move(ctx context.Context, id string, at time.Time) (Booking, error) {
	return s.bookings.Update(ctx, bookingKey(id), func(b *Booking) error {
		b.At.Time = at
		return nil
	})
}

// Book stores a new booking and takes its seats, or neither.
func (s *Bookings) Book(ctx context.Context, b Booking) error {
	_, err := s.ferries.UpdateWith(ctx, ferryKey(b.Ferry), func(f *Ferry) ([]table.Op, error) {
		if f.SeatsLeft < b.Seats {
			return nil, ErrFull
		}
		f.SeatsLeft -= b.Seats
		return s.bookings.CreateOps(&b), nil
	})
	return err
}
