package workload

import (
	"context"
	"slices"

	"github.com/singletable/singletable/suites/soak/report"
	"github.com/singletable/singletable/table/tabletest"
)

// RunAround runs the phases of those names in this process on an engine whose
// responses go through around.
func RunAround(ctx context.Context, c Config, r *report.Report, engine *tabletest.Engine, around func(tabletest.Fault) tabletest.Fault, names ...string) error {
	w, err := newTable(ctx, c.withDefaults(), engine, r)
	if err != nil {
		return err
	}
	w.around = around
	for _, p := range phases {
		if slices.Contains(names, p.name) && err == nil {
			err = p.run(w, ctx, c.budget(1))
		}
	}
	return err
}

// RunPlanted runs the consumers with a fault of their own.
func RunPlanted(ctx context.Context, c Config, r *report.Report, engine *tabletest.Engine, p Plant) error {
	w, err := newTable(ctx, c.withDefaults(), engine, r)
	if err != nil {
		return err
	}
	w.plant = p
	return w.consumerPhase(ctx, c.budget(1))
}
