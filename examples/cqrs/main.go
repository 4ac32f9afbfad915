// Cqrs shows a system for many tenants whose data is changed by commands only:
// each command names the version it was made for, and leaves behind the data at
// the next version, itself, and the history of that version. All of it is in one
// table, as are numbers for orders, a tree of departments, tasks with progress,
// and an import that is killed on the way and goes on.
//
// Run it from the root of the repository:
//
//	go run ./examples/cqrs
//
// It uses a local DynamoDB engine, which it starts and if need be installs, or
// the one that AWS_ENDPOINT_URL_DYNAMODB names.
package main

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/singletable/singletable/examples/internal/program"
	"github.com/singletable/singletable/examples/internal/report"
	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

var cqrs = program.Program{Name: "cqrs", Table: "Cqrs", Show: show}

func main() { cqrs.Main() }

// clock is a time that stands still until it is set, so that the program can
// live through a new year.
type clock struct{ now atomic.Pointer[time.Time] }

func (c *clock) set(t time.Time) { c.now.Store(&t) }

func (c *clock) read() time.Time { return *c.now.Load() }

// walk is the program proper: who asks, and where the answers are printed.
type walk struct {
	service     *service
	acme, other tenant
	clock       *clock
	out         report.Report
	// mortal returns the service as a process sees it that dies after so many
	// requests.
	mortal func(requests int) (*service, error)
}

// show makes the table and walks through the access patterns.
func show(ctx context.Context, engine *tabletest.Engine, name string, out report.Report) error {
	client, s := engine.Client(), schema(name)
	if err := s.Ensure(ctx, client); err != nil {
		return err
	}
	now := &clock{}
	now.set(time.Date(2024, 12, 31, 23, 59, 0, 0, time.UTC))
	// The tokens of pages are sealed. A service reads its keys from a secret.
	cursors, err := paginate.New([]paginate.Key{paginate.NewKey()}, nil)
	if err != nil {
		return err
	}
	options := &table.Options{Observe: out.Meter.Observe, Now: now.read, Cursors: cursors}
	open := func(client table.Client) (*service, error) {
		t, err := table.New(client, s, options)
		if err != nil {
			return nil, err
		}
		return newService(t)
	}
	svc, err := open(client)
	if err != nil {
		return err
	}
	return walk{
		service: svc, clock: now, out: out,
		acme:  svc.as(Caller{Tenant: "ACME", User: "ana", IP: "192.0.2.7"}),
		other: svc.as(Caller{Tenant: "GLOBEX", User: "bob", IP: "198.51.100.9"}),
		mortal: func(requests int) (*service, error) {
			faults := &tabletest.Faults{}
			faults.Next("", make([]tabletest.Fault, requests)...)
			faults.Always("", tabletest.DropRequest())
			return open(engine.Client(faults.Install))
		},
	}.all(ctx)
}
