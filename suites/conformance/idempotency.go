package conformance

import (
	"context"
	"fmt"
	"testing"

	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/table"
)

func idempotencyTests() tests {
	return tests{
		"a request is one transaction":             idempotentOnce,
		"a failed condition leaves the key usable": idempotentRefused,
	}
}

// payments adds 1 to the user's number, on no condition, and creates an item under a
// new id with each plan.
type payments struct {
	table *table.Table
	store *idempotency.Store
	drawn int
}

func newPayments(t *testing.T, tbl *table.Table) *payments {
	t.Helper()
	return &payments{table: tbl, store: expect.Value(idempotency.New(tbl, nil))(t)}
}

type noteResult = idempotency.Result[note]

// want executes the request and checks the result and the effects so far.
func (p *payments) want(t *testing.T, r idempotency.Request, replayed bool, effects int) noteResult {
	t.Helper()
	got, err := idempotency.Do(t.Context(), p.store, r, func(context.Context) (idempotency.Plan[note], error) {
		p.drawn++
		v := note{ID: fmt.Sprint("drawn-", p.drawn), N: p.drawn}
		return idempotency.Snapshot(v, table.Update(user, addN(1)), table.Create(txKey(p.drawn), v)), nil
	})
	must(t, err)
	equal(t, "replayed", got.Replayed, replayed)
	stored(t, p.table, user, note{N: effects})
	return got
}

var payment = idempotency.Request{Scope: "u-123", Key: "k", Payload: idempotency.Text(`{"a": 1, "b": 2}`)}

func idempotentOnce(t *testing.T, h Harness) {
	tbl, faults := h.withFaults(t, appCore(), nil)
	p := newPayments(t, tbl)
	first := p.want(t, payment, false, 1)
	equal(t, "requests", len(faults.Requests("TransactWriteItems")), 1)
	same := payment
	same.Payload = idempotency.Text(`{"b":2,"a":1}`)
	again := p.want(t, same, true, 1)
	equal(t, "result", again.Value, first.Value)
	absent(t, tbl, txKey(2))
}

func idempotentRefused(t *testing.T, h Harness) {
	p := newPayments(t, h.newTable(t, appCore()))
	must(t, p.table.Do(t.Context(), table.Put(user, note{})))
	buy := func() (noteResult, error) {
		return idempotency.Do(t.Context(), p.store, payment, func(context.Context) (idempotency.Plan[note], error) {
			return idempotency.Snapshot(note{N: 7}, table.Update(user, addN(-1)).If(nIs(1)).WithName("stock")), nil
		})
	}
	_, err := buy()
	wantErr(t, err, table.ErrConditionFailed)
	wantNot(t, err, idempotency.ErrPayloadMismatch, table.ErrOutcomeUnknown)
	wantErr(t, expect.ErrOf(p.store.Lookup(t.Context(), payment)), table.ErrNotFound)

	must(t, p.table.Do(t.Context(), table.Put(user, note{N: 1})))
	for i := range 2 { // the second fails on the stock too
		got := expect.Value(buy())(t)
		equal(t, "result", got, noteResult{Value: note{N: 7}, Replayed: i > 0})
		stored(t, p.table, user, note{N: 0})
	}
}
