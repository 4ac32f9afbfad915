package main

import (
	"context"
	"io"
	"testing"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/generated"
	"github.com/singletable/singletable/examples/internal/report"
	"github.com/singletable/singletable/table/tablemodel"
)

//go:generate go test . -run ^TestTheREADMEShowsWhatIsStored$ -update

func TestTheREADMEShowsWhatIsStored(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	w := walk{
		service: s.service, quiet: s.service, clock: s.clock, out: report.Report{Out: io.Discard, Meter: &report.Meter{}},
		acme:  s.as(Caller{Tenant: "ACME", User: "ana", IP: "192.0.2.7"}),
		other: s.as(Caller{Tenant: "GLOBEX", User: "bob", IP: "198.51.100.9"}),
	}
	reader := s.reader("cqrs", check.Must(s.router())(t))
	check.OK(t, beside(t.Context(), reader.Run, func(ctx context.Context) error {
		for _, pattern := range []func(context.Context) error{w.commands, w.numbers, w.tree} {
			if err := pattern(ctx); err != nil {
				return err
			}
		}
		return nil
	}))
	generated.Part(t, "README.md", "stored", generated.Picture(t, schema("Cqrs"), generated.Stored(t, s.table), &tablemodel.Options{
		Partitions: 1, Attributes: []string{"name", "version", "expectedVersion", "seq", "price", "lowest", "priceChanges"},
	}))
}
