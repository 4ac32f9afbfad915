package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// receiver counts what it is sent, by the idempotency key.
type receiver map[string]int

func (r receiver) send(_ context.Context, key string, _ LowStock) error {
	r[key]++
	return nil
}

// setStock changes the stock of the lamp and returns the event of it.
func setStock(t *testing.T, s *Shop, stock int) json.RawMessage {
	t.Helper()
	return changed(t, s, "lamp", func(p *Product) { p.Stock = stock })
}

// created returns the event of the creation of the only notification of the lamp, which
// it deletes and creates again.
func created(t *testing.T, s *Shop) json.RawMessage {
	t.Helper()
	n := notifications(t, s)[0]
	check.OK(t, s.lowStocks.Delete(t.Context(), lowStockEntity.Key(n)))
	return event(t, s, s.lowStocks.CreateOps(&n)...)
}

func notifications(t *testing.T, s *Shop) []LowStock {
	t.Helper()
	return check.Must(table.Collect(s.lowStocks.Consistent().All(t.Context(), LowStocksQuery("lamp"))))(t)
}

func TestOneNotificationForEachFallBelowTheThreshold(t *testing.T) {
	t.Parallel()
	s := open(t)
	stock(t, s, Product{ID: "lamp", Name: "Lamp", Stock: 9})
	router := check.Must(s.Notifier(receiver{}.send))(t)
	var left []int
	for _, now := range []int{4, LowStockThreshold, LowStockThreshold - 1, 0, 1, LowStockThreshold, 7, 1, LowStockThreshold - 1} {
		event := setStock(t, s, now)
		for range 2 {
			check.Deliver(t, router, event)
		}
	}
	for _, n := range notifications(t, s) {
		left = append(left, n.Stock)
	}
	check.Equal(t, "left at each fall", left, []int{LowStockThreshold - 1, 1})
	check.Deliver(t, router, changed(t, s, "lamp", func(p *Product) { p.Price++ }))
	check.Equal(t, "notifications after another price", len(notifications(t, s)), 2)
}

func TestANotificationIsSentOnceAndMarked(t *testing.T) {
	t.Parallel()
	s := open(t)
	stock(t, s, Product{ID: "lamp", Name: "Lamp", Stock: LowStockThreshold})
	var out bytes.Buffer
	down := errors.New("the receiver is down")
	calls := 0
	router := check.Must(s.Notifier(func(ctx context.Context, key string, n LowStock) error {
		if calls++; calls == 1 {
			return down
		}
		return SendTo(&out)(ctx, key, n)
	}))(t)
	check.Deliver(t, router, setStock(t, s, 1))
	event := created(t, s)
	response := check.Must(router.Handle(t.Context(), event))(t)
	check.Is(t, response.Err, down)
	check.Equal(t, "marked before it is sent", notifications(t, s)[0].SentAt != nil, false)
	for range 3 {
		check.Deliver(t, router, event)
	}
	check.Equal(t, "calls", calls, 2)
	check.Equal(t, "marked", notifications(t, s)[0].SentAt != nil, true)
	var records struct{ Records []struct{ EventID string } }
	check.OK(t, json.Unmarshal(event, &records))
	check.Equal(t, "text", out.String(), fmt.Sprintf("  sent: Lamp is low, 1 left; idempotency key %s\n", records.Records[0].EventID))
}

// The notifier is killed before and after each of its requests. The receiver is sent
// one key only, and a notification whose delivery was complete is not sent again.
func TestNotificationsSurviveAKillAtEachRequest(t *testing.T) {
	t.Parallel()
	for name, kill := range map[string]tabletest.Fault{"before": tabletest.DropRequest(), "after": tabletest.DropResponse()} {
		for passed, handled := 0, false; !handled; passed++ {
			s := open(t)
			stock(t, s, Product{ID: "lamp", Name: "Lamp", Stock: LowStockThreshold})
			to := receiver{}
			again := check.Must(s.Notifier(to.send))(t)
			var faults tabletest.Faults
			faults.Next("", append(make([]tabletest.Fault, passed), kill)...)
			faults.Always("", tabletest.DropRequest())
			killed := check.Must(faultyShop(t, s, &faults).Notifier(to.send))(t)

			event := setStock(t, s, 1)
			response := check.Must(killed.Handle(t.Context(), event))(t)
			handled = len(response.BatchItemFailures) == 0
			check.Deliver(t, again, event)
			event = created(t, s)
			response = check.Must(killed.Handle(t.Context(), event))(t)
			handled = handled && len(response.BatchItemFailures) == 0
			check.Deliver(t, again, event)
			calls := 0
			for _, n := range to {
				calls += n
			}
			all := notifications(t, s)
			if len(all) != 1 || all[0].SentAt == nil || len(to) != 1 || calls > 2 || handled && calls != 1 {
				t.Errorf("killed %s, after %d requests: notifications %+v, sent %v", name, passed, all, to)
			}
		}
	}
}

func TestADeletedNotificationIsNotSent(t *testing.T) {
	t.Parallel()
	s := open(t)
	stock(t, s, Product{ID: "lamp", Name: "Lamp", Stock: LowStockThreshold})
	to := receiver{}
	router := check.Must(s.Notifier(to.send))(t)
	check.Deliver(t, router, setStock(t, s, 0))
	event := created(t, s)
	check.OK(t, s.lowStocks.Delete(t.Context(), lowStockEntity.Key(notifications(t, s)[0])))
	check.Deliver(t, router, event)
	check.Equal(t, "sent", len(to), 0)
}
