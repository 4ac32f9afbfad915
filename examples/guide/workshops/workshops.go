// Package workshops has the code of docs/faq.md for numbers that are counted: the seats of a
// workshop, and the last one of them.
package workshops

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/stream"
	"github.com/singletable/singletable/table"
)

// Schema is the one table.
var Schema = schema.Table{Name: "Workshops", TTLAttribute: "expiresAt"}

// Workshop shows how many of its seats are taken.
type Workshop struct {
	ID       string `dynamodbav:"workshopId"`
	Title    string `dynamodbav:"title"`
	Taken    int64  `dynamodbav:"taken"`
	Revision string `dynamodbav:"revision"`
}

func workshopKey(id string) keys.Key {
	return keys.Key{PK: keys.Prefix("WORKSHOP").PK(id), SK: keys.Metadata}
}

var workshopEntity = repo.Entity[Workshop]{
	Type: "WORKSHOP", Version: "revision",
	Key:     func(w Workshop) keys.Key { return workshopKey(w.ID) },
	Counted: []string{"taken"},
}

// Seat is a user's seat. A reservation expires, a seat that was paid does not.
type Seat struct {
	Workshop  string    `dynamodbav:"workshopId"`
	User      string    `dynamodbav:"userId"`
	ExpiresAt time.Time `dynamodbav:"expiresAt,unixtime,omitempty"`
	Revision  string    `dynamodbav:"revision"`
}

const seat keys.Prefix = "SEAT"

func seatKey(workshopID, userID string) keys.Key {
	return keys.Key{PK: workshopKey(workshopID).PK, SK: seat.SK(keys.Str(userID))}
}

var seatEntity = repo.Entity[Seat]{
	Type: "SEAT", Version: "revision",
	Key: func(s Seat) keys.Key { return seatKey(s.Workshop, s.User) },
	Counters: []repo.Counter[Seat]{{
		Name: "taken", Owner: "WORKSHOP", Attribute: "taken", Max: new(int64(12)),
		Key: func(s Seat) keys.Key { return workshopKey(s.Workshop) },
	}},
}

// Office is the door to the table. It is safe for concurrent use.
type Office struct {
	table     *table.Table
	workshops *repo.Repo[Workshop]
	seats     *repo.Repo[Seat]
	requests  *idempotency.Store
}

// New returns the office in a table.
func New(t *table.Table) (*Office, error) {
	o := &Office{table: t}
	var errs [3]error
	o.workshops, errs[0] = repo.New(t, workshopEntity)
	o.seats, errs[1] = repo.New(t, seatEntity)
	o.requests, errs[2] = idempotency.New(t, nil)
	return o, errors.Join(errs[:]...)
}

// ErrSoldOut means that a workshop has no seat left.
var ErrSoldOut = errors.New("the workshop is sold out")

// Reserve takes a seat for a quarter of an hour. A user has one.
func (o *Office) Reserve(ctx context.Context, workshopID, userID string) error {
	expires := o.table.Now().Add(15 * time.Minute)
	err := o.seats.Create(ctx, &Seat{Workshop: workshopID, User: userID, ExpiresAt: expires})
	switch {
	case errors.Is(err, table.ErrExists):
		return nil
	case errors.Is(err, table.ErrLimit):
		return ErrSoldOut
	}
	return err
}

// Free gives back the seats of a workshop whose reservations have expired.
func (o *Office) Free(ctx context.Context, workshopID string) error {
	q := table.Query{PK: workshopKey(workshopID).PK, Range: seat.All()}
	for item, err := range table.All[table.Item](ctx, o.table.IncludingExpired(), q) {
		if err == nil && o.table.Expired(item, o.table.Now()) {
			_, err = o.seats.Uncount(ctx, o.table.KeyOf("", item))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Cancel deletes a workshop with its seats, also with those that are taken concurrently.
func (o *Office) Cancel(ctx context.Context, workshopID string) error {
	return o.table.Retry(ctx, func(ctx context.Context) error {
		if err := o.Free(ctx, workshopID); err != nil {
			return err
		}
		if _, err := o.seats.DeleteAll(ctx, table.Query{PK: workshopKey(workshopID).PK, Range: seat.All()}, nil); err != nil {
			return err
		}
		w, err := o.workshops.Consistent().Get(ctx, workshopKey(workshopID))
		if err != nil {
			return err
		}
		ops := o.workshops.DeleteOps(w)
		ops[0] = ops[0].If(table.If("attribute_not_exists(taken) OR taken = ?", 0))
		err = o.table.Transact(ctx, ops...)
		if errors.Is(err, table.ErrConditionFailed) { // a seat was taken: once more
			err = fmt.Errorf("%w: %w", table.ErrConflict, err)
		}
		return err
	})
}

// Freed returns a handler that gives back the seats of reservations that DynamoDB has deleted.
func (o *Office) Freed() (*stream.Router, error) {
	return stream.New(o.table, nil, stream.OnOther(func(ctx context.Context, c stream.Change[table.Item]) error {
		if c.Kind != stream.Expire {
			return nil
		}
		for i, op := range o.seats.UncountOps(*c.Old) {
			request := c.Request("seats")
			request.Key += " " + strconv.Itoa(i)
			_, err := idempotency.Exec(ctx, o.requests, request, func(context.Context) ([]table.Op, error) {
				return []table.Op{op}, nil
			})
			if err != nil && !errors.Is(err, table.ErrUncounted) { // the workshop is gone
				return err
			}
		}
		return nil
	}))
}
