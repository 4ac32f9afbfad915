package table_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// TestEvents shows what the event of each request says: its partition keys, its
// attempts, and why attempts were throttled that the SDK has repeated.
func TestEvents(t *testing.T) {
	t.Parallel()
	var faults tabletest.Faults
	var events []table.Event
	opts := options()
	opts.Observe = func(_ context.Context, e table.Event) { events = append(events, e) }
	client := tabletest.Client(t, faults.Install)
	tbl := tabletest.NewWith(t, client, appCore(), opts)
	a, b := keys.Key{PK: keys.User.PK("a"), SK: keys.Profile}, keys.Key{PK: keys.User.PK("b"), SK: keys.Profile}
	ctx, hot := t.Context(), "TableWriteKeyRangeThroughputExceeded"
	for name, tt := range map[string]struct {
		operation string
		fault     tabletest.Fault
		call      func() error
		want      []keys.PK
		reasons   []string
	}{
		"Put":    {"PutItem", tabletest.Throttle(hot), func() error { return tbl.Do(ctx, table.Put(a, nil)) }, []keys.PK{a.PK}, []string{hot}},
		"Update": {"UpdateItem", tabletest.Throttle(), func() error { return tbl.Do(ctx, table.Patch(a, nil, "x")) }, []keys.PK{a.PK}, []string{"ProvisionedThroughputExceededException"}},
		"Delete": {"DeleteItem", nil, func() error { return tbl.Do(ctx, table.Delete(b)) }, []keys.PK{b.PK}, nil},
		"Transact": {
			"TransactWriteItems", tabletest.CancelTransaction("None", "ThrottlingError"),
			func() error { return tbl.Transact(ctx, table.Put(a, nil), table.Delete(b)) },
			[]keys.PK{a.PK, b.PK},
			[]string{"ThrottlingError"},
		},
		"BatchWrite": {"BatchWriteItem", nil, func() error { return tbl.BatchWrite(ctx, table.Put(a, nil), table.Delete(b)) }, []keys.PK{a.PK, b.PK}, nil},
		"Get":        {"GetItem", nil, func() error { return get(ctx, tbl, a) }, []keys.PK{a.PK}, nil},
		"BatchGet": {"BatchGetItem", nil, func() error {
			_, err := table.BatchGet[table.Item](ctx, tbl, []keys.Key{a, b})
			return err
		}, []keys.PK{a.PK, b.PK}, nil},
		"TransactGet": {"TransactGetItems", nil, func() error {
			_, err := table.TransactGet[table.Item](ctx, tbl, []keys.Key{a, b})
			return err
		}, []keys.PK{a.PK, b.PK}, nil},
		"Query": {"Query", nil, func() error {
			_, err := table.QueryPage[table.Item](ctx, tbl, table.Query{Index: "GSI1", PK: "GLOBAL_TX"})
			return err
		}, []keys.PK{"GLOBAL_TX"}, nil},
		"Scan": {"Scan", nil, func() error {
			_, err := table.ScanPage[table.Item](ctx, tbl, table.Scan{})
			return err
		}, nil, nil},
	} {
		expect.OK(t, tbl.Do(ctx, table.Put(a, nil)))
		events = nil
		if tt.fault != nil {
			faults.Next(tt.operation, tt.fault)
		}
		expect.OK(t, tt.call())
		var partitions []keys.PK
		var reasons []string
		attempts := 0
		for _, e := range events {
			attempts += e.Attempts
			batch := strings.Contains(tt.operation, "Batch") || strings.HasPrefix(tt.operation, "Transact")
			if e.Operation != tt.operation || e.Table != tbl.Schema().Name || e.Duration <= 0 || e.Batch > 0 != batch || (e.Index == "GSI1") != (name == "Query") {
				t.Errorf("%s: %+v", name, e)
			}
			partitions = e.Partitions
			for _, r := range e.Throttles {
				reasons = append(reasons, aws.ToString(r.Reason))
			}
		}
		slices.Sort(partitions)
		expect.Equal(t, name+": partitions", partitions, tt.want)
		expect.Equal(t, name+": attempts", attempts, map[bool]int{true: 1, false: 2}[tt.fault == nil])
		if last := events[len(events)-1]; last.Err != nil || len(events) > 1 && (events[0].Err == nil || events[0].Capacity != 0) {
			t.Errorf("%s: %+v", name, events)
		}
		expect.Equal(t, name+": reasons", reasons, tt.reasons)
	}
	events = nil
	expect.Err(t, get(ctx, tbl, keys.Key{}), keys.ErrInvalid)
	expect.Equal(t, "events of what is refused before", len(events), 0)

	// An observer of the context is told as much as one of the table.
	seen := table.WithObserver(ctx, opts.Observe)
	unobserved := expect.Value(table.New(client, tbl.Schema(), nil))(t)
	expect.OK(t, unobserved.Do(seen, table.Put(a, nil)))
	expect.OK(t, unobserved.Transact(seen, table.Patch(a, nil, "x"), table.Delete(b), table.CheckMissing(keys.Key{PK: "c", SK: "d"})))
	expect.Equal(t, "partitions of a put", events[0].Partitions, []keys.PK{a.PK})
	expect.Equal(t, "partitions of a transaction", events[1].Partitions, []keys.PK{a.PK, b.PK, "c"})
}

// The partition key of an index with several attributes has them all.
func TestEventsOfMultiKeyPartitions(t *testing.T) {
	t.Parallel()
	_, client, _ := faultyTable(t, matches(), cannedTimes(0, 0, "", ""))
	spec := matches()
	spec.Indexes[0].PKs = append(spec.Indexes[0].PKs, schema.Attribute{Name: "season", Type: types.ScalarAttributeTypeN})
	var got []keys.PK
	tbl := expect.Value(table.New(client, spec, &table.Options{Observe: func(_ context.Context, e table.Event) { got = e.Partitions }}))(t)
	expect.OK(t, expect.ErrOf(table.QueryPage[match](t.Context(), tbl, table.Query{Index: "byRound", PKs: []string{"WINTER", "EU", "7"}})))
	expect.Equal(t, "partitions", got, []keys.PK{"WINTER#EU#7"})
}

// wrapper is a client that is not the SDK's.
type wrapper struct {
	table.Client
	err error
}

func (w wrapper) PutItem(ctx context.Context, in *dynamodb.PutItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	if w.err != nil {
		return nil, w.err
	}
	return w.Client.PutItem(ctx, in)
}

// TestOtherClients shows that a write by a client about whose attempts nothing
// is known is not taken for settled. A client without HTTP, such as DAX, says by its
// error whether a write was refused.
func TestOtherClients(t *testing.T) {
	t.Parallel()
	client := tabletest.Client(t)
	spec := tabletest.NewWith(t, client, appCore(), nil).Schema()
	throttled := &types.ProvisionedThroughputExceededException{ThrottlingReasons: []types.ThrottlingReason{{Reason: aws.String("Hot")}}}
	refused := &smithy.GenericAPIError{Code: "Any", Fault: smithy.FaultClient}
	failed := &smithy.GenericAPIError{Code: "Any", Fault: smithy.FaultServer}
	for err, want := range map[error]error{
		io.ErrUnexpectedEOF: table.ErrOutcomeUnknown, throttled: table.ErrThrottled, refused: refused, failed: table.ErrOutcomeUnknown, nil: nil,
	} {
		var events []table.Event
		tbl, failure := table.NewWithClient(wrapper{client, err}, spec, &table.Options{
			Observe: func(_ context.Context, e table.Event) { events = append(events, e) },
		})
		expect.OK(t, failure)
		got := tbl.Do(t.Context(), table.Put(user, nil))
		if !errors.Is(got, want) || (got == nil) != (want == nil) || errors.Is(got, table.ErrOutcomeUnknown) != errors.Is(want, table.ErrOutcomeUnknown) {
			t.Errorf("%v: %v, want %v", err, got, want)
		}
		if len(events) != 1 || events[0].Attempts != 1 {
			t.Errorf("events %+v", events)
			continue
		}
		if got := len(events[0].Throttles) == 1; got != errors.Is(want, table.ErrThrottled) {
			t.Errorf("%v: throttles %+v", err, events[0].Throttles)
		}
	}
}

func TestStatsAdd(t *testing.T) {
	t.Parallel()
	got := table.Stats{Items: 1, Scanned: 2, Requests: 3, Capacity: 0.5}.
		Add(table.Stats{Items: 10, Scanned: 20, Requests: 30, Capacity: 4})
	expect.Equal(t, "sum", got, table.Stats{Items: 11, Scanned: 22, Requests: 33, Capacity: 4.5})
}

// TestBatchesUnwindTheirCaller lets an observer panic in a goroutine of the library.
func TestBatchesUnwindTheirCaller(t *testing.T) {
	t.Parallel()
	tbl, _ := newTable(t, appCore())
	for name, call := range map[string]func(context.Context) error{
		"BatchGet": func(ctx context.Context) error {
			return expect.ErrOf(table.BatchGet[account](ctx, tbl, []keys.Key{user}))
		},
		"BatchWrite": func(ctx context.Context) error { return tbl.BatchWrite(ctx, table.Put(user, nil)) },
	} {
		expect.Unwinds(t, name, func(unwind func()) {
			_ = call(table.WithObserver(t.Context(), func(context.Context, table.Event) { unwind() }))
		})
	}
}
