package metering_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/usage/metering"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// A message is delivered twice at the same time: it counts once.
func TestScheduleMessage(t *testing.T) {
	t.Parallel()
	tabletest.Explore(t, tabletest.Case{
		Schema: metering.Schema("Usage"), Limit: *check.Limit, Setup: setUpMessage,
		Options: &table.Options{Now: func() time.Time { return ten.Add(time.Hour) }},
	})
}

func setUpMessage(_ context.Context, r *tabletest.Run) error {
	m := message
	m.WorkspaceID, m.UserID = r.ID, r.ID // whose counters no other schedule adds to
	body, err := json.Marshal(m)
	if err != nil {
		return err
	}
	for range 2 {
		r.Go(func(ctx context.Context, client *dynamodb.Client) error {
			c, err := metering.NewConsumer(r.Table(client), nil)
			if err != nil {
				return err
			}
			return c.Count(ctx, metering.Delivery{Source: "sqs", ID: "1", Body: body}).Err
		})
	}
	r.Check(func(ctx context.Context, errs []error) error {
		tbl := r.Table(r.Client)
		for _, meter := range []metering.Meter{
			{WorkspaceID: r.ID, MetricID: m.MetricID}, {WorkspaceID: r.ID, UserID: m.UserID, MetricID: m.MetricID}, {UserID: m.UserID, MetricID: m.MetricID},
		} {
			for _, kind := range []keys.Prefix{metering.Hour, metering.Day} {
				counters, err := table.Collect(table.All[metering.Counter](ctx, tbl, table.Query{PK: meter.PK(), Range: kind.All()}))
				if err != nil {
					return err
				}
				total := int64(0)
				for _, c := range counters {
					total += c.Count
				}
				if total != m.Count && (total != 0 || errs[0] == nil || errs[1] == nil) {
					return fmt.Errorf("%+v by %s: %d, want %d", meter, kind, total, m.Count)
				}
			}
		}
		return nil
	})
	return nil
}
