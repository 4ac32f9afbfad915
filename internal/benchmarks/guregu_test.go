package benchmarks_test

import (
	"context"
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

func (l guregu) transact(ctx context.Context, c change) error {
	for _, r := range []*record{&c.created, &c.put} {
		r.PK, r.SK = userPK(r.UserID), txSK(r.CreatedAt, r.ID)
	}
	return l.db.WriteTx().
		Put(l.table.Put(c.created).If("attribute_not_exists($)", "pk")).
		Put(l.table.Put(c.put)).
		Update(l.table.Update("pk", userPK(c.account.UserID)).Range("sk", txSK(c.account.CreatedAt, c.account.ID)).
			Set("amount", c.account.Amount).Set("note", c.account.Note).
			If("$ = ?", "status", "open")).
		Run(ctx)
}

func (l guregu) transactPut(ctx context.Context, records trio) error {
	tx := l.db.WriteTx()
	for _, r := range records {
		r.PK, r.SK = userPK(r.UserID), txSK(r.CreatedAt, r.ID)
		tx.Put(l.table.Put(r).If("attribute_not_exists($)", "pk"))
	}
	return tx.Run(ctx)
}
