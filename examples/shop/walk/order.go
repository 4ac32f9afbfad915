package walk

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/singletable/singletable/examples/internal/report"
	"github.com/singletable/singletable/examples/shop/demo"
	"github.com/singletable/singletable/examples/shop/store"
	"github.com/singletable/singletable/table"
)

// orderID and orderTime are those of Ana's next order. A table that has been
// walked before has earlier ones.
func (w walk) orderID(ctx context.Context) (id string, at time.Time, err error) {
	earlier, err := w.OrdersByUser(ctx, "u-ana", 0, "")
	n := len(earlier.Items) + 1
	w.Meter.Take() // that was for the example's sake
	return fmt.Sprintf("o-%04d", n), demo.Opening.Add(time.Duration(n) * 24 * time.Hour), err
}

func (w walk) order(ctx context.Context) error {
	w.Title("10. Ana orders what is in her cart: one transaction")
	id, at, err := w.orderID(ctx)
	if err != nil {
		return err
	}
	o, err := w.CheckOut(ctx, "u-ana", id, at)
	if err != nil {
		return err
	}
	w.Line("  read the cart and its products, then write together:")
	w.Rows(
		fmt.Sprintf("create\t%s\t%s\tthe order", store.OrderKey(id).PK, store.OrderKey(id).SK),
		fmt.Sprintf("create\t%s\t%s\tthe same, for Ana's list", store.OrderByUserKey(o).PK, store.OrderByUserKey(o).SK),
		fmt.Sprintf("create\t%s\t%s\tone for each product", store.OrderKey(id).PK, "ITEM#001, ITEM#002"),
		fmt.Sprintf("delete\t%s\t%s\tas they were read", store.CartQuery("u-ana").PK, "CART#p-bowl, CART#p-lamp"),
		fmt.Sprintf("update\t%s\t%s\tstock - 4, if it is 4 or more", store.ProductKey("p-bowl").PK, store.ProductKey("p-bowl").SK),
		fmt.Sprintf("update\t%s\t%s\tstock - 2, if it is 2 or more", store.ProductKey("p-lamp").PK, store.ProductKey("p-lamp").SK),
	)
	w.Line("  order %s: %d products, %s", o.ID, o.Items, money(o.Total))
	w.spent()
	return w.showCart(ctx, "u-ana")
}

func (w walk) soldOut(ctx context.Context) error {
	w.Title("11. Bruno wants two lamps as well, and one is left")
	id := "o-bruno"
	_, err := w.CheckOut(ctx, "u-bruno", id, demo.Opening.Add(48*time.Hour))
	short, ok := errors.AsType[*store.StockError](err)
	if !ok {
		return expect(err, store.ErrOutOfStock)
	}
	w.Line("  refused: %v", short)
	_, _, err = w.OrderWithItems(ctx, id)
	if err := expect(err, table.ErrNotFound); err != nil {
		return err
	}
	w.Line("  Nothing was written: there is no order, and his cart is as it was.")
	w.spent()
	return w.showCart(ctx, "u-bruno")
}

// newest returns Ana's newest order, which the steps after the order are about.
func (w walk) newest(ctx context.Context) (store.Order, error) {
	page, err := w.OrdersByUser(ctx, "u-ana", 1, "")
	if err != nil {
		return store.Order{}, err
	}
	w.Meter.Take() // that was for the example's sake
	if len(page.Items) == 0 {
		return store.Order{}, fmt.Errorf("order: %w", table.ErrNotFound)
	}
	return page.Items[0], nil
}

func (w walk) orderAndItems(ctx context.Context) error {
	w.Title("12. An order with its items: one query")
	o, err := w.newest(ctx)
	if err != nil {
		return err
	}
	w.query(store.OrderQuery(o.ID))
	o, items, err := w.OrderWithItems(ctx, o.ID)
	if err != nil {
		return err
	}
	rows := []string{fmt.Sprintf("%s\t%s\t%s\t%s", store.OrderKey(o.ID).SK, o.UserID, money(o.Total), o.Status)}
	for _, i := range items {
		rows = append(rows, fmt.Sprintf("%s\t%d × %s\t%s\t%s", store.OrderItemKey(i.OrderID, i.Number).SK, i.Quantity, i.Name, money(i.Price), money(i.Subtotal)))
	}
	w.Rows(rows...)
	w.Cost("read", len(rows))
	return nil
}

func (w walk) status(ctx context.Context) error {
	w.Title("13. The order moves on, in both of its items")
	o, err := w.newest(ctx)
	if err != nil {
		return err
	}
	w.at("write", store.OrderKey(o.ID))
	w.at("  and", store.OrderByUserKey(o))
	var went []string
	for _, to := range []store.Status{store.Paid, store.Shipped} {
		if o, err = w.Advance(ctx, demo.Shopkeeper, o.ID, to); err != nil {
			return err
		}
		went = append(went, string(o.Status))
	}
	w.Line("  %s", strings.Join(went, ", then "))
	w.spent()
	_, err = w.Advance(ctx, demo.Shopkeeper, o.ID, store.Paid)
	if err := expect(err, store.ErrStatus); err != nil {
		return err
	}
	w.Line("  and not back: %v", err)
	w.spent()
	return nil
}

func (w walk) ordersOfUser(ctx context.Context) error {
	w.Title("14. A user's orders, newest first")
	w.query(store.OrdersQuery("u-ana"))
	page, err := w.OrdersByUser(ctx, "u-ana", 20, "")
	if err != nil {
		return err
	}
	report.Found(w.Report, page.Items, func(o store.Order) string {
		return fmt.Sprintf("%s\t%s\t%s", store.OrderByUserKey(o).SK, money(o.Total), o.Status)
	})
	return nil
}
