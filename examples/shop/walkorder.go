package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/singletable/singletable/examples/internal/report"
	"github.com/singletable/singletable/table"
)

// orderID and orderTime are those of Ana's next order. A table that has been
// walked before has earlier ones.
func (w walk) orderID(ctx context.Context) (id string, at time.Time, err error) {
	earlier, err := table.Collect(w.orders.All(ctx, ordersOf("u-ana")))
	n := len(earlier) + 1
	w.Meter.Take() // that was for the example's sake
	return fmt.Sprintf("o-%04d", n), opening.Add(time.Duration(n) * 24 * time.Hour), err
}

func (w walk) order(ctx context.Context) error {
	w.Title("8. Ana orders what is in her cart: one transaction")
	id, at, err := w.orderID(ctx)
	if err != nil {
		return err
	}
	o, err := w.checkOut(ctx, "u-ana", id, at)
	if err != nil {
		return err
	}
	w.Line("  read the cart and its products, then write together:")
	w.Rows(
		fmt.Sprintf("create\t%s\t%s\tthe order", orderKey(id).PK, orderKey(id).SK),
		fmt.Sprintf("create\t%s\t%s\tthe same, for Ana's list", orderByUser(o).PK, orderByUser(o).SK),
		fmt.Sprintf("create\t%s\t%s\tone for each product", orderKey(id).PK, "ITEM#001, ITEM#002"),
		fmt.Sprintf("delete\t%s\t%s\tas they were read", cartOf("u-ana").PK, "CART#p-bowl, CART#p-lamp"),
		fmt.Sprintf("update\t%s\t%s\tstock - 4, if it is 4 or more", productKey("p-bowl").PK, productKey("p-bowl").SK),
		fmt.Sprintf("update\t%s\t%s\tstock - 2, if it is 2 or more", productKey("p-lamp").PK, productKey("p-lamp").SK),
	)
	w.Line("  order %s: %d products, %s", o.ID, o.Items, money(o.Total))
	w.spent()
	return w.showCart(ctx, "u-ana")
}

func (w walk) soldOut(ctx context.Context) error {
	w.Title("9. Bruno wants two lamps as well, and one is left")
	id := "o-bruno"
	_, err := w.checkOut(ctx, "u-bruno", id, opening.Add(48*time.Hour))
	short, ok := errors.AsType[*StockError](err)
	if !ok {
		return expect(err, errOutOfStock)
	}
	w.Line("  refused: %v", short)
	_, _, err = w.orderWithItems(ctx, id)
	if err := expect(err, table.ErrNotFound); err != nil {
		return err
	}
	w.Line("  Nothing was written: there is no order, and his cart is as it was.")
	w.spent()
	return w.showCart(ctx, "u-bruno")
}

// newest returns Ana's newest order, which the steps after the order are about.
func (w walk) newest(ctx context.Context) (Order, error) {
	page, err := w.ordersByUser(ctx, "u-ana", 1, "")
	if err != nil {
		return Order{}, err
	}
	w.Meter.Take() // that was for the example's sake
	if len(page.Items) == 0 {
		return Order{}, fmt.Errorf("order: %w", table.ErrNotFound)
	}
	return page.Items[0], nil
}

func (w walk) orderAndItems(ctx context.Context) error {
	w.Title("10. An order with its items: one query")
	o, err := w.newest(ctx)
	if err != nil {
		return err
	}
	w.query(orderPartition(o.ID))
	o, items, err := w.orderWithItems(ctx, o.ID)
	if err != nil {
		return err
	}
	rows := []string{fmt.Sprintf("%s\t%s\t%s\t%s", orderKey(o.ID).SK, o.UserID, money(o.Total), o.Status)}
	for _, i := range items {
		rows = append(rows, fmt.Sprintf("%s\t%d × %s\t%s", orderItemEntity.Key(i).SK, i.Quantity, i.Name, money(i.Price)))
	}
	w.Rows(rows...)
	w.Cost("read", len(rows))
	return nil
}

func (w walk) status(ctx context.Context) error {
	w.Title("11. The order moves on, in both of its items")
	o, err := w.newest(ctx)
	if err != nil {
		return err
	}
	w.at("write", orderKey(o.ID))
	w.at("  and", orderByUser(o))
	var went []string
	for _, to := range []Status{paid, shipped} {
		if o, err = w.advance(ctx, seeder, o.ID, to); err != nil {
			return err
		}
		went = append(went, string(o.Status))
	}
	w.Line("  %s", strings.Join(went, ", then "))
	w.spent()
	_, err = w.advance(ctx, seeder, o.ID, paid)
	if err := expect(err, errStatus); err != nil {
		return err
	}
	w.Line("  and not back: %v", err)
	w.spent()
	return nil
}

func (w walk) ordersOfUser(ctx context.Context) error {
	w.Title("12. A user's orders, newest first")
	w.query(ordersOf("u-ana"))
	page, err := w.ordersByUser(ctx, "u-ana", 20, "")
	if err != nil {
		return err
	}
	report.Found(w.Report, page.Items, func(o Order) string { return fmt.Sprintf("%s\t%s\t%s", orderByUser(o).SK, money(o.Total), o.Status) })
	return nil
}
