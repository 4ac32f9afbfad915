package main_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/stream"
	"github.com/singletable/singletable/stream/streamtest"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

const eventRecords = 100

// BenchmarkStreamEvent decodes the images of a Lambda event of 100 changes, of items of
// one kilobyte.
func BenchmarkStreamEvent(b *testing.B) {
	event := streamEvent(b)
	for _, lib := range streamLibraries {
		b.Run("lib="+lib.name, func(b *testing.B) {
			handle := lib.open(b)
			mustBeWhole(b, handle, event)
			measure(b, func() error { return handle(b.Context(), event, func(_, _ record) error { return nil }) })
		})
	}
}

// TestStreamEventAllocations bounds what Router.Handle allocates by what a program does
// without it.
func TestStreamEventAllocations(t *testing.T) {
	const ofSDK = 0.55
	event := streamEvent(t)
	var allocs, bytes [2]float64
	for i, lib := range streamLibraries {
		handle := lib.open(t)
		mustBeWhole(t, handle, event)
		allocs[i], bytes[i] = allocated(func() {
			must(t, handle(t.Context(), event, func(_, _ record) error { return nil }))
		})
		t.Logf("%s: %.0f allocations, %.0f bytes", lib.name, allocs[i], bytes[i])
	}
	if allocs[0] > ofSDK*allocs[1] || bytes[0] > ofSDK*bytes[1] {
		t.Errorf("Handle allocates more than %v × what the program does by hand", ofSDK)
	}
}

// eventHandler gives the old and the new value of each record of an event to do.
type eventHandler func(ctx context.Context, event []byte, do func(before, after record) error) error

var streamLibraries = []struct {
	name string
	open func(testing.TB) eventHandler
}{
	{"singletable", routerHandler},
	{"sdk", func(testing.TB) eventHandler { return sdkHandler }},
}

// streamRecords is an entity with the keys of records.
var streamRecords = repo.Entity[record]{
	Type: recordType, Version: "revision",
	Key: func(r record) keys.Key { return txKey(r.UserID, r.CreatedAt, r.ID) },
}

func routerHandler(tb testing.TB) eventHandler {
	tbl := newTable(tabletest.Client(tb), spec.Name) // which sends nothing
	r, err := repo.New(tbl, streamRecords)
	must(tb, err)
	var do func(before, after record) error
	router, err := stream.New(tbl, nil, stream.On(r, func(_ context.Context, c stream.Change[record]) error {
		return do(*c.Old, *c.New)
	}))
	must(tb, err)
	return func(ctx context.Context, event []byte, each func(before, after record) error) error {
		do = each
		response, err := router.Handle(ctx, event)
		return errors.Join(err, response.Err)
	}
}

// sdkHandler does what a program does with aws-lambda-go and the SDK.
func sdkHandler(_ context.Context, event []byte, do func(before, after record) error) error {
	var e events.DynamoDBEvent
	if err := json.Unmarshal(event, &e); err != nil {
		return err
	}
	for _, r := range e.Records {
		var before, after record
		if err := attributevalue.UnmarshalMap(sdkImage(r.Change.OldImage), &before); err != nil {
			return err
		}
		if err := attributevalue.UnmarshalMap(sdkImage(r.Change.NewImage), &after); err != nil {
			return err
		}
		if err := do(before, after); err != nil {
			return err
		}
	}
	return nil
}

func sdkImage(image map[string]events.DynamoDBAttributeValue) map[string]types.AttributeValue {
	item := make(map[string]types.AttributeValue, len(image))
	for name, v := range image {
		item[name] = sdkValue(v)
	}
	return item
}

func sdkValue(v events.DynamoDBAttributeValue) types.AttributeValue {
	switch v.DataType() {
	case events.DataTypeBinary:
		return &types.AttributeValueMemberB{Value: v.Binary()}
	case events.DataTypeBinarySet:
		return &types.AttributeValueMemberBS{Value: v.BinarySet()}
	case events.DataTypeBoolean:
		return &types.AttributeValueMemberBOOL{Value: v.Boolean()}
	case events.DataTypeList:
		list := make([]types.AttributeValue, len(v.List()))
		for i, e := range v.List() {
			list[i] = sdkValue(e)
		}
		return &types.AttributeValueMemberL{Value: list}
	case events.DataTypeMap:
		return &types.AttributeValueMemberM{Value: sdkImage(v.Map())}
	case events.DataTypeNull:
		return &types.AttributeValueMemberNULL{Value: true}
	case events.DataTypeNumber:
		return &types.AttributeValueMemberN{Value: v.Number()}
	case events.DataTypeNumberSet:
		return &types.AttributeValueMemberNS{Value: v.NumberSet()}
	case events.DataTypeStringSet:
		return &types.AttributeValueMemberSS{Value: v.StringSet()}
	default:
		return &types.AttributeValueMemberS{Value: v.String()}
	}
}

// lambdaImage is the reverse of sdkImage, for the types that a record has.
func lambdaImage(item map[string]types.AttributeValue) map[string]events.DynamoDBAttributeValue {
	image := make(map[string]events.DynamoDBAttributeValue, len(item))
	for name, v := range item {
		image[name] = lambdaValue(v)
	}
	return image
}

func lambdaValue(v types.AttributeValue) events.DynamoDBAttributeValue {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return events.NewStringAttribute(v.Value)
	case *types.AttributeValueMemberN:
		return events.NewNumberAttribute(v.Value)
	case *types.AttributeValueMemberL:
		list := make([]events.DynamoDBAttributeValue, len(v.Value))
		for i, e := range v.Value {
			list[i] = lambdaValue(e)
		}
		return events.NewListAttribute(list)
	}
	panic(fmt.Sprintf("a record has no %T", v))
}

// streamed returns the nth record before and after the change of its event.
func streamed(n int) (before, after record) {
	before = recordAt(n)
	before.Note = strings.Repeat("paid at the market, ", 37) // a kilobyte in all
	after = before
	after.Status, after.Amount = "closed", before.Amount+1
	after.Revision = fmt.Sprintf("S%025d", n)
	return before, after
}

// streamEvent returns the JSON of an event as Lambda sends it.
func streamEvent(tb testing.TB) []byte {
	tb.Helper()
	var e events.DynamoDBEvent
	for n := range eventRecords {
		before, after := streamed(n)
		e.Records = append(e.Records, events.DynamoDBEventRecord{
			EventID: fmt.Sprintf("%032x", n), EventName: "MODIFY", EventSource: "aws:dynamodb", EventVersion: "1.1", AWSRegion: "us-east-1",
			EventSourceArn: "arn:aws:dynamodb:us-east-1:123456789012:table/" + spec.Name + "/stream/2024-01-15T10:05:00.000",
			Change: events.DynamoDBStreamRecord{
				ApproximateCreationDateTime: events.SecondsEpochTime{Time: after.CreatedAt},
				Keys:                        map[string]events.DynamoDBAttributeValue{"pk": events.NewStringAttribute(after.PK), "sk": events.NewStringAttribute(after.SK)},
				OldImage:                    lambdaImage(marshal(before)),
				NewImage:                    lambdaImage(marshal(after)),
				SequenceNumber:              fmt.Sprintf("%021d", 100000000000+n),
				SizeBytes:                   2048,
				StreamViewType:              "NEW_AND_OLD_IMAGES",
			},
		})
	}
	event, err := json.Marshal(e)
	must(tb, err)
	return event
}

// mustBeWhole checks that a handler gets every value of the event.
func mustBeWhole(tb testing.TB, handle eventHandler, event []byte) {
	tb.Helper()
	n := 0
	must(tb, handle(tb.Context(), event, func(before, after record) error {
		wantBefore, wantAfter := streamed(n)
		mustEqual(tb, [2]record{before, after}, [2]record{wantBefore, wantAfter})
		n++
		return nil
	}))
	mustEqual(tb, n, eventRecords)
}

// BenchmarkStreamReader reads 1,000 changes of such items from the stream of a local
// engine, as a new consumer.
func BenchmarkStreamReader(b *testing.B) {
	const changes = 1000
	client := tabletest.Client(b)
	tbl := tabletest.NewWith(b, client, schema.Table{Stream: types.StreamViewTypeNewAndOldImages}, nil)
	r, err := repo.New(tbl, streamRecords)
	must(b, err)
	var ops []table.Op
	for n := range changes {
		v, _ := streamed(n)
		v.Revision = ""
		ops = append(ops, r.CreateOps(&v)...)
	}
	for n := range changes / 100 {
		must(b, tbl.Transact(b.Context(), ops[100*n:100*(n+1)]...))
	}
	for _, concurrency := range []int{1, 8} {
		b.Run(fmt.Sprintf("concurrency=%d", concurrency), func(b *testing.B) {
			measure(b, func() error {
				ctx, stop := context.WithCancel(b.Context())
				defer stop()
				var n atomic.Int64
				router, err := stream.New(tbl, &stream.Options{Concurrency: concurrency}, stream.On(r, func(context.Context, stream.Change[record]) error {
					if n.Add(1) == changes {
						stop()
					}
					return nil
				}))
				if err != nil {
					return err
				}
				reader := stream.Reader{Name: fmt.Sprintf("%s %d", b.Name(), time.Now().UnixNano()), Router: router, Client: streamtest.Client(client)}
				if err := reader.Run(ctx); !errors.Is(err, context.Canceled) {
					return err
				}
				return nil
			})
			b.ReportMetric(float64(changes*b.N)/b.Elapsed().Seconds(), "changes/s")
		})
	}
}
