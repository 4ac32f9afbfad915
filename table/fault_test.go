package table_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// isRead are the calls of [everyCall] that write nothing.
var isRead = map[string]bool{"Get": true, "BatchGet": true, "TransactGet": true, "QueryPage": true, "All": true, "ScanPage": true, "SearchVectors": true}

// succeed responds as an engine without items does.
func succeed(r *http.Request, next http.RoundTripper) (*http.Response, error) {
	body := "{}"
	if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".TransactGetItems") {
		body = `{"Responses":[{}]}`
	}
	return respond(http.StatusOK, body)(r, next)
}

// TestOutcomeOfAResponse shows for which responses a write may have taken effect, and that
// a call is repeated after one of them, unless its write would count twice.
func TestOutcomeOfAResponse(t *testing.T) {
	t.Parallel()
	refused := func(code string) tabletest.Fault { return tabletest.Status(http.StatusBadRequest, code, "Injected.") }
	for name, tt := range map[string]struct {
		fault tabletest.Fault
		// unknown means that a write may have taken effect.
		unknown bool
		want    error
		// once means that it is not repeated.
		once bool
	}{
		"500 in HTML":          {respond(500, "<html>Internal server error"), true, nil, false},
		"502 in HTML":          {respond(502, "<html>Bad gateway"), true, nil, false},
		"503 in HTML":          {respond(503, "<html>Unavailable"), true, nil, false},
		"504 in HTML":          {respond(504, "<html>Timeout"), true, nil, false},
		"502, empty":           {respond(502, ""), true, nil, false},
		"503 in JSON":          {respond(503, `{"message": "Service Unavailable"}`), true, nil, false},
		"408":                  {respond(408, ""), true, nil, false},
		"429 in HTML":          {respond(429, "<html>Slow down"), false, table.ErrThrottled, false},
		"429, empty":           {respond(429, ""), false, table.ErrThrottled, false},
		"429 in JSON":          {respond(429, `{"message": "Too Many Requests"}`), false, table.ErrThrottled, false},
		"400, garbled":         {respond(400, `{"__type": "com.amazonaws`), false, nil, false},
		"403 in HTML":          {respond(403, "<html>Who are you"), false, nil, false},
		"200, empty":           {respond(200, ""), true, nil, false},
		"200 in HTML":          {respond(200, "<html>Sign in"), true, nil, false},
		"200, cut off":         {respond(200, `{"Item": {"n": {"N": "1"`), true, nil, false},
		"connection lost":      {tabletest.DropRequest(), true, nil, false},
		"nobody listens":       {unreachable, false, nil, false},
		"throttled":            {tabletest.Throttle(), false, table.ErrThrottled, false},
		"throttled, account":   {refused("RequestLimitExceeded"), false, table.ErrThrottled, false},
		"throttled, door":      {refused("ThrottlingException"), false, table.ErrThrottled, false},
		"denied":               {refused("AccessDeniedException"), false, nil, true},
		"invalid":              {refused("ValidationException"), false, nil, true},
		"collection too large": {refused("ItemCollectionSizeLimitExceededException"), false, table.ErrTooLarge, true},
	} {
		outage(t, succeed, nil, func(t *testing.T, tbl *table.Table, faults *tabletest.Faults) {
			for call, run := range everyCall(tbl) {
				if call == "Check" || call == "Retry" {
					continue // a Check writes nothing, but cannot know
				}
				faults.Always("", tt.fault)
				err := run(t.Context())
				if err == nil || tt.want != nil && !errors.Is(err, tt.want) || !tt.once && table.Classify(err) != table.Transient {
					t.Errorf("%s, %s: %v is %v", name, call, err, table.Classify(err))
				}
				if errors.Is(err, table.ErrOutcomeUnknown) != (tt.unknown && !isRead[call]) {
					t.Errorf("%s, %s: %v", name, call, err)
				}
				faults.Always("", succeed)
				faults.Next("", tt.fault)
				before := len(faults.Requests())
				err = run(t.Context())
				once := tt.once || tt.unknown && call == "ADD"
				if repeated := len(faults.Requests())-before == 2; repeated == once || once == (err == nil || errors.Is(err, table.ErrNotFound)) {
					t.Errorf("%s, %s: after one: %v, repeated %v", name, call, err, repeated)
				}
			}
		})
	}
}

func unreachable(*http.Request, http.RoundTripper) (*http.Response, error) {
	return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
}

// TestCancelledTransactions shows which transactions are sent again, with the same token,
// and what is said of the others.
func TestCancelledTransactions(t *testing.T) {
	t.Parallel()
	ops := []table.Op{
		table.Update(user, expression.Add(expression.Name("n"), expression.Value(1))), table.Put(keys.Key{PK: "A", SK: "B"}, nil),
	}
	for _, tt := range []struct {
		reasons  []string
		requests int
		want     error
	}{
		{[]string{"TransactionConflict", "None"}, 3, table.ErrConflict},
		{[]string{"ThrottlingError", "TransactionConflict"}, 3, table.ErrThrottled},
		{[]string{"ProvisionedThroughputExceeded", "None"}, 3, table.ErrThrottled},
		{[]string{"ValidationError", "None"}, 1, nil},
		{[]string{"TransactionConflict", "ValidationError"}, 1, nil},
		{[]string{"ConditionalCheckFailed", "TransactionConflict"}, 1, table.ErrConditionFailed},
		{[]string{"ItemCollectionSizeLimitExceeded", "None"}, 1, table.ErrTooLarge},
		{[]string{"None", "None"}, 1, nil},
		{nil, 1, nil},
	} {
		cancel := tabletest.CancelTransaction(tt.reasons...)
		outage(t, cancel, &table.Options{MaxAttempts: 3}, func(t *testing.T, tbl *table.Table, faults *tabletest.Faults) {
			err := tbl.Transact(t.Context(), ops...)
			tx, ok := errors.AsType[*table.TxError](err)
			if !ok || errors.Is(err, table.ErrOutcomeUnknown) || tt.want != nil && !errors.Is(err, tt.want) {
				t.Fatalf("%v: %v", tt.reasons, err)
			}
			for _, failed := range tx.Failed {
				if tt.reasons[failed.OpNumber-1] == "None" || failed.Err == nil {
					t.Errorf("%v: failed op %+v", tt.reasons, failed)
				}
			}
			bodies := map[string]int{}
			for _, r := range faults.Requests() {
				bodies[string(r.Body)]++ // with its token
			}
			if len(bodies) != 1 || len(faults.Requests()) != tt.requests {
				t.Errorf("%v: requests by body: %v", tt.reasons, bodies)
			}
			read := func() error {
				return second(table.TransactGet[account](t.Context(), tbl, []keys.Key{user, {PK: "A", SK: "B"}}))
			}
			before := len(faults.Requests())
			if err := read(); errors.Is(tt.want, table.ErrConflict) && !errors.Is(err, table.ErrConflict) {
				t.Errorf("%v, a read: %v", tt.reasons, err)
			}
			if tt.want == nil || errors.Is(tt.want, table.ErrConflict) {
				equal(t, "requests of a read", len(faults.Requests())-before, tt.requests)
			}

			faults.Always("", succeed)
			faults.Next("", tabletest.CancelTransaction("TransactionConflict", "None"))
			must(t, tbl.Transact(t.Context(), ops...))
			for _, r := range faults.Requests("TransactWriteItems") {
				bodies[string(r.Body)]++
			}
			equal(t, "tokens of two transactions", len(bodies), 2)
		})
	}
}

// TestTransactionsRefusedWhole shows that a refusal without reasons is definite only if no
// earlier attempt may have taken effect, and a [table.TxError] only if it is for what the ops write.
func TestTransactionsRefusedWhole(t *testing.T) {
	t.Parallel()
	refused := func(message string) tabletest.Fault {
		return tabletest.Status(http.StatusBadRequest, "ValidationException", message)
	}
	large := refused("Item size to update has exceeded the maximum allowed size")
	lost := tabletest.Status(http.StatusInternalServerError, "InternalServerError", "Injected.")
	outage(t, succeed, nil, func(t *testing.T, tbl *table.Table, faults *tabletest.Faults) {
		for name, tt := range map[string]struct {
			faults []tabletest.Fault
			tx     bool
			class  table.Class
			want   error
		}{
			"too large":              {[]tabletest.Fault{large}, true, table.Permanent, table.ErrTooLarge},
			"too deep":               {[]tabletest.Fault{refused("Nesting Levels have exceeded supported limits: …")}, true, table.Permanent, nil},
			"after a lost response":  {[]tabletest.Fault{lost, large}, false, table.Transient, table.ErrOutcomeUnknown},
			"another table's schema": {[]tabletest.Fault{refused("The provided key element does not match the schema")}, false, table.Unclassified, nil},
		} {
			for count := 1; count <= 2; count++ {
				faults.Next("TransactWriteItems", tt.faults...)
				err := tbl.Transact(t.Context(), []table.Op{table.Update(user, setN(1)), table.Put(keys.Key{PK: "A", SK: "B"}, nil)}[:count]...)
				tx, is := errors.AsType[*table.TxError](err)
				if is != tt.tx || table.Classify(err) != tt.class || tt.want != nil && !errors.Is(err, tt.want) {
					t.Errorf("%s: %v is %v", name, err, table.Classify(err))
				}
				if is && len(tx.Failed) != 2-count {
					t.Errorf("%s of %d ops: failed %v", name, count, tx.Failed)
				}
			}
		}
	})
}

// TestContextEnds shows what calls return whose context has ended: before the request, while
// the response is on its way, and in the wait before a retry.
func TestContextEnds(t *testing.T) {
	t.Parallel()
	gone := errors.New("the client has gone")
	conflict := tabletest.CancelTransaction("TransactionConflict")
	waits := map[string]tabletest.Fault{
		"Transact": conflict, "TransactGet": conflict, "Put": tabletest.Status(http.StatusBadRequest, "TransactionConflictException", "Injected."),
		"BatchGet": unprocessed(func(n int) int { return n }), "BatchWrite": unprocessed(func(n int) int { return n }),
	}
	outage(t, succeed, nil, func(t *testing.T, tbl *table.Table, faults *tabletest.Faults) {
		calls := everyCall(tbl)
		delete(calls, "Retry")
		calls["BatchGet of 3000"] = func(ctx context.Context) error {
			err := second(table.BatchGet[account](ctx, tbl, someKeys(3000)))
			if b, ok := errors.AsType[*table.Error](err); !ok || len(b.Remaining) != 3000 {
				t.Errorf("%v; want all keys to remain", err)
			}
			return err
		}
		for call, run := range calls {
			ctx, cancel := context.WithCancelCause(t.Context())
			faults.Always("", func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
				cancel(gone)
				return tabletest.Block(nil)(r, next)
			})
			for _, sent := range []bool{true, false} {
				before := len(faults.Requests())
				err := run(ctx)
				unknown := sent && !isRead[call] && call != "BatchGet of 3000"
				if !errors.Is(err, context.Canceled) || !errors.Is(err, gone) || errors.Is(err, table.ErrOutcomeUnknown) != unknown || table.Classify(err) != table.Transient {
					t.Errorf("%s, sent %v: %v is %v", call, sent, err, table.Classify(err))
				}
				if n := len(faults.Requests()) - before; n > 8 || n > 0 != sent {
					t.Errorf("%s: %d requests", call, n)
				}
			}
			faults.Always("", succeed)
		}
		for call, fault := range waits {
			ctx, cancel := context.WithCancelCause(t.Context())
			faults.Next("", fault, fault, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
				defer cancel(gone)
				return fault(r, next)
			})
			before := len(faults.Requests())
			err := calls[call](ctx)
			if !errors.Is(err, context.Canceled) || !errors.Is(err, gone) || errors.Is(err, table.ErrOutcomeUnknown) {
				t.Errorf("%s, in a wait: %v", call, err)
			}
			equal(t, call+": requests before the wait", len(faults.Requests())-before, 3)
		}
	})
}
