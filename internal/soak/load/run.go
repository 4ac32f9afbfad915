package load

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/singletable/singletable/internal/soak/report"
	"github.com/singletable/singletable/table/tabletest"
)

// Run does all phases and counts in r what it did. Its error is about the run
// itself; promises that were broken are in the report.
func Run(ctx context.Context, c Config, r *report.Report) (err error) {
	c = c.withDefaults()
	engine, err := tabletest.Start(ctx, nil)
	if err != nil {
		return err
	}
	defer engine.Close()
	w, err := newWorld(ctx, c, engine, r)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	if err := w.modelPhase(ctx, c.budget(.5)); err != nil {
		return err
	}
	return w.sharedPhase(ctx, c.budget(.5))
}

// budget returns a part of the run, in hundredths.
func (c Config) budget(share float64) budget {
	return budget{ops: c.Ops, until: time.Now().Add(time.Duration(share * float64(c.Duration)))}
}

// parallel runs workers and returns what made them stop.
func (w *world) parallel(n int, work func(id int) error) error {
	errs := make([]error, n)
	var group sync.WaitGroup
	for id := range n {
		group.Go(func() { errs[id] = work(id) })
	}
	group.Wait()
	return errors.Join(errs...)
}
