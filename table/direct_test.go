package table_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// itemsIn counts the items in the output of a read.
func itemsIn(result any) (n int) {
	switch out := result.(type) {
	case *dynamodb.GetItemOutput:
		n = min(len(out.Item), 1)
	case *dynamodb.QueryOutput:
		n = len(out.Items)
	case *dynamodb.ScanOutput:
		n = len(out.Items)
	case *dynamodb.BatchGetItemOutput:
		for _, items := range out.Responses {
			n += len(items)
		}
	case *dynamodb.TransactGetItemsOutput:
		for _, r := range out.Responses {
			n += min(len(r.Item), 1)
		}
	}
	return n
}

// TestDecodesDirectly fails if a new SDK no longer lets the library decode: its
// outputs have items again then, or the results are wrong. It holds for the version
// in go.mod, and .ci/newest runs it with the newest one.
func TestDecodesDirectly(t *testing.T) {
	t.Parallel()
	own, _ := newTable(t, appCore())
	spec := own.Schema()
	ks, want := accounts(t, own, 10)
	for how, read := range readers {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			for _, c := range []struct {
				name              string
				wrapped, directly bool
				seen              int
			}{
				{"directly", false, true, 0},
				{"middleware", false, false, 10},
				{"wrapper", true, false, 10},
			} {
				seen := 0
				client := table.Client(tabletest.Client(t, watch(func(_, out any) { seen += itemsIn(out) })))
				if c.wrapped {
					client = struct{ table.Client }{client}
				}
				tbl := expect.Value(table.NewWithClient(client, spec, nil))(t)
				if c.directly {
					tbl = table.Directly(tbl)
				}
				equal(t, c.name+": values", expect.Value(read(t.Context(), tbl, ks))(t), want)
				equal(t, c.name+": items that the client's middleware saw", seen, c.seen)
			}
		})
	}
}

// nothing is middleware of that name that does nothing.
func nothing(name string) middleware.InitializeMiddleware {
	return middleware.InitializeMiddlewareFunc(name, func(
		ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
	) (middleware.InitializeOutput, middleware.Metadata, error) {
		return next.HandleInitialize(ctx, in)
	})
}

// Middleware of a known package is known if it adds nothing but what is known of it.
func TestAddsOnly(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		add  func(*middleware.Stack) error
		want bool
	}{
		"known":           {func(s *middleware.Stack) error { return s.Initialize.Add(nothing("known"), middleware.After) }, true},
		"of another name": {func(s *middleware.Stack) error { return s.Initialize.Add(nothing("other"), middleware.After) }, false},
		"one more": {func(s *middleware.Stack) error {
			return errors.Join(s.Initialize.Add(nothing("known"), middleware.After), s.Initialize.Add(nothing("other"), middleware.After))
		}, false},
		"nothing": {func(*middleware.Stack) error { return nil }, false},
		"beside the SDK's": {func(s *middleware.Stack) error {
			return s.Initialize.Insert(nothing("known"), "RegisterServiceMetadata", middleware.After)
		}, false},
		"without the SDK's": {func(s *middleware.Stack) error { _, err := s.Finalize.Remove("Signing"); return err }, false},
	} {
		equal(t, name, table.AddsOnly(tt.add, []string{"known"}), tt.want)
		equal(t, name+", of an unknown package", table.AddsOnly(tt.add, nil), false)
	}
	// A name alone does not make it known.
	client := tabletest.Client(t, func(o *dynamodb.Options) {
		o.APIOptions = append(o.APIOptions, func(s *middleware.Stack) error {
			return s.Initialize.Add(nothing("OTelInitializeMiddlewareBefore"), middleware.After)
		})
	})
	equal(t, "may rewrite", table.MayRewrite(client.Options()), true)
	equal(t, "may rewrite, without middleware", table.MayRewrite(tabletest.Client(t).Options()), false)
}

// fixedResponse is an HTTP client that gives every request the same response.
type fixedResponse struct {
	status int
	body   []byte
}

func (f fixedResponse) Do(*http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: f.status, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		ContentLength: int64(len(f.body)), Body: io.NopCloser(bytes.NewReader(f.body)),
	}, nil
}

func (f fixedResponse) table(tb testing.TB, ttl string, bySDK bool, settings ...func(*dynamodb.Options)) *table.Table {
	client := dynamodb.New(dynamodb.Options{
		Region: "eu-west-1", HTTPClient: f, Retryer: aws.NopRetryer{}, Credentials: aws.AnonymousCredentials{},
		BaseEndpoint: aws.String("http://127.0.0.1:1"), DisableValidateResponseChecksum: true,
	}, append(settings, idleIf(bySDK))...)
	tbl, err := table.New(client, schema.Table{Name: "Anything", TTLAttribute: ttl}, &table.Options{Now: options().Now, MaxAttempts: 1})
	must(tb, err)
	return tbl
}

// idle installs middleware that does nothing, which the table does not know of it.
func idle(o *dynamodb.Options) {
	o.APIOptions = append(o.APIOptions, func(*middleware.Stack) error { return nil })
}

// idleIf installs it, so that the SDK reads responses, or not.
func idleIf(bySDK bool) func(*dynamodb.Options) {
	if bySDK {
		return idle
	}
	return func(*dynamodb.Options) {}
}

// Outputs have all that the table asks for, except for the items.
func TestOutputsOfReads(t *testing.T) {
	t.Parallel()
	const item = `{"pk":{"S":"p"},"sk":{"S":"s"},"n":{"N":"1"}}`
	const consumed = `{"TableName":"Anything","CapacityUnits":2.5,"ReadCapacityUnits":2}`
	units := types.ConsumedCapacity{TableName: aws.String("Anything"), CapacityUnits: aws.Float64(2.5), ReadCapacityUnits: aws.Float64(2)}
	at := table.Item{"pk": str("p"), "sk": str("t")}
	key, other := keys.Key{PK: "p", SK: "s"}, keys.Key{PK: "p", SK: "t"}
	page := `{"Items":[` + item + `],"Count":1,"ScannedCount":7,"LastEvaluatedKey":{"pk":{"S":"p"},"sk":{"S":"t"}},"ConsumedCapacity":` + consumed + `}`
	for name, tt := range map[string]struct {
		response string
		call     func(context.Context, *table.Table) error
		want     any
	}{
		"Get": {
			`{"Item":` + item + `,"ConsumedCapacity":` + consumed + `}`,
			func(ctx context.Context, tbl *table.Table) error { return get(ctx, tbl, key) },
			&dynamodb.GetItemOutput{ConsumedCapacity: &units},
		},
		"TransactGet": {
			`{"Responses":[{"Item":` + item + `},{}],"ConsumedCapacity":[` + consumed + `]}`,
			func(ctx context.Context, tbl *table.Table) error {
				return second(table.TransactGet[account](ctx, tbl, []keys.Key{key, other}))
			},
			&dynamodb.TransactGetItemsOutput{Responses: make([]types.ItemResponse, 2), ConsumedCapacity: []types.ConsumedCapacity{units}},
		},
		"BatchGet": {
			`{"Responses":{"Anything":[` + item + `]},"UnprocessedKeys":{"Anything":{"Keys":[{"pk":{"S":"p"},"sk":{"S":"t"}}]}},"ConsumedCapacity":[` + consumed + `]}`,
			func(ctx context.Context, tbl *table.Table) error {
				if err := second(table.BatchGet[account](ctx, tbl, []keys.Key{key, other})); !errors.Is(err, table.ErrThrottled) {
					return fmt.Errorf("keys that remain: %w", err)
				}
				return nil
			},
			&dynamodb.BatchGetItemOutput{
				UnprocessedKeys:  map[string]types.KeysAndAttributes{"Anything": {Keys: []map[string]types.AttributeValue{at}}},
				ConsumedCapacity: []types.ConsumedCapacity{units},
			},
		},
		"QueryPage": {
			page,
			func(ctx context.Context, tbl *table.Table) error {
				return second(table.QueryPage[account](ctx, tbl, table.Query{PK: "p", Limit: 1}))
			},
			&dynamodb.QueryOutput{Count: 1, ScannedCount: 7, LastEvaluatedKey: at, ConsumedCapacity: &units},
		},
		"Count": {
			`{"Count":1,"ScannedCount":7,"LastEvaluatedKey":{"pk":{"S":"p"},"sk":{"S":"t"}},"ConsumedCapacity":` + consumed + `}`,
			func(ctx context.Context, tbl *table.Table) error {
				return second(tbl.Count(ctx, table.Query{PK: "p", Limit: 1}))
			},
			&dynamodb.QueryOutput{Count: 1, ScannedCount: 7, LastEvaluatedKey: at, ConsumedCapacity: &units},
		},
		"ScanPage": {
			page,
			func(ctx context.Context, tbl *table.Table) error {
				return second(table.ScanPage[account](ctx, tbl, table.Scan{Limit: 1}))
			},
			&dynamodb.ScanOutput{Count: 1, ScannedCount: 7, LastEvaluatedKey: at, ConsumedCapacity: &units},
		},
		"DoReturning, update": {
			`{"Attributes":` + item + `,"ConsumedCapacity":` + consumed + `}`,
			func(ctx context.Context, tbl *table.Table) error {
				return second(table.DoReturning[account](ctx, tbl, table.Update(key, setN(1))))
			},
			&dynamodb.UpdateItemOutput{ConsumedCapacity: &units},
		},
		"DoReturning, delete": {
			`{"Attributes":` + item + `,"ConsumedCapacity":` + consumed + `}`,
			func(ctx context.Context, tbl *table.Table) error {
				return second(table.DoReturning[account](ctx, tbl, table.Delete(key)))
			},
			&dynamodb.DeleteItemOutput{ConsumedCapacity: &units},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var seen []any
			tbl := fixedResponse{http.StatusOK, []byte(tt.response)}.table(t, "", false, watch(func(_, out any) { seen = append(seen, out) }))
			if err := tt.call(t.Context(), table.Directly(tbl)); err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff([]any{tt.want}, seen[:1], unexported, cmpopts.IgnoreTypes(middleware.Metadata{})); diff != "" {
				t.Errorf("outputs (-want +got):\n%s", diff)
			}
		})
	}
}

// An update whose response has no item has happened all the same.
func TestUpdateReturnsNoItem(t *testing.T) {
	t.Parallel()
	for _, bySDK := range []bool{false, true} {
		tbl := fixedResponse{http.StatusOK, []byte(`{}`)}.table(t, "", bySDK)
		got, err := table.DoReturning[account](t.Context(), tbl, table.Update(user, setN(1)))
		if !errors.Is(err, table.ErrOutcomeUnknown) || got != (account{}) {
			t.Errorf("by the SDK %v: %v, %v", bySDK, got, err)
		}
	}
}

// TestNothingExpires shows that without an attribute for it no item has an
// expiry, not even in an attribute without a name, which some engines store.
func TestNothingExpires(t *testing.T) {
	t.Parallel()
	for _, bySDK := range []bool{false, true} {
		tbl := fixedResponse{200, []byte(`{"Item":{"":{"N":"1"},"n":{"N":"7"}}}`)}.table(t, "", bySDK)
		got := expect.Value(table.Get[account](t.Context(), tbl, user))(t)
		equal(t, fmt.Sprintf("by the SDK %v", bySDK), got, account{N: 7})
	}
}

// TestShapesOfItems reads items whose shape is a number, and is none.
func TestShapesOfItems(t *testing.T) {
	t.Parallel()
	for shape, want := range map[string]int{`{"N":"0"}`: 0, `{"N":"2"}`: 2, `{"N":"-1"}`: -1, `{"N":"1.5"}`: -1, `{"S":"2"}`: -1} {
		for _, bySDK := range []bool{false, true} {
			response := fixedResponse{200, []byte(`{"Item":{"n":{"N":"7"},"entityType":{"S":"A"},"entityShape":` + shape + `}}`)}
			got := -1
			view := response.table(t, "", bySDK).Reading(item.Reading{Views: []item.View{{Type: "A", Shape: 1, Change: func(_ map[string]types.AttributeValue, shape int) error {
				got = shape
				return nil
			}}}})
			_, err := table.Get[account](t.Context(), view, user)
			if got != want || (err != nil) != (want < 0) {
				t.Errorf("%s: shape %d, %v; want %d", shape, got, err, want)
			}
		}
	}
}

func TestExpired(t *testing.T) {
	t.Parallel()
	tbl := fixedResponse{}.table(t, "ttl", false)
	second := func(after int64) string { return strconv.FormatInt(now.Unix()+after, 10) }
	for name, tt := range map[string]struct {
		ttl  types.AttributeValue
		want bool
	}{
		"missing":                  {nil, false},
		"a nil number":             {(*types.AttributeValueMemberN)(nil), false},
		"a nil text":               {(*types.AttributeValueMemberS)(nil), false},
		"nil bytes":                {(*types.AttributeValueMemberB)(nil), false},
		"0":                        {num("0"), false},
		"less than 1":              {num("0.999"), false},
		"1":                        {num("1"), true},
		"negative":                 {num("-1"), false},
		"this second":              {num(second(0)), true},
		"within this second":       {num(second(0) + ".5"), false},
		"the next second":          {num(second(1)), false},
		"text":                     {str("1"), false},
		"bytes":                    {bin("1"), false},
		"a number that is not one": {num("soon"), false},
	} {
		if got := tbl.Expired(table.Item{"ttl": tt.ttl}, now); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// endless is an HTTP client whose responses begin like those of DynamoDB and do
// not end.
type endless struct {
	status int
	read   atomic.Int64
}

func (e *endless) Do(*http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: e.status, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}}, ContentLength: -1,
		Body: io.NopCloser(io.MultiReader(strings.NewReader(`{"Item":{"a":{"S":"`), e)),
	}, nil
}

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	e.read.Add(int64(len(p)))
	return len(p), nil
}

// TestEndlessResponse shows that a response is read to a bound, whoever decodes
// it, and that a write with one is not said to have failed.
func TestEndlessResponse(t *testing.T) {
	t.Parallel()
	const about, item, page = 2 << 20, 30 << 20, 75 << 20
	for name, tt := range map[string]struct {
		call    func(context.Context, *table.Table, *dynamodb.Client) error
		most    int64
		unknown bool
	}{
		"Get": {func(ctx context.Context, tbl *table.Table, _ *dynamodb.Client) error { return get(ctx, tbl, user) }, item, false},
		"Put": {func(ctx context.Context, tbl *table.Table, _ *dynamodb.Client) error {
			return tbl.Do(ctx, table.Put(user, nil))
		}, item, true},
		"Delete": {func(ctx context.Context, tbl *table.Table, _ *dynamodb.Client) error {
			return tbl.Do(ctx, table.Delete(user))
		}, item, true},
		"Ensure": {func(ctx context.Context, tbl *table.Table, client *dynamodb.Client) error {
			return tbl.Schema().Ensure(ctx, client)
		}, about, false},
		"Verify": {func(ctx context.Context, tbl *table.Table, client *dynamodb.Client) error {
			return tbl.Schema().Verify(ctx, client)
		}, about, false},
		"QueryPage": {func(ctx context.Context, tbl *table.Table, _ *dynamodb.Client) error {
			return second(table.QueryPage[account](ctx, tbl, table.Query{PK: "A"}))
		}, page, false},
	} {
		for _, status := range []int{http.StatusOK, http.StatusInternalServerError} {
			for _, bySDK := range []bool{false, true} {
				e := &endless{status: status}
				client := dynamodb.New(dynamodb.Options{
					Region: "eu-west-1", HTTPClient: e, Retryer: aws.NopRetryer{}, Credentials: aws.AnonymousCredentials{},
					BaseEndpoint: aws.String("http://127.0.0.1:1"),
				}, idleIf(bySDK))
				tbl := expect.Value(table.New(client, appCore(), nil))(t)
				err := tt.call(t.Context(), tbl, client)
				if _, unread := errors.AsType[*smithy.DeserializationError](err); !unread || errors.Is(err, table.ErrOutcomeUnknown) != tt.unknown {
					t.Errorf("%s, status %d, by the SDK %v: %v", name, status, bySDK, err)
				}
				if n := e.read.Load(); n > tt.most {
					t.Errorf("%s, status %d, by the SDK %v: %d bytes were read", name, status, bySDK, n)
				}
			}
		}
	}
}

// TestLargestResponse reads the largest item in JSON that DynamoDB can return.
func TestLargestResponse(t *testing.T) {
	t.Parallel()
	element := `{"N":"0.` + strings.Repeat("0", 129) + `1"},`
	number := table.Item{"n": num("1e-130")}
	elements := (400<<10 - 100) / (1 + number.Size() - len("n"))
	body := `{"Item":{"a":{"L":[` + strings.Repeat(element, elements-1) + strings.TrimSuffix(element, ",") + `]}}}`
	for _, bySDK := range []bool{false, true} {
		got := expect.Value(table.Get[table.Item](t.Context(), fixedResponse{200, []byte(body)}.table(t, "", bySDK), user))(t)
		if size := got.Size(); size < 400<<10-200 || size > 400<<10 {
			t.Errorf("the item has %d bytes", size)
		}
	}
}

// readAll reads in every way, and returns what came of each.
func readAll[T any](ctx context.Context, t *table.Table) map[string]any {
	ks := []keys.Key{{PK: "p", SK: "s"}, {PK: "p", SK: "t"}}
	results := map[string]any{}
	keep := func(name string, result any, err error) {
		results[name] = result
		var broken *smithy.DeserializationError
		results[name+" error"] = fmt.Sprint(err, table.Classify(err), errors.As(err, &broken))
	}
	v, err := table.Get[T](ctx, t, ks[0])
	keep("Get", v, err)
	page, err := table.QueryPage[T](ctx, t, table.Query{PK: "p", Limit: 3})
	keep("QueryPage", []any{page.Items, page.Stats, page.Next != ""}, err)
	scan, err := table.ScanPage[T](ctx, t, table.Scan{})
	keep("ScanPage", []any{scan.Items, scan.Stats, scan.Next != ""}, err)
	found, err := table.TransactGet[T](ctx, t, ks)
	keep("TransactGet", found, err)
	found, err = table.BatchGet[T](ctx, t, ks)
	keep("BatchGet", found, err)
	rows, err := table.QueryRows[T](ctx, t, table.Query{PK: "p", Limit: 2}, nil)
	for i := range rows.Rows {
		rows.Rows[i].Size = 0 // which is about the size
	}
	keep("QueryRows", rows, err)
	count, err := t.Count(ctx, table.Query{PK: "p", Limit: 2})
	keep("Count", count, err)
	v, err = table.DoReturning[T](ctx, t, table.Update(ks[0], setN(1)))
	keep("DoReturning, update", v, err)
	v, err = table.DoReturning[T](ctx, t, table.Delete(ks[0]))
	keep("DoReturning, delete", v, err)
	return results
}

// unexported lets attribute values be compared.
var unexported = cmp.Exporter(func(reflect.Type) bool { return true })

// FuzzResponse shows that any response means the same whoever decodes it.
func FuzzResponse(f *testing.F) {
	for _, body := range []string{
		``, `{}`, `null`, `[]`, `{"Item":null}`, `{"Items":null}`, `{"Items":[null]}`, `{"Responses":[null]}`,
		`{"Item":{}}`, `{"Item":{"pk":{"S":"p"},"sk":{"S":"s"},"n":{"N":"1"}},"ConsumedCapacity":{"CapacityUnits":0.5}}`,
		`{"Item":{"":{"N":"1"},"pk":{"S":"p"}}}`, `{"Item":{"ttl":{"N":"1"},"n":{"N":"1"}}}`, `{"Item":{"a":{"S":"x","N":"1"}}}`, `{"Item":{"a":{"X":"x"}}}`,
		`{"Item":{"a":{"N":1}}}`, `{"Item":{"a":{"B":"AQ=="}}}`, `{"Item":{"a":{"B":"%"}}}`, `{"Item":{"a":{"NULL":true}}}`,
		"{ \"Item\" :\n{\t\"a\" : { \"S\" : \"x\" } } , \"Item\":{}}", `{"Item":{"a":{"S":"A\ud83d\ude00\n"}}}`, "{\"Item\":{\"a\":{\"S\":\"\xff\"}}}",
		`{"Count":2,"Items":[{"pk":{"S":"p"},"sk":{"S":"1"}},{"pk":{"S":"p"},"sk":{"S":"2"},"m":{"M":{"l":{"L":[{"SS":["a"]},{"NS":["1"]}]}}}}],"LastEvaluatedKey":{"pk":{"S":"p"},"sk":{"S":"2"}},"ScannedCount":2}`,
		`{"Count":4,"Items":[{"pk":{"S":"p"},"sk":{"S":"1"}},{"pk":{"S":"p"},"sk":{"S":"2"}},{"pk":{"S":"p"},"sk":{"S":"3"}},{"pk":{"S":"p"},"sk":{"S":"4"}}],"ScannedCount":4}`,
		`{"Responses":{"Anything":[{"pk":{"S":"p"},"sk":{"S":"t"}},{"pk":{"S":"p"},"sk":{"S":"s"},"a":{"S":"x"}}]}}`, `{"Responses":{"":[:{"S":"":`,
		`{"Responses":[{"Item":{"n":{"N":"1"}}},{}]}`, `{"Responses":[{"Item":{"n":{"N":"1"}}}]}`, `{"Responses":[{"Other":"x","Item":{}},{"Item":{"a":{"BOOL":false}}}],"More":[1.5e3,true,null]}`,
		`{"Items":[{"a":{"S":"x"}}]} trailing`, `{"Items":[{"a":{"S":"x"}},]}`, `{"Items":[{"a":{"S":"x"}}],}`, `{"x\"y":1,"Item":{"a":{"S":""}}}`,
		`{"Count":2,"Count":3,"Items":[]}`, `{"Count":1e0,"ScannedCount":2.0}`, `{"More":1,"More":2,"Item":{}}`, `{"Responses":{"Other":[{"pk":{"S":"p"}}]}}`,
		`{"Attributes":{"pk":{"S":"p"},"sk":{"S":"s"},"n":{"N":"1"}},"ConsumedCapacity":{"TableName":"Anything","CapacityUnits":1}}`,
		`{"Attributes":{"ttl":{"N":"1"}}}`, `{"Attributes":{}}`, `{"Attributes":null}`, `{"Attributes":{"a":{"S":"x"}},"Attributes":{}}`,
		`{"Responses":{"Anything":[]},"UnprocessedKeys":{"Anything":{"Keys":[{"pk":{"S":"p"},"sk":{"S":"s"}}],"ConsistentRead":true}}}`,
	} {
		f.Add(200, []byte(body))
	}
	f.Add(200, []byte(`{"Count":3,"Items":[{"pk":{"S":"p"},"sk":{"S":"1"}},{"pk":{"S":"p"},"sk":{"S":"2"}},{"pk":{"S":"p"},"sk":{"S":"3"}}],"ScannedCount":3}`))
	f.Add(300, []byte(`{"Item":{"n":{"N":"1"}}}`))
	f.Add(400, []byte(`{"__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException","message":"none"}`))
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		if status < 200 || status > 599 {
			return
		}
		fixed := fixedResponse{status, body}
		direct, sdk := fixed.table(t, "ttl", false), fixed.table(t, "ttl", true)
		if diff := cmp.Diff(readAll[table.Item](t.Context(), sdk), readAll[table.Item](t.Context(), direct), unexported); diff != "" {
			t.Errorf("items (-SDK +direct):\n%s", diff)
		}
		if diff := cmp.Diff(readAll[map[string]any](t.Context(), sdk), readAll[map[string]any](t.Context(), direct), unexported); diff != "" {
			t.Errorf("maps (-SDK +direct):\n%s", diff)
		}
	})
}

// DynamoDB returns the items of a batch in any order. The error is about the first
// key of those whose items cannot be read.
func TestBatchGetNamesTheFirstOfTheKeys(t *testing.T) {
	t.Parallel()
	item := func(sk string) string { return `{"pk":{"S":"USER#1"},"sk":{"S":"` + sk + `"},"n":{"S":"no number"}}` }
	ks := []keys.Key{{PK: "USER#1", SK: "A"}, {PK: "USER#1", SK: "B"}, {PK: "USER#1", SK: "C"}}
	for _, order := range [][]string{{"A", "B", "C"}, {"C", "B", "A"}, {"B", "C", "A"}} {
		response := fixedResponse{http.StatusOK, []byte(`{"Responses":{"Anything":[` + item(order[0]) + "," + item(order[1]) + "," + item(order[2]) + `]}}`)}
		err := second(table.BatchGet[account](t.Context(), response.table(t, "", false), ks))
		if failed, ok := table.FailedOp(err, ""); !ok || failed.OpNumber != 1 || failed.Key != ks[0] {
			t.Errorf("%v: %v", order, err)
		}
	}
}
