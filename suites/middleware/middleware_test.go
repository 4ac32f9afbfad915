// Package middleware_test has middleware of others, as their own packages install it. The table
// knows that it only looks, so responses are read as without it.
package middleware_test

import (
	"context"
	"net"
	"net/http"
	"reflect"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-xray-sdk-go/instrumentation/awsv2"
	"github.com/aws/aws-xray-sdk-go/xray"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/contrib/instrumentation/github.com/aws/aws-sdk-go-v2/otelaws" //nolint:staticcheck // no longer supported, and what programs have
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// counting is a client's own protocol, which counts the responses that it reads.
type counting struct {
	smithyhttp.ClientProtocol
	responses *int
}

func (c counting) DeserializeResponse(
	ctx context.Context, op *smithy.OperationSchema, registry *smithy.TypeRegistry,
	received *smithyhttp.Response, out smithy.Deserializable,
) error {
	*c.responses++
	return c.ClientProtocol.DeserializeResponse(ctx, op, registry, received, out)
}

// traced counts the requests that tracers were told of.
type traced struct {
	next  dynamodb.HTTPClient
	spans *tracetest.SpanRecorder
	// headers is how many requests had the header of X-Ray.
	headers int
}

func (c *traced) Do(r *http.Request) (*http.Response, error) {
	if r.Header.Get(xray.TraceIDHeaderKey) != "" {
		c.headers++
	}
	return c.next.Do(r)
}

// nowhere is where X-Ray sends what it has.
type nowhere struct{}

func (nowhere) Emit(*xray.Segment)                       {}
func (nowhere) RefreshEmitterWithAddress(_ *net.UDPAddr) {}

func (c *traced) openTelemetry(all *[]func(*middleware.Stack) error) {
	otelaws.AppendMiddlewares(all, otelaws.WithTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(c.spans))))
}

func unknown(all *[]func(*middleware.Stack) error) {
	*all = append(*all, func(*middleware.Stack) error { return nil })
}

type note struct {
	Text string `dynamodbav:"text"`
}

// TestKnownMiddleware reads and writes through the middleware of each package, and of both. The
// SDK reads no response with items, and the tracers are told of each request.
func TestKnownMiddleware(t *testing.T) {
	t.Parallel()
	key := keys.Key{PK: "USER#1", SK: "NOTE#1"}
	calls := []func(context.Context, *table.Table) (note, error){
		func(ctx context.Context, tbl *table.Table) (note, error) { return table.Get[note](ctx, tbl, key) },
		func(ctx context.Context, tbl *table.Table) (note, error) {
			all, err := table.BatchGet[note](ctx, tbl, []keys.Key{key})
			return all[key], err
		},
		func(ctx context.Context, tbl *table.Table) (note, error) {
			all, err := table.TransactGet[note](ctx, tbl, []keys.Key{key})
			return all[key], err
		},
		func(ctx context.Context, tbl *table.Table) (note, error) {
			all, err := table.Collect(table.All[note](ctx, tbl, table.Query{PK: key.PK}))
			return first(all), err
		},
		func(ctx context.Context, tbl *table.Table) (note, error) {
			page, err := table.ScanPage[note](ctx, tbl, table.Scan{})
			return first(page.Items), err
		},
		func(ctx context.Context, tbl *table.Table) (note, error) {
			return table.DoReturning[note](ctx, tbl, table.Patch(key, table.Item{}, "none"))
		},
	}
	for name, tt := range map[string]struct {
		install []func(*traced, *[]func(*middleware.Stack) error)
		traces  int // of a call
		bySDK   bool
	}{
		"none":    {nil, 0, false},
		"otelaws": {[]func(*traced, *[]func(*middleware.Stack) error){(*traced).openTelemetry}, 1, false},
		"X-Ray":   {[]func(*traced, *[]func(*middleware.Stack) error){xRay}, 1, false},
		"both":    {[]func(*traced, *[]func(*middleware.Stack) error){(*traced).openTelemetry, xRay}, 2, false},
		"and an unknown one": {[]func(*traced, *[]func(*middleware.Stack) error){
			(*traced).openTelemetry, xRay, func(_ *traced, all *[]func(*middleware.Stack) error) { unknown(all) },
		}, 2, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := tabletest.New(t, schema.Table{}, nil).Schema()
			told := &traced{spans: tracetest.NewSpanRecorder()}
			responses := 0
			client := tabletest.Client(t, func(o *dynamodb.Options) {
				for _, install := range tt.install {
					install(told, &o.APIOptions)
				}
				told.next, o.HTTPClient = o.HTTPClient, told
				o.Protocol = counting{o.Protocol, &responses}
			})
			tbl, err := table.New(client, spec, nil)
			if err != nil {
				t.Fatal(err)
			}
			ctx, err := xray.ContextWithConfig(t.Context(), xray.Config{Emitter: nowhere{}})
			if err != nil {
				t.Fatal(err)
			}
			ctx, segment := xray.BeginSegment(ctx, "test")
			if err := tbl.Do(ctx, table.Put(key, note{"hello"})); err != nil {
				t.Fatal(err)
			}
			for _, call := range calls {
				got, err := call(ctx, tbl)
				if diff := cmp.Diff(note{"hello"}, got); err != nil || diff != "" {
					t.Errorf("error %v, values (-want +got):\n%s", err, diff)
				}
			}
			// The item in an error is one that no middleware has to decrypt.
			err = tbl.Do(ctx, table.Create(key, note{"again"}))
			op, failed := table.FailedOp(err, "")
			if !failed || (op.Stored == nil) != tt.bySDK {
				t.Errorf("the error %v has the stored item %v", err, failed && op.Stored != nil)
			}
			segment.Close(nil)
			if !tt.bySDK {
				responses-- // the error's
			}
			if bySDK := responses > 0; bySDK != tt.bySDK {
				t.Errorf("the SDK has read %d responses", responses)
			}
			if n, want := len(told.spans.Ended())+told.headers, tt.traces*(2+len(calls)); n != want {
				t.Errorf("the tracers were told of %d requests, want %d", n, want)
			}
		})
	}
}

func xRay(_ *traced, all *[]func(*middleware.Stack) error) { awsv2.AWSV2Instrumentor(all) }

func first(all []note) note {
	if len(all) == 0 {
		return note{}
	}
	return all[0]
}

// TestClientMakesAllCalls shows that tracers are told of each request since none is replayed,
// and that the client without them would have replayed it.
func TestClientMakesAllCalls(t *testing.T) {
	t.Parallel()
	spec := tabletest.New(t, schema.Table{}, nil).Schema()
	told := &traced{spans: tracetest.NewSpanRecorder()}
	for name, tt := range map[string]struct {
		install  func(*[]func(*middleware.Stack) error)
		replayed bool
	}{
		"none":       {func(*[]func(*middleware.Stack) error) {}, true},
		"otelaws":    {told.openTelemetry, false},
		"X-Ray":      {awsv2.AWSV2Instrumentor, false},
		"an unknown": {unknown, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, err := xray.ContextWithConfig(t.Context(), xray.Config{Emitter: nowhere{}})
			if err != nil {
				t.Fatal(err)
			}
			ctx, segment := xray.BeginSegment(ctx, "test")
			defer segment.Close(nil)
			var events []table.Event
			client := tabletest.Client(t, func(o *dynamodb.Options) { tt.install(&o.APIOptions) })
			tbl, err := table.New(client, spec, &table.Options{Observe: func(_ context.Context, e table.Event) { events = append(events, e) }})
			if err != nil {
				t.Fatal(err)
			}
			for i := range 5 { // a table learns from the first two
				if err := tbl.Do(ctx, table.Put(keys.Key{PK: "USER#1", SK: "NOTE#1"}, note{name})); err != nil {
					t.Fatal(err)
				}
				if want := tt.replayed && i >= 2; events[i].Replayed != want {
					t.Errorf("request %d: Replayed is %v, want %v", i+1, events[i].Replayed, want)
				}
			}
		})
	}
}

// TestWhatIsKnown shows that the packages add nothing but the names that the table
// knows, so that the test above is not about something else that they do.
func TestWhatIsKnown(t *testing.T) {
	t.Parallel()
	var all []func(*middleware.Stack) error
	(&traced{spans: tracetest.NewSpanRecorder()}).openTelemetry(&all)
	awsv2.AWSV2Instrumentor(&all)
	stack := middleware.NewStack("", smithyhttp.NewStackRequest)
	for _, add := range all {
		if err := add(stack); err != nil {
			t.Error(err)
		}
	}
	got := [][]string{stack.Initialize.List(), stack.Serialize.List(), stack.Build.List(), stack.Finalize.List(), stack.Deserialize.List()}
	want := [][]string{
		{"OTelInitializeMiddlewareBefore", "OTelInitializeMiddlewareAfter", "XRayInitializeMiddlewareAfter"},
		nil, nil,
		{"OTelFinalizeMiddleware"},
		{"XRayDeserializeMiddleware", "OTelDeserializeMiddleware"},
	}
	for i := range got {
		if len(got[i])+len(want[i]) > 0 && !reflect.DeepEqual(got[i], want[i]) {
			t.Errorf("step %d adds %q, want %q", i+1, got[i], want[i])
		}
	}
}
