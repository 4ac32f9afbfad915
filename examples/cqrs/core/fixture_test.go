package core

import (
	"context"
	"crypto/rand"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/stream"
	"github.com/singletable/singletable/stream/streamtest"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// clock is a time that stands still until it is set.
type clock struct{ now atomic.Pointer[time.Time] }

func (c *clock) set(t time.Time) { c.now.Store(&t) }

func (c *clock) read() time.Time { return *c.now.Load() }

// system is an application with a table of its own and a clock that is set by
// the test.
type system struct {
	*Service
	client *dynamodb.Client
	clock  *clock
	// positions is the table of the readers, whose clock goes on.
	positions *table.Table
}

func newSystem(t *testing.T) system {
	t.Helper()
	return newSystemWith(t, tabletest.Client(t))
}

func newSystemWith(t *testing.T, client *dynamodb.Client) system {
	t.Helper()
	now := &clock{}
	now.set(time.Date(2024, 6, 1, 12, 0, 0, 0, time.UTC))
	cursors := check.Must(paginate.New([]paginate.Key{paginate.NewKey()}, nil))(t)
	tbl := tabletest.NewWith(t, client, Schema("any"), &table.Options{Now: now.read, Cursors: cursors})
	svc := check.Must(New(tbl, nil))(t)
	return system{
		Service: svc, client: client, clock: now,
		positions: tabletest.New(t, schema.Table{Name: "positions"}, nil),
	}
}

// through returns the same application as another process sees it, whose
// requests meet the faults and are not repeated by the SDK.
func (s system) through(t *testing.T, faults *tabletest.Faults) *Service {
	t.Helper()
	client := tabletest.Client(t, faults.Install, func(o *dynamodb.Options) { o.RetryMaxAttempts = 1 })
	tbl := check.Must(table.New(client, s.table.Schema(), &table.Options{Now: s.clock.read}))(t)
	return check.Must(New(tbl, nil))(t)
}

// reader returns a reader of the table's stream.
func (s system) reader(name string, router *stream.Router) stream.Reader {
	return stream.Reader{
		Name: name, Router: router, Client: streamtest.Client(s.client), Table: s.positions, Interval: 5 * time.Millisecond,
	}
}

// settle gives all changes to the handlers, and those that the handlers make, until
// they have nothing left to do.
func (s system) settle(t *testing.T) {
	t.Helper()
	s.settleAs(t, "settle")
}

// settleAs is settle for a reader of that name: a new one begins with the first change
// of the table.
func (s system) settleAs(t *testing.T, name string) {
	t.Helper()
	for {
		var faults tabletest.Faults
		handlers := s.through(t, &faults)
		marker := keys.Key{PK: keys.Prefix("MARKER").PK(name), SK: keys.None.SK(keys.Str(rand.Text()))}
		ctx, cancel := context.WithCancel(t.Context())
		router := check.Must(stream.New(handlers.table, nil, append(handlers.Handlers(), stream.OnOther(
			func(_ context.Context, c stream.Change[table.Item]) error {
				if c.Key == marker {
					cancel()
				}
				return nil
			}))...))(t)
		check.OK(t, s.table.Do(t.Context(), table.Put(marker, table.Item{})))
		err := s.reader(name, router).Run(ctx)
		cancel()
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if len(faults.Requests()) == 0 {
			return
		}
	}
}

func (s system) acme() Tenant {
	return s.as(Caller{Tenant: "ACME", User: "ana", IP: "192.0.2.7"})
}

func codesOf(rs []Record) []string {
	var codes []string
	for _, r := range rs {
		codes = append(codes, r.Code)
	}
	return codes
}

// checkAudit checks that the read model of tenants is as the history says.
func checkAudit(t *testing.T, who ...Tenant) {
	t.Helper()
	for _, w := range who {
		if _, ok, err := w.Audit(t.Context()); err != nil || !ok {
			t.Errorf("tenant %q: as the history says: %t, error %v", w.caller.Tenant, ok, err)
		}
	}
}
