package load

import (
	"context"

	"github.com/singletable/singletable/internal/suites/soak/report"
	"github.com/singletable/singletable/table/tabletest"
)

// RunAround runs the phases of workers in this process on an engine whose responses
// go through around: that of collections alone, or the others.
func RunAround(ctx context.Context, c Config, r *report.Report, engine *tabletest.Engine, around func(tabletest.Fault) tabletest.Fault, collections bool) error {
	w, err := newTable(ctx, c.withDefaults(), engine, r)
	if err != nil {
		return err
	}
	w.around = around
	if collections {
		return w.collectionPhase(ctx, c.budget(1))
	}
	if err := w.modelPhase(ctx, c.budget(1)); err != nil {
		return err
	}
	return w.sharedPhase(ctx, c.budget(1))
}
