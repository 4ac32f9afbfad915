package table

import (
	"context"
	"reflect"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// request is what the library knows about one request in addition to its input.
type request struct {
	operation, index string
	// attempts is given by writes, whose outcome depends on what happened to
	// earlier attempts; reads need them to be repeated when a response breaks off.
	attempts *attempts
	// body, if set, is what the call sends, "" before its first request. Later ones are
	// the same to the byte: maps have no order, and to DynamoDB Local a transaction of
	// another order is not the one of the token.
	body *[]byte

	// items takes the items of the response, nil if none is wanted. It keeps the first
	// ones, which it had before the request.
	items *items
	kept  int
	// decoded is set once the response was read here, and not by the client.
	decoded bool
}

// finish returns the error of a call that has ended. Without one, it takes the items of
// the output, unless they were read from the response.
func (r *request) finish(ctx context.Context, out any, err error) error {
	switch {
	case err != nil:
		if err = withholdResponse(err); ctx.Err() == nil || responded(err) {
			return err
		}
		return join(err, ended(ctx)) // why it has ended
	case r.items != nil && !r.decoded:
		r.items.begin(r.kept)
		r.items.takeOutput(out)
	}
	return nil
}

// call makes one call of the client, gives the items of its response to those of the
// request, and reports it to the observer.
func call[In, Out any](
	ctx context.Context, t *Table, r *request,
	send func(context.Context, *In, ...func(*dynamodb.Options)) (*Out, error), in *In,
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
		out, err := send(ctx, in, t.callOptions(r))
		return out, r.finish(ctx, out, err)
	}
	// All inputs have the field.
	reflect.ValueOf(in).Elem().FieldByName("ReturnConsumedCapacity").SetString(string(t.returnCapacity(r.operation)))
	event := Event{Operation: r.operation, Table: t.schema.Name, Index: r.index}
	event.Partitions, event.Batch = t.partitions(in)
	r.attempts.observe = func(err error) { event.Throttles = append(event.Throttles, throttles(err)...) }
	before, start := r.attempts.errors, time.Now()
	out, err := send(ctx, in, t.callOptions(r))
	event.Duration = time.Since(start)
	err = r.finish(ctx, out, err)
	event.Err, event.Attempts = err, int(r.attempts.errors-before)
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

func (t *Table) callOptions(r *request) func(*dynamodb.Options) {
	return func(o *dynamodb.Options) {
		t.installProtocol(o, r)
		o.HTTPClient = t.pool.Choose(o.HTTPClient)
		r.attempts.listen(o)
	}
}
