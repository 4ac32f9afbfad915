package store

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// The names of the indexes.
const (
	gsi1 = "GSI1" // products of a category, inactive ones; carts that hold a product; audits of a day; low stock
	gsi2 = "GSI2" // products by name

	similar = "similar" // vectors of active products
)

// Schema is the one table of the shop. Its key attributes are called PK and SK,
// as in tables that other programs have made.
func Schema(name string) schema.Table {
	return schema.Table{
		Name: name, PK: "PK", SK: "SK", TTLAttribute: "expiresAt",
		// For the audit trail and the notifications.
		Stream: types.StreamViewTypeNewAndOldImages,
		Indexes: []schema.Index{
			{Name: gsi1, PK: "GSI1PK", SK: "GSI1SK"},
			{Name: gsi2, PK: "GSI2PK", SK: "GSI2SK"},
		},
		// It has no partition: a product of any category can be similar.
		Vectors: []schema.VectorIndex{{Name: similar, Attribute: "vector", Dimensions: dimensions}},
	}
}

// The types of the entities that are audited, for [Shop.AuditsByEntity].
const (
	UserType    = "USER"
	ProductType = "PRODUCT"
	OrderType   = "ORDER"
)

// The prefixes of the keys, in addition to keys.User.
const (
	attemptsPrefix   keys.Prefix = "ATTEMPTS"
	windowPrefix     keys.Prefix = "WINDOW"
	codePrefix       keys.Prefix = "CODE"
	emailPrefix      keys.Prefix = "EMAIL"
	categoriesPrefix keys.Prefix = "CATEGORIES"
	categoryPrefix   keys.Prefix = "CATEGORY"
	productPrefix    keys.Prefix = "PRODUCT"
	inactivePrefix   keys.Prefix = "INACTIVE"
	initialPrefix    keys.Prefix = "INITIAL"
	namePrefix       keys.Prefix = "NAME"
	cartPrefix       keys.Prefix = "CART"
	orderPrefix      keys.Prefix = "ORDER"
	itemPrefix       keys.Prefix = "ITEM"
	auditPrefix      keys.Prefix = "AUDIT"
	dayPrefix        keys.Prefix = "AUDIT_DAY"
	lowPrefix        keys.Prefix = "LOW_STOCK"
)

// Shop runs the access patterns on one table. It is safe for concurrent use. Get one
// from [New].
type Shop struct {
	// Model makes the vectors of products. It is one without a network, unless it is set
	// before the first use. All vectors of a table are of one model.
	Model Model

	table      *table.Table
	users      *repo.Repo[User]
	attempts   *repo.Repo[attempts]
	codes      *repo.Repo[code]
	categories *repo.Repo[Category]
	products   *repo.Repo[Product]
	vectors    *repo.Repo[productVector]
	cartLines  *repo.Repo[CartLine]
	orders     *repo.Repo[Order]
	orderItems *repo.Repo[OrderItem]
	audits     *repo.Repo[Audit]
	lowStocks  *repo.Repo[LowStock]
	// requests remembers which idempotency key has which order.
	requests *idempotency.Store
	// rounds is the number of PBKDF2 rounds of new passwords.
	rounds int
}

// Rounds is the number of PBKDF2 rounds with SHA-256 that OWASP recommends.
const Rounds = 600_000

// New returns the shop in a table. rounds is the number of PBKDF2 rounds for new
// passwords: take [Rounds], and fewer in tests only.
func New(t *table.Table, rounds int) (*Shop, error) {
	s := &Shop{Model: letters, table: t, rounds: rounds}
	var err error
	if s.users, err = repo.New(t, userEntity); err != nil {
		return nil, err
	}
	if s.attempts, err = repo.New(t, attemptsEntity); err != nil {
		return nil, err
	}
	if s.codes, err = repo.New(t, codeEntity); err != nil {
		return nil, err
	}
	if s.categories, err = repo.New(t, categoryEntity); err != nil {
		return nil, err
	}
	if s.products, err = repo.New(t, productEntity); err != nil {
		return nil, err
	}
	if s.vectors, err = repo.New(t, productVectorEntity); err != nil {
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
	if s.lowStocks, err = repo.New(t, lowStockEntity); err != nil {
		return nil, err
	}
	s.requests, err = idempotency.New(t, nil)
	return s, err
}

// Forms returns the stored form of each entity, which a test compares with that of the last
// release.
func (s *Shop) Forms() []repo.Form {
	return []repo.Form{
		s.users.Form(), s.attempts.Form(), s.codes.Form(), s.categories.Form(), s.products.Form(), s.vectors.Form(),
		s.cartLines.Form(), s.orders.Form(), s.orderItems.Form(), s.audits.Form(), s.lowStocks.Form(),
	}
}
