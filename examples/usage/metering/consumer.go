package metering

import (
	"context"
	"fmt"
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
	// fourteen days for which SQS keeps one at most.
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

// outcome tells what an error means for a delivery: a message with a permanent
// error is dropped; one with a transient error is returned, and so is one with an
// unclassified error, such as a missing permission or a later schemaVersion.
func outcome(id string, first bool, err error) Outcome {
	o := Outcome{ID: id, Class: table.Classify(err), Err: err}
	switch {
	case err == nil && first:
		o.Status = Counted
	case err == nil:
		o.Status = Duplicate
	case o.Class == table.Permanent:
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

// Batch counts deliveries in parallel, and returns what became of each, in their
// order. One that fails does not keep the others from being counted. A message
// waits for earlier ones that add to the same counters: in parallel, their
// transactions would be in conflict with each other.
func (c *Consumer) Batch(ctx context.Context, deliveries []Delivery) []Outcome {
	outcomes := make([]Outcome, len(deliveries))
	last := map[keys.Key]<-chan struct{}{} // closed after the last message of a counter
	free := make(chan struct{}, maxParallel)
	var wg sync.WaitGroup
	for i, d := range deliveries {
		m, err := c.decode(d)
		if err != nil {
			outcomes[i] = outcome(d.ID, false, err)
			continue
		}
		var earlier []<-chan struct{}
		done := make(chan struct{})
		for _, meter := range m.meters() {
			// Messages of one hour are of one day as well.
			counter := keys.Key{PK: meter.PK(), SK: Day.SK(keys.Time(midnight(m.Hour)))}
			if before, ok := last[counter]; ok {
				earlier = append(earlier, before)
			}
			last[counter] = done
		}
		free <- struct{}{}
		wg.Go(func() {
			defer func() { close(done); <-free }()
			for _, before := range earlier {
				<-before
			}
			outcomes[i] = c.count(ctx, d, m)
		})
	}
	wg.Wait()
	return outcomes
}

// decode reads a delivery's message and checks what depends on the time and on
// the delivery.
func (c *Consumer) decode(d Delivery) (Message, error) {
	m, err := Decode(d.Body)
	switch {
	case err != nil:
		return m, err
	case m.ID == "" && d.ID == "":
		return m, fmt.Errorf("%w: nothing tells the message from another one", ErrInvalid)
	case c.options.expired(m.Hour, c.table.Now()):
		// Its counters have expired, and DynamoDB may have deleted them.
		return m, fmt.Errorf("%w: date is longer ago than counters are kept", ErrInvalid)
	}
	return m, nil
}

// count writes the counters and the record of the message in one transaction.
func (c *Consumer) count(ctx context.Context, d Delivery, m Message) Outcome {
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
	r := idempotency.Request{Scope: "producer:" + m.WorkspaceID, Key: m.ID, Payload: m}
	if m.ID == "" {
		r.Scope, r.Key = d.Source+":"+m.WorkspaceID, d.ID
	}
	return r
}
