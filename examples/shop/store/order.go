package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
)

// Status is how far an order has come.
type Status string

// An order goes through these, one after the other.
const (
	Placed    Status = "PLACED"
	Paid      Status = "PAID"
	Shipped   Status = "SHIPPED"
	Delivered Status = "DELIVERED"
)

// before returns the status that an order has right before this one. It is ""
// for the first, and for what is no status.
func (s Status) before() Status {
	switch s {
	case Paid:
		return Placed
	case Shipped:
		return Paid
	case Delivered:
		return Shipped
	}
	return ""
}

// Order is stored twice: as ORDER#<id> / METADATA, next to its items, and as
// USER#<user> / ORDER#<time>#<id>, in the list of the user's orders. Every write
// writes both.
type Order struct {
	ID       string    `dynamodbav:"orderId"`
	UserID   string    `dynamodbav:"userId"`
	PlacedAt time.Time `dynamodbav:"placedAt"`
	Status   Status    `dynamodbav:"status"`
	Items    int       `dynamodbav:"items"`
	Total    int64     `dynamodbav:"total"` // in cents
	// ChangedBy made the last change, for the audit trail: a stream does not name
	// the writer.
	ChangedBy string `dynamodbav:"changedBy"`
	Revision  string `dynamodbav:"revision"`
}

func (o Order) audited() (id, by string) { return o.ID, o.ChangedBy }

var orderEntity = repo.Entity[Order]{
	Type:    OrderType,
	Key:     func(o Order) keys.Key { return OrderKey(o.ID) },
	Copies:  []repo.Copy[Order]{{Name: "by user", Key: OrderByUserKey}},
	Version: "revision",
}

// OrderKey is the key of an order.
func OrderKey(id string) keys.Key {
	return keys.Key{PK: orderPrefix.PK(id), SK: keys.Metadata}
}

// OrderByUserKey is the key of an order in the user's list.
func OrderByUserKey(o Order) keys.Key {
	return keys.Key{PK: keys.User.PK(o.UserID), SK: orderPrefix.SK(keys.Time(o.PlacedAt), keys.Str(o.ID))}
}

// OrderItem is stored once, as ORDER#<order> / ITEM#<number>. It keeps the name
// and the price that the product had, so that an order is read without its products.
type OrderItem struct {
	OrderID   string `dynamodbav:"orderId"`
	Number    int    `dynamodbav:"number"` // from 1
	ProductID string `dynamodbav:"productId"`
	Name      string `dynamodbav:"name"`
	Quantity  int    `dynamodbav:"quantity"`
	Price     int64  `dynamodbav:"price"`    // of one piece, in cents
	Subtotal  int64  `dynamodbav:"subtotal"` // of the quantity, in cents
}

var orderItemEntity = repo.Entity[OrderItem]{
	Type: "ORDER_ITEM",
	Key:  func(i OrderItem) keys.Key { return OrderItemKey(i.OrderID, i.Number) },
}

// OrderItemKey is the key of an item of an order.
func OrderItemKey(order string, number int) keys.Key {
	return keys.Key{PK: orderPrefix.PK(order), SK: itemPrefix.SK(keys.Int(number, 3))}
}

// OrderQuery is the query for an order and its items: all that is stored
// under its partition key.
func OrderQuery(id string) table.Query {
	return table.Query{PK: orderPrefix.PK(id)}
}

// OrderWithItems returns an order and its items, with one query. It reads consistently,
// since users look at what they have just ordered.
func (s *Shop) OrderWithItems(ctx context.Context, id string) (Order, []OrderItem, error) {
	var orders []Order
	var items []OrderItem
	err := repo.Collect(ctx, s.table.Consistent(), OrderQuery(id), s.orders.AppendTo(&orders), s.orderItems.AppendTo(&items))
	if err != nil {
		return Order{}, nil, err
	}
	if len(orders) == 0 {
		return Order{}, nil, fmt.Errorf("order: %w", table.ErrNotFound)
	}
	return orders[0], items, nil
}

// OrdersQuery is the query for a user's orders, newest first.
func OrdersQuery(user string) table.Query {
	return table.Query{PK: keys.User.PK(user), Range: orderPrefix.All(), Descending: true}
}

// OrdersByUser returns a page of a user's orders, newest first.
func (s *Shop) OrdersByUser(ctx context.Context, user string, limit int, after string) (table.Page[Order], error) {
	q := OrdersQuery(user)
	// A token that another user was given is refused.
	q.Limit, q.After, q.Scope = limit, after, user
	return s.orders.Query(ctx, q)
}

// ErrStatus means that an order does not go from its status to the one asked for.
var ErrStatus = errors.New("an order does not go this way")

// Advance moves an order on to a status, in both of its items. One that is not
// right before that status is [ErrStatus]. by is the acting user.
func (s *Shop) Advance(ctx context.Context, by, id string, to Status) (Order, error) {
	return s.orders.Update(ctx, OrderKey(id), func(o *Order) error {
		if o.Status != to.before() {
			return fmt.Errorf("%w: from %s to %s", ErrStatus, o.Status, to)
		}
		o.Status, o.ChangedBy = to, by
		return nil
	})
}
