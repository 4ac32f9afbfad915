package workshops

import (
	"fmt"
	"testing"
	"time"

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
