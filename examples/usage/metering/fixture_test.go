package metering_test

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/usage/metering"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

const (
	day = 24 * time.Hour
	// What the zero options mean.
	rangeDays = 1825
	retention = 1830 * day
)

// fixture is a metering on a table of its own, with faults to inject and a clock
// that stands still until it is moved.
type fixture struct {
	*metering.Consumer
	*metering.Reader
	table  *table.Table
	faults *tabletest.Faults
	clock  atomic.Int64
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{faults: &tabletest.Faults{}}
	f.clock.Store(ten.Add(time.Hour).Unix())
	// What the SDK would repeat is for the queue to repeat here.
	client := tabletest.Client(t, f.faults.Install, func(o *dynamodb.Options) { o.RetryMaxAttempts = 1 })
	f.table = tabletest.NewWith(t, client, metering.Schema("any"), &table.Options{
		Now:         func() time.Time { return time.Unix(f.clock.Load(), 0).UTC() },
		MaxAttempts: 1,
	})
	f.Consumer = check.Must(metering.NewConsumer(f.table, nil))(t)
	f.Reader = check.Must(metering.NewReader(f.table, nil))(t)
	return f
}

func (f *fixture) move(d time.Duration) { f.clock.Add(int64(d / time.Second)) }

// delivery returns a message as SQS delivers it.
func delivery(t *testing.T, id string, m metering.Message) metering.Delivery {
	t.Helper()
	body := check.Must(json.Marshal(m))(t)
	return metering.Delivery{Source: "sqs", ID: id, Body: body}
}

// sum returns what the counters of a kind say for a meter, in all its time.
func (f *fixture) sum(t *testing.T, kind keys.Prefix, m metering.Meter) (total int64) {
	t.Helper()
	for c, err := range table.All[metering.Counter](context.WithoutCancel(t.Context()), f.table, table.Query{PK: m.PK(), Range: kind.All()}) {
		check.OK(t, err)
		total += c.Count
	}
	return total
}

// check compares the counters of both kinds with what they should say.
func (f *fixture) check(t *testing.T, m metering.Meter, want int64) {
	t.Helper()
	hours, days := f.sum(t, metering.Hour, m), f.sum(t, metering.Day, m)
	if hours != want || days != want {
		t.Errorf("%+v: want %d, the hours say %d, the days %d", m, want, hours, days)
	}
}

var (
	message   = metering.Message{WorkspaceID: "acme", UserID: "ana", MetricID: "exports", Count: 3, Hour: ten}
	workspace = metering.Meter{WorkspaceID: "acme", MetricID: "exports"}
	user      = metering.Meter{WorkspaceID: "acme", UserID: "ana", MetricID: "exports"}
	userAll   = metering.Meter{UserID: "ana", MetricID: "exports"}
)
