package tabletest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/table/tabletest"
)

// noRetries shows each fault as it is.
func noRetries(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} }

func TestFaultOfAWrite(t *testing.T) {
	t.Parallel()
	released := make(chan struct{})
	close(released)
	internal := tabletest.Status(http.StatusInternalServerError, "InternalServerError", "as told")
	var broken tabletest.Faults
	broken.Always("", tabletest.DropRequest())

	for _, tt := range []struct {
		name    string
		fault   tabletest.Fault
		check   func(error) error
		written bool
	}{
		{"nothing", nil, isNil, true},
		{"drop request", tabletest.DropRequest(), isA[*net.OpError], false},
		{"drop response", tabletest.DropResponse(), isA[*net.OpError], true},
		{"truncate", tabletest.Truncate(), is(io.ErrUnexpectedEOF), true},
		{"corrupt", tabletest.Corrupt(), isA[*smithy.DeserializationError], true},
		{"status", internal, isA[*types.InternalServerError], false},
		{"after status", tabletest.After(internal), isA[*types.InternalServerError], true},
		{"after a lost request", func(r *http.Request, _ http.RoundTripper) (*http.Response, error) {
			return tabletest.After(internal)(r, &broken)
		}, isA[*net.OpError], false},
		{"throttle", tabletest.Throttle(), isA[*types.ProvisionedThroughputExceededException], false},
		{"block, released", tabletest.Block(released), isNil, true},
		{"after block, released", tabletest.After(tabletest.Block(released)), isNil, true},
		{"unprocessed", tabletest.Unprocessed(1), isAny, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var faults tabletest.Faults
			client := tabletest.Client(t, faults.Install, noRetries)
			name := createTable(t, client)
			faults.Next("PutItem", tt.fault)

			_, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &name, Item: item("1")})
			if err := tt.check(err); err != nil {
				t.Error(err)
			}
			if got := has(t, client, name, "1"); got != tt.written {
				t.Errorf("written: %t, want %t", got, tt.written)
			}
			put(t, client, name, "2") // The fault is used up.
		})
	}
}

func TestBlockUntilTheContextEnds(t *testing.T) {
	t.Parallel()
	for _, written := range []bool{false, true} {
		t.Run(fmt.Sprintf("written %t", written), func(t *testing.T) {
			t.Parallel()
			var faults tabletest.Faults
			client := tabletest.Client(t, faults.Install)
			name := createTable(t, client)
			ctx, cancel := context.WithCancel(t.Context())
			fault := tabletest.Fault(func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
				cancel()
				return tabletest.Block(nil)(r, next)
			})
			if written {
				fault = tabletest.After(fault)
			}
			faults.Next("PutItem", fault)

			_, err := client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &name, Item: item("1")})
			if err := is(context.Canceled)(err); err != nil {
				t.Error(err)
			}
			if got := has(t, client, name, "1"); got != written {
				t.Errorf("written: %t, want %t", got, written)
			}
		})
	}
}

func isNil(err error) error { return err }

func isAny(err error) error {
	if err == nil {
		return errors.New("no error")
	}
	return nil
}

func isA[E error](err error) error {
	if _, ok := errors.AsType[E](err); !ok {
		return fmt.Errorf("error %w is no %T", err, *new(E))
	}
	return nil
}

func is(want error) func(error) error {
	return func(err error) error {
		switch {
		case err == nil:
			return errors.New("no error")
		case !errors.Is(err, want):
			return fmt.Errorf("error %w; want %w", err, want)
		}
		return nil
	}
}

func TestCancelTransaction(t *testing.T) {
	t.Parallel()
	var faults tabletest.Faults
	client := tabletest.Client(t, faults.Install)
	name := createTable(t, client)
	faults.Next("TransactWriteItems", tabletest.CancelTransaction("None", "TransactionConflict"))

	_, err := client.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{
		TransactItems: []types.TransactWriteItem{
			{Put: &types.Put{TableName: &name, Item: item("1")}},
			{Put: &types.Put{TableName: &name, Item: item("2")}},
		},
	})
	cancelled, ok := errors.AsType[*types.TransactionCanceledException](err)
	if !ok {
		t.Fatalf("error %v", err)
	}
	var codes []string
	for _, r := range cancelled.CancellationReasons {
		codes = append(codes, aws.ToString(r.Code))
	}
	expect.Equal(t, "codes", codes, []string{"None", "TransactionConflict"})
	if !strings.Contains(cancelled.ErrorMessage(), "[None, TransactionConflict]") {
		t.Errorf("message %q", cancelled.ErrorMessage())
	}
	if got := len(faults.Requests("TransactWriteItems")); got != 1 {
		t.Errorf("%d requests; the SDK does not retry these", got)
	}
}

func TestNextAndAlways(t *testing.T) {
	t.Parallel()
	var faults tabletest.Faults
	client := tabletest.Client(t, faults.Install, noRetries)
	named := func(typ string) tabletest.Fault { return tabletest.Status(http.StatusBadRequest, typ, "") }
	faults.Next("", named("any first"), nil, named("any third"))
	faults.Next("PutItem", named("put first"))
	faults.Always("PutItem", named("put always"))
	faults.Always("", named("any always"))
	name := createTable(t, client) // Not an operation on items.

	get := func() error {
		return expect.ErrOf(client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &name, Key: item("1")}))
	}
	put := func() error {
		return expect.ErrOf(client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &name, Item: item("1")}))
	}
	var got []string
	for _, call := range []func() error{put, get, put, put, put, get} {
		err := call()
		if api, ok := errors.AsType[smithy.APIError](err); ok {
			got = append(got, api.ErrorCode())
		} else {
			got = append(got, fmt.Sprint(err))
		}
	}
	want := []string{"put first", "any first", "<nil>", "any third", "put always", "any always"}
	expect.Equal(t, "errors", got, want)

	faults.Always("PutItem", nil)
	faults.Always("", nil)
	if err := put(); err != nil {
		t.Errorf("without faults: %v", err)
	}
}

func TestRequests(t *testing.T) {
	t.Parallel()
	var faults tabletest.Faults
	client := tabletest.Client(t, faults.Install, noRetries)
	name := createTable(t, client)
	faults.Next("PutItem", tabletest.DropRequest())
	_, _ = client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &name, Item: item("1")})
	has(t, client, name, "1")

	want := []tabletest.Request{
		{Operation: "PutItem", Body: json.RawMessage(`{"TableName":"` + name + `","Item":{"pk":{"S":"1"}}}`)},
		{
			Operation: "GetItem",
			Body:      json.RawMessage(`{"TableName":"` + name + `","Key":{"pk":{"S":"1"}},"ConsistentRead":true}`),
		},
	}
	if diff := cmp.Diff(want, faults.Requests("GetItem", "PutItem"), cmp.Comparer(equalJSON)); diff != "" {
		t.Error(diff)
	}
	if got := faults.Requests(); len(got) != 3 || got[0].Operation != "CreateTable" {
		t.Errorf("all requests: %v", got)
	}
}

func equalJSON(a, b json.RawMessage) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && cmp.Equal(x, y)
}

func TestMaxInFlight(t *testing.T) {
	t.Parallel()
	const writers = 8
	var faults tabletest.Faults
	client := tabletest.Client(t, faults.Install)
	name := createTable(t, client)

	var arrived atomic.Int32
	all := make(chan struct{})
	faults.Always("PutItem", tabletest.Match(func(tabletest.Request) bool {
		if arrived.Add(1) == writers {
			close(all)
		}
		return true
	}, tabletest.Block(all)))
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			_, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &name, Item: item(fmt.Sprint(i))})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := faults.MaxInFlight(); got != writers {
		t.Errorf("%d in flight, want %d", got, writers)
	}
}

func TestFaultsUnderAnHTTPClient(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(w, r.Body)
	}))
	defer server.Close()
	faults := tabletest.Faults{Base: server.Client().Transport}
	client := &http.Client{Transport: &faults}

	for _, method := range []string{http.MethodGet, http.MethodPost} {
		r, err := http.NewRequestWithContext(t.Context(), method, server.URL, nil)
		if method == http.MethodPost {
			r, err = http.NewRequestWithContext(t.Context(), method, server.URL, strings.NewReader("hello"))
		}
		if err != nil {
			t.Fatal(err)
		}
		resp := expect.Value(client.Do(r))(t)
		_ = resp.Body.Close()
	}
	want := []tabletest.Request{{}, {Body: json.RawMessage("hello")}}
	expect.Equal(t, "requests", faults.Requests(), want)
}
