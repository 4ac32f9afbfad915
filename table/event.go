package table

import (
	"context"
	"log/slog"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

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
	// Capacity is what it consumed, in read or write units, and VectorBytes what a search
	// of vectors consumed, or a write in the vector indexes of the schema, in bytes: these
	// have no units.
	Capacity, VectorBytes float64
	// Attempts is how often the SDK sent it. It is 1 for clients that do not
	// use the SDK's retryer.
	Attempts int
	// Partitions are the partition keys that it was about, those of the index in a
	// query of one: one for each item of a batch or transaction, none for a scan.
	// They can be personal data, so LogValue does not have them.
	Partitions []keys.PK
	// Throttles says why attempts were refused for lack of capacity, those that the
	// SDK has repeated with success among them. A Reason with KeyRange, such as
	// TableWriteKeyRangeThroughputExceeded, means that the partition of a key is too hot.
	// It is the code of the error where DynamoDB gives no reason, and TooManyRequests
	// after a status 429 without such a code, as of a proxy. AWS: "Diagnosing throttling"
	// and "Key range throughput exceeded", Amazon DynamoDB Developer Guide.
	Throttles []types.ThrottlingReason
	// Err is the error, nil after success. [Classify] gives its class.
	Err error
}

// observer receives events.
type observer = func(context.Context, Event)

type observerKey struct{}

// WithObserver returns a context whose requests are reported to observe, too: to
// find out what one call consumes, or all calls of one HTTP request. Observers of
// outer contexts and [Options].Observe are called as well. observe is called by
// several goroutines at once where the calls are. Nil is no observer.
func WithObserver(ctx context.Context, observe func(context.Context, Event)) context.Context {
	if observe == nil {
		return ctx
	}
	if outer, ok := ctx.Value(observerKey{}).(observer); ok {
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
	// the read units are for. AWS: Query, Amazon DynamoDB API Reference.
	Scanned int
	// Requests is how many requests were sent, without the SDK's own retries.
	Requests int
	// Capacity is what they consumed, in read units, and VectorBytes what searches of
	// vectors consumed, in bytes.
	Capacity, VectorBytes float64
}

// Add returns the sum of the two, as for a walk over several pages.
func (s Stats) Add(other Stats) Stats {
	return Stats{
		Items:       s.Items + other.Items,
		Scanned:     s.Scanned + other.Scanned,
		Requests:    s.Requests + other.Requests,
		Capacity:    s.Capacity + other.Capacity,
		VectorBytes: s.VectorBytes + other.VectorBytes,
	}
}

// attrs are the attributes of a group in a log. What is empty is left out.
type attrs []slog.Attr

func (a *attrs) text(key, value string) {
	if value != "" {
		*a = append(*a, slog.String(key, value))
	}
}

func (a *attrs) number(key string, value int) {
	if value != 0 {
		*a = append(*a, slog.Int(key, value))
	}
}

func (a *attrs) error(err error) {
	if err != nil {
		*a = append(*a, slog.String("error", err.Error()))
	}
}

// LogValue returns the error as a group without keys and items: op, position, name,
// table, index, remaining, the number of the keys, class, error.
func (e *Error) LogValue() slog.Value {
	a := attrs{slog.String("op", e.Op)}
	a.number("position", e.OpNumber)
	a.text("name", e.Name)
	a.text("table", e.Table)
	a.text("index", e.Index)
	a.number("remaining", len(e.Remaining))
	a.text("class", Classify(e.Err).String())
	a.error(e.Err)
	return slog.GroupValue(a...)
}

// LogValue returns the error as a group: failed, the number of the operations
// that failed, and error, which names them.
func (e *TxError) LogValue() slog.Value {
	a := attrs{slog.Int("failed", len(e.Failed))}
	if len(e.Failed) > 0 || e.Err != nil {
		a.error(e)
	}
	return slog.GroupValue(a...)
}

// LogValue returns the event as a group: operation, table, index, batch,
// duration, capacity, vector_bytes, attempts, and after a failure
// class and error.
func (e Event) LogValue() slog.Value {
	a := attrs{slog.String("operation", e.Operation)}
	a.text("table", e.Table)
	a.text("index", e.Index)
	a.number("batch", e.Batch)
	a = append(a, slog.Duration("duration", e.Duration), slog.Float64("capacity", e.Capacity))
	if e.VectorBytes != 0 {
		a = append(a, slog.Float64("vector_bytes", e.VectorBytes))
	}
	a = append(a, slog.Int("attempts", e.Attempts))
	if e.Err != nil {
		a.text("class", Classify(e.Err).String())
	}
	a.error(e.Err)
	return slog.GroupValue(a...)
}
