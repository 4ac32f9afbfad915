package table

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/hedge"
	"github.com/singletable/singletable/keys"
)

// Event describes one request to DynamoDB, after it has ended.
type Event struct {
	// Operation is the name of the DynamoDB operation: GetItem, Query, …
	Operation string
	// Table and Index are what it was sent to; Index is empty for the table.
	Table, Index string
	// Batch is how many keys or writes it carried: of a batch and a transaction,
	// 0 for the other operations.
	Batch int
	// Duration is how long it took, the SDK's own retries included.
	Duration time.Duration
	// Capacity is what it consumed, in read or write units.
	Capacity float64
	// Attempts is how often the SDK sent it. It is 1 for clients that do not
	// use the SDK's retryer.
	Attempts int
	// Hedges is how many of them were late and sent a second time, and HedgesWon
	// how often the second one was the first to get a response. See
	// [Options].HedgeReads. Capacity is without the others', which is unknown.
	Hedges, HedgesWon int
	// Partitions are the partition keys that it was about, those of the index in a
	// query of one: one for each item of a batch or transaction, none for a scan.
	// They can be personal data, so LogValue does not have them.
	Partitions []keys.PK
	// Throttles says why attempts were refused for lack of capacity, those that the
	// SDK has repeated with success among them. A Reason with KeyRange, such as
	// TableWriteKeyRangeThroughputExceeded, means that a partition key is too hot.
	// It is the code of the error where DynamoDB gives no reason. AWS: "Diagnosing
	// throttling", Amazon DynamoDB Developer Guide.
	Throttles []types.ThrottlingReason
	// Err is the error, nil after success. [Classify] gives its class.
	Err error
}

// Observer receives events, for logs, metrics and traces. The context is the
// one of the operation.
type Observer func(context.Context, Event)

type observerKey struct{}

// WithObserver returns a context whose requests are reported to observe, too: to
// find out what one call consumes, or all calls of one HTTP request. Observers of
// outer contexts and [Options].Observe are called as well. observe is called by
// several goroutines at once where the calls are. Nil is no observer.
func WithObserver(ctx context.Context, observe Observer) context.Context {
	if observe == nil {
		return ctx
	}
	if outer, ok := ctx.Value(observerKey{}).(Observer); ok {
		inner := observe
		observe = func(ctx context.Context, e Event) {
			inner(ctx, e)
			outer(ctx, e)
		}
	}
	return context.WithValue(ctx, observerKey{}, observe)
}

// Stats says what a read cost.
type Stats struct {
	// Items is how many items the caller got.
	Items int
	// Scanned is how many items DynamoDB looked at, before filters. It is what
	// the read units are for.
	Scanned int
	// Requests is how many requests were sent, without the SDK's own retries.
	Requests int
	// Capacity is what they consumed, in read units.
	Capacity float64
	// Hedges and HedgesWon are as in [Event]. They are not among the Requests.
	Hedges, HedgesWon int
}

// Add returns the sum of the two, as for a walk over several pages.
func (s Stats) Add(other Stats) Stats {
	return Stats{
		Items:     s.Items + other.Items,
		Scanned:   s.Scanned + other.Scanned,
		Requests:  s.Requests + other.Requests,
		Capacity:  s.Capacity + other.Capacity,
		Hedges:    s.Hedges + other.Hedges,
		HedgesWon: s.HedgesWon + other.HedgesWon,
	}
}

// request is what the library knows about one request in addition to its input.
type request struct {
	operation, index string
	// attempts is given by writes, whose outcome depends on what happened to
	// earlier attempts; reads need them to be repeated when a response breaks off.
	attempts *attempts
	// partitions are those of a write, if there is an observer.
	partitions []keys.PK
	// body, if set, is what the call sends, "" before its first request. Later ones are
	// the same to the byte: maps have no order, and to DynamoDB Local a transaction of
	// another order is not the one of the token.
	body  *[]byte
	hedge hedge.Call

	// items takes the items of the response, nil if none is wanted. It had before of
	// them before the request.
	items  *items
	before int
	// decoded is set once the response was read here, and not by the client.
	decoded bool
}

// partitionsOf returns the partition keys of writes, if there is an observer.
func (t *Table) partitionsOf(writes ...write) []keys.PK {
	if t.options.Observe == nil {
		return nil
	}
	all := make([]keys.PK, len(writes))
	for i := range writes {
		all[i] = writes[i].op.key.PK
	}
	return all
}

// send makes one call of the client, gives the items of its response to those of the
// request, and reports it to the observer.
func send[In, Out any](
	ctx context.Context, t *Table, r *request,
	call func(context.Context, *In, ...func(*dynamodb.Options)) (*Out, error), in *In,
) (*Out, error) {
	if r.attempts == nil {
		r.attempts = t.attempts(ctx)
	}
	if t.rewritten {
		in = copied(in)
	}
	if r.items != nil {
		r.before = r.items.count()
	}
	t.pool.Begin()
	defer t.pool.End()
	own, _ := ctx.Value(observerKey{}).(Observer)
	if t.options.Observe == nil && own == nil {
		out, err := call(ctx, in, t.callOptions(r))
		return out, r.finish(ctx, out, err)
	}
	wantCapacity(in)
	event := Event{
		Operation: r.operation, Table: t.schema.Name, Index: r.index, Batch: batchSize(in), Partitions: t.partitions(in),
	}
	if r.partitions != nil {
		event.Partitions = r.partitions
	}
	r.attempts.observe = func(err error) { event.Throttles = append(event.Throttles, throttles(err)...) }
	before, start := r.attempts.errors, time.Now()
	out, err := call(ctx, in, t.callOptions(r))
	event.Duration = time.Since(start)
	err = r.finish(ctx, out, err)
	event.Err, event.Attempts = err, int(r.attempts.errors-before)
	event.Hedges, event.HedgesWon = int(r.hedge.Sent), int(r.hedge.Won)
	if err != nil && !r.attempts.watching {
		event.Throttles = throttles(err)
	}
	if err == nil {
		event.Attempts++
		event.Capacity = capacityOf(out)
	}
	event.Attempts = max(event.Attempts, 1)
	for _, observe := range []Observer{t.options.Observe, own} {
		if observe != nil {
			observe(ctx, event)
		}
	}
	return out, err
}

// finish returns the error of a call that has ended. Without one, it takes the items of
// the output, unless they were read from the response.
func (r *request) finish(ctx context.Context, out any, err error) error {
	switch {
	case err != nil:
		return withEnd(ctx, withholdResponse(err))
	case r.items != nil && !r.decoded:
		r.items.begin(r.before)
		r.items.takeOutput(out)
	}
	return nil
}

// wantCapacity makes a request ask for what it consumes.
func wantCapacity(in any) {
	const total = types.ReturnConsumedCapacityTotal
	switch in := in.(type) {
	case *dynamodb.GetItemInput:
		in.ReturnConsumedCapacity = total
	case *dynamodb.BatchGetItemInput:
		in.ReturnConsumedCapacity = total
	case *dynamodb.TransactGetItemsInput:
		in.ReturnConsumedCapacity = total
	case *dynamodb.PutItemInput:
		in.ReturnConsumedCapacity = total
	case *dynamodb.UpdateItemInput:
		in.ReturnConsumedCapacity = total
	case *dynamodb.DeleteItemInput:
		in.ReturnConsumedCapacity = total
	case *dynamodb.BatchWriteItemInput:
		in.ReturnConsumedCapacity = total
	case *dynamodb.TransactWriteItemsInput:
		in.ReturnConsumedCapacity = total
	}
}

// callOptions returns the options of one call of the SDK's client.
func (t *Table) callOptions(r *request) func(*dynamodb.Options) {
	return func(o *dynamodb.Options) {
		t.direct(o, r)
		o.HTTPClient = t.pool.Choose(o.HTTPClient)
		if t.hedges != nil {
			r.hedge = hedge.Call{Operation: r.operation, MaxResponse: maxResponse(r.operation), Failed: r.attempts.haveFailed}
			o.HTTPClient = t.hedges.Client(o.HTTPClient, &r.hedge)
		}
		r.attempts.watch(o)
	}
}

// batchSize returns how many keys or writes a batch or transaction carries, 0 for
// other requests.
func batchSize(in any) int {
	n := 0
	switch in := in.(type) {
	case *dynamodb.BatchGetItemInput:
		for _, request := range in.RequestItems {
			n += len(request.Keys)
		}
	case *dynamodb.BatchWriteItemInput:
		for _, writes := range in.RequestItems {
			n += len(writes)
		}
	case *dynamodb.TransactGetItemsInput:
		n = len(in.TransactItems)
	case *dynamodb.TransactWriteItemsInput:
		n = len(in.TransactItems)
	}
	return n
}
