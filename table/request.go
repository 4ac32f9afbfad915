package table

import (
	"context"
	"errors"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/internal/response"
	"github.com/singletable/singletable/keys"
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

// mayRewrite reports whether a client has interceptors or middleware of others, who may
// change inputs and outputs. Middleware of which the table knows that it only looks does not.
func mayRewrite(o dynamodb.Options) bool {
	for _, f := range reflect.ValueOf(o.Interceptors).Fields() {
		if f.Kind() != reflect.Slice || f.Len() > 0 {
			return true
		}
	}
	return slices.ContainsFunc(o.APIOptions, func(add func(*middleware.Stack) error) bool {
		return !addsOnly(add, lookers[packageOf(add)])
	})
}

// packageOf returns the path of the package that has written a function, which the name of
// the function begins with.
func packageOf(f any) string {
	name := runtime.FuncForPC(reflect.ValueOf(f).Pointer()).Name()
	last := strings.LastIndex(name, "/") + 1
	pkg, _, _ := strings.Cut(name[last:], ".")
	return name[:last] + pkg
}

// lookers are packages whose middleware neither changes attribute values nor needs the items
// in outputs, and the names under which they add it.
//
// Code: opentelemetry-go-contrib, instrumentation/github.com/aws/aws-sdk-go-v2/otelaws/aws.go;
// aws-xray-sdk-go, instrumentation/awsv2/awsv2.go.
var lookers = map[string][]string{
	"go.opentelemetry.io/contrib/instrumentation/github.com/aws/aws-sdk-go-v2/otelaws": {
		"OTelInitializeMiddlewareBefore", "OTelInitializeMiddlewareAfter", "OTelFinalizeMiddleware", "OTelDeserializeMiddleware",
	},
	"github.com/aws/aws-xray-sdk-go/instrumentation/awsv2":    {"XRayInitializeMiddlewareAfter", "XRayDeserializeMiddleware"},
	"github.com/aws/aws-xray-sdk-go/v2/instrumentation/awsv2": {"XRayInitializeMiddlewareAfter", "XRayDeserializeMiddleware"},
}

// addsOnly reports whether a function adds middleware of these names, and of no others. So
// a release that does more is unknown. Without names it is not called.
func addsOnly(add func(*middleware.Stack) error, names []string) bool {
	stack := middleware.NewStack("", smithyhttp.NewStackRequest)
	if len(names) == 0 || add(stack) != nil {
		return false
	}
	added := slices.Concat(stack.Initialize.List(), stack.Serialize.List(), stack.Build.List(), stack.Finalize.List(), stack.Deserialize.List())
	//mutants:guard middleware of a known package is known by its name | TestAddsOnly | !slices.Contains(names, name) => false
	return len(added) > 0 && !slices.ContainsFunc(added, func(name string) bool { return !slices.Contains(names, name) })
}

// copied returns a copy of an input that shares no memory with it. Middleware encrypts
// items in the input that it is given, and the table may send that input again.
func copied[In any](in *In) *In {
	return deepCopy(reflect.ValueOf(in)).Interface().(*In)
}

func deepCopy(v reflect.Value) reflect.Value {
	switch v.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice:
		if v.IsNil() {
			return v
		}
	}
	if attributes, ok := v.Interface().(map[string]types.AttributeValue); ok {
		return reflect.ValueOf(item.Cloned(attributes))
	}
	c := reflect.New(v.Type()).Elem()
	switch v.Kind() {
	case reflect.Pointer:
		c.Set(reflect.New(v.Type().Elem()))
		c.Elem().Set(deepCopy(v.Elem()))
	case reflect.Map:
		c.Set(reflect.MakeMapWithSize(v.Type(), v.Len()))
		for each := v.MapRange(); each.Next(); {
			c.SetMapIndex(each.Key(), deepCopy(each.Value()))
		}
	case reflect.Slice:
		c.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		for i := range v.Len() {
			c.Index(i).Set(deepCopy(v.Index(i)))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := c.Field(i); f.CanSet() {
				f.Set(deepCopy(v.Field(i)))
			}
		}
	default:
		return v
	}
	return c
}

// call makes one call of the client, gives the items of its response to those of the
// request, and reports it to the observer.
func call[In, Out any](
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
	reflect.ValueOf(in).Elem().FieldByName("ReturnConsumedCapacity").SetString(string(t.returnCapacity(r.operation)))
	event := Event{Operation: r.operation, Table: t.schema.Name, Index: r.index}
	event.Partitions, event.Batch = t.partitions(in)
	r.attempts.observe = func(err error) { event.Throttles = append(event.Throttles, throttles(err)...) }
	before, start := r.attempts.errors, time.Now()
	out, err := call(ctx, in, t.callOptions(r))
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

func (t *Table) callOptions(r *request) func(*dynamodb.Options) {
	return func(o *dynamodb.Options) {
		t.installProtocol(o, r)
		o.HTTPClient = t.pool.Choose(o.HTTPClient)
		r.attempts.watch(o)
	}
}
