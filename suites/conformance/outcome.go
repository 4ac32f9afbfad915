package conformance

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

func outcomeTests() tests {
	return tests{
		"a lost response is settled by a retry":                 lostResponse,
		"a Create does not trip over its own work":              lostCreate,
		"a Create that met an item is never a success":          lostCreateOverForeign,
		"a conditional Put does not trip over its own work":     lostConditionalPut,
		"a condition that failed on its own work is unknown":    lostConditional,
		"a Transact has one effect":                             lostTransact,
		"without a response the outcome is unknown":             neverResponded,
		"without the SDK's retries one lost response is enough": lostWithoutRetries,
		"a refusal is not unknown":                              refusals,
		"a refusal says nothing of a send that is delayed":      delayedSend,
		"a request that never left is not unknown":              unreachable,
	}
}

// after are the ways in which a response is lost after the work was done.
func after() map[string]tabletest.Fault {
	return map[string]tabletest.Fault{
		"lost":      tabletest.DropResponse(),
		"truncated": tabletest.Truncate(),
		"500":       tabletest.After(tabletest.Status(http.StatusInternalServerError, "InternalServerError", "Injected.")),
		"503":       tabletest.After(tabletest.Status(http.StatusServiceUnavailable, "ServiceUnavailable", "Injected.")),
	}
}

func lostResponse(t *testing.T, h Harness) {
	for name, fault := range after() {
		tbl, faults := h.withFaults(t, appCore(), nil)
		must(t, tbl.Do(t.Context(), table.Put(user, note{N: 1})))
		for i, op := range []table.Op{
			table.Put(user, note{N: 2}), table.Update(user, setN(3)), table.Delete(user), table.Delete(user),
		} {
			before := sent(faults)
			faults.Next("", fault)
			if err := tbl.Do(t.Context(), op); err != nil {
				t.Errorf("%s, op %d: %v", name, i, err)
			}
			equal(t, name+": requests", sent(faults)-before, 2)
		}
		faults.Next("BatchWriteItem", fault)
		must(t, tbl.BatchWrite(t.Context(), table.Put(user, note{N: 4})))
		stored(t, tbl, user, note{N: 4})
	}
}

func lostCreate(t *testing.T, h Harness) {
	for name, fault := range after() {
		tbl, faults := h.withFaults(t, appCore(), nil)
		must(t, tbl.Do(t.Context(), table.Put(user, note{N: 1, ExpiresAt: 5})))
		item := table.Item{"n": num("2.50"), "ss": set("b", "a"), "l": list(num("1E2"), str("x"))}
		for _, op := range []table.Op{table.Create(user, item), table.Create(other, item).If(nIs(1).Not())} {
			faults.Next("PutItem", fault)
			if err := tbl.Do(t.Context(), op); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		must(t, expect.ErrOf(table.Get[table.Item](t.Context(), tbl, other)))
	}
}

func lostCreateOverForeign(t *testing.T, h Harness) {
	for name, fault := range after() {
		tbl, faults := h.withFaults(t, appCore(), nil)
		must(t, tbl.Do(t.Context(), table.Put(user, note{N: 1})))
		faults.Next("PutItem", fault)
		err := tbl.Do(t.Context(), table.Create(user, note{N: 2}))
		// The first attempt may have been executed, and its item replaced.
		if !errors.Is(err, table.ErrOutcomeUnknown) && !errors.Is(err, table.ErrExists) {
			t.Errorf("%s: %v", name, err)
		}
		stored(t, tbl, user, note{N: 1})
	}
}

func lostConditionalPut(t *testing.T, h Harness) {
	tbl, faults := h.withFaults(t, appCore(), nil)
	must(t, tbl.Do(t.Context(), table.Put(user, note{N: 1})))
	faults.Next("PutItem", tabletest.DropResponse())
	must(t, tbl.Do(t.Context(), table.Put(user, note{N: 2}).If(nIs(1))))
	stored(t, tbl, user, note{N: 2})
}

func lostConditional(t *testing.T, h Harness) {
	tbl, faults := h.withFaults(t, appCore(), nil)
	for _, op := range []table.Op{table.Update(user, setN(2)).If(nIs(1)), table.Delete(user).If(nIs(1))} {
		must(t, tbl.Do(t.Context(), table.Put(user, note{N: 1})))
		faults.Next("", tabletest.DropResponse())
		err := tbl.Do(t.Context(), op)
		wantErr(t, err, table.ErrOutcomeUnknown)
		// These promise that nothing was written.
		wantNot(t, err, table.ErrConditionFailed, table.ErrConflict, table.ErrExists)
		equal(t, "class", table.Classify(err), table.Transient)
	}
}

func lostTransact(t *testing.T, h Harness) {
	for name, fault := range after() {
		tbl, faults := h.withFaults(t, appCore(), nil)
		faults.Next("TransactWriteItems", fault)
		err := tbl.Transact(t.Context(), table.Update(user, addN(1)), table.Create(other, note{N: 1}))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		stored(t, tbl, user, note{N: 1})
		equal(t, name+": tokens", len(tokens(t, faults)), 1)
		equal(t, name+": requests", len(faults.Requests("TransactWriteItems")), 2)
	}
}

// tokens returns the different tokens of the transactions sent, and how often
// each was.
func tokens(t *testing.T, faults *tabletest.Faults) map[string]int {
	t.Helper()
	all := map[string]int{}
	for _, r := range faults.Requests("TransactWriteItems") {
		all[bodyField(t, r, "ClientRequestToken")]++
	}
	return all
}

// everyWrite are calls that write something.
func everyWrite(t *testing.T, tbl *table.Table) map[string]func() error {
	ctx := t.Context()
	return map[string]func() error{
		"Put":        func() error { return tbl.Do(ctx, table.Put(user, note{N: 1})) },
		"Create":     func() error { return tbl.Do(ctx, table.Create(txKey(1), note{N: 1})) },
		"Update":     func() error { return tbl.Do(ctx, table.Update(txKey(2), setN(1))) },
		"ADD":        func() error { return tbl.Do(ctx, table.Update(txKey(3), addN(1))) },
		"Delete":     func() error { return tbl.Do(ctx, table.Delete(txKey(4))) },
		"Transact":   func() error { return tbl.Transact(ctx, table.Create(txKey(5), note{N: 1})) },
		"BatchWrite": func() error { return tbl.BatchWrite(ctx, table.Put(txKey(6), note{N: 1})) },
	}
}

func neverResponded(t *testing.T, h Harness) {
	for name, fault := range after() {
		tbl, faults := h.withFaults(t, appCore(), nil)
		faults.Always("", fault)
		for call, run := range everyWrite(t, tbl) {
			err := run()
			if !errors.Is(err, table.ErrOutcomeUnknown) || table.Classify(err) != table.Transient {
				t.Errorf("%s, %s: %v", name, call, err)
			}
			wantNot(t, err, table.ErrConditionFailed, table.ErrExists, table.ErrThrottled, table.ErrConflict)
		}
		faults.Always("", nil)
		stored(t, tbl, txKey(3), note{N: 1})
	}
}

func lostWithoutRetries(t *testing.T, h Harness) {
	var faults tabletest.Faults
	once := func(o *dynamodb.Options) { o.RetryMaxAttempts = 1 }
	tbl := h.newTableWith(t, h.Client(t, once, faults.Install), appCore(), options())
	for call, run := range everyWrite(t, tbl) {
		before := sent(&faults)
		faults.Next("", tabletest.DropResponse())
		err := run()
		if !errors.Is(err, table.ErrOutcomeUnknown) {
			t.Errorf("%s: %v", call, err)
		}
		equal(t, call+": requests", sent(&faults)-before, 1)
	}
}

func refusals(t *testing.T, h Harness) {
	tbl, faults := h.withFaults(t, appCore(), nil)
	for name, tt := range map[string]struct {
		fault tabletest.Fault
		want  error
	}{
		"throttled": {tabletest.Throttle(), table.ErrThrottled},
		"throttled by the account": {
			tabletest.Status(http.StatusBadRequest, "RequestLimitExceeded", "Injected."), table.ErrThrottled,
		},
		"throttled at the door": {
			tabletest.Status(http.StatusBadRequest, "ThrottlingException", "Injected."), table.ErrThrottled,
		},
		"denied":  {tabletest.Status(http.StatusBadRequest, "AccessDeniedException", "Injected."), nil},
		"invalid": {tabletest.Status(http.StatusBadRequest, "ValidationException", "Injected."), nil},
		"collection too large": {
			tabletest.Status(http.StatusBadRequest, "ItemCollectionSizeLimitExceededException", "Injected."), table.ErrTooLarge,
		},
	} {
		faults.Always("", tt.fault)
		for call, run := range everyWrite(t, tbl) {
			err := run()
			if err == nil || tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("%s, %s: %v", name, call, err)
			}
			wantNot(t, err, table.ErrOutcomeUnknown)
		}
	}
	faults.Always("", nil)
	absent(t, tbl, user)
}

// delayed is a fault that breaks the connection and lets the request arrive when
// release is closed. arrived is closed after that.
func delayed(release <-chan struct{}, arrived chan<- struct{}) tabletest.Fault {
	return func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		r = r.Clone(context.WithoutCancel(r.Context()))
		go func() {
			defer close(arrived)
			<-release
			if resp, err := next.RoundTrip(r); err == nil {
				_ = resp.Body.Close()
			}
		}()
		return tabletest.DropRequest()(r, next)
	}
}

// delayedSend shows that a write which can still arrive is not called refused,
// since the refusal of a transaction does not use up its token.
func delayedSend(t *testing.T, h Harness) {
	once := func(o *dynamodb.Options) { o.RetryMaxAttempts = 1 }
	for name, retries := range map[string]func(*dynamodb.Options){"one attempt": once, "three": promptRetries} {
		var faults tabletest.Faults
		tbl := h.newTableWith(t, h.Client(t, retries, faults.Install), appCore(), options())
		for refusal, refuse := range map[string]tabletest.Fault{
			"condition": nil, // n is 0 as yet
			"conflict":  tabletest.CancelTransaction("TransactionConflict"),
			"throttled": tabletest.Throttle(),
			"denied":    tabletest.Status(http.StatusBadRequest, "AccessDeniedException", "Injected."),
		} {
			must(t, tbl.Do(t.Context(), table.Put(user, note{})))
			release, arrived := make(chan struct{}), make(chan struct{})
			faults.Next("TransactWriteItems", delayed(release, arrived))
			faults.Always("TransactWriteItems", refuse)
			err := tbl.Transact(t.Context(), table.Update(user, addN(1)).If(nIs(7)))
			wantErr(t, err, table.ErrOutcomeUnknown)
			wantNot(t, err, table.ErrConditionFailed, table.ErrConflict, table.ErrThrottled)
			equal(t, name+", "+refusal+": class", table.Classify(err), table.Transient)
			if _, ok := errors.AsType[*table.TxError](err); ok {
				t.Errorf("%s, %s: %v promises that nothing was written", name, refusal, err)
			}

			// Now it is true, and the first send arrives.
			faults.Always("TransactWriteItems", nil)
			must(t, tbl.Do(t.Context(), table.Put(user, note{N: 7})))
			close(release)
			<-arrived
			stored(t, tbl, user, note{N: 8})
		}
		// What DynamoDB has responded to is not on its way.
		faults.Next("TransactWriteItems", tabletest.Status(http.StatusInternalServerError, "InternalServerError", "Injected."))
		err := tbl.Transact(t.Context(), table.Update(user, addN(1)).If(nIs(0)))
		if name == "three" {
			wantErr(t, err, table.ErrConditionFailed)
			wantNot(t, err, table.ErrOutcomeUnknown)
		}
	}
}

func unreachable(t *testing.T, h Harness) {
	// A port that is closed at once, so that nobody listens there.
	server := closedServer(t)
	client := h.Client(t, promptRetries, func(o *dynamodb.Options) { o.BaseEndpoint = &server })
	tbl := expect.Value(table.New(client, h.newTable(t, appCore()).Schema(), nil))(t)
	for call, run := range everyWrite(t, tbl) {
		err := run()
		if err == nil || table.Classify(err) != table.Transient || errors.Is(err, table.ErrOutcomeUnknown) {
			t.Errorf("%s: %v (%v)", call, err, table.Classify(err))
		}
	}
}
