package main_test

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/guregu/dynamo/v2"
)

// guregu is github.com/guregu/dynamo. Like the SDK alone it does less than
// singletable; see there.
type guregu struct {
	db    *dynamo.DB
	table dynamo.Table
}

func openGuregu(client *dynamodb.Client, tableName string) library {
	db := dynamo.NewFromIface(client)
	return guregu{db, db.Table(tableName)}
}

func (l guregu) get(ctx context.Context, user string, at time.Time, id string) (record, error) {
	var r record
	err := l.table.Get("pk", userPK(user)).Range("sk", dynamo.Equal, txSK(at, id)).One(ctx, &r)
	return r, err
}

func (l guregu) page(ctx context.Context, user string) ([]record, bool, error) {
	var page []record
	next, err := l.table.Get("pk", userPK(user)).Range("sk", dynamo.BeginsWith, "TX#").
		Order(dynamo.Descending).Limit(pageSize).AllWithLastEvaluatedKey(ctx, &page)
	return page, next != nil, err
}

func (l guregu) create(ctx context.Context, r record) error {
	r = stored(r)
	return l.putAll(ctx, r, copied(r))
}

func (l guregu) createAll(ctx context.Context, records []record) error {
	items := make([]record, len(records))
	for i, r := range records {
		items[i] = stored(r)
	}
	return l.putAll(ctx, items...)
}

func (l guregu) putAll(ctx context.Context, items ...record) error {
	tx := l.db.WriteTx()
	for _, r := range items {
		tx.Put(l.table.Put(r).If("attribute_not_exists($)", "pk"))
	}
	return tx.Run(ctx)
}

func (l guregu) update(ctx context.Context, user string, at time.Time, id string, amount int64) error {
	r, err := l.consistent(ctx, user, at, id)
	if err != nil {
		return err
	}
	return l.change(r, r, amount, rand.Text()).Run(ctx)
}

func (l guregu) updateBoth(ctx context.Context, user string, at time.Time, id string, amount int64) error {
	r, err := l.consistent(ctx, user, at, id)
	if err != nil {
		return err
	}
	next := rand.Text()
	return l.db.WriteTx().Update(l.change(r, r, amount, next)).Update(l.change(copied(r), r, amount, next)).Run(ctx)
}

func (l guregu) consistent(ctx context.Context, user string, at time.Time, id string) (record, error) {
	var r record
	err := l.table.Get("pk", userPK(user)).Range("sk", dynamo.Equal, txSK(at, id)).Consistent(true).One(ctx, &r)
	return r, err
}

// change returns the update of the item that holds at, or its copy.
func (l guregu) change(at, old record, amount int64, next string) *dynamo.Update {
	return l.table.Update("pk", at.PK).Range("sk", at.SK).
		Set("amount", amount).Set("revision", next).
		If("$ = ?", "revision", old.Revision)
}

func (l guregu) transactPut(ctx context.Context, records []record) error {
	tx := l.db.WriteTx()
	for _, r := range records {
		tx.Put(l.table.Put(stored(r)))
	}
	return tx.Run(ctx)
}

func (l guregu) pay(ctx context.Context, from, r record) error {
	from, r = keyed(from), stored(r)
	return l.db.WriteTx().
		Put(l.table.Put(r).If("attribute_not_exists($)", "pk")).
		Put(l.table.Put(copied(r)).If("attribute_not_exists($)", "pk")).
		Update(l.table.Update("pk", from.PK).Range("sk", from.SK).SetExpr("$ = $ - ?", "amount", "amount", r.Amount).
			If("$ = ?", "status", "open").If("$ >= ?", "amount", r.Amount)).
		Run(ctx)
}
