// Package guregu keeps the bookings of a ferry company with
// github.com/guregu/dynamo.
package guregu

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/guregu/dynamo/v2"
)

// Booking is a number of seats on a ferry. It is found by its id, and in the
// list of its guest.
type Booking struct {
	ID      string    `dynamo:"id"`
	Guest   string    `dynamo:"guest"`
	Ferry   string    `dynamo:"ferry"`
	At      time.Time `dynamo:"at"`
	Seats   int       `dynamo:"seats"`
	Version int64     `dynamo:"version"`
}

// stored is a booking with its keys.
type stored struct {
	PK     string `dynamo:"pk,hash"`
	SK     string `dynamo:"sk,range"`
	Type   string `dynamo:"entityType"`
	GSI1PK string `dynamo:"GSI1PK" index:"GSI1,hash"`
	GSI1SK string `dynamo:"GSI1SK" index:"GSI1,range"`
	Booking
}

const (
	metadata   = "METADATA"
	timeFormat = "2006-01-02T15:04:05.000Z" // of one width, so that it sorts
)

func bookingPK(id string) string { return "BOOKING#" + id }

func item(b Booking) stored {
	return stored{
		PK: bookingPK(b.ID), SK: metadata, Type: "BOOKING",
		GSI1PK:  "GUEST#" + b.Guest,
		GSI1SK:  "BOOKING#" + b.At.UTC().Format(timeFormat) + "#" + b.ID,
		Booking: b,
	}
}

// The ways in which a request can be refused.
var (
	ErrExists          = errors.New("the booking exists")
	ErrConflict        = errors.New("the booking was changed concurrently")
	ErrFull            = errors.New("not enough seats")
	ErrPayloadMismatch = errors.New("the key was used for another request")
)

// Bookings reads and writes bookings.
type Bookings struct {
	db    *dynamo.DB
	table dynamo.Table
}

// New returns the bookings in a table.
func New(client *dynamodb.Client, table string) *Bookings {
	db := dynamo.NewFromIface(client)
	return &Bookings{db: db, table: db.Table(table)}
}

// Create stores a new booking.
func (s *Bookings) Create(ctx context.Context, b Booking) error {
	b.Version = 1
	err := s.table.Put(item(b)).If("attribute_not_exists(pk)").Run(ctx)
	if dynamo.IsCondCheckFailed(err) {
		return ErrExists // or the SDK's own second attempt met the first
	}
	return err
}

// Get reads a booking by its id. A missing one is [dynamo.ErrNotFound].
func (s *Bookings) Get(ctx context.Context, id string) (b Booking, err error) {
	err = s.table.Get("pk", bookingPK(id)).Range("sk", dynamo.Equal, metadata).One(ctx, &b)
	return b, err
}

// Page reads some of a guest's bookings, newest first, and the token for the
// next ones.
func (s *Bookings) Page(ctx context.Context, of, after string) ([]Booking, string, error) {
	pk := "GUEST#" + of
	query := s.table.Get("GSI1PK", pk).Index("GSI1").
		Range("GSI1SK", dynamo.BeginsWith, "BOOKING#").
		Order(dynamo.Descending).Limit(20)
	if after != "" {
		position, err := parseToken(after)
		if err != nil {
			return nil, "", err
		}
		if position["GSI1PK"] != pk {
			return nil, "", errors.New("the token is another guest's")
		}
		start, err := dynamo.MarshalItem(position)
		if err != nil {
			return nil, "", err
		}
		query.StartFrom(start)
	}
	var bookings []Booking
	last, err := query.AllWithLastEvaluatedKey(ctx, &bookings)
	if err != nil {
		return nil, "", err
	}
	next, err := makeToken(last)
	return bookings, next, err
}

// makeToken returns a position as text. Its keys can be read by who gets it.
func makeToken(position dynamo.PagingKey) (string, error) {
	if position == nil {
		return "", nil
	}
	var keys map[string]string
	if err := dynamo.UnmarshalItem(dynamo.Item(position), &keys); err != nil {
		return "", err
	}
	text, err := json.Marshal(keys)
	return base64.RawURLEncoding.EncodeToString(text), err
}

func parseToken(token string) (keys map[string]string, err error) {
	text, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		return nil, err
	}
	return keys, json.Unmarshal(text, &keys)
}

// Move puts a booking on another departure.
func (s *Bookings) Move(ctx context.Context, id string, at time.Time) (b Booking, err error) {
	for range 8 {
		err = s.table.Get("pk", bookingPK(id)).Range("sk", dynamo.Equal, metadata).Consistent(true).One(ctx, &b)
		if err != nil {
			return b, err
		}
		was := b.Version
		b.At, b.Version = at, was+1
		err = s.table.Put(item(b)).If("version = ?", was).Run(ctx) // all of it: the index key has the time
		if !dynamo.IsCondCheckFailed(err) {
			return b, err
		}
	}
	return Booking{}, ErrConflict
}

// Cancel removes a booking.
func (s *Bookings) Cancel(ctx context.Context, id string) error {
	return s.table.Delete("pk", bookingPK(id)).Range("sk", metadata).Run(ctx)
}

// Book stores a new booking and takes its seats, or neither.
func (s *Bookings) Book(ctx context.Context, b Booking) error {
	return refused(s.writes(b).Run(ctx))
}

func (s *Bookings) writes(b Booking) *dynamo.WriteTx {
	b.Version = 1
	return s.db.WriteTx().
		Put(s.table.Put(item(b)).If("attribute_not_exists(pk)")).
		Update(s.table.Update("pk", "FERRY#"+b.Ferry).Range("sk", metadata).
			Add("seatsLeft", -b.Seats).If("seatsLeft >= ?", b.Seats))
}

// refused says which of the writes was refused. Their order tells.
func refused(err error) error {
	if cancelled, ok := errors.AsType[*types.TransactionCanceledException](err); ok {
		for i, r := range cancelled.CancellationReasons {
			if aws.ToString(r.Code) == "ConditionalCheckFailed" {
				return []error{ErrExists, ErrFull}[i]
			}
		}
		return fmt.Errorf("%w: %w", ErrConflict, err) // see dynamo.RetryTxConflicts
	}
	return err
}

// record is stored for each request that was executed.
type record struct {
	PK        string    `dynamo:"pk"`
	SK        string    `dynamo:"sk"`
	ExpiresAt time.Time `dynamo:"expiresAt,unixtime"`
	Hash      []byte    `dynamo:"hash"`
	Result    Booking   `dynamo:"result"`
}

// BookOnce is Book for a request that its client may repeat. A repeated one gets
// the booking that the first has made.
func (s *Bookings) BookOnce(ctx context.Context, requestKey string, b Booking) (Booking, error) {
	wanted := b
	wanted.ID = "" // each attempt draws another
	payload, err := json.Marshal(wanted)
	if err != nil {
		return b, err
	}
	hash := sha256.Sum256(payload)
	b.Version = 1
	pk := fmt.Sprintf("IDE#%s:Book#%s", b.Guest, requestKey)
	err = s.writes(b).
		Put(s.table.Put(record{
			PK: pk, SK: metadata, ExpiresAt: time.Now().Add(24 * time.Hour), Hash: hash[:], Result: b,
		}).If("attribute_not_exists(pk) OR expiresAt <= ?", time.Now().Unix()).IncludeItemInCondCheckFail(true)).
		Run(ctx)
	cancelled, ok := errors.AsType[*types.TransactionCanceledException](err)
	if !ok || len(cancelled.CancellationReasons) < 3 {
		return b, err
	}
	// The record decides, whatever else was refused: what the first attempt did
	// can be why the second may not.
	last := cancelled.CancellationReasons[2]
	if aws.ToString(last.Code) != "ConditionalCheckFailed" {
		return b, refused(err)
	}
	var was record
	if err := dynamo.UnmarshalItem(last.Item, &was); err != nil {
		return b, err
	}
	if string(was.Hash) != string(hash[:]) {
		return b, ErrPayloadMismatch
	}
	return was.Result, nil
}
