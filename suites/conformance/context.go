package conformance

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

func contextTests() tests {
	return tests{
		"that has ended sends nothing":                   contextEnded,
		"that ends after the work is an unknown outcome": contextEndsAfterWork,
		"that ends between retries ends the wait":        contextEndsInWait,
		"that ends during a read is its error":           contextEndsInRead,
	}
}

// calls are all calls that send requests about items.
func calls(tbl *table.Table) map[string]func(context.Context) error {
	q := table.Query{PK: user.PK}
	return map[string]func(context.Context) error{
		"Get":      func(ctx context.Context) error { return expect.ErrOf(table.Get[note](ctx, tbl, user)) },
		"BatchGet": func(ctx context.Context) error { return expect.ErrOf(table.BatchGet[note](ctx, tbl, []keys.Key{user})) },
		"TransactGet": func(ctx context.Context) error {
			return expect.ErrOf(table.TransactGet[note](ctx, tbl, []keys.Key{user}))
		},
		"QueryPage":  func(ctx context.Context) error { return expect.ErrOf(table.QueryPage[note](ctx, tbl, q)) },
		"All":        func(ctx context.Context) error { return expect.ErrOf(table.Collect(table.All[note](ctx, tbl, q))) },
		"Put":        func(ctx context.Context) error { return tbl.Do(ctx, table.Put(user, nil)) },
		"Create":     func(ctx context.Context) error { return tbl.Do(ctx, table.Create(user, nil)) },
		"Update":     func(ctx context.Context) error { return tbl.Do(ctx, table.Update(user, setN(1))) },
		"ADD":        func(ctx context.Context) error { return tbl.Do(ctx, table.Update(user, addN(1))) },
		"Delete":     func(ctx context.Context) error { return tbl.Do(ctx, table.Delete(user)) },
		"Check":      func(ctx context.Context) error { return tbl.Do(ctx, table.Check(user, nIs(1))) },
		"Transact":   func(ctx context.Context) error { return tbl.Transact(ctx, table.Put(user, nil)) },
		"BatchWrite": func(ctx context.Context) error { return tbl.BatchWrite(ctx, table.Put(user, nil)) },
	}
}

func contextEnded(t *testing.T, h Harness) {
	tbl, faults := h.withFaults(t, appCore(), nil)
	cancelled, cancelCause := context.WithCancelCause(t.Context())
	cancelCause(errGone)
	late, cancel := context.WithDeadlineCause(t.Context(), time.Unix(0, 0), errGone)
	defer cancel()
	for ctx, want := range map[context.Context]error{cancelled: context.Canceled, late: context.DeadlineExceeded} {
		for call, run := range calls(tbl) {
			err := run(ctx)
			if !errors.Is(err, want) || !errors.Is(err, errGone) || errors.Is(err, table.ErrOutcomeUnknown) || table.Classify(err) != table.Transient {
				t.Errorf("%s: %v (%v)", call, err, table.Classify(err))
			}
		}
	}
	equal(t, "requests", sent(faults), 0)
}

// errGone is why the contexts of these tests end.
var errGone = errors.New("the client has gone")

// hangUp is a fault that ends a context when the work was done, before the
// response has arrived.
func hangUp(cancel context.CancelCauseFunc) tabletest.Fault {
	return tabletest.After(func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		cancel(errGone)
		return tabletest.Block(nil)(r, next)
	})
}

func contextEndsAfterWork(t *testing.T, h Harness) {
	for _, call := range []string{"Put", "Create", "Update", "ADD", "Delete", "Transact", "BatchWrite"} {
		tbl, faults := h.withFaults(t, appCore(), nil)
		ctx, cancel := context.WithCancelCause(t.Context())
		faults.Next("", hangUp(cancel))
		err := calls(tbl)[call](ctx)
		if !errors.Is(err, table.ErrOutcomeUnknown) || !errors.Is(err, context.Canceled) || !errors.Is(err, errGone) {
			t.Errorf("%s: %v", call, err)
		}
		if call == "Delete" {
			continue
		}
		if _, err := table.Get[table.Item](t.Context(), tbl.Consistent(), user); err != nil {
			t.Errorf("%s: it was not executed: %v", call, err)
		}
	}
}

// contextEndsInWait checks the delays of the library's own retries.
func contextEndsInWait(t *testing.T, h Harness) {
	tbl, faults := h.withFaults(t, appCore(), nil)
	conflict := tabletest.CancelTransaction("TransactionConflict")
	for call, fault := range map[string]tabletest.Fault{
		"Transact":    conflict,
		"TransactGet": conflict,
		"BatchGet":    tabletest.Unprocessed(1),
		"BatchWrite":  tabletest.Unprocessed(1),
		"Put":         tabletest.Status(http.StatusBadRequest, "TransactionConflictException", "Injected."),
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		// The third refusal is the last one: the context ends with it.
		last := func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
			resp, err := fault(r, next)
			cancel(errGone)
			return resp, err
		}
		faults.Next("", fault, fault, last)
		before := sent(faults)
		err := calls(tbl)[call](ctx)
		if !errors.Is(err, context.Canceled) || !errors.Is(err, errGone) || errors.Is(err, table.ErrOutcomeUnknown) {
			t.Errorf("%s: %v", call, err)
		}
		equal(t, call+": requests", sent(faults)-before, 3)
	}
}

func contextEndsInRead(t *testing.T, h Harness) {
	for _, call := range []string{"Get", "BatchGet", "TransactGet", "QueryPage", "All"} {
		tbl, faults := h.withFaults(t, appCore(), nil)
		ctx, cancel := context.WithCancelCause(t.Context())
		faults.Next("", hangUp(cancel))
		err := calls(tbl)[call](ctx)
		if !errors.Is(err, context.Canceled) || !errors.Is(err, errGone) || errors.Is(err, table.ErrOutcomeUnknown) {
			t.Errorf("%s: %v", call, err)
		}
		equal(t, call+": requests", sent(faults), 1)
	}
	tbl, faults := h.withFaults(t, appCore(), nil)
	ctx, cancel := context.WithCancelCause(t.Context())
	faults.Always("BatchGetItem", hangUp(cancel))
	ks := make([]keys.Key, 3000)
	for i := range ks {
		ks[i] = keys.Key{PK: user.PK, SK: keys.SK(fmt.Sprint(i))}
	}
	_, err := table.BatchGet[note](ctx, tbl, ks)
	wantErr(t, err, context.Canceled)
	b, ok := errors.AsType[*table.Error](err)
	if !ok || len(b.Remaining) != len(ks) {
		t.Errorf("error %v; want all keys to remain", err)
	}
	if n := sent(faults); n > 8 {
		t.Errorf("%d requests after the end of the context", n)
	}
}
