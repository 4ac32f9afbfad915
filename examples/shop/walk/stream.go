package walk

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/examples/internal/program"
	"github.com/singletable/singletable/examples/internal/report"
	"github.com/singletable/singletable/examples/shop/demo"
	"github.com/singletable/singletable/examples/shop/store"
	"github.com/singletable/singletable/stream"
	"github.com/singletable/singletable/table"
)

// follow reads the stream until all changes of the walk are audited and all
// notifications sent, and shows both.
func (w walk) follow(ctx context.Context, client *dynamodb.Client) error {
	// A table of its own for the consumers, so that the report has no requests of them.
	tbl, err := table.New(client, w.table.Schema(), nil)
	if err != nil {
		return err
	}
	background, err := store.New(tbl, demo.Rounds)
	if err != nil {
		return err
	}
	o, err := w.newest(ctx)
	if err != nil {
		return err
	}
	w.Title("15. The stream: an audit trail, and a product that is low in stock")
	auditor, err := background.Auditor()
	if err != nil {
		return err
	}
	notifier, err := background.Notifier(store.SendTo(w.Out))
	if err != nil {
		return err
	}
	handled := func(ctx context.Context) (bool, error) { return handled(ctx, background, o, "p-lamp") }
	if err := program.Follow(ctx, handled, program.Reader("audit", auditor, client, nil), program.Reader("notify", notifier, client, nil)); err != nil {
		return err
	}
	w.Line("  Two consumers have read the stream: every change is audited, and every notification sent.")
	if err := w.showAudits(ctx, o); err != nil {
		return err
	}
	return w.showLowStock(ctx)
}

// showAudits shows the audits of an order, of a product and of today.
func (w walk) showAudits(ctx context.Context, o store.Order) error {
	for _, of := range [][2]string{{store.OrderType, o.ID}, {store.ProductType, "p-lamp"}} {
		w.query(store.AuditsQuery(of[0], of[1]))
		page, err := w.AuditsByEntity(ctx, of[0], of[1], 20, "")
		if err != nil {
			return err
		}
		report.Found(w.Report, page.Items, auditRow)
	}
	w.query(store.DayQuery(w.table.Now()))
	page, err := w.AuditsByDay(ctx, w.table.Now(), 5, "")
	if err != nil {
		return err
	}
	report.Found(w.Report, page.Items, func(a store.Audit) string { return a.Type + "\t" + a.ID + "\t" + auditRow(a) })
	return nil
}

// auditRow prints an audit: when, what, who, and a value or two.
func auditRow(a store.Audit) string {
	var values []string
	for _, name := range a.Changed {
		if old, changed := a.Old[name]; changed {
			values = append(values, fmt.Sprintf("%s %v → %v", name, old, a.New[name]))
		}
	}
	if len(values) == 0 {
		values = a.Changed
	}
	return fmt.Sprintf("%s\t%s\tby %s\t%s", a.At.Format(time.TimeOnly), a.Kind, a.By, strings.Join(values, ", "))
}

func (w walk) showLowStock(ctx context.Context) error {
	w.Title("16. The notifications of a product")
	w.query(store.LowStocksQuery("p-lamp"))
	page, err := w.LowStocksByProduct(ctx, "p-lamp", 20, "")
	if err != nil {
		return err
	}
	report.Found(w.Report, page.Items, func(n store.LowStock) string {
		return fmt.Sprintf("%s\t%d left\tsent %s", n.Name, n.Stock, n.SentAt.Format(time.TimeOnly))
	})
	return nil
}

// handled reports whether the audit trail leads to the present order and product, and
// each fall of the product's stock below the threshold has one notification, which is
// sent.
func handled(ctx context.Context, s *store.Shop, o store.Order, product string) (bool, error) {
	orderTrail, err := s.AuditsByEntity(ctx, store.OrderType, o.ID, 0, "")
	if err != nil {
		return false, err
	}
	trail, err := s.AuditsByEntity(ctx, store.ProductType, product, 0, "")
	if err != nil {
		return false, err
	}
	p, err := s.ProductByID(ctx, product)
	if err != nil {
		return false, err
	}
	notifications, err := s.LowStocksByProduct(ctx, product, 0, "")
	if err != nil {
		return false, err
	}
	falls, sent := 0, 0
	for _, n := range notifications.Items {
		if n.SentAt != nil {
			sent++
		}
	}
	stock := 0.0
	for _, a := range trail.Items {
		if now, changed := a.New["stock"].(float64); changed {
			if a.Kind == stream.Modify && stock >= store.LowStockThreshold && now < store.LowStockThreshold {
				falls++
			}
			stock = now
		}
	}
	status := ""
	for _, a := range orderTrail.Items {
		if now, changed := a.New["status"].(string); changed {
			status = now
		}
	}
	return status == string(o.Status) && stock == float64(p.Stock) && falls == len(notifications.Items) && falls == sent, nil
}
