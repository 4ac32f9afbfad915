package main

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
)

// The names of the two indexes. Each serves whatever entity puts a key there.
const (
	gsi1 = "GSI1" // products of a category; carts that hold a product; audits of a day
	gsi2 = "GSI2" // products by name
)

// schema is the one table of the shop. Its key attributes are called PK and SK,
// as in tables that other programs have made.
func schema(name string) table.Schema {
	return table.Schema{
		Name: name, PK: "PK", SK: "SK", TTL: "expiresAt",
		// For the audit trail and the notifications.
		Stream: types.StreamViewTypeNewAndOldImages,
		Indexes: []table.Index{
			{Name: gsi1, PK: "GSI1PK", SK: "GSI1SK"},
			{Name: gsi2, PK: "GSI2PK", SK: "GSI2SK"},
		},
	}
}

// The prefixes of the keys, beside keys.User.
const (
	emailPrefix      keys.Prefix = "EMAIL"
	categoriesPrefix keys.Prefix = "CATEGORIES"
	categoryPrefix   keys.Prefix = "CATEGORY"
	productPrefix    keys.Prefix = "PRODUCT"
	initialPrefix    keys.Prefix = "INITIAL"
	namePrefix       keys.Prefix = "NAME"
	cartPrefix       keys.Prefix = "CART"
	orderPrefix      keys.Prefix = "ORDER"
	itemPrefix       keys.Prefix = "ITEM"
	auditPrefix      keys.Prefix = "AUDIT"
	dayPrefix        keys.Prefix = "AUDIT_DAY"
	lowPrefix        keys.Prefix = "LOW_STOCK"
)

// shop carries out the access patterns on one table. It is safe for concurrent
// use.
type shop struct {
	table      *table.Table
	users      *repo.Repo[User]
	categories *repo.Repo[Category]
	products   *repo.Repo[Product]
	cartLines  *repo.Repo[CartLine]
	orders     *repo.Repo[Order]
	orderItems *repo.Repo[OrderItem]
	audits     *repo.Repo[Audit]
	lowStocks  *repo.Repo[LowStock]
	// rounds is how much work it takes to try a password.
	rounds int
}

// newShop returns the shop in a table. For passwords that are secret, take
// 600,000 rounds or more, so that guesses take time.
func newShop(t *table.Table, rounds int) (*shop, error) {
	s := &shop{table: t, rounds: rounds}
	var err error
	if s.users, err = repo.New(t, userEntity); err != nil {
		return nil, err
	}
	if s.categories, err = repo.New(t, categoryEntity); err != nil {
		return nil, err
	}
	if s.products, err = repo.New(t, productEntity); err != nil {
		return nil, err
	}
	if s.cartLines, err = repo.New(t, cartLineEntity); err != nil {
		return nil, err
	}
	if s.orders, err = repo.New(t, orderEntity); err != nil {
		return nil, err
	}
	if s.orderItems, err = repo.New(t, orderItemEntity); err != nil {
		return nil, err
	}
	if s.audits, err = repo.New(t, auditEntity); err != nil {
		return nil, err
	}
	s.lowStocks, err = repo.New(t, lowStockEntity)
	return s, err
}
