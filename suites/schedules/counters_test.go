package schedules_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// event counts its reservations, and the seats of these.
type event struct {
	ID           string `dynamodbav:"id"`
	Title        string `dynamodbav:"title,omitempty"`
	Reservations int64  `dynamodbav:"reservations"`
	Seats        int64  `dynamodbav:"seats"`
	Revision     string `dynamodbav:"revision"`
}

type reservation struct {
	ID        string `dynamodbav:"id"`
	Event     string `dynamodbav:"event"`
	Seats     int64  `dynamodbav:"seats"`
	Note      string `dynamodbav:"note,omitempty"`
	ExpiresAt int64  `dynamodbav:"expiresAt,omitempty"`
	Revision  string `dynamodbav:"revision"`
}

func eventKey(id string) keys.Key { return keys.Key{PK: keys.PK("EVENT#" + id), SK: keys.Metadata} }

func reservationKey(id string) keys.Key {
	return keys.Key{PK: keys.PK("RESERVATION#" + id), SK: keys.Metadata}
}

func eventOf(r reservation) keys.Key { return eventKey(r.Event) }

// maxSeats is how many an event has.
const maxSeats = 5

var (
	eventEntity = repo.Entity[event]{
		Type: "EVENT", Version: "revision", Counted: []string{"reservations", "seats"},
		Key: func(e event) keys.Key { return eventKey(e.ID) },
	}
	// longEvent is of a release whose first write of an event replaces it as a whole: it removes
	// more attributes than an update takes.
	longEvent = func() repo.Entity[event] {
		e, many := eventEntity, repo.Upgrade{Change: func(table.Item) error { return nil }, Compatible: true}
		for i := range 600 {
			many.Removes = append(many.Removes, fmt.Sprint("former", i))
		}
		e.Upgrades = []repo.Upgrade{many}
		return e
	}()
	// uncounting is a release without counters.
	uncounting = repo.Entity[reservation]{
		Type: "RESERVATION", Version: "revision", Key: func(r reservation) keys.Key { return reservationKey(r.ID) },
	}
	reservationEntity = withCounters(uncounting)
	// richReservation has copies and claims, too.
	richReservation = func() repo.Entity[reservation] {
		e := uncounting
		e.Copies = []repo.Copy[reservation]{{Key: func(r reservation) keys.Key {
			return keys.Key{PK: eventOf(r).PK, SK: keys.SK("RESERVATION#" + r.ID)}
		}}}
		e.Claims = func(r reservation) []keys.Key {
			return []keys.Key{{PK: keys.PK("CODE#" + r.ID + r.Event), SK: keys.Metadata}}
		}
		return withCounters(e)
	}()
)

func withCounters(e repo.Entity[reservation]) repo.Entity[reservation] {
	e.Counters = []repo.Counter[reservation]{
		{Name: "reservations", Key: eventOf, Owner: "EVENT", Attribute: "reservations"},
		{Name: "seats", Key: eventOf, Owner: "EVENT", Attribute: "seats", Max: new(int64(maxSeats)), Amount: func(r reservation) int64 { return r.Seats }},
	}
	return e
}

// office is a program in a run. Its ids are those of the run.
type office struct {
	reservations, older *repo.Repo[reservation]
	events              *repo.Repo[event]
	table               *table.Table
	run                 string
}

func openOffice(client *dynamodb.Client, r *tabletest.Run, e repo.Entity[reservation]) (o office, err error) {
	older := e
	older.Counters = nil
	o.run = r.ID
	for _, err := range []error{
		into(&o.reservations)(open(client, r, e)), into(&o.older)(open(client, r, older)),
		into(&o.events)(open(client, r, eventEntity)), into(&o.table)(table.New(client, r.Schema, nil)),
	} {
		if err != nil {
			return o, err
		}
	}
	return o, nil
}

func into[T any](to *T) func(T, error) error {
	return func(v T, err error) error { *to = v; return err }
}

type officeCall func(context.Context, office) error

func reserves(id, at string, seats int64) officeCall {
	return func(ctx context.Context, o office) error {
		return o.reservations.Create(ctx, &reservation{ID: o.run + id, Event: o.run + at, Seats: seats})
	}
}

func changes(id string, change func(o office, r *reservation)) officeCall {
	return func(ctx context.Context, o office) error {
		_, err := o.reservations.Update(ctx, reservationKey(o.run+id), func(r *reservation) error { change(o, r); return nil })
		return err
	}
}

// byOps makes ops of the stored reservation.
func byOps(id string, ops func(o office, r reservation) []table.Op) officeCall {
	return func(ctx context.Context, o office) error {
		r, err := o.reservations.Consistent().Get(ctx, reservationKey(o.run+id))
		if err != nil {
			return err
		}
		return o.table.Transact(ctx, ops(o, r)...)
	}
}

// countingWrites are all that can change a number, or must leave it alone. Reservation 1 is at
// event a with 2 seats, old is there, too, with 1 seat, and was not counted; late has expired and
// counts 1 seat.
var countingWrites = map[string]officeCall{
	"create":       reserves("2", "a", 2),
	"create over":  reserves("late", "a", 3),
	"create there": reserves("late", "b", 1),
	"more seats":   changes("1", func(_ office, r *reservation) { r.Seats = 4 }),
	"move":         changes("1", func(o office, r *reservation) { r.Event = o.run + "b" }),
	"move old":     changes("old", func(o office, r *reservation) { r.Event = o.run + "b" }),
	"note":         changes("1", func(_ office, r *reservation) { r.Note += "x" }),
	"expire":       changes("1", func(_ office, r *reservation) { r.ExpiresAt = 1 }),
	"delete": func(ctx context.Context, o office) error {
		return o.reservations.Delete(ctx, reservationKey(o.run+"1"))
	},
	"delete old": func(ctx context.Context, o office) error {
		return o.reservations.Delete(ctx, reservationKey(o.run+"old"))
	},
	"delete and create": func(ctx context.Context, o office) error {
		return errors.Join(o.reservations.Delete(ctx, reservationKey(o.run+"1")), reserves("1", "b", 1)(ctx, o))
	},
	"DeleteOps": byOps("1", func(o office, r reservation) []table.Op { return o.reservations.DeleteOps(r) }),
	"UpdateOps": byOps("1", func(o office, r reservation) []table.Op {
		next := r
		next.Seats = 3
		return o.reservations.UpdateOps(r, &next)
	}),
	"exchange": byOps("1", func(o office, r reservation) []table.Op {
		return append(o.reservations.DeleteOps(r), o.reservations.CreateOps(&reservation{ID: o.run + "3", Event: o.run + "a", Seats: 3})...)
	}),
	"refresh": func(ctx context.Context, o office) error {
		_, err := o.reservations.Refresh(ctx, reservationKey(o.run+"1"))
		return err
	},
	"refresh old": func(ctx context.Context, o office) error {
		_, err := o.reservations.Refresh(ctx, reservationKey(o.run+"old"))
		return err
	},
	"older move": func(ctx context.Context, o office) error {
		_, err := o.older.Update(ctx, reservationKey(o.run+"1"), func(r *reservation) error { r.Event, r.Seats = o.run+"b", 1; return nil })
		return err
	},
	"uncount": func(ctx context.Context, o office) error {
		_, err := o.reservations.Uncount(ctx, reservationKey(o.run+"late"))
		return err
	},
	"event goes": func(ctx context.Context, o office) error { return o.events.Delete(ctx, eventKey(o.run+"a")) },
	"event changes": func(ctx context.Context, o office) error {
		_, err := o.events.Update(ctx, eventKey(o.run+"a"), func(e *event) error { e.Title += "x"; return nil })
		return err
	},
	"event is replaced": func(ctx context.Context, o office) error {
		events, err := repo.New(o.table, longEvent)
		if err == nil {
			_, err = events.Refresh(ctx, eventKey(o.run+"a"))
		}
		return err
	},
	"event with a reservation": func(ctx context.Context, o office) error {
		_, err := o.events.UpdateWith(ctx, eventKey(o.run+"a"), func(e *event) ([]table.Op, error) {
			e.Title += "y"
			return o.reservations.CreateOps(&reservation{ID: o.run + "4", Event: e.ID, Seats: 1}), nil
		})
		return err
	},
	"all go": func(ctx context.Context, o office) error {
		_, err := o.reservations.DeleteAll(ctx, table.Query{PK: reservationKey(o.run + "1").PK}, nil)
		return errors.Join(err, o.events.Delete(ctx, eventKey(o.run+"a")))
	},
}

// TestCounters runs each two of the writes: each number is that of the marks that point to it,
// no event has more seats than there are, and after a refresh the numbers are those of the values.
// Without a high -limit, it runs each write with another.
func TestCounters(t *testing.T) {
	t.Parallel()
	names := slices.Sorted(maps.Keys(countingWrites))
	for i, one := range names {
		for j, other := range names[i:] {
			if sample := j == i%6; *limit <= 6 && !sample {
				continue
			}
			t.Run(one+", "+other, func(t *testing.T) {
				t.Parallel()
				entity := reservationEntity
				if (i+j)%2 == 0 {
					entity = richReservation
				}
				exploreCounters(t, entity, one, other)
			})
		}
	}
}

func exploreCounters(t *testing.T, e repo.Entity[reservation], writes ...string) {
	t.Helper()
	explore(t, tabletest.Case{Allow: refusesToCount, Setup: func(ctx context.Context, r *tabletest.Run) error {
		o, err := openOffice(r.Client, r, e)
		if err != nil {
			return err
		}
		for _, id := range []string{"a", "b"} {
			err = errors.Join(err, o.events.Create(ctx, &event{ID: r.ID + id}))
		}
		err = errors.Join(err, reserves("1", "a", 2)(ctx, o),
			o.older.Create(ctx, &reservation{ID: r.ID + "old", Event: r.ID + "a", Seats: 1}),
			o.reservations.Create(ctx, &reservation{ID: r.ID + "late", Event: r.ID + "a", Seats: 1, ExpiresAt: 1}))
		for _, name := range writes {
			r.Go(func(ctx context.Context, client *dynamodb.Client) error {
				o, err := openOffice(client, r, e)
				if err != nil {
					return err
				}
				return countingWrites[name](ctx, o)
			})
		}
		// A refresh knows no limit.
		bounded := !slices.Contains(writes, "refresh old")
		r.Check(func(ctx context.Context, _ []error) error { return o.check(ctx, bounded) })
		return err
	}})
}

// refusesToCount reports whether an error is a refusal that a sequential run can give.
func refusesToCount(err error) bool {
	return semantic(err) || errors.Is(err, table.ErrLimit) || errors.Is(err, table.ErrUncounted) ||
		errors.Is(err, table.ErrConditionFailed) || errors.Is(err, table.ErrNewerShape)
}

// reserved is what events have, by their ids without the run.
type reserved map[string][2]int64

func (o office) check(ctx context.Context, bounded bool) error {
	stored, marks, err := o.marks(ctx)
	if err == nil {
		err = o.compare(ctx, "the marks say", marks, bounded)
	}
	if err != nil {
		return err
	}
	values := reserved{}
	for _, key := range stored {
		if _, err := o.reservations.Uncount(ctx, key); err != nil {
			return err
		}
		_, err := o.reservations.Refresh(ctx, key)
		if errors.Is(err, table.ErrNotFound) {
			continue // it has expired
		}
		if err != nil {
			return err
		}
		r, err := o.reservations.Consistent().Get(ctx, key)
		if err != nil {
			return err
		}
		at := strings.TrimPrefix(r.Event, o.run)
		values[at] = [2]int64{values[at][0] + 1, values[at][1] + r.Seats}
	}
	return o.compare(ctx, "after a refresh the values say", values, false)
}

// marks returns the keys of the reservations, and what they say that they were counted as.
func (o office) marks(ctx context.Context) (stored []keys.Key, marks reserved, err error) {
	marks = reserved{}
	for _, id := range []string{"1", "2", "3", "4", "old", "late"} {
		attributes, err := table.Get[table.Item](ctx, o.table.IncludingExpired().Consistent(), reservationKey(o.run+id))
		if errors.Is(err, table.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		stored = append(stored, reservationKey(o.run+id))
		var marked struct {
			Counted struct {
				In map[string][]any `dynamodbav:"in"`
			} `dynamodbav:"entityCounted"`
		}
		if err := attributes.Decode(&marked); err != nil {
			return nil, nil, err
		}
		for name, of := range marked.Counted.In {
			at := strings.TrimPrefix(fmt.Sprint(of[3]), "EVENT#"+o.run)
			m := marks[at]
			m[map[string]int{"reservations": 0, "seats": 1}[name]] += int64(of[2].(float64))
			marks[at] = m
		}
	}
	return stored, marks, nil
}

// compare reports an event whose numbers are not as wanted, or over the limit if it is bounded.
func (o office) compare(ctx context.Context, who string, want reserved, bounded bool) error {
	for _, id := range []string{"a", "b"} {
		e, err := o.events.Consistent().Get(ctx, eventKey(o.run+id))
		if errors.Is(err, table.ErrNotFound) {
			continue
		}
		if err != nil {
			return err // it came back without a type
		}
		if has := [2]int64{e.Reservations, e.Seats}; has != want[id] {
			return fmt.Errorf("event %s has %v reservations and seats, %s %v", id, has, who, want[id])
		}
		if bounded && e.Seats > maxSeats {
			return fmt.Errorf("event %s has %d seats", id, e.Seats)
		}
	}
	return nil
}
