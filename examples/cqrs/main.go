// Cqrs shows a system for many tenants whose data is changed by commands only:
// each command names the version it was made for, and leaves behind itself and the
// history of the next version. The handlers of the table's stream make everything else
// of it: the data as it stands and a catalogue, which is rebuilt from the history. They
// do tasks and imports, too. All of it is in one table, as are numbers for orders and a
// tree of departments. The program is the writer and the reader of the stream.
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
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/singletable/singletable/examples/internal/program"
	"github.com/singletable/singletable/examples/internal/report"
	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/stream"
	"github.com/singletable/singletable/stream/streamtest"
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
	// quiet is the service without the meter, for waiting.
	quiet *service
	out   report.Report
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
	open := func(client table.Client, options table.Options) (*service, error) {
		options.Now, options.Cursors = now.read, cursors
		t, err := table.New(client, s, &options)
		if err != nil {
			return nil, err
		}
		return newService(t)
	}
	metered := table.Options{Observe: out.Meter.Observe}
	svc, err := open(client, metered)
	if err != nil {
		return err
	}
	quiet, err := open(client, table.Options{})
	if err != nil {
		return err
	}
	router, err := quiet.router()
	if err != nil {
		return err
	}
	positions, err := table.New(client, s, nil) // on a clock that goes on
	if err != nil {
		return err
	}
	reader := stream.Reader{
		Name: "cqrs", Router: router, Client: streamtest.Client(client), Table: positions, Interval: 20 * time.Millisecond,
		Progress: func(p stream.Progress) {
			if p.Err != nil {
				slog.Warn("a change is delivered again", "error", p.Err)
			}
		},
	}
	return beside(ctx, reader.Run, walk{
		service: svc, quiet: quiet, clock: now, out: out,
		acme:  svc.as(Caller{Tenant: "ACME", User: "ana", IP: "192.0.2.7"}),
		other: svc.as(Caller{Tenant: "GLOBEX", User: "bob", IP: "198.51.100.9"}),
		mortal: func(requests int) (*service, error) {
			faults := &tabletest.Faults{}
			faults.Next("", make([]tabletest.Fault, requests)...)
			faults.Always("", tabletest.DropRequest())
			return open(engine.Client(faults.Install), metered)
		},
	}.all)
}

// beside runs do while the reader runs, which ends with it. An error of the reader ends
// do.
func beside(ctx context.Context, reader, do func(context.Context) error) error {
	ctx, end := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		end(reader(ctx))
	}()
	err := do(ctx)
	end(nil)
	<-ended
	if cause := context.Cause(ctx); err != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return err
}

var errLate = errors.New("the handlers have not come to it within a minute")

// until asks again until the answer is true, as a client does that waits for what
// follows from a write.
func until(ctx context.Context, done func() (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, errLate)
	defer cancel()
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(5 * time.Millisecond):
		}
	}
}
