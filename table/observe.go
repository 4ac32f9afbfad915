package table

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Event tells of one request to DynamoDB, after it has ended.
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
	// Err is the error, nil after success. [Classify] gives its class.
	Err error
}

// Observer receives events, for logs, metrics and traces. The context is the
// one of the operation.
type Observer func(context.Context, Event)

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
}

// Add returns the sum of the two, as for a walk over several pages.
func (s Stats) Add(other Stats) Stats {
	return Stats{
		Items:    s.Items + other.Items,
		Scanned:  s.Scanned + other.Scanned,
		Requests: s.Requests + other.Requests,
		Capacity: s.Capacity + other.Capacity,
	}
}

// request is what the library knows about one request in addition to its input.
type request struct {
	operation, index string
	// attempts is given by writes, whose outcome depends on what happened to
	// earlier attempts; reads need them to be repeated when a response breaks off.
	attempts *attempts
	// items are those of the response, if the request is one that reads; decoded
	// is set once they were made of the response itself.
	items   responseItems
	decoded bool
}

// send makes one call of the client and reports it to the observer. units
// takes the consumed capacity from the output.
func send[In, Out any](
	ctx context.Context, t *Table, r *request,
	call func(context.Context, *In, ...func(*dynamodb.Options)) (*Out, error), in *In,
	units func(*Out) float64,
) (*Out, error) {
	if r.attempts == nil {
		r.attempts = t.attempts(ctx)
	}
	if t.options.Observe == nil {
		out, err := call(ctx, in, t.direct(r), r.attempts.watch)
		return out, withEnd(ctx, withholdResponse(err))
	}
	before := r.attempts.errors
	start := time.Now()
	out, err := call(ctx, in, t.direct(r), r.attempts.watch)
	err = withEnd(ctx, withholdResponse(err))
	event := Event{
		Operation: r.operation, Table: t.schema.Name, Index: r.index, Batch: batchSize(in),
		Duration: time.Since(start), Attempts: r.attempts.errors - before, Err: err,
	}
	if err == nil {
		event.Attempts++
		event.Capacity = units(out)
	}
	event.Attempts = max(event.Attempts, 1)
	t.options.Observe(ctx, event)
	return out, err
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

// returnCapacity asks for consumed capacity if somebody wants to know it.
func (t *Table) returnCapacity() types.ReturnConsumedCapacity {
	if t.options.Observe == nil {
		return ""
	}
	return types.ReturnConsumedCapacityTotal
}

func capacity(consumed *types.ConsumedCapacity) float64 {
	if consumed == nil || consumed.CapacityUnits == nil {
		return 0
	}
	return *consumed.CapacityUnits
}

func capacities(consumed []types.ConsumedCapacity) float64 {
	sum := 0.0
	for i := range consumed {
		sum += capacity(&consumed[i])
	}
	return sum
}
