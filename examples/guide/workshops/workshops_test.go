package workshops

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/stream/streamtest"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

func TestTheLastSeatIsSoldOnce(t *testing.T) {
	t.Parallel()
	now, ctx := time.Date(2030, 6, 1, 12, 0, 0, 0, time.UTC), t.Context()
	o := check.Must(New(tabletest.New(t, Schema, &table.Options{Now: func() time.Time { return now }})))(t)
	check.OK(t, o.workshops.Create(ctx, &Workshop{ID: "w"}))
	for i := range 12 {
		check.OK(t, o.Reserve(ctx, "w", fmt.Sprint("u-", i)))
	}
	check.OK(t, o.Reserve(ctx, "w", "u-3")) // who has a seat
	check.Is(t, o.Reserve(ctx, "w", "late"), ErrSoldOut)
	check.Is(t, o.Reserve(ctx, "none", "late"), table.ErrUncounted)
	taken := func() int64 { return check.Must(o.workshops.Get(ctx, workshopKey("w")))(t).Taken }
	check.Equal(t, "taken", taken(), 12)
	check.Must(o.seats.Update(ctx, seatKey("w", "u-0"), func(s *Seat) error { s.ExpiresAt = time.Time{}; return nil }))(t)

	now = now.Add(time.Hour)
	event := check.Must(streamtest.Expire(ctx, tabletest.Client(t), o.table, seatKey("w", "u-11")))(t)
	freed := check.Must(o.Freed())(t)
	for range 2 { // a record can be delivered again
		response := check.Must(freed.Handle(ctx, event))(t)
		check.Equal(t, "failures", len(response.BatchItemFailures), 0)
		check.Equal(t, "taken", taken(), 11)
	}
	for range 2 {
		check.OK(t, o.Free(ctx, "w"))
		check.Equal(t, "taken", taken(), 1)
	}
	event = check.Must(streamtest.Expire(ctx, tabletest.Client(t), o.table, seatKey("w", "u-1")))(t)
	check.Must(freed.Handle(ctx, event))(t)
	check.Equal(t, "taken, after both", taken(), 1)
}

// A seat that is taken while the workshop is cancelled goes with it, or is refused.
func TestNoSeatOutlivesItsWorkshop(t *testing.T) {
	t.Parallel()
	tabletest.Explore(t, tabletest.Case{
		Schema: Schema, Faults: 1, Limit: *check.Limit,
		Allow: func(err error) bool { return errors.Is(err, table.ErrUncounted) },
		Setup: func(ctx context.Context, r *tabletest.Run) error {
			for _, do := range []func(context.Context, *Office) error{
				func(ctx context.Context, o *Office) error { return o.Cancel(ctx, r.ID) },
				func(ctx context.Context, o *Office) error { return o.Reserve(ctx, r.ID, "late") },
			} {
				r.Go(func(ctx context.Context, client *dynamodb.Client) error {
					o, err := New(r.Table(client))
					if err != nil {
						return err
					}
					return do(ctx, o)
				})
			}
			o, err := New(r.Table(r.Client))
			if err != nil {
				return err
			}
			r.Check(func(ctx context.Context, errs []error) error {
				stats, err := o.seats.Consistent().Count(ctx, table.Query{PK: workshopKey(r.ID).PK, Range: seat.All()})
				if err == nil && errs[0] == nil && stats.Items > 0 {
					err = fmt.Errorf("%d seats without a workshop", stats.Items)
				}
				return err
			})
			return errors.Join(o.workshops.Create(ctx, &Workshop{ID: r.ID}), o.Reserve(ctx, r.ID, "ana"))
		},
	})
}
