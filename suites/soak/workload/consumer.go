package workload

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/stream"
	"github.com/singletable/singletable/stream/streamtest"
	"github.com/singletable/singletable/suites/soak/checker"
	"github.com/singletable/singletable/suites/soak/nemesis"
	"github.com/singletable/singletable/suites/soak/report"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// Plant is what a consumer does wrong, for the tests of its checkers.
type Plant string

// The faults of consumers.
const (
	// Skips passes over a change.
	Skips Plant = "skips a change"
	// GoesOn goes on after the effect of a change has failed.
	GoesOn Plant = "goes on after a failure"
	// Doubles makes the effect of a change again under another name.
	Doubles Plant = "doubles an effect"
)

// planted is how many changes a consumer handles before it does something wrong, once
// in as many.
const planted = 7

// consumer is two processes that read the stream of the table, are killed now and then,
// and start again. Their effects are in the same table.
type consumer struct {
	*world
	clock clock
	// mortal means that the processes are killed.
	mortal atomic.Bool
	calls  atomic.Int64

	mu  sync.Mutex
	log []checker.Delivery
}

const (
	effectPrefix     keys.Prefix = "EFFECTS"
	projectionPrefix keys.Prefix = "PROJECTION"
	consumers                    = 2
	// afterLease is longer than a dead process keeps its shards.
	afterLease = 31 * time.Second
)

func effectsKey(item string) keys.Key {
	return keys.Key{PK: effectPrefix.PK(item), SK: keys.Metadata}
}

func projectionKey(item string) keys.Key {
	return keys.Key{PK: projectionPrefix.PK(item), SK: keys.Metadata}
}

// effects are the sequence numbers of the changes of an item, in the order of their
// effects.
type effects struct {
	Sequences []string `dynamodbav:"sequences"`
}

// projection is the last state of an item.
type projection struct {
	State string `dynamodbav:"state"`
}

// stateOf writes members and accounts down.
func stateOf[T any](v *T) string {
	if v == nil {
		return ""
	}
	return fmt.Sprintf("%+v", *v)
}

// nth says whether something happens once in n times.
func nth(n int) bool { return rand.IntN(n) == 0 }

// errHandler is a failure of a handler.
var errHandler = errors.New("the handler fails")

// run starts a process after another until the context ends.
func (c *consumer) run(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := c.live(ctx); err != nil {
			return err
		}
	}
	return nil
}

// live runs one process until it dies or the context ends.
func (c *consumer) live(ctx context.Context) error {
	alive, die := context.WithCancel(ctx)
	defer die()
	var dead atomic.Bool
	kill := func() {
		if c.mortal.Load() && dead.CompareAndSwap(false, true) {
			c.report.Fault(string(nemesis.ConsumerKilled))
			// Nobody waits for the lease of a dead process. One that lives can lose its
			// own, as one that was stopped for a while does.
			c.clock.jump(afterLease)
			die()
		}
	}
	if c.mortal.Load() {
		timer := time.AfterFunc(time.Duration(rand.IntN(800))*time.Millisecond, kill)
		defer timer.Stop()
	}
	left := rand.IntN(400) // requests
	var requests atomic.Int64
	var faults tabletest.Faults
	faults.Always("", func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if requests.Add(1) == int64(left) {
			if nth(2) {
				_ = c.send(r, next) // the last one can reach the engine
			}
			kill()
		}
		if dead.Load() {
			return nil, errors.New("dead")
		}
		return c.fault()(r, next)
	})
	reader, err := c.reader(&faults)
	if err != nil {
		return err
	}
	err = reader.Run(alive)
	if alive.Err() != nil {
		c.report.Op("stream Run", nil)
		return nil
	}
	c.report.Op("stream Run", err)
	if table.Classify(err) == table.Permanent {
		c.report.Check(report.Explained, fmt.Sprintf("seed %d", c.Seed), fmt.Errorf("stream Run: %w", err))
	}
	return nil
}

func (c *consumer) send(r *http.Request, next http.RoundTripper) error {
	response, err := next.RoundTrip(r)
	if err == nil {
		err = response.Body.Close()
	}
	return err
}

// fault draws what befalls a request of a consumer: mostly nothing.
func (c *consumer) fault() tabletest.Fault {
	if !nth(12) {
		return func(r *http.Request, next http.RoundTripper) (*http.Response, error) { return next.RoundTrip(r) }
	}
	all := nemesis.Plain()
	drawn := slices.Sorted(maps.Keys(all))[rand.IntN(len(all))]
	c.report.Fault(string(drawn))
	return all[drawn]
}

// reader returns the reader of a new process.
func (c *consumer) reader(faults *tabletest.Faults) (r stream.Reader, err error) {
	client := c.dynamoDB(faults.Install)
	t, err := table.New(client, c.schema, &table.Options{Now: c.clock.now})
	if err != nil {
		return r, err
	}
	members, err := repo.New(t, nickedEntity)
	if err != nil {
		return r, err
	}
	accounts, err := repo.New(t, accountEntity)
	if err != nil {
		return r, err
	}
	store, err := idempotency.New(t, nil)
	if err != nil {
		return r, err
	}
	router, err := stream.New(t, &stream.Options{Concurrency: 1 + 3*rand.IntN(2)}, stream.IgnoreOther(),
		stream.On(members, handler[nicked](c, store)), stream.On(accounts, handler[account](c, store)))
	return stream.Reader{Name: "soak", Router: router, Client: streamtest.Client(client), Interval: 20 * time.Millisecond}, err
}

// handler notes a change, counts it and projects it.
func handler[T any](c *consumer, store *idempotency.Store) func(context.Context, stream.Change[T]) error {
	return func(ctx context.Context, change stream.Change[T]) error {
		d := checker.Delivery{
			Item: string(change.Key.PK), Sequence: change.Sequence, Old: stateOf(change.Old), New: stateOf(change.New),
		}
		bad := c.plant != "" && c.calls.Add(1)%planted == 0
		if bad && c.plant == Skips {
			return nil
		}
		c.note(d)
		switch {
		case bad && c.plant == GoesOn:
			return nil
		case nth(60):
			return errHandler
		}
		request := change.Request("soak")
		err := effect(ctx, store, request, d)
		if bad && c.plant == Doubles && err == nil {
			request.Key += " again"
			err = effect(ctx, store, request, d)
		}
		if err == nil && nth(60) {
			return errHandler
		}
		return err
	}
}

// effect notes a change in the table, once, and projects it.
func effect(ctx context.Context, store *idempotency.Store, r idempotency.Request, d checker.Delivery) error {
	_, err := idempotency.Exec(ctx, store, r, func(context.Context) ([]table.Op, error) {
		sequences := expression.Name("sequences")
		add := expression.Set(sequences, expression.ListAppend(
			expression.IfNotExists(sequences, expression.Value([]string{})), expression.Value([]string{d.Sequence})))
		project := table.Delete(projectionKey(d.Item))
		if d.New != "" {
			project = table.Put(projectionKey(d.Item), projection{d.New})
		}
		return []table.Op{table.Update(effectsKey(d.Item), add), project}, nil
	})
	return err
}

func (c *consumer) note(d checker.Delivery) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.log = append(c.log, d)
}
