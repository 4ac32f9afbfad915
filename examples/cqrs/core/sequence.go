package core

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
)

// ErrUsedUp means that a year has no order number left.
var ErrUsedUp = errors.New("sequence is used up")

// Order numbers, such as ORD-000001, begin again for each tenant and year.
const (
	orderPrefix = "ORD"
	lastOrder   = 999_999
)

// counter is the state of a sequence: SEQ#<tenant> / SEQ#<prefix>#<year>, with the
// last number that was given out.
type counter struct {
	TenantCode string `dynamodbav:"tenantCode"`
	Prefix     string `dynamodbav:"prefix"`
	Year       int    `dynamodbav:"year"`
	Last       int64  `dynamodbav:"last"`
}

var counterEntity = repo.Entity[counter]{
	Type: "SEQUENCE",
	Key: func(c counter) keys.Key {
		p := keys.Prefix("SEQ")
		return keys.Key{PK: p.PK(c.TenantCode), SK: p.SK(keys.Str(c.Prefix), keys.Int(c.Year, 4))}
	},
}

// PlaceOrder publishes a new order under the number after the last one, which the same
// transaction moves on: numbers have no gaps. An order stands below its year, since the
// numbers begin again each year. A repeated request gets the order of the first.
func (t Tenant) PlaceOrder(ctx context.Context, name string, attributes map[string]any) (Record, error) {
	if t.caller.RequestID == "" {
		t.caller.RequestID = rand.Text() // [Tenant.once] plans again what has one
	}
	order := Change{Ref: Ref{Type: "ORDER"}, Name: name, Attributes: attributes}
	return t.once(ctx, order, func(ctx context.Context) (Change, []table.Op, error) { return t.numbered(ctx, order) })
}

// numbered returns an order with the next number, and the op that takes it. The op is stale if
// another order was faster.
func (t Tenant) numbered(ctx context.Context, order Change) (Change, []table.Op, error) {
	c := counter{TenantCode: t.caller.Tenant, Prefix: orderPrefix, Year: t.table.Now().UTC().Year()}
	stored, err := t.counters.Consistent().Get(ctx, counterEntity.Key(c))
	if err != nil && !errors.Is(err, table.ErrNotFound) {
		return order, nil, err
	}
	for c.Last = stored.Last + 1; c.Last <= lastOrder; c.Last++ {
		order.Ref = NewRef("ORDER", strconv.Itoa(c.Year), fmt.Sprintf("%s-%06d", orderPrefix, c.Last))
		// Commands of earlier releases have taken numbers.
		_, err := t.Version(ctx, order.Ref, 1)
		if errors.Is(err, table.ErrNotFound) {
			return order, []table.Op{t.counters.PutOps(&c)[0].IfVersion("last", stored.Last)}, nil
		}
		if err != nil {
			return order, nil, err
		}
	}
	return order, nil, fmt.Errorf("%w: %s of %d", ErrUsedUp, orderPrefix, c.Year)
}
