// Package changes holds one entity through the releases of a program, for the guide
// to changing a live table.
package changes

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// Schema is the table of the first release.
var Schema = schema.Table{Name: "Shop"}

// WithIndex is the table of the releases that list orders by status.
var WithIndex = schema.Table{Name: "Shop", Indexes: []schema.Index{{Name: "GSI1", PK: "gsi1pk", SK: "gsi1sk"}}}

const order keys.Prefix = "ORDER"

// Key is the key of an order.
func Key(id string) keys.Key { return keys.Key{PK: order.PK(id), SK: keys.Metadata} }

// Order1 is an order of the first release.
type Order1 struct {
	ID       string `dynamodbav:"orderId"`
	Customer string `dynamodbav:"customer"`
	Name     string `dynamodbav:"name"`
	Total    string `dynamodbav:"total"` // "12.50"
	Status   string `dynamodbav:"status"`
	Revision string `dynamodbav:"revision"`
}

var first = repo.Entity[Order1]{
	Type: "ORDER", Version: "revision",
	Key: func(o Order1) keys.Key { return Key(o.ID) },
}

// OrderChannel has an attribute more.
type OrderChannel struct {
	ID       string `dynamodbav:"orderId"`
	Customer string `dynamodbav:"customer"`
	Name     string `dynamodbav:"name"`
	Total    string `dynamodbav:"total"`
	Status   string `dynamodbav:"status"`
	Channel  string `dynamodbav:"channel"`
	Revision string `dynamodbav:"revision"`
}

var withChannel = repo.Entity[OrderChannel]{
	Type: "ORDER", Version: "revision",
	Key:      func(o OrderChannel) keys.Key { return Key(o.ID) },
	Upgrades: []repo.Upgrade{repo.Default("channel", "web")},
}

// OrderBoth has the name twice.
type OrderBoth struct {
	ID       string `dynamodbav:"orderId"`
	Customer string `dynamodbav:"customer"`
	Name     string `dynamodbav:"name"` // for the first release; it is written only
	Title    string `dynamodbav:"title"`
	Total    string `dynamodbav:"total"`
	Status   string `dynamodbav:"status"`
	Revision string `dynamodbav:"revision"`
}

// Call sets the name in both places.
func (o *OrderBoth) Call(name string) { o.Name, o.Title = name, name }

var withBoth = repo.Entity[OrderBoth]{
	Type: "ORDER", Version: "revision",
	Key:      func(o OrderBoth) keys.Key { return Key(o.ID) },
	Upgrades: []repo.Upgrade{copyName(true)},
}

// copyName gives an order both names. Of items that the next release has written, some
// have the new one only: filters on either are refused.
func copyName(compatible bool) repo.Upgrade {
	return repo.Upgrade{
		Writes: []string{"name", "title"}, Compatible: compatible,
		Change: func(item table.Item) error {
			if name, ok := item["name"]; ok {
				item["title"] = name
			}
			return nil
		},
	}
}

// OrderTitle has the new name only.
type OrderTitle struct {
	ID       string `dynamodbav:"orderId"`
	Customer string `dynamodbav:"customer"`
	Title    string `dynamodbav:"title"`
	Total    string `dynamodbav:"total"`
	Status   string `dynamodbav:"status"`
	Revision string `dynamodbav:"revision"`
}

var withTitle = repo.Entity[OrderTitle]{
	Type: "ORDER", Version: "revision",
	Key:      func(o OrderTitle) keys.Key { return Key(o.ID) },
	Upgrades: []repo.Upgrade{copyName(false), without("name")},
}

func without(attribute string) repo.Upgrade {
	u := repo.Drop(attribute)
	u.Compatible = true // with the release that has both
	return u
}

// OrderCents has a total of another type, under another name.
type OrderCents struct {
	ID       string `dynamodbav:"orderId"`
	Customer string `dynamodbav:"customer"`
	Name     string `dynamodbav:"name"`
	Cents    int64  `dynamodbav:"cents"`
	Status   string `dynamodbav:"status"`
	Revision string `dynamodbav:"revision"`
}

var withCents = repo.Entity[OrderCents]{
	Type: "ORDER", Version: "revision",
	Key:      func(o OrderCents) keys.Key { return Key(o.ID) },
	Upgrades: []repo.Upgrade{repo.Convert("total", "cents", cents)},
}

func cents(total string) (int64, error) {
	whole, part, _ := strings.Cut(total, ".")
	if len(part) != 2 {
		return 0, errors.New("not a number with two decimals")
	}
	return strconv.ParseInt(whole+part, 10, 64)
}

// OrderTotals has the total in both types.
type OrderTotals struct {
	ID       string `dynamodbav:"orderId"`
	Customer string `dynamodbav:"customer"`
	Name     string `dynamodbav:"name"`
	Total    string `dynamodbav:"total"`
	Cents    int64  `dynamodbav:"cents"`
	Status   string `dynamodbav:"status"`
	Revision string `dynamodbav:"revision"`
}

// Charge sets the total in both places.
func (o *OrderTotals) Charge(amount int64) {
	o.Total, o.Cents = fmt.Sprintf("%d.%02d", amount/100, amount%100), amount
}

var withTotals = repo.Entity[OrderTotals]{
	Type: "ORDER", Version: "revision",
	Key:      func(o OrderTotals) keys.Key { return Key(o.ID) },
	Upgrades: []repo.Upgrade{copyTotal(true)},
}

// copyTotal gives an order both totals.
func copyTotal(compatible bool) repo.Upgrade {
	return repo.Upgrade{
		Writes: []string{"total", "cents"}, Compatible: compatible,
		Change: func(item table.Item) error {
			total, ok := item["total"].(*types.AttributeValueMemberS)
			if !ok {
				return nil
			}
			n, err := cents(total.Value)
			item["cents"] = &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
			return err
		},
	}
}

// withCentsAlone is the release after withTotals.
var withCentsAlone = repo.Entity[OrderCents]{
	Type: "ORDER", Version: "revision",
	Key:      func(o OrderCents) keys.Key { return Key(o.ID) },
	Upgrades: []repo.Upgrade{copyTotal(false), without("total")},
}

// withStatus lists orders by status.
var withStatus = repo.Entity[Order1]{
	Type: "ORDER", Version: "revision",
	Key: func(o Order1) keys.Key { return Key(o.ID) },
	Indexes: repo.Indexes[Order1]{"GSI1": func(o Order1) keys.Key {
		return keys.Key{PK: keys.Prefix("STATUS").PK(o.Status), SK: order.SK(keys.Str(o.ID))}
	}},
}

// CustomerKey is the key of an order among those of its customer.
func CustomerKey(o Order1) keys.Key {
	return keys.Key{PK: keys.User.PK(o.Customer), SK: order.SK(keys.Str(o.ID))}
}

// withCustomer stores orders under their customer as well.
var withCustomer = repo.Entity[Order1]{
	Type: "ORDER", Version: "revision",
	Key:    func(o Order1) keys.Key { return Key(o.ID) },
	Copies: []repo.Copy[Order1]{{Name: "by customer", Key: CustomerKey}},
}

// movedFirst is the release that makes the copy the main item, and movedLast the one
// that gives up the former key.
var (
	movedFirst = repo.Entity[Order1]{
		Type: "ORDER", Version: "revision",
		Key:    CustomerKey,
		Copies: []repo.Copy[Order1]{{Name: "by id", Key: func(o Order1) keys.Key { return Key(o.ID) }}},
	}
	movedLast = repo.Entity[Order1]{
		Type: "ORDER", Version: "revision",
		Key:          CustomerKey,
		FormerCopies: []func(Order1) keys.Key{func(o Order1) keys.Key { return Key(o.ID) }},
	}
)

// Order2 has a field for the format of its main key.
type Order2 struct {
	Order1
	Format int `dynamodbav:"format,omitempty"`
}

// movedByField is the release whose orders move one by one, for an entity that can have no
// copies. When the former release is gone, move each order. Until all have moved, a read that
// finds nothing under one key looks under the other one, and under the first once more. Create
// with the former format until then, since Create sees the key of its own format only.
var movedByField = repo.Entity[Order2]{
	Type: "ORDER", Version: "revision",
	Key: func(o Order2) keys.Key {
		if o.Format == 1 {
			return CustomerKey(o.Order1)
		}
		return Key(o.ID)
	},
}

// move moves an order to the new key. One that has moved is table.ErrNotFound.
func move(ctx context.Context, orders *repo.Repo[Order2], id string) error {
	_, err := orders.Update(ctx, Key(id), func(o *Order2) error { o.Format = 1; return nil })
	return err
}

// withoutStatus has left the index: its keys are removed.
var withoutStatus = repo.Entity[Order1]{
	Type: "ORDER", Version: "revision",
	Key:      func(o Order1) keys.Key { return Key(o.ID) },
	Upgrades: []repo.Upgrade{leaveIndex()},
}

func leaveIndex() repo.Upgrade {
	u := repo.Drop("gsi1pk", "gsi1sk")
	u.Compatible = true // with the release that sets and does not query them
	return u
}

// text returns a string as an attribute.
func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
