// Package typeless has the code of docs/from-dynamoose.md: programs next to dynamoose, Auth.js
// and castore, whose items have no type, or several for one thing.
package typeless

import (
	"context"
	"time"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// Schema tells the items of dynamoose's models apart by their keys.
var Schema = schema.Table{
	Name:    "Shop",
	Indexes: []schema.Index{{Name: "gsi1", PK: "gsi1pk", SK: "gsi1sk"}},
	Kinds: []schema.Kind{
		{Type: "Customer", PK: "CUSTOMER#", SK: "PROFILE"},
		{Type: "Order", PK: "CUSTOMER#", SK: "ORDER#"},
	},
}

// Order has the attributes of the model, with timestamps: true.
type Order struct {
	Customer string          `dynamodbav:"customerId"`
	ID       string          `dynamodbav:"orderId"`
	Status   string          `dynamodbav:"status"`
	Tags     []string        `dynamodbav:"tags,stringset,omitempty"`
	Created  table.UnixMilli `dynamodbav:"createdAt"`
	Updated  int64           `dynamodbav:"updatedAt"`
}

var orderEntity = repo.Entity[Order]{
	Type: "Order", Version: "updatedAt",
	Key: func(o Order) keys.Key { return orderKey(o.Customer, o.ID) },
	Indexes: repo.Indexes[Order]{"gsi1": func(o Order) keys.Key {
		return keys.Key{PK: keys.PK("STATUS#" + o.Status), SK: keys.SK("ORDER#" + o.ID)}
	}},
	Shared: &repo.Shared[Order]{},
}

func orderKey(customer, id string) keys.Key {
	return keys.Key{PK: keys.PK("CUSTOMER#" + customer), SK: keys.SK("ORDER#" + id)}
}

// Place stores a new order, with the time as its creation.
func Place(ctx context.Context, orders *repo.Repo[Order], o Order) error {
	o.Created.Time = time.Now()
	return orders.Create(ctx, &o)
}

// ByStatus returns orders from the index.
func ByStatus(ctx context.Context, orders *repo.Repo[Order], status string) (table.Page[Order], error) {
	return orders.Query(ctx, table.Query{Index: "gsi1", PK: keys.PK("STATUS#" + status), Limit: 20})
}
