package table

import (
	"bytes"
	"context"
	"reflect"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/internal/replay"
	"github.com/singletable/singletable/internal/response"
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
	// sent is the body that is sent, nil if the client writes it.
	sent []byte
	// replayed is set once the request has succeeded without the client.
	replayed bool

	// items takes the items of the response, nil if none is wanted. It keeps the first
	// ones, which it had before the request.
	items *items
	kept  int
	// decoded is set once a response of success was read here, and not by the client.
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
// request, and reports it to the observer. It is compiled for each operation, and send is not.
func call[In, Out any](ctx context.Context, t *Table, r *request, make function[In, Out], in *In) (*Out, error) {
	out := new(Out)
	err := t.send(ctx, r, in, out, func(ctx context.Context, in any, options func(*dynamodb.Options)) error {
		made, err := make(ctx, in.(*In), options)
		if made != nil { // some clients have none, even of a success
			*out = *made
		}
		return err
	})
	return out, err
}

// made makes a call, whose output it keeps.
type made func(ctx context.Context, in any, options func(*dynamodb.Options)) error

func (t *Table) send(ctx context.Context, r *request, in, out any, call made) error {
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
	if t.options.Observe == nil && own == nil {
		return r.finish(ctx, out, t.invoke(ctx, r, in, out, call))
	}
	// All inputs have the field.
	reflect.ValueOf(in).Elem().FieldByName("ReturnConsumedCapacity").SetString(string(t.returnCapacity(r.operation)))
	event := Event{Operation: r.operation, Table: t.schema.Name, Index: r.index}
	event.Partitions, event.Batch = t.partitions(in)
	r.attempts.observe = func(err error) { event.Throttles = append(event.Throttles, throttles(err)...) }
	before, start := r.attempts.errors, time.Now()
	err := t.invoke(ctx, r, in, out, call)
	event.Duration, event.Replayed = time.Since(start), r.replayed
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
	return err
}

// invoke makes a call by replay if it can, and otherwise by the client. The SDK's client calls
// direct.SerializeRequest, which writes the request, and then direct.DeserializeResponse,
// which gives the items to r.items.
func (t *Table) invoke(ctx context.Context, r *request, in, out any, call made) error {
	if t.replays == nil || !r.serialize(in) {
		return call(ctx, in, t.callOptions(r, nil))
	}
	first := t.replays.Call(r.operation, r.sent)
	if body, ok := first.Send(ctx, t.pool.Choose(t.replays.HTTPClient()), response.MaxOf(r.operation)); ok {
		if r.decoded = r.items.readResponse(r.kept, body.Bytes(), out); r.decoded {
			first.Accept(body)
			r.replayed, r.attempts.watching = true, true
			return nil
		}
		first.Return(body)
	}
	replay := new(first) // what succeeds at once is not allocated
	resumed, end := replay.Resume(ctx)
	err := call(resumed, in, t.callOptions(r, replay))
	end(err)
	switch {
	case replay.Lost():
		r.attempts.unsettled, r.attempts.silent = true, true
	//mutants:guard a write that counts is not sent again after a refusal | TestRefusedForm | && !r.attempts.once =>
	case replay.Again(err) && !r.attempts.once && r.attempts.fail(false):
		again := call(ctx, in, t.callOptions(r, nil))
		replay.Judge(err, again)
		return again
	}
	return err
}

// serialize writes the body of the request once, and reports whether that was possible.
func (r *request) serialize(in any) bool {
	if r.body != nil && len(*r.body) > 0 {
		r.sent = *r.body
		return true
	}
	from, ok := in.(smithy.Serializable)
	if !ok {
		return false
	}
	w := writers.Get().(*item.Writer)
	defer func() {
		if cap(w.Bytes()) <= maxBuffer {
			w.Reset()
			writers.Put(w)
		}
	}()
	from.Serialize(w)
	if !w.Complete() {
		return false
	}
	r.sent = bytes.Clone(w.Bytes())
	if r.body != nil {
		*r.body = r.sent
	}
	return true
}

// writers hold the bodies of requests for reuse, except for the rare large ones.
var writers = sync.Pool{New: func() any { return new(item.Writer) }}

const maxBuffer = 1 << 20

// callOptions returns the option of a call of the client, which goes on from a replay if there
// was one.
func (t *Table) callOptions(r *request, replay *replay.Call) func(*dynamodb.Options) {
	return func(o *dynamodb.Options) {
		t.installProtocol(o, r)
		o.HTTPClient = t.pool.Choose(o.HTTPClient)
		if replay != nil {
			replay.Options(o)
		}
		r.attempts.listen(o)
	}
}
