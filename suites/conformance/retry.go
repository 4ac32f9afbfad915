package conformance

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

func retryTests() tests {
	return tests{
		"a transaction cancelled for passing reasons":  retryCancelled,
		"and not one cancelled for any other":          retryNotOther,
		"at most MaxAttempts times":                    retryBounded,
		"another transaction has another token":        retryTokens,
		"a transaction in progress":                    retryInProgress,
		"a single write that met a transaction":        retryConflict,
		"a read transaction that met a write":          retryTransactGet,
		"a condition that fails at the second attempt": retryThenCondition,
		"a read whose response breaks off":             retryCutOff,
		"an unreadable response":                       retryUnreadable,
	}
}

// retryCutOff holds with and without an observer.
func retryCutOff(t *testing.T, h Harness) {
	for name, observe := range map[string]func(context.Context, table.Event){"observed": func(context.Context, table.Event) {}, "not observed": nil} {
		opts := options()
		opts.Observe = observe
		tbl, faults := h.withFaults(t, appCore(), opts)
		must(t, tbl.Do(t.Context(), table.Put(user, note{N: 1})))
		for operation, read := range map[string]func() (int, error){
			"GetItem": func() (int, error) {
				v, err := table.Get[note](t.Context(), tbl, user)
				return v.N, err
			},
			"Query": func() (int, error) {
				page, err := table.QueryPage[note](t.Context(), tbl, table.Query{PK: user.PK})
				if err != nil {
					return 0, err
				}
				return page.Items[0].N, nil
			},
			"BatchGetItem": func() (int, error) {
				found, err := table.BatchGet[note](t.Context(), tbl, []keys.Key{user})
				if err != nil {
					return 0, err
				}
				return found[user].N, nil
			},
		} {
			faults.Next(operation, tabletest.Truncate())
			if n, err := read(); n != 1 || err != nil {
				t.Errorf("%s, %s: %d, %v", name, operation, n, err)
			}
		}
	}
}

// html is a fault that responds as a proxy does.
func html(status int, body string) tabletest.Fault {
	return func(r *http.Request, _ http.RoundTripper) (*http.Response, error) {
		return &http.Response{
			StatusCode: status, Header: http.Header{"Content-Type": {"text/html"}}, Request: r,
			Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
		}, nil
	}
}

// retryUnreadable checks what a response that is not DynamoDB's means to reads
// and to writes.
func retryUnreadable(t *testing.T, h Harness) {
	spec := h.newTable(t, appCore()).Schema()
	for name, tt := range map[string]struct {
		fault tabletest.Fault
		// unknown means that a write may have taken effect.
		unknown bool
	}{
		"500 in HTML":     {html(500, "<html>Internal server error"), true},
		"502 in HTML":     {html(502, "<html>Bad gateway"), true},
		"503 in HTML":     {html(503, "<html>Unavailable"), true},
		"504 in HTML":     {html(504, "<html>Timeout"), true},
		"502, empty":      {html(502, ""), true},
		"503 in JSON":     {html(503, `{"message": "Service Unavailable"}`), true},
		"408":             {html(408, ""), true},
		"429 in HTML":     {html(429, "<html>Slow down"), false},
		"429, empty":      {html(429, ""), false},
		"429 in JSON":     {html(429, `{"message": "Too Many Requests"}`), false},
		"400, garbled":    {html(400, `{"__type": "com.amazonaws`), false},
		"403 in HTML":     {html(403, "<html>Who are you"), false},
		"200, empty":      {html(200, ""), true},
		"200 in HTML":     {html(200, "<html>Sign in"), true},
		"200, cut off":    {html(200, `{"Item": {"n": {"N": "1"`), true},
		"garbled":         {tabletest.Corrupt(), true},
		"damaged":         {tabletest.BadChecksum(), true},
		"truncated":       {tabletest.Truncate(), true},
		"connection lost": {tabletest.DropRequest(), true},
	} {
		// Each has a client of its own, since the SDK limits the retries of one.
		var faults tabletest.Faults
		tbl := expect.Value(table.New(h.Client(t, promptRetries, faults.Install), spec, nil))(t)
		for call, run := range calls(tbl) {
			if call == "Check" || call == "Create" {
				continue // a Check writes nothing, but cannot know; a Create meets its own work
			}
			faults.Always("", tt.fault)
			err := run(t.Context())
			if err == nil || table.Classify(err) != table.Transient {
				t.Errorf("%s, %s: %v is %v", name, call, err, table.Classify(err))
			}
			reads := call == "Get" || call == "All" || call == "QueryPage" || call == "BatchGet" || call == "TransactGet"
			if errors.Is(err, table.ErrOutcomeUnknown) != (tt.unknown && !reads) {
				t.Errorf("%s, %s: %v", name, call, err)
			}
			if strings.HasPrefix(name, "429") {
				wantErr(t, err, table.ErrThrottled)
			}
			unprinted(t, err)
			// A single one is retried, unless the write would count twice.
			faults.Always("", nil)
			faults.Next("", tt.fault)
			if err := run(t.Context()); err != nil && !errors.Is(err, table.ErrNotFound) && call != "ADD" {
				t.Errorf("%s, %s: after one: %v", name, call, err)
			}
		}
	}
}

func retryCancelled(t *testing.T, h Harness) {
	for _, reason := range []string{"TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"} {
		tbl, faults := h.withFaults(t, appCore(), nil)
		faults.Next("TransactWriteItems",
			tabletest.CancelTransaction(reason, "None"), tabletest.CancelTransaction(reason, "TransactionConflict"))
		must(t, tbl.Transact(t.Context(), table.Update(user, addN(1)), table.Put(other, note{})))
		stored(t, tbl, user, note{N: 1})
		got := tokens(t, faults)
		if len(got) != 1 {
			t.Errorf("%s: tokens %v, want one for all attempts", reason, got)
		}
		for token, n := range got {
			if n != 3 || token == "" {
				t.Errorf("%s: %d requests with token %q, want 3", reason, n, token)
			}
		}
	}
}

func retryNotOther(t *testing.T, h Harness) {
	for _, tt := range []struct {
		reasons []string
		want    error
	}{
		{[]string{"ValidationError", "None"}, nil},
		{[]string{"TransactionConflict", "ValidationError"}, nil},
		{[]string{"ConditionalCheckFailed", "TransactionConflict"}, table.ErrConditionFailed},
		{[]string{"ItemCollectionSizeLimitExceeded", "None"}, table.ErrTooLarge},
		{[]string{"None", "None"}, nil},
		{nil, nil},
	} {
		tbl, faults := h.withFaults(t, appCore(), nil)
		faults.Next("TransactWriteItems", tabletest.CancelTransaction(tt.reasons...))
		err := tbl.Transact(t.Context(), table.Put(user, note{}), table.Put(other, note{}))
		tx, ok := errors.AsType[*table.TxError](err)
		if !ok || errors.Is(err, table.ErrOutcomeUnknown) || tt.want != nil && !errors.Is(err, tt.want) {
			t.Errorf("%v: %v", tt.reasons, err)
			continue
		}
		for _, failed := range tx.Failed {
			if tt.reasons[failed.Position-1] == "None" || failed.Err == nil {
				t.Errorf("%v: failed op %+v", tt.reasons, failed)
			}
		}
		equal(t, "requests", len(faults.Requests("TransactWriteItems")), 1)
		absent(t, tbl, user)
	}
}

func retryBounded(t *testing.T, h Harness) {
	opts := options()
	opts.MaxAttempts = 3
	tbl, faults := h.withFaults(t, appCore(), opts)
	faults.Always("TransactWriteItems", tabletest.CancelTransaction("TransactionConflict"))
	err := tbl.Transact(t.Context(), table.Put(user, note{}))
	wantErr(t, err, table.ErrConflict)
	wantNot(t, err, table.ErrOutcomeUnknown, table.ErrStale)
	equal(t, "class", table.Classify(err), table.Transient)
	equal(t, "requests", len(faults.Requests("TransactWriteItems")), 3)
	faults.Always("TransactWriteItems", tabletest.CancelTransaction("ThrottlingError"))
	wantErr(t, tbl.Do(t.Context(), table.Check(user, nIs(1))), table.ErrThrottled)
	equal(t, "requests", len(faults.Requests("TransactWriteItems")), 6)
}

func retryTokens(t *testing.T, h Harness) {
	tbl, faults := h.withFaults(t, appCore(), nil)
	op := table.Update(user, addN(1))
	for range 3 {
		faults.Next("TransactWriteItems", tabletest.CancelTransaction("TransactionConflict"))
		must(t, tbl.Transact(t.Context(), op))
	}
	stored(t, tbl, user, note{N: 3})
	got := tokens(t, faults)
	equal(t, "tokens", len(got), 3)
	for token, n := range got {
		if n != 2 || len(token) < 20 || len(token) > 36 {
			t.Errorf("%d requests with token %q", n, token)
		}
	}
}

func retryInProgress(t *testing.T, h Harness) {
	opts := options()
	opts.MaxElapsed = time.Second
	tbl, faults := h.withFaults(t, appCore(), opts)
	busy := tabletest.Status(http.StatusBadRequest, "TransactionInProgressException", "Injected.")
	faults.Next("TransactWriteItems", tabletest.DropResponse(), busy)
	must(t, tbl.Transact(t.Context(), table.Update(user, addN(1))))
	stored(t, tbl, user, note{N: 1})

	faults.Always("TransactWriteItems", busy)
	err := tbl.Transact(t.Context(), table.Update(user, addN(1)))
	wantErr(t, err, table.ErrOutcomeUnknown)
	// It promises that nothing was written.
	wantNot(t, err, table.ErrConflict)
}

func retryConflict(t *testing.T, h Harness) {
	conflict := tabletest.Status(http.StatusBadRequest, "TransactionConflictException", "Injected.")
	for call, op := range map[string]table.Op{
		"Put": table.Put(user, note{N: 1}), "Create": table.Create(user, note{N: 1}),
		"Update": table.Update(user, setN(1)), "ADD": table.Update(user, addN(1)),
	} {
		opts := options()
		opts.MaxAttempts = 3
		tbl, faults := h.withFaults(t, appCore(), opts)
		faults.Next("", conflict, conflict)
		if err := tbl.Do(t.Context(), op); err != nil {
			t.Errorf("%s: %v", call, err)
		}
		stored(t, tbl, user, note{N: 1})
		faults.Always("", conflict)
		err := tbl.Do(t.Context(), op)
		wantErr(t, err, table.ErrConflict)
		wantNot(t, err, table.ErrOutcomeUnknown, table.ErrStale)
		if _, ok := errors.AsType[*types.TransactionConflictException](err); !ok {
			t.Errorf("%s: the SDK's error is not reachable from %v", call, err)
		}
	}
}

func retryTransactGet(t *testing.T, h Harness) {
	opts := options()
	opts.MaxAttempts = 3
	tbl, faults := h.withFaults(t, appCore(), opts)
	must(t, tbl.Do(t.Context(), table.Put(user, note{N: 1})))
	conflict := tabletest.CancelTransaction("TransactionConflict", "None")
	faults.Next("TransactGetItems", conflict, conflict)
	read := func(ctx context.Context) ([]note, error) {
		got, err := table.TransactGet[note](ctx, tbl, []keys.Key{user, other})
		found, _ := inOrder(got, []keys.Key{user, other})
		return found, err
	}
	found, err := read(t.Context())
	must(t, err)
	equal(t, "found", numbers(found), []int{1})
	equal(t, "requests", len(faults.Requests("TransactGetItems")), 3)

	faults.Always("TransactGetItems", conflict)
	wantErr(t, expect.ErrOf(read(t.Context())), table.ErrConflict)
	equal(t, "requests", len(faults.Requests("TransactGetItems")), 6)

	faults.Always("TransactGetItems", tabletest.CancelTransaction("ValidationError", "None"))
	if _, err = read(t.Context()); err == nil || errors.Is(err, table.ErrConflict) {
		t.Errorf("error %v", err)
	}
	equal(t, "requests", len(faults.Requests("TransactGetItems")), 7)
}

func retryThenCondition(t *testing.T, h Harness) {
	tbl, faults := h.withFaults(t, appCore(), nil)
	faults.Next("TransactWriteItems", tabletest.CancelTransaction("TransactionConflict"))
	wantErr(t, tbl.Transact(t.Context(), table.Check(user, nIs(1))), table.ErrConditionFailed)

	conflict := tabletest.Status(http.StatusBadRequest, "TransactionConflictException", "Injected.")
	must(t, tbl.Do(t.Context(), table.Put(user, note{N: 1})))
	faults.Next("PutItem", conflict, tabletest.Throttle(), conflict)
	// All earlier attempts were refused, so that the item in the way is not ours,
	// equal as it is.
	wantErr(t, tbl.Do(t.Context(), table.Create(user, note{N: 1})), table.ErrExists)
}
