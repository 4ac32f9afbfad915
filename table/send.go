package table

import (
	"context"
	"reflect"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/hedge"
)

// send makes one call of the client, gives the items of its response to those of the
// request, and reports it to the observer.
func send[In, Out any](
	ctx context.Context, t *Table, r *request,
	call func(context.Context, *In, ...func(*dynamodb.Options)) (*Out, error), in *In,
) (*Out, error) {
	if r.attempts == nil {
		r.attempts = t.attempts(ctx)
	}
	if t.mayRewrite {
		//mutants:guard middleware is given a copy of the input | TestWritesThroughMiddleware
		in = copied(in)
	}
	if r.items != nil {
		r.kept = r.items.count()
	}
	t.pool.Begin()
	defer t.pool.End()
	own, _ := ctx.Value(observerKey{}).(observer)
	// The SDK calls direct.SerializeRequest, which writes the request, and then
	// direct.DeserializeResponse, which gives the items to r.items.
	if t.options.Observe == nil && own == nil {
		out, err := call(ctx, in, t.callOptions(r))
		return out, r.finish(ctx, out, err)
	}
	// All inputs have the field.
	reflect.ValueOf(in).Elem().FieldByName("ReturnConsumedCapacity").SetString(string(t.asked(r.operation)))
	event := Event{Operation: r.operation, Table: t.schema.Name, Index: r.index}
	event.Partitions, event.Batch = t.partitions(in)
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
		event.Capacity, event.VectorBytes = consumption(out)
	}
	event.Attempts = max(event.Attempts, 1)
	for _, observe := range []observer{t.options.Observe, own} {
		if observe != nil {
			observe(ctx, event)
		}
	}
	return out, err
}

// asked returns what the response shall say of the request's costs. Only with those by
// index, that of a write has the bytes of vectors. AWS: "Monitoring vector index capacity",
// Amazon DynamoDB Developer Guide.
func (t *Table) asked(operation string) types.ReturnConsumedCapacity {
	switch operation {
	case "PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems":
		if len(t.schema.Vectors) > 0 {
			return types.ReturnConsumedCapacityIndexes
		}
	}
	return types.ReturnConsumedCapacityTotal
}

func (t *Table) callOptions(r *request) func(*dynamodb.Options) {
	return func(o *dynamodb.Options) {
		t.installProtocol(o, r)
		o.HTTPClient = t.pool.Choose(o.HTTPClient)
		if t.hedges != nil {
			failed := func() bool { return r.attempts.failures() > 0 }
			r.hedge = hedge.Call{Operation: r.operation, MaxResponse: maxResponse(r.operation), Failed: failed}
			o.HTTPClient = t.hedges.Client(o.HTTPClient, &r.hedge)
		}
		r.attempts.watch(o)
	}
}
