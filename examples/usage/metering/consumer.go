package metering

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// Consumer counts messages. It is safe for concurrent use. Get one from
// [NewConsumer].
type Consumer struct {
	table   *table.Table
	store   *idempotency.Store
	options Options
}

const (
	// recordTTL is how long a message is known as counted: longer than the
	// fourteen days for which SQS keeps one at most. AWS: "Amazon SQS message quotas",
	// Amazon SQS Developer Guide.
	recordTTL = 15 * day
	// maxParallel bounds the messages of a batch that are counted at a time.
	maxParallel = 8
)

// NewConsumer returns a consumer that counts in a table of [Schema]. Options may be
// nil. The error is that of options out of bounds.
func NewConsumer(t *table.Table, options *Options) (*Consumer, error) {
	o, err := options.resolve()
	if err != nil {
		return nil, err
	}
	store, err := idempotency.New(t, &idempotency.Options{TTL: recordTTL})
	if err != nil {
		return nil, err
	}
	return &Consumer{table: t, store: store, options: o}, nil
}

// Delivery is a message as a queue hands it over, perhaps not for the first
// time.
type Delivery struct {
	// Source says whose id ID is, such as "sqs".
	Source string
	// ID is the same whenever the message is delivered.
	ID string
	// Body is the JSON of a [Message].
	Body []byte
}

// Status is what became of a delivery.
type Status string

const (
	// Counted means that the message was counted now.
	Counted Status = "counted"
	// Duplicate means that an earlier delivery was counted.
	Duplicate Status = "duplicate"
	// Dropped means that the message can never be counted.
	Dropped Status = "dropped"
	// Returned means that the queue should deliver the message again.
	Returned Status = "returned"
)

// Outcome is what became of a delivery, and why if it was not counted.
type Outcome struct {
	ID     string
	Status Status
	// Class is that of Err, unclassified without one.
	Class table.Class
	Err   error
}

// outcome tells what an error means for a delivery. A message is dropped only if it is
// wrong by itself. Whatever is wrong with the table, its permissions or the release can
// be repaired, so the message is returned.
func outcome(id string, first bool, err error) Outcome {
	o := Outcome{ID: id, Class: table.Classify(err), Err: err}
	switch {
	case err == nil && first:
		o.Status = Counted
	case err == nil:
		o.Status = Duplicate
	case errors.Is(err, ErrInvalid), errors.Is(err, idempotency.ErrPayloadMismatch):
		o.Status = Dropped
	default:
		o.Status = Returned
	}
	return o
}

// Count counts one delivery.
func (c *Consumer) Count(ctx context.Context, d Delivery) Outcome {
	m, err := c.decode(d)
	if err != nil {
		return outcome(d.ID, false, err)
	}
	return c.count(ctx, d, m)
}

// Batch counts deliveries, and returns what became of each, in their order. One that
// fails does not keep the others from being counted. Messages of one day of a metric in a
// workspace are counted one after another, since in parallel their transactions would
// conflict.
func (c *Consumer) Batch(ctx context.Context, deliveries []Delivery) []Outcome {
	outcomes := make([]Outcome, len(deliveries))
	groups := map[keys.Key][]func(){} // by the counter of the workspace and the day
	for i, d := range deliveries {
		m, err := c.decode(d)
		if err != nil {
			outcomes[i] = outcome(d.ID, false, err)
			continue
		}
		counter := keys.Key{PK: m.meters()[0].PK(), SK: Day.SK(keys.Time(midnight(m.Hour)))}
		groups[counter] = append(groups[counter], func() { outcomes[i] = c.count(ctx, d, m) })
	}
	free := make(chan struct{}, maxParallel)
	var wg sync.WaitGroup
	for _, group := range groups {
		free <- struct{}{}
		wg.Go(func() {
			defer func() { <-free }()
			for _, count := range group {
				count()
			}
		})
	}
	wg.Wait()
	return outcomes
}

// decode reads a delivery's message and checks what depends on the time and on
// the delivery.
func (c *Consumer) decode(d Delivery) (Message, error) {
	m := decode(d.Body)
	if m.message.ID == "" && d.ID == "" {
		m.add("nothing tells the message from another one")
	}
	if m.dated {
		m.kept("date", m.message.Hour, c.options, c.table.Now())
	}
	return m.message, m.err()
}

// count writes the counters and the record of the message in one transaction.
func (c *Consumer) count(ctx context.Context, d Delivery, m Message) Outcome {
	//mutants:guard usage: a message is counted with its record | TestScheduleMessage | => first, err := true, c.table.Transact(ctx, m.ops(time.Duration(c.options.RetentionDays)*day)...)
	first, err := idempotency.Exec(ctx, c.store, request(d, m), func(context.Context) ([]table.Op, error) {
		return m.ops(time.Duration(c.options.RetentionDays) * day), nil
	})
	return outcome(d.ID, first, err)
}

// request is what makes two deliveries the same message: the producer's id if
// there is one, else the queue's. Producers of different workspaces may choose
// the same id. With the payload compared, a producer that uses an id for two
// different messages is told so, instead of losing the second in silence.
func request(d Delivery, m Message) idempotency.Request {
	r := idempotency.Request{Scope: "producer:" + m.WorkspaceID, Key: m.ID, Payload: idempotency.JSON(m)}
	if m.ID == "" {
		r.Scope, r.Key = d.Source+":"+m.WorkspaceID, d.ID
	}
	return r
}
