package setup

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/singletable/singletable/examples/shop/store"
	"github.com/singletable/singletable/stream"
)

// Consumers are the names of the consumers of the table's stream, for [Router].
var Consumers = []string{"audit", "notify"}

// Router returns a consumer of the table's stream.
func Router(name string, shop *store.Shop, log *slog.Logger) (*stream.Router, error) {
	switch name {
	case "audit":
		return shop.Auditor()
	case "notify":
		return shop.Notifier(send(log))
	}
	return nil, fmt.Errorf("there is no consumer %q", name)
}

// send returns a function that sends a notification as a line of the log. Call a mail
// service or a chat here instead.
func send(log *slog.Logger) store.Send {
	return func(ctx context.Context, key string, n store.LowStock) error {
		log.WarnContext(ctx, "low stock", slog.String("product", n.ProductID), slog.Int("left", n.Stock), slog.String("idempotencyKey", key))
		return nil
	}
}
