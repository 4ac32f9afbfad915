package workload

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/suites/soak/nemesis"
	"github.com/singletable/singletable/suites/soak/report"
	"github.com/singletable/singletable/table/tabletest"
)

// enginePhase kills an engine that keeps its data in a file, again and again,
// while workers write, starts it again, and looks at what it has kept.
func enginePhase(ctx context.Context, c Config, r *report.Report, b budget) (w *world, err error) {
	dir, err := os.MkdirTemp("", "soak-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	options := &tabletest.Options{Path: filepath.Join(dir, "engine.db")}
	engine, err := tabletest.Start(ctx, options)
	if err != nil {
		return nil, err
	}
	defer func() { engine.Close() }()
	w, err = newTable(ctx, c, engine, r)
	if err != nil {
		return nil, err
	}
	workers := make([]*worker, c.Workers)
	for id := range workers {
		workers[id] = w.newWorker(id)
	}
	random := rand.New(rand.NewPCG(c.Seed, 1<<61))
	for n := 0; b.left(n*perSession/2) && ctx.Err() == nil; n++ {
		// Not before the workers have begun, and in the middle of what they do.
		life := 100*time.Millisecond + time.Duration(random.IntN(300))*time.Millisecond
		killed := make(chan struct{})
		timer := time.AfterFunc(life, func() {
			w.down.Store(true)
			engine.Close()
			close(killed)
		})
		err := w.parallel(len(workers), func(id int) error { return workers[id].untilDown(ctx, n) })
		if timer.Stop() {
			return nil, err
		}
		<-killed
		if err != nil {
			return nil, err
		}
		r.Fault(string(nemesis.EngineKilled))
		w.http.CloseIdleConnections()
		if engine, err = tabletest.Start(ctx, options); err != nil {
			return nil, err
		}
		w.engine.Store(engine)
		w.down.Store(false)
		if err := w.parallel(len(workers), func(id int) error { return workers[id].recover(ctx) }); err != nil {
			return nil, err
		}
	}
	return w, w.close()
}

// untilDown does operations until the engine is killed.
func (w *worker) untilDown(ctx context.Context, life int) error {
	const perLife = perSession << 14 // more than an engine lives to see
	err := w.operations(ctx, life*perLife, budget{ops: (life + 1) * perLife}, w.generator)
	if w.down.Load() {
		return nil
	}
	return cmp.Or(err, ctx.Err())
}

// recover settles the write during which the engine was killed, and compares
// everything that the worker has ever been told with what the engine has kept.
func (w *worker) recover(ctx context.Context) error {
	if err := w.renew(0); err != nil {
		return err
	}
	if p := w.pending; p != nil {
		w.pending = nil
		if err := w.checkState(ctx, p.operation, p.err); err != nil {
			return err
		}
	}
	var ks []keys.Key
	for k := range w.model {
		ks = append(ks, k)
	}
	got, err := w.read(ctx, ks)
	if err != nil {
		return err
	}
	w.check(report.Engine, differ(got, w.model))
	w.records()
	return nil
}
