package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/stream"
	"github.com/singletable/singletable/table"
)

// LowStockThreshold is the stock below which somebody is notified.
const LowStockThreshold = 3

// lowStockLife is how long a notification is kept.
const lowStockLife = 90 * 24 * time.Hour

// LowStock is a notification that the stock of a product has fallen below [LowStockThreshold]. It
// is stored once, as PRODUCT#<product> / LOW_STOCK#<time>#<sequence>, with the time and
// the sequence number of the change, and is in GSI1 with those of all products. Its creation is in the stream, and the handler of
// that sends it: it is an outbox.
type LowStock struct {
	ProductID string     `dynamodbav:"productId"`
	Name      string     `dynamodbav:"name"`
	Stock     int        `dynamodbav:"stock"`
	At        time.Time  `dynamodbav:"at"` // in whole seconds
	Sequence  string     `dynamodbav:"sequence"`
	SentAt    *time.Time `dynamodbav:"sentAt,omitempty"`
	ExpiresAt time.Time  `dynamodbav:"expiresAt,unixtime"`
	Revision  string     `dynamodbav:"revision"`
}

var lowStockEntity = repo.Entity[LowStock]{
	Type: "LOW_STOCK",
	Key: func(n LowStock) keys.Key {
		return keys.Key{PK: productPrefix.PK(n.ProductID), SK: lowPrefix.SK(keys.Time(n.At), ordered(n.Sequence))}
	},
	// There are few, so one partition of the index holds them all.
	Indexes: repo.Indexes[LowStock]{gsi1: func(n LowStock) keys.Key {
		return keys.Key{PK: lowPrefix.PK(), SK: lowPrefix.SK(keys.Time(n.At), ordered(n.Sequence), keys.Str(n.ProductID))}
	}},
	Version: "revision",
}

// Send sends a notification. key is its idempotency key: calls with one key are for
// one notification, and the receiver acts on the first.
type Send func(ctx context.Context, key string, n LowStock) error

// SendTo returns a function that sends notifications as lines of text.
func SendTo(w io.Writer) Send {
	return func(_ context.Context, key string, n LowStock) error {
		_, err := fmt.Fprintf(w, "  sent: %s is low, %d left; idempotency key %s\n", n.Name, n.Stock, key)
		return err
	}
}

// Notifier returns the consumer of the stream that creates notifications of products
// whose stock is low and sends them. It is another consumer than the auditor, so that
// a receiver that is down does not hold up the audit trail.
func (s *Shop) Notifier(send Send) (*stream.Router, error) {
	return stream.New(s.table, nil,
		stream.On(s.products, s.noticeLowStock),
		stream.On(s.lowStocks, func(ctx context.Context, c stream.Change[LowStock]) error {
			if c.Kind != stream.Insert {
				return nil
			}
			return s.sendOnce(ctx, c, send)
		}),
		stream.IgnoreOther())
}

// noticeLowStock creates a notification when a change takes the stock of a product
// below the threshold. Sales that follow notify of nothing, until there is more again.
func (s *Shop) noticeLowStock(ctx context.Context, c stream.Change[Product]) error {
	if c.Kind != stream.Modify || c.Old.Stock < LowStockThreshold || c.New.Stock >= LowStockThreshold {
		return nil
	}
	sequence, err := sequenceOf(c)
	if err != nil {
		return err
	}
	at := c.At.UTC().Truncate(time.Second)
	n := LowStock{
		ProductID: c.New.ID, Name: c.New.Name, Stock: c.New.Stock,
		At: at, Sequence: sequence, ExpiresAt: at.Add(lowStockLife),
	}
	err = s.lowStocks.Create(ctx, &n)
	if errors.Is(err, table.ErrExists) { // delivered before
		return nil
	}
	return err
}

// sendOnce sends a notification unless it is marked as sent, and marks it. A process that
// ends between the two sends it again, with the same key.
func (s *Shop) sendOnce(ctx context.Context, c stream.Change[LowStock], send Send) error {
	n, err := s.lowStocks.Consistent().Get(ctx, c.Key)
	switch {
	case errors.Is(err, table.ErrNotFound): // deleted since
		return nil
	case err != nil || n.SentAt != nil:
		return err
	}
	if err := send(ctx, c.EventID, n); err != nil {
		return fmt.Errorf("send: %w", err)
	}
	_, err = s.lowStocks.Update(ctx, c.Key, func(n *LowStock) error {
		now := s.table.Now().UTC()
		n.SentAt = &now
		return nil
	})
	return err
}

// LowStocksQuery is the query for the notifications of a product, in their order.
func LowStocksQuery(product string) table.Query {
	return table.Query{PK: productPrefix.PK(product), Range: lowPrefix.All()}
}

// LowStocksByProduct returns a page of the notifications of a product, in their order.
func (s *Shop) LowStocksByProduct(ctx context.Context, product string, limit int, after string) (table.Page[LowStock], error) {
	q := LowStocksQuery(product)
	q.Limit, q.After = limit, after
	return s.lowStocks.Query(ctx, q)
}

// NewestLowStocksQuery is the query for the notifications of all products, newest first.
var NewestLowStocksQuery = table.Query{Index: gsi1, PK: lowPrefix.PK(), Range: lowPrefix.All(), Descending: true}

// LowStocks returns a page of the notifications of all products, newest first.
func (s *Shop) LowStocks(ctx context.Context, limit int, after string) (table.Page[LowStock], error) {
	q := NewestLowStocksQuery
	q.Limit, q.After = limit, after
	return s.lowStocks.Query(ctx, q)
}
