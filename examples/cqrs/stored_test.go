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
		service: s.service, clock: s.clock, out: report.Report{Out: io.Discard, Meter: &report.Meter{}},
		acme:  s.as(Caller{Tenant: "ACME", User: "ana", IP: "192.0.2.7"}),
		other: s.as(Caller{Tenant: "GLOBEX", User: "bob", IP: "198.51.100.9"}),
	}
	for _, pattern := range []func(context.Context) error{w.commands, w.numbers, w.tree} {
		check.OK(t, pattern(t.Context()))
	}
	generated.Part(t, "README.md", "stored", generated.Picture(t, schema("Cqrs"), generated.Stored(t, s.table), &tablemodel.Options{
		Partitions: 1, Attributes: []string{"name", "version", "expectedVersion", "seq"},
	}))
}
