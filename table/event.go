package table

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/response"
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
	// Replayed means that it has succeeded at its first attempt, without the SDK's client: see
	// Options.DisableReplay.
	Replayed bool
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
	a.number("op_number", e.OpNumber)
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

// partitions returns the partition key of each item that a request is about, of the index
// in a query of one, and how many of them a batch or transaction has. A scan has none.
func (t *Table) partitions(in any) (all []keys.PK, batch int) {
	add := func(attributes map[string]types.AttributeValue) {
		_, pk := keyText(attributes[t.schema.PK])
		all = append(all, keys.PK(pk))
	}
	switch in := in.(type) {
	case *dynamodb.GetItemInput:
		add(in.Key)
	case *dynamodb.PutItemInput:
		add(in.Item)
	case *dynamodb.UpdateItemInput:
		add(in.Key)
	case *dynamodb.DeleteItemInput:
		add(in.Key)
	case *dynamodb.QueryInput:
		_, pk := keyText(in.ExpressionAttributeValues[":pk"])
		for i := 1; i < len(t.layouts[aws.ToString(in.IndexName)].partition); i++ {
			_, text := keyText(in.ExpressionAttributeValues[":k"+strconv.Itoa(i)])
			pk += "#" + text
		}
		return []keys.PK{keys.PK(pk)}, 0
	case *dynamodb.SearchVectorsInput:
		if x, _ := t.vectorIndex(aws.ToString(in.IndexName)); x.Partition.Name != "" {
			_, pk := keyText(in.ExpressionAttributeValues[":s0"])
			return []keys.PK{keys.PK(pk)}, 0
		}
	default:
		t.eachInBatch(in, add)
		return all, len(all)
	}
	return all, 0
}

// eachInBatch gives add the item or key of each read or write of a batch or transaction.
func (t *Table) eachInBatch(in any, add func(map[string]types.AttributeValue)) {
	switch in := in.(type) {
	case *dynamodb.BatchGetItemInput:
		for _, key := range in.RequestItems[*t.name].Keys {
			add(key)
		}
	case *dynamodb.BatchWriteItemInput:
		for _, write := range in.RequestItems[*t.name] {
			if write.PutRequest != nil {
				add(write.PutRequest.Item)
			} else {
				add(write.DeleteRequest.Key)
			}
		}
	case *dynamodb.TransactGetItemsInput:
		for _, item := range in.TransactItems {
			add(item.Get.Key)
		}
	case *dynamodb.TransactWriteItemsInput:
		for _, item := range in.TransactItems {
			switch {
			case item.Put != nil:
				add(item.Put.Item)
			case item.Update != nil:
				add(item.Update.Key)
			case item.Delete != nil:
				add(item.Delete.Key)
			default:
				add(item.ConditionCheck.Key)
			}
		}
	}
}

// throttles returns why an attempt was throttled, nothing if it was not. Where
// DynamoDB gives no reason, it is the code of the error.
func throttles(err error) (reasons []types.ThrottlingReason) {
	var codes []string
	if e, ok := errors.AsType[*types.ProvisionedThroughputExceededException](err); ok {
		reasons = e.ThrottlingReasons
	} else if e, ok := errors.AsType[*types.ThrottlingException](err); ok {
		reasons = e.ThrottlingReasons
	} else if e, ok := errors.AsType[*types.RequestLimitExceeded](err); ok {
		reasons = e.ThrottlingReasons
	} else if e, ok := errors.AsType[*types.TransactionCanceledException](err); ok {
		for _, r := range e.CancellationReasons {
			codes = append(codes, aws.ToString(r.Code))
		}
	}
	api, status := response.Of(err)
	if api != nil && len(reasons) == 0 && codes == nil {
		codes = []string{api.ErrorCode()}
	}
	for _, code := range codes {
		if errors.Is(kindOf(code), ErrThrottled) {
			reasons = append(reasons, types.ThrottlingReason{Reason: aws.String(code)})
		}
	}
	if len(reasons) == 0 && status == response.StatusTooManyRequests {
		reasons = []types.ThrottlingReason{{Reason: aws.String("TooManyRequests")}}
	}
	return reasons
}

// returnCapacity returns what the response shall say of the request's costs. Only with those by
// index, that of a write has the bytes of vectors. AWS: "Monitoring vector index capacity",
// Amazon DynamoDB Developer Guide.
func (t *Table) returnCapacity(operation string) types.ReturnConsumedCapacity {
	switch operation {
	case "PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems":
		if len(t.schema.Vectors) > 0 {
			return types.ReturnConsumedCapacityIndexes
		}
	}
	return types.ReturnConsumedCapacityTotal
}
