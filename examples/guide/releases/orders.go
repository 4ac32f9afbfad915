// Package releases holds one entity as two releases of a program know it, for the
// guide to releases side by side.
package releases

import (
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
)

// Schema is the table of both releases. The first one does not use the index.
var Schema = schema.Table{Name: "Orders", Indexes: []schema.Index{{Name: "GSI1", PK: "GSI1PK", SK: "GSI1SK"}}}

const order keys.Prefix = "ORDER"

// Key is the key of an order.
func Key(id string) keys.Key { return keys.Key{PK: order.PK(id), SK: keys.Metadata} }

// Order1 is an order as the first release knows it.
type Order1 struct {
	ID       string `dynamodbav:"orderId"`
	Status   string `dynamodbav:"status"`
	Revision string `dynamodbav:"revision"`
}

var release1 = repo.Entity[Order1]{
	Type:    "ORDER",
	Key:     func(o Order1) keys.Key { return Key(o.ID) },
	Version: "revision",
}

// Order2 is an order as the second release knows it: with a currency, and listed
// by it.
type Order2 struct {
	ID       string `dynamodbav:"orderId"`
	Status   string `dynamodbav:"status"`
	Currency string `dynamodbav:"currency,omitempty"`
	Revision string `dynamodbav:"revision"`
}

var release2 = repo.Entity[Order2]{
	Type: "ORDER",
	Key:  func(o Order2) keys.Key { return Key(o.ID) },
	Indexes: repo.Indexes[Order2]{"GSI1": func(o Order2) keys.Key {
		if o.Currency == "" {
			return keys.Key{}
		}
		return keys.Key{PK: keys.Prefix("CURRENCY").PK(o.Currency), SK: order.SK(keys.Str(o.ID))}
	}},
	Version: "revision",
}
