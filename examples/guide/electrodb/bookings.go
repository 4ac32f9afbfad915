// Package electrodb describes bookings as ElectroDB stores them, so that Go
// programs work on a table of TypeScript programs.
package electrodb

import (
	"context"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"

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

// key joins a prefix and labelled values, in JavaScript's lower case: strings.ToLower knows
// no final sigma. An empty value makes an empty key, which is refused.
func key(prefix string, labelled ...string) string {
	for i := 0; i < len(labelled); i += 2 {
		if labelled[i+1] == "" {
			return ""
		}
		prefix += "#" + labelled[i] + "_" + labelled[i+1]
	}
	return cases.Lower(language.Und).String(prefix)
}

var entity = repo.Entity[Booking]{
	Type: "booking",
	Key: func(b Booking) keys.Key {
		return keys.Key{PK: keys.PK(key("$ferries", "id", b.ID)), SK: "$booking_1"}
	},
	Indexes: repo.Indexes[Booking]{"GSI1": func(b Booking) keys.Key {
		return keys.Key{
			PK: keys.PK(key("$ferries", "guest", b.Guest)),
			SK: keys.SK(key("$booking_1", "at", b.At, "id", b.ID)),
		}
	}},
	// Ids are not used again, so a number tells the states of an entity apart.
	Version: "version",
}

// New returns the bookings in a table.
func New(t *table.Table) (*repo.Repo[Booking], error) { return repo.New(t, entity) }

// Create stores a new booking, which ElectroDB finds.
func Create(ctx context.Context, bookings *repo.Repo[Booking], b Booking) error {
	b.Model = "1"
	return bookings.Create(ctx, &b)
}
