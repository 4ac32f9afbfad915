// Package electrodb describes bookings as ElectroDB stores them, so that Go
// programs work on a table of TypeScript programs.
package electrodb

import (
	"context"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// Schema is the table.
var Schema = schema.Table{
	Name:          "Bookings",
	TypeAttribute: "__edb_e__",
	Indexes:       []schema.Index{{Name: "GSI1", PK: "GSI1PK", SK: "GSI1SK"}},
}

// Booking is a number of seats on a ferry.
type Booking struct {
	ID      string `dynamodbav:"id"`
	Guest   string `dynamodbav:"guest"`
	Ferry   string `dynamodbav:"ferry"`
	At      string `dynamodbav:"at"` // as JavaScript writes it, since the key is made of the text
	Seats   int    `dynamodbav:"seats"`
	Version int64  `dynamodbav:"version"`
	Model   string `dynamodbav:"__edb_v__"` // ElectroDB does not see an item without it
}

// Beginnings of the keys, of the service, and of the entity with its model's version.
var (
	ferries = keys.LabelPrefix{Text: "$ferries"}
	booking = keys.LabelPrefix{Text: "$booking_1"}
)

func key(id string) keys.Key {
	return keys.Key{PK: ferries.PK(keys.Label("id", id)), SK: booking.SK()}
}

var entity = repo.Entity[Booking]{
	Type: "booking",
	Key:  func(b Booking) keys.Key { return key(b.ID) },
	Indexes: repo.Indexes[Booking]{"GSI1": func(b Booking) keys.Key {
		return keys.Key{
			PK: ferries.PK(keys.Label("guest", b.Guest)),
			SK: booking.SK(keys.Label("at", b.At), keys.Label("id", b.ID)),
		}
	}},
	// Ids are not used again, so a number tells the states of an entity apart.
	Version: "version",
}

// Page returns the first bookings of a guest, the latest first.
func Page(ctx context.Context, bookings *repo.Repo[Booking], of string) (table.Page[Booking], error) {
	return bookings.Query(ctx, table.Query{
		Index: "GSI1", PK: ferries.PK(keys.Label("guest", of)), Range: booking.All(), Descending: true, Limit: 20,
	})
}

// New returns the bookings in a table.
func New(t *table.Table) (*repo.Repo[Booking], error) { return repo.New(t, entity) }

// Create stores a new booking, which ElectroDB finds.
func Create(ctx context.Context, bookings *repo.Repo[Booking], b Booking) error {
	b.Model = "1"
	return bookings.Create(ctx, &b)
}
