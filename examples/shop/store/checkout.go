package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// MaxProducts is how many products an order can have. DynamoDB takes 100 writes in a
// transaction: two for the order, three for each product, one for the idempotency key.
// AWS: "Constraints in Amazon DynamoDB", Amazon DynamoDB Developer Guide.
const MaxProducts = (100 - 3) / 3

// Errors of a checkout.
var (
	ErrEmptyCart    = errors.New("the cart is empty")
	ErrCartTooLarge = fmt.Errorf("an order has at most %d products", MaxProducts)
	ErrOutOfStock   = errors.New("out of stock")
	ErrPriceChanged = errors.New("the price has changed")
	ErrCartChanged  = errors.New("the cart or a price in it has changed")
)

// StockError names the products of which there are not enough. It matches
// [ErrOutOfStock].
type StockError struct {
	Short []Shortage
}

// Shortage is a product of which there are not enough.
type Shortage struct {
	ProductID, Name string
	Wanted, Left    int
}

// Error names the products.
func (e *StockError) Error() string {
	texts := make([]string, len(e.Short))
	for i, s := range e.Short {
		texts[i] = fmt.Sprintf("%s (%d wanted, %d left)", s.Name, s.Wanted, s.Left)
	}
	return ErrOutOfStock.Error() + ": " + strings.Join(texts, ", ")
}

// Unwrap returns [ErrOutOfStock].
func (e *StockError) Unwrap() error { return ErrOutOfStock }

// CheckOut turns a user's cart into an order, in one transaction: the order, the
// entry in the user's list, the order's items are created, the cart's lines
// deleted, and the stock of each product taken down if there is enough of it. If
// any of that cannot be, nothing happens.
//
// A product that has run out is a [*StockError], and one that is not sold a
// [*NotSoldError]. A cart or product that changes
// at that moment is [table.ErrConflict] or [ErrPriceChanged]: the user should see
// the cart again. An order id that is taken is [table.ErrExists]. After
// [table.ErrOutcomeUnknown], look for the order under its id.
func (s *Shop) CheckOut(ctx context.Context, user, orderID string, at time.Time) (Order, error) {
	d, err := s.draft(ctx, user, orderID, at)
	if err != nil {
		return Order{}, err
	}
	if err := s.table.Transact(ctx, d.ops...); err != nil {
		return Order{}, s.refused(ctx, d, err)
	}
	return d.order, nil
}

// CheckOutOnce is [Shop.CheckOut] once for each idempotency key, with an id and
// a time of its own. It orders the cart of that revision, see [CartRevision]: another one
// is [ErrCartChanged]. respond makes the response, which is stored together with
// the order for a day. A retry gets exactly that, with replayed set. Keys of
// different users never meet. A key that was used for another cart is
// [idempotency.ErrPayloadMismatch]. After an error, also [table.ErrOutcomeUnknown],
// the key can be used again.
//
// The function respond is called before anything is written.
func CheckOutOnce[A any](
	ctx context.Context, s *Shop, user, key, cart string, respond func(Order, []OrderItem) (A, error),
) (a A, replayed bool, err error) {
	var d draft
	request := idempotency.Request{Scope: "CheckOut:" + user, Key: key, Payload: idempotency.JSON(cart)}
	result, err := idempotency.Do(ctx, s.requests, request, func(ctx context.Context) (idempotency.Plan[A], error) {
		var err error
		if d, err = s.draft(ctx, user, NewID("o"), s.table.Now().UTC().Truncate(time.Millisecond)); err != nil {
			return idempotency.Plan[A]{}, err
		}
		if CartRevision(d.lines, pricesOf(slices.Values(d.products))) != cart {
			return idempotency.Plan[A]{}, ErrCartChanged
		}
		a, err := respond(d.order, d.items)
		return idempotency.Snapshot(a, d.ops...), err
	})
	if err != nil {
		return a, false, s.refused(ctx, d, err)
	}
	return result.Value, result.Replayed, nil
}

// NewID returns an id that nobody can guess.
func NewID(prefix string) string { return prefix + "-" + strings.ToLower(rand.Text()) }

// draft is an order that is not placed yet.
type draft struct {
	order    Order
	items    []OrderItem
	lines    []CartLine
	products []Product // of the lines
	ops      []table.Op
}

// draft reads a user's cart and its products, and returns the order of them.
func (s *Shop) draft(ctx context.Context, user, orderID string, at time.Time) (d draft, err error) {
	d.lines, err = table.Collect(s.cartLines.Consistent().All(ctx, CartQuery(user)))
	switch {
	case err != nil:
		return d, err
	case len(d.lines) == 0:
		return d, ErrEmptyCart
	case len(d.lines) > MaxProducts:
		return d, ErrCartTooLarge
	}
	if d.products, err = s.productsIn(ctx, d.lines); err != nil {
		return d, err
	}
	d.order = Order{ID: orderID, UserID: user, PlacedAt: at, Status: Placed, Items: len(d.lines), ChangedBy: user}
	for i, line := range d.lines {
		p := d.products[i]
		item := OrderItem{
			OrderID: orderID, Number: i + 1,
			ProductID: p.ID, Name: p.Name, Quantity: line.Quantity, Price: p.Price, Subtotal: int64(line.Quantity) * p.Price,
		}
		d.order.Total += item.Subtotal
		d.items = append(d.items, item)
		d.ops = append(d.ops, s.orderItems.CreateOps(new(item))...)
		d.ops = append(d.ops, s.cartLines.DeleteOps(line)...)
		d.ops = append(d.ops, take(p, line.Quantity, user))
	}
	d.ops = append(s.orders.CreateOps(&d.order), d.ops...) // which sets the order's revision
	return d, nil
}

// productsIn returns the products of cart lines, in their order.
func (s *Shop) productsIn(ctx context.Context, lines []CartLine) ([]Product, error) {
	wanted := make([]keys.Key, len(lines))
	for i, line := range lines {
		wanted[i] = ProductKey(line.ProductID)
	}
	found, err := s.products.Consistent().BatchGet(ctx, wanted)
	if err != nil {
		return nil, err
	}
	products := make([]Product, len(lines))
	var missing []string
	for i, line := range lines {
		if _, there := found[wanted[i]]; !there {
			missing = append(missing, line.Name)
		}
		products[i] = found[wanted[i]]
	}
	if len(missing) > 0 {
		return nil, &NotSoldError{missing}
	}
	return products, nil
}

// take is the write that takes pieces from the stock of a product, provided that
// there are so many and that it is sold at the price that was read. DynamoDB
// does the arithmetic: buyers need not know how many pieces there are, and do
// not disturb each other while there are enough. AWS: "Update expressions", Amazon
// DynamoDB Developer Guide.
func take(p Product, quantity int, by string) table.Op {
	stock, version := expression.Name("stock"), expression.Name("version")
	update := expression.
		Add(stock, expression.Value(-quantity)).
		Add(version, expression.Value(1)).
		Set(expression.Name("changedBy"), expression.Value(by))
	return table.Update(ProductKey(p.ID), update).
		//mutants:guard shop: an order takes a piece only if there is one | TestScheduleLastPiece | If(table.If("stock >= ?", quantity)). =>
		If(table.If("stock >= ?", quantity)).
		If(table.If("active = ?", true)).
		If(table.If("price = ?", p.Price)).
		WithName("stock of " + p.Name)
}

// refused tells in the words of the shop why the transaction of an order was
// refused.
func (s *Shop) refused(ctx context.Context, d draft, err error) error {
	var short []Shortage
	var unsold []string
	var other error
	for _, op := range failedOps(err) {
		for i, p := range d.products {
			if op.Key != ProductKey(p.ID) || !errors.Is(op, table.ErrConditionFailed) {
				continue
			}
			now, readErr := s.asRefused(ctx, op)
			switch wanted := d.lines[i].Quantity; {
			case errors.Is(readErr, table.ErrNotFound) || readErr == nil && !now.Active:
				unsold = append(unsold, p.Name)
			case readErr != nil:
				return errors.Join(err, readErr)
			case now.Stock < wanted:
				short = append(short, Shortage{ProductID: p.ID, Name: p.Name, Wanted: wanted, Left: now.Stock})
			default:
				other = fmt.Errorf("%w: %s", ErrPriceChanged, p.Name)
			}
		}
	}
	switch {
	case len(unsold) > 0:
		return fmt.Errorf("%w: %w", &NotSoldError{unsold}, err)
	case len(short) > 0:
		return fmt.Errorf("%w: %w", &StockError{Short: short}, err)
	case other != nil:
		return fmt.Errorf("%w: %w", other, err)
	}
	return err
}

// asRefused returns the product that made the condition of an op fail: as the
// engine returned it, or else as it is now.
func (s *Shop) asRefused(ctx context.Context, op *table.Error) (Product, error) {
	if op.Stored == nil {
		return s.products.Consistent().Get(ctx, op.Key)
	}
	var p Product
	err := op.Stored.Decode(&p)
	return p, err
}
