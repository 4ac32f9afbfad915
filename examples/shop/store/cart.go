package store

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"iter"
	"maps"
	"strings"
	"time"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
)

// CartLine is stored once, as USER#<user> / CART#<product>, and is in GSI1 as
// CART#<product> / USER#<user>: the same relation from the other side.
type CartLine struct {
	UserID    string    `dynamodbav:"userId"`
	ProductID string    `dynamodbav:"productId"`
	Name      string    `dynamodbav:"name"`
	Quantity  int       `dynamodbav:"quantity"`
	AddedAt   time.Time `dynamodbav:"addedAt"`
	// Revision lets an order take a line only as it was read, also if the user has removed
	// the product and added it again.
	Revision string `dynamodbav:"revision"`
}

var cartLineEntity = repo.Entity[CartLine]{
	Type: "CART_LINE",
	Key:  func(l CartLine) keys.Key { return CartLineKey(l.UserID, l.ProductID) },
	Indexes: repo.Indexes[CartLine]{gsi1: func(l CartLine) keys.Key {
		return keys.Key{PK: cartPrefix.PK(l.ProductID), SK: keys.User.SK(keys.Str(l.UserID))}
	}},
	Version: "revision",
}

// CartLineKey is the key of a product in a user's cart.
func CartLineKey(user, product string) keys.Key {
	return keys.Key{PK: keys.User.PK(user), SK: cartPrefix.SK(keys.Str(product))}
}

// MaxQuantity is how many pieces of a product a cart can have.
const MaxQuantity = 10_000

// Errors of carts.
var (
	ErrNotSold  = errors.New("not sold")
	ErrQuantity = fmt.Errorf("a quantity is 1 to %d", MaxQuantity)
)

// NotSoldError names products that are not sold. It matches [ErrNotSold].
type NotSoldError struct {
	Names []string
}

// Error names the products.
func (e *NotSoldError) Error() string {
	return ErrNotSold.Error() + ": " + strings.Join(e.Names, ", ")
}

// Unwrap returns [ErrNotSold].
func (e *NotSoldError) Unwrap() error { return ErrNotSold }

// AddToCart adds pieces of a product to a user's cart. It does not look at the
// stock, which only an order takes from.
func (s *Shop) AddToCart(ctx context.Context, user, product string, quantity int, at time.Time) error {
	if quantity < 1 || quantity > MaxQuantity {
		return ErrQuantity
	}
	p, err := s.ProductByID(ctx, product)
	switch {
	case errors.Is(err, table.ErrNotFound):
		return ErrNotSold // it has no name
	case err != nil:
		return err
	case !p.Active:
		return &NotSoldError{[]string{p.Name}}
	}
	line := CartLine{UserID: user, ProductID: product, Name: p.Name, Quantity: quantity, AddedAt: at}
	// Whether the line is there may change between the two writes; nobody's
	// cart changes that often.
	for range 3 {
		if err = s.cartLines.Create(ctx, new(line)); !errors.Is(err, table.ErrExists) {
			return err
		}
		_, err = s.cartLines.Update(ctx, CartLineKey(user, product), func(l *CartLine) error {
			if l.Quantity += quantity; l.Quantity > MaxQuantity {
				return ErrQuantity
			}
			return nil
		})
		if !errors.Is(err, table.ErrNotFound) {
			return err
		}
	}
	return err
}

// RemoveFromCart takes a product out of a user's cart. It is no error if it is
// not there.
func (s *Shop) RemoveFromCart(ctx context.Context, user, product string) error {
	return s.cartLines.Delete(ctx, CartLineKey(user, product))
}

// CartQuery is the query for a user's cart.
func CartQuery(user string) table.Query {
	return table.Query{PK: keys.User.PK(user), Range: cartPrefix.All()}
}

// Cart returns the lines of a user's cart. It reads consistently, since users look at
// what they have just added.
func (s *Shop) Cart(ctx context.Context, user string) ([]CartLine, error) {
	return table.Collect(s.cartLines.Consistent().All(ctx, CartQuery(user)))
}

// Prices returns the prices of the products in cart lines, without those that are not
// sold now.
func (s *Shop) Prices(ctx context.Context, lines []CartLine) (map[string]int64, error) {
	wanted := make([]keys.Key, len(lines))
	for i, line := range lines {
		wanted[i] = ProductKey(line.ProductID)
	}
	found, err := s.products.Consistent().BatchGet(ctx, wanted)
	return pricesOf(maps.Values(found)), err
}

func pricesOf(products iter.Seq[Product]) map[string]int64 {
	prices := map[string]int64{}
	for p := range products {
		if p.Active {
			prices[p.ID] = p.Price
		}
	}
	return prices
}

// CartRevision returns a text that differs if a cart differs: in a product, in its
// quantity or price, or in the time at which it was added. So a cart that is filled again
// is another one. prices are those of [Shop.Prices].
func CartRevision(lines []CartLine, prices map[string]int64) string {
	sum := sha256.New()
	for _, l := range lines {
		price, sold := prices[l.ProductID]
		fmt.Fprintf(sum, "%q %d %d %d %t\n", l.ProductID, l.Quantity, l.AddedAt.UnixNano(), price, sold)
	}
	return base64.RawURLEncoding.EncodeToString(sum.Sum(nil)[:16])
}

// CartsQuery is the query for the carts that hold a product.
func CartsQuery(product string) table.Query {
	return table.Query{Index: gsi1, PK: cartPrefix.PK(product), Range: keys.User.All()}
}

// CartsWith returns the cart lines, of all users, that hold a product.
func (s *Shop) CartsWith(ctx context.Context, product string, limit int, after string) (table.Page[CartLine], error) {
	q := CartsQuery(product)
	q.Limit, q.After = limit, after
	return s.cartLines.Query(ctx, q)
}
