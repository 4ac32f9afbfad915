package conformance

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

func idempotencyTests() tests {
	return tests{
		"a request is one transaction":             idempotentOnce,
		"concurrent duplicates":                    idempotentConcurrent,
		"a reused key, other scopes":               idempotentKeys,
		"a lost response":                          idempotentLost,
		"a context that ends":                      idempotentContext,
		"a failed condition leaves the key usable": idempotentRefused,
		"an expired record is taken over":          idempotentExpired,
		"a deleted result":                         idempotentGone,
		"as many ops as there may be":              idempotentMost,
	}
}

// payments are the requests of these tests: each adds 1 to the user's number,
// on no condition, and creates an item under a new random id.
type payments struct {
	table *table.Table
	store *idempotency.Store
	mu    sync.Mutex
	drawn int
}

func newPayments(t *testing.T, tbl *table.Table) *payments {
	t.Helper()
	store := expect.Value(idempotency.New(tbl, nil))(t)
	return &payments{table: tbl, store: store}
}

type noteResult = idempotency.Result[note]

func (p *payments) do(ctx context.Context, r idempotency.Request, byReference bool) (noteResult, error) {
	return idempotency.Do(ctx, p.store, r, func(context.Context) (idempotency.Plan[note], error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.drawn++
		v := note{ID: fmt.Sprint("drawn-", p.drawn), N: p.drawn}
		ops := []table.Op{table.Update(user, addN(1)), table.Create(txKey(p.drawn), v)}
		if byReference {
			return idempotency.Reference(v, txKey(v.N), ops...), nil
		}
		return idempotency.Snapshot(v, ops...), nil
	})
}

// want executes the request and checks the result and the effects so far.
func (p *payments) want(t *testing.T, r idempotency.Request, replayed bool, effects int) noteResult {
	t.Helper()
	got := expect.Value(p.do(t.Context(), r, false))(t)
	equal(t, "replayed", got.Replayed, replayed)
	stored(t, p.table, user, note{N: effects})
	return got
}

var payment = idempotency.Request{Scope: "u-123", Key: "k", Payload: []byte(`{"a": 1, "b": 2}`)}

func idempotentOnce(t *testing.T, h Harness) {
	tbl, faults := h.withFaults(t, appCore(), nil)
	p := newPayments(t, tbl)
	first := p.want(t, payment, false, 1)
	equal(t, "requests", len(faults.Requests("TransactWriteItems")), 1)
	same := payment
	same.Payload = []byte(`{"b":2,"a":1}`)
	again := p.want(t, same, true, 1)
	equal(t, "result", again.Value, first.Value)
	absent(t, tbl, txKey(2))
}

func idempotentConcurrent(t *testing.T, h Harness) {
	const n = 64
	tbl := h.newTable(t, appCore())
	p := newPayments(t, tbl)
	results := make([]noteResult, n)
	var calls sync.WaitGroup
	for i := range results {
		own := expect.Value(table.New(h.Client(t), tbl.Schema(), options()))(t)
		store := expect.Value(idempotency.New(own, nil))(t)
		calls.Go(func() {
			v := note{ID: fmt.Sprint("drawn-", i), N: i}
			result, err := idempotency.Do(t.Context(), store, payment, func(context.Context) (idempotency.Plan[note], error) {
				return idempotency.Snapshot(v, table.Update(user, addN(1)), table.Create(txKey(i), v)), nil
			})
			if err != nil {
				t.Error(err)
			}
			results[i] = result
		})
	}
	calls.Wait()
	fresh := 0
	for _, r := range results {
		equal(t, "result", r.Value, results[0].Value)
		if !r.Replayed {
			fresh++
		}
	}
	equal(t, "not replayed", fresh, 1)
	p.want(t, payment, true, 1)
}

func idempotentKeys(t *testing.T, h Harness) {
	p := newPayments(t, h.newTable(t, appCore()))
	first := p.want(t, payment, false, 1)
	other := payment
	other.Payload = []byte(`{"a": 1, "b": 3}`)
	wantErr(t, expect.ErrOf(p.do(t.Context(), other, false)), idempotency.ErrPayloadMismatch)
	equal(t, "result", p.want(t, payment, true, 1).Value, first.Value)
	other.Scope = "u-456"
	p.want(t, other, false, 2)
}

func idempotentLost(t *testing.T, h Harness) {
	faults := after()
	faults["500 before"] = tabletest.Status(http.StatusInternalServerError, "InternalServerError", "Injected.")
	faults["dropped"] = tabletest.DropRequest()
	once := func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} }
	for name, fault := range faults {
		for _, retries := range []func(*dynamodb.Options){promptRetries, once} {
			var line tabletest.Faults
			p := newPayments(t, h.newTableWith(t, h.Client(t, retries, line.Install), appCore(), options()))
			line.Next("TransactWriteItems", fault, fault)
			first := p.want(t, payment, false, 1)
			if again := p.want(t, payment, true, 1); again.Value != first.Value {
				t.Errorf("%s: the result was %v, and is %v", name, first, again)
			}
		}
	}
}

func idempotentContext(t *testing.T, h Harness) {
	tbl, faults := h.withFaults(t, appCore(), nil)
	p := newPayments(t, tbl)
	ctx, cancel := context.WithCancelCause(t.Context())
	faults.Next("TransactWriteItems", hangUp(cancel))
	wantErr(t, expect.ErrOf(p.do(ctx, payment, false)), table.ErrOutcomeUnknown, context.Canceled, errGone)
	p.want(t, payment, true, 1)

	other := payment
	other.Key = "never sent"
	wantErr(t, expect.ErrOf(p.do(ctx, other, false)), context.Canceled)
	p.want(t, other, false, 2)
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

func idempotentExpired(t *testing.T, h Harness) {
	at := now
	tbl, _ := h.withFaults(t, appCore(), &table.Options{Now: func() time.Time { return at }})
	p := newPayments(t, tbl)
	r := payment
	r.TTL = time.Minute
	first := p.want(t, r, false, 1)
	at = now.Add(time.Minute - 1)
	equal(t, "result", p.want(t, r, true, 1).Value, first.Value)
	must(t, expect.ErrOf(p.store.Lookup(t.Context(), r)))

	at = now.Add(time.Minute)
	wantErr(t, expect.ErrOf(p.store.Lookup(t.Context(), r)), table.ErrNotFound)
	second := p.want(t, r, false, 2)
	record := expect.Value(p.store.Lookup(t.Context(), r))(t)
	equal(t, "created", record.CreatedAt, at)
	equal(t, "result", p.want(t, r, true, 2).Value, second.Value)
}

func idempotentGone(t *testing.T, h Harness) {
	p := newPayments(t, h.newTable(t, appCore()))
	first := p.want(t, payment, false, 1)
	must(t, p.table.Do(t.Context(), table.Delete(txKey(first.Value.N))))
	equal(t, "result", p.want(t, payment, true, 1).Value, first.Value)

	r := payment
	r.Key = "by reference"
	first = expect.Value(p.do(t.Context(), r, true))(t)
	again := expect.Value(p.do(t.Context(), r, true))(t)
	equal(t, "result", again, noteResult{Value: first.Value, Replayed: true})
	must(t, p.table.Do(t.Context(), table.Update(txKey(first.Value.N), setString("id", "changed"))))
	again = expect.Value(p.do(t.Context(), r, true))(t)
	equal(t, "the item as it is now", again.Value.ID, "changed")
	must(t, p.table.Do(t.Context(), table.Delete(txKey(first.Value.N))))
	err := expect.ErrOf(p.do(t.Context(), r, true))
	wantErr(t, err, idempotency.ErrResultGone, table.ErrNotFound)
	equal(t, "class", table.Classify(err), table.Permanent)
	absent(t, p.table, txKey(first.Value.N))
	stored(t, p.table, user, note{N: 2})
}

func idempotentMost(t *testing.T, h Harness) {
	p := newPayments(t, h.newTable(t, appCore()))
	ops := make([]table.Op, h.maxTransaction()-1)
	for i := range ops {
		ops[i] = table.Create(txKey(i), note{N: i})
	}
	for i := range 2 {
		first := expect.Value(idempotency.Exec(t.Context(), p.store, payment, func(context.Context) ([]table.Op, error) { return ops, nil }))(t)
		equal(t, "first", first, i == 0)
	}
	stored(t, p.table, txKey(len(ops)-1), note{N: len(ops) - 1})
}
