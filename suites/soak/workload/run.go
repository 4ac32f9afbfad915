package workload

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"go.uber.org/goleak"

	"github.com/singletable/singletable/suites/soak/nemesis"
	"github.com/singletable/singletable/suites/soak/report"
	"github.com/singletable/singletable/table/tabletest"
)

// phase is a part of a run, with its share of the time.
type phase struct {
	name  string
	share float64
	run   func(*world, context.Context, budget) error
}

// phases are the parts of a run, except for the one that kills the engine.
var phases = []phase{
	{"model", .25, (*world).modelPhase},
	{"collections", .2, (*world).collectionPhase},
	{"shared", .1, (*world).sharedPhase},
	{"transactions", .1, (*world).transactionPhase},
	{"processes", .1, (*world).processPhase},
	{"consumers", .1, (*world).consumerPhase},
}

// Run does all phases and counts in r what it did. Its error is about the run
// itself; promises that were broken are in the report. The engine is the one of
// [tabletest.Start]. One that it has not started is not killed, and the report
// says so.
func Run(ctx context.Context, c Config, r *report.Report) error {
	c = c.withDefaults()
	engine, err := tabletest.Start(ctx, nil)
	if err != nil {
		return err
	}
	defer engine.Close()
	for _, phase := range phases {
		err := leakless(c, r, func() (*world, error) {
			w, err := newTable(ctx, c, engine, r)
			if err != nil {
				return w, err
			}
			return w, errors.Join(phase.run(w, ctx, c.budget(phase.share)), w.close())
		})
		if err != nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
	}
	if Named() {
		r.Note("Not tried: %s. The engine is named by AWS_ENDPOINT_URL_DYNAMODB and is not ours to kill.", report.Engine)
		return nil
	}
	return leakless(c, r, func() (*world, error) { return enginePhase(ctx, c, r, c.budget(.15)) })
}

// Named reports whether the engine is one that the environment names.
func Named() bool { return os.Getenv("AWS_ENDPOINT_URL_DYNAMODB") != "" }

// Expected returns the promises and faults that a run must have tried.
func Expected() (promises []report.Promise, faults []string) {
	for _, p := range report.All() {
		if p != report.Engine || !Named() {
			promises = append(promises, p)
		}
	}
	for _, k := range append(nemesis.Faults(), nemesis.ClockJump, nemesis.ProcessKilled, nemesis.ConsumerKilled, nemesis.EngineKilled) {
		if k != nemesis.EngineKilled || !Named() {
			faults = append(faults, string(k))
		}
	}
	return promises, faults
}

// leakless runs a phase and checks that it has left no goroutine running and no
// connection open.
func leakless(c Config, r *report.Report, phase func() (*world, error)) error {
	others := goleak.IgnoreCurrent()
	w, err := phase()
	if w == nil || err != nil {
		return err
	}
	complaint := goleak.Find(others)
	if n := w.open.Load(); n != 0 {
		complaint = errors.Join(complaint, fmt.Errorf("%d connections are open", n))
	}
	r.Check(report.Leaks, fmt.Sprintf("seed %d", c.Seed), complaint)
	return nil
}

// budget returns a part of the run's time.
func (c Config) budget(share float64) budget {
	d := time.Duration(share * float64(c.Duration))
	return budget{ops: c.Ops, until: time.Now().Add(d), latest: time.Now().Add(max(4*d, time.Minute))}
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
