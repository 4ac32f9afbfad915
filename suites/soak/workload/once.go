package workload

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/suites/soak/checker"
	"github.com/singletable/singletable/suites/soak/report"
	"github.com/singletable/singletable/table"
)

// remembered is what the model knows of a request that was executed.
type remembered struct {
	payload int
	result  doc
	expires int64
	// reference means that the record has the result's key, not the result.
	reference bool
}

const (
	ownRequests   = 6
	requestExpiry = 2 * time.Hour
)

// request returns one of the worker's own requests.
func (w *worker) request(i, payload int) idempotency.Request {
	return idempotency.Request{
		Scope: "own", Key: fmt.Sprintf("%d-%d", w.id, i), Payload: idempotency.JSON(payload), TTL: requestExpiry,
	}
}

// idempotent asks for a request that may have been executed before.
func (w *worker) idempotent(store *idempotency.Store) operation {
	i, payload := w.r.IntN(ownRequests), w.r.IntN(8)/7
	r := w.request(i, payload)
	x := w.anyOp(w.anyKey(), true)
	result := w.doc(keys.Key{PK: w.partition(0), SK: keys.Ide.SK(keys.Int(w.op, 12))})
	counter := keys.Key{PK: w.partition(1), SK: keys.Ide.SK(keys.Int(i, 2))}
	count := w.stored(counter)
	count.N++
	ops := []table.Op{
		x.op, table.Create(result.key(), result),
		table.Update(counter, expression.Add(expression.Name("n"), expression.Value(1))),
	}
	s := operation{name: "idempotency Do", after: state{x.key: x.item, result.key(): encode(result), counter: encode(count)}}
	expect, replayed, reference := result, false, i%2 == 0
	plan := idempotency.Snapshot(result, ops...)
	if reference {
		plan = idempotency.Reference(result, result.key(), ops...)
	}
	if old, done := w.once[r.Key]; done && !w.clock.expired(old.expires) {
		expect, replayed = old.result, true
		w.unchanged(s)
		now, live := w.model.live(w.clock, old.result.key())
		switch {
		case old.payload != payload:
			s.want = []error{idempotency.ErrPayloadMismatch}
		case old.reference && !live:
			s.want = []error{idempotency.ErrResultGone}
		case old.reference:
			expect = now
		}
	}
	expires := w.clock.now().Add(requestExpiry).Unix()
	s.run = func(ctx context.Context) error {
		got, err := idempotency.Do(ctx, store, r, func(context.Context) (idempotency.Plan[doc], error) {
			return plan, nil
		})
		if err == nil {
			w.check(report.Result, checker.Equal(got, idempotency.Result[doc]{Value: expect, Replayed: replayed}))
		}
		return err
	}
	if !replayed {
		s.settled = func(done bool) {
			if done {
				w.once[r.Key] = remembered{payload, result, expires, reference}
			}
			w.check(report.Once, w.recordIs(r, done))
		}
	}
	return s
}

// recordIs checks that there is a record exactly if the request was executed.
func (w *worker) recordIs(r idempotency.Request, done bool) error {
	store, err := idempotency.New(w.calm, nil)
	if err != nil {
		return err
	}
	_, err = store.Lookup(context.Background(), r)
	if there := err == nil; there != done || !there && !errors.Is(err, table.ErrNotFound) {
		return fmt.Errorf("executed %t, the lookup of the record says: %w", done, orNone(err))
	}
	return nil
}

// forget deletes the result of a request, which a reference then has lost.
func (w *worker) forget() operation {
	key := w.once[w.request(w.r.IntN(ownRequests), 0).Key].result.key()
	if key.PK == "" {
		key = w.anyKey()
	}
	return operation{
		name: "Do", after: state{key: nil},
		run: func(ctx context.Context) error { return w.table.Do(ctx, table.Delete(key)) },
	}
}

// lookup looks for the record of a request.
func (w *worker) lookup(store *idempotency.Store) operation {
	r := w.request(w.r.IntN(ownRequests), 0)
	s := operation{name: "idempotency Lookup", run: func(ctx context.Context) error {
		_, err := store.Lookup(ctx, r)
		return err
	}}
	if old, done := w.once[r.Key]; !done || w.clock.expired(old.expires) {
		s.want = []error{table.ErrNotFound}
		if done {
			s.about = []report.Promise{report.Expired}
		}
	}
	return s
}

// evict removes the record of a request. A deletion can be repeated until it is
// done.
func (w *worker) evict(ctx context.Context, store *idempotency.Store) error {
	r := w.request(w.r.IntN(ownRequests), 0)
	w.evicting = r.Key
	err := w.turn(ctx, "idempotency Evict", func(ctx context.Context) error { return store.Delete(ctx, r) })
	if err == nil {
		w.evicting = ""
		delete(w.once, r.Key)
		w.check(report.Once, w.recordIs(r, false))
	}
	return err
}

// records checks after a restart of the engine that it has kept the records of
// all requests, except for the one that was being evicted, which may be gone.
func (w *worker) records() {
	for i := range ownRequests {
		r := w.request(i, 0)
		old, done := w.once[r.Key]
		if !done || w.clock.expired(old.expires) {
			continue
		}
		err := w.recordIs(r, true)
		if err != nil && w.evicting == r.Key {
			delete(w.once, r.Key)
			err = w.recordIs(r, false)
		}
		w.check(report.Engine, err)
	}
	w.evicting = ""
}

// message executes a message once.
func (w *worker) message(store *idempotency.Store) operation {
	r := w.request(w.r.IntN(ownRequests), 0)
	r.Scope, r.Payload = "messages "+r.Scope, idempotency.Payload{}
	name := "m" + r.Key
	counter := keys.Key{PK: w.partition(2), SK: keys.Ide.SK(keys.Str(name))}
	count := w.stored(counter)
	count.N++
	s := operation{name: "idempotency Once", after: state{counter: encode(count)}}
	old, done := w.once[name]
	replayed := done && !w.clock.expired(old.expires)
	if replayed {
		w.unchanged(s)
	}
	expires := w.clock.now().Add(requestExpiry).Unix()
	s.run = func(ctx context.Context) error {
		first, err := idempotency.Exec(ctx, store, r, func(context.Context) ([]table.Op, error) {
			return []table.Op{table.Update(counter, expression.Add(expression.Name("n"), expression.Value(1)))}, nil
		})
		if err == nil && first == replayed {
			w.check(report.Once, fmt.Errorf("first %t, want %t", first, !replayed))
		}
		return err
	}
	if !replayed {
		s.settled = func(done bool) {
			if done {
				w.once[name] = remembered{expires: expires}
			}
			w.check(report.Once, w.recordIs(r, done))
		}
	}
	return s
}
