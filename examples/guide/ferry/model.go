// Package ferry is the example of the guide to modelling a table: guests book
// seats on the departures of a ferry company.
package ferry

import (
	"hash/fnv"
	"strconv"
	"time"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/shard"
)

// Schema is the one table.
var Schema = schema.Table{
	Name:         "Ferries",
	TTLAttribute: "expiresAt",
	Indexes: []schema.Index{
		{Name: "GSI1", PK: "GSI1PK", SK: "GSI1SK"},
		{Name: "GSI2", PK: "GSI2PK", SK: "GSI2SK"},
	},
}

const (
	guest     keys.Prefix = "GUEST"
	email     keys.Prefix = "EMAIL"
	route     keys.Prefix = "ROUTE"
	departure keys.Prefix = "DEPARTURE"
	booking   keys.Prefix = "BOOKING"
	views     keys.Prefix = "VIEWS"
)

// Guest is who books.
type Guest struct {
	ID       string `dynamodbav:"guestId"`
	Email    string `dynamodbav:"email"`
	Name     string `dynamodbav:"name"`
	Revision string `dynamodbav:"revision"`
}

func guestKey(id string) keys.Key { return keys.Key{PK: guest.PK(id), SK: keys.Profile} }

func emailKey(address string) keys.Key { return keys.Key{PK: email.PK(address), SK: keys.Metadata} }

var guestEntity = repo.Entity[Guest]{
	Type: "GUEST", Version: "revision",
	Key:    func(g Guest) keys.Key { return guestKey(g.ID) },
	Copies: []repo.Copy[Guest]{{Name: "by e-mail", Key: func(g Guest) keys.Key { return emailKey(g.Email) }}},
}

// Departure is a ferry that leaves at a time.
type Departure struct {
	Route     string    `dynamodbav:"route"`
	Leaves    time.Time `dynamodbav:"leaves"`
	SeatsLeft int       `dynamodbav:"seatsLeft"`
	Revision  string    `dynamodbav:"revision"`
}

func departureKey(of string, leaves time.Time) keys.Key {
	return keys.Key{PK: route.PK(of), SK: departure.SK(keys.Time(leaves))}
}

var departureEntity = repo.Entity[Departure]{
	Type: "DEPARTURE", Version: "revision",
	Key: func(d Departure) keys.Key { return departureKey(d.Route, d.Leaves) },
}

// Booking is a guest's seats on a departure.
type Booking struct {
	ID       string    `dynamodbav:"bookingId"`
	Guest    string    `dynamodbav:"guestId"`
	Route    string    `dynamodbav:"route"`
	Leaves   time.Time `dynamodbav:"leaves"`
	Seats    int       `dynamodbav:"seats"`
	Made     time.Time `dynamodbav:"made"`
	Revision string    `dynamodbav:"revision"`
}

func bookingKey(id string) keys.Key { return keys.Key{PK: booking.PK(id), SK: keys.Metadata} }

var bookingEntity = repo.Entity[Booking]{
	Type: "BOOKING", Version: "revision",
	Key:     func(b Booking) keys.Key { return bookingKey(b.ID) },
	Copies:  []repo.Copy[Booking]{{Name: "by guest", Key: byGuest}},
	Indexes: repo.Indexes[Booking]{"GSI1": aboard, "GSI2": newest},
}

// byGuest is the key of a booking in the list of its guest.
func byGuest(b Booking) keys.Key {
	return keys.Key{PK: guest.PK(b.Guest), SK: booking.SK(keys.Time(b.Made), keys.Str(b.ID))}
}

// aboard is the key of a booking in the list of its departure.
func aboard(b Booking) keys.Key {
	return keys.Key{PK: onBoard(b.Route, b.Leaves), SK: booking.SK(keys.Str(b.ID))}
}

// onBoard is the partition of GSI1 with the bookings of a departure.
func onBoard(of string, leaves time.Time) keys.PK {
	return departure.PK(of, keys.Time(leaves).String())
}

// latest is the index of all bookings by the time at which they were made.
var latest = shard.Index{Index: "GSI2", Prefix: "LATEST", Shards: 4}

// newest is the key of a booking in the list of all bookings.
func newest(b Booking) keys.Key {
	return latest.Key(b.ID, keys.None.SK(keys.Time(b.Made), keys.Str(b.ID)))
}

// viewShards is over how many items the views of a route are counted.
const viewShards = 8

// Views are those of some of the visitors of a route.
type Views struct {
	Route string `dynamodbav:"route"`
	Shard uint32 `dynamodbav:"shard"`
	Count int    `dynamodbav:"count"`
}

var viewsEntity = repo.Entity[Views]{
	Type: "VIEWS",
	Key: func(v Views) keys.Key {
		return keys.Key{PK: views.PK(v.Route, strconv.Itoa(int(v.Shard))), SK: keys.Metadata}
	},
}

// viewsOf returns the entity that counts the views of one visitor.
func viewsOf(of, visitor string) Views {
	h := fnv.New32a()
	h.Write([]byte(visitor))
	return Views{Route: of, Shard: h.Sum32() % viewShards}
}
