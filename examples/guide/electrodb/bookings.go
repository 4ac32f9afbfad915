// Package electrodb describes bookings as ElectroDB stores them, so that Go
// programs work on a table of TypeScript programs.
package electrodb

import (
	"strings"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// Schema is the table.
var Schema = schema.Table{
	Name:    "Bookings",
	Type:    "__edb_e__",
	Indexes: []schema.Index{{Name: "GSI1", PK: "GSI1PK", SK: "GSI1SK"}},
}

// Booking is a number of seats on a ferry.
type Booking struct {
	ID      string `dynamodbav:"id"`
	Guest   string `dynamodbav:"guest"`
	Ferry   string `dynamodbav:"ferry"`
	At      string `dynamodbav:"at"` // as JavaScript writes it, since the key is made of the text
	Seats   int    `dynamodbav:"seats"`
	Version int    `dynamodbav:"version"`
	Model   string `dynamodbav:"__edb_v__"`
}

// key joins a prefix and labelled values, in lower case.
func key(prefix string, labelled ...string) string {
	for i := 0; i < len(labelled); i += 2 {
		prefix += "#" + labelled[i] + "_" + strings.ToLower(labelled[i+1])
	}
	return prefix
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
	Version: "version",
	// Ids are not used again.
	VersionFromOne: true,
}

// New returns the bookings in a table.
func New(t *table.Table) (*repo.Repo[Booking], error) { return repo.New(t, entity) }
