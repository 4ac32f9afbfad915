package workload

import (
	"context"
	"fmt"
	"time"

	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/shard"
	"github.com/singletable/singletable/suites/soak/nemesis"
	"github.com/singletable/singletable/suites/soak/report"
)

// perSession is how many operations a worker does with one client.
const perSession = 100

// newWorker returns a worker whose model is that of an empty table.
func (w *world) newWorker(id int) *worker {
	return &worker{session: &session{world: w, clock: &clock{}}, id: id, model: state{}, once: map[string]remembered{}}
}

// budget says when a phase is over: after a number of operations for each
// worker, or at a time. On a slow machine that is put off until enough was done,
// but not for ever.
type budget struct {
	ops           int
	until, latest time.Time
	enough        func() bool
}

func (b budget) left(op int) bool {
	if b.ops > 0 {
		return op < b.ops
	}
	now := time.Now()
	return now.Before(b.until) || b.enough != nil && now.Before(b.latest) && !b.enough()
}

// modelPhase has each worker do random operations on keys of its own.
func (w *world) modelPhase(ctx context.Context, b budget) error {
	b.enough = func() bool {
		var all []string
		for _, k := range nemesis.Faults() {
			all = append(all, string(k))
		}
		return w.report.Complete([]report.Promise{report.Settled, report.Walk, report.Token, report.Expired}, all)
	}
	workers := make([]*worker, w.Workers)
	err := w.parallel(w.Workers, func(id int) error {
		workers[id] = w.newWorker(id)
		return workers[id].operations(ctx, 0, b, workers[id].generator)
	})
	if err != nil || ctx.Err() != nil {
		return err
	}
	return w.parallel(w.Workers, func(id int) error { return workers[id].sweep(ctx) })
}

// operations does the operations from a number on, as long as there is budget. open makes
// what does them, with a new client for each session.
func (w *worker) operations(ctx context.Context, from int, b budget, open func() (func(context.Context) error, error)) error {
	var do func(context.Context) error
	for op := from; b.left(op) && ctx.Err() == nil; op++ {
		if op%perSession == 0 {
			err := w.renew(op / perSession)
			if err == nil {
				w.op = op
				do, err = open()
			}
			if err != nil {
				return err
			}
		}
		w.draw(op)
		if w.r.IntN(8) == 0 {
			w.jump(time.Duration(w.r.IntN(13)-6) * leap)
		}
		if err := do(ctx); err != nil {
			return fmt.Errorf("%s: %w", w.where(), err)
		}
	}
	return nil
}

// renew gives a worker its n-th client. Half of them have an observer, and half of them, at any
// time, replay requests from the first one on. For the others the SDK's client makes every call.
func (w *worker) renew(n int) (err error) {
	w.session, err = w.newSession(w.clock, n%2 == 0, (n/2+w.id)%2 == 0)
	return err
}

// generator returns what draws one operation of any kind and does it.
func (w *worker) generator() (func(context.Context) error, error) {
	e, err := newEntities(w.table)
	if err != nil {
		return nil, err
	}
	store, err := idempotency.New(w.table, nil)
	if err != nil {
		return nil, err
	}
	// Readers have as many shards as the writers, or are to have more soon.
	readers := w.shards()
	readers.shards += w.op / perSession % 5
	reader, err := shard.New[doc](w.table, readers.index(), nil)
	return func(ctx context.Context) error { return w.generate(ctx, e, store, reader) }, err
}

// generate draws one operation of any kind and does it.
func (w *worker) generate(ctx context.Context, e entities, store *idempotency.Store, reader *shard.Reader[doc]) error {
	switch w.r.IntN(32) {
	case 0, 1, 2, 3, 4, 5:
		return w.do(ctx, w.one())
	case 6, 7:
		return w.do(ctx, w.transact())
	case 8:
		return w.do(ctx, w.transactPut())
	case 9:
		return w.do(ctx, w.batchWrite())
	case 10:
		return w.do(ctx, w.checkOnly())
	case 11:
		return w.do(ctx, w.get())
	case 12:
		return w.do(ctx, w.batchGet())
	case 13:
		return w.do(ctx, w.transactGet())
	case 14:
		return w.do(ctx, w.all())
	case 15, 16, 17:
		return w.walk(ctx)
	case 18:
		return w.do(ctx, w.latest(reader))
	case 19:
		return w.do(ctx, w.shardAll(reader))
	case 20:
		return w.shardWalk(ctx, reader)
	case 21, 22:
		return w.do(ctx, w.createMember(e))
	case 23:
		return w.do(ctx, w.putMember(e))
	case 24, 25:
		return w.do(ctx, w.updateMember(e))
	case 26:
		return w.do(ctx, w.deleteMember(e))
	case 27:
		return w.do(ctx, w.team(e))
	case 28:
		if w.r.IntN(2) == 0 {
			return w.do(ctx, w.getMembers(e))
		}
		return w.items(ctx)
	case 29, 30:
		return w.do(ctx, w.idempotent(store))
	default:
		switch w.r.IntN(6) {
		case 0:
			return w.do(ctx, w.lookup(store))
		case 1:
			return w.evict(ctx, store)
		case 2:
			return w.do(ctx, w.forget())
		}
		return w.do(ctx, w.message(store))
	}
}

// sweep compares everything that the worker has ever written with the model.
func (w *worker) sweep(ctx context.Context) error {
	ks := w.allKeys()
	got, err := w.read(ctx, ks)
	if err != nil {
		return err
	}
	w.check(report.Stored, wrap("at the end", differ(got, w.wanted(got))))
	for segments := range 4 {
		w.draw(w.op + 1)
		if err := w.scan(ctx, 1+segments); err != nil {
			return err
		}
	}
	return nil
}

// wanted returns the model for the keys of a state.
func (w *worker) wanted(got state) state {
	want := state{}
	for k := range got {
		want[k] = w.model[k]
	}
	return want
}
