package benchmarks_test

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

type singletable struct{ table *table.Table }

func openSingletable(client *dynamodb.Client, tableName string) library {
	s := schema
	s.Name = tableName
	t, err := table.New(client, s, nil)
	if err != nil {
		panic(err)
	}
	return singletable{t}
}

func txKey(user string, at time.Time, id string) keys.Key {
	return keys.Key{PK: keys.User.PK(user), SK: keys.Tx.SK(keys.Time(at), keys.Str(id))}
}

func (l singletable) get(ctx context.Context, user string, at time.Time, id string) (record, error) {
	return table.Get[record](ctx, l.table, txKey(user, at, id))
}

func (l singletable) page(ctx context.Context, user string) ([]record, bool, error) {
	page, err := table.QueryPage[record](ctx, l.table, table.Query{
		PK: keys.User.PK(user), Range: keys.Tx.All(), Descending: true, Limit: pageSize,
	})
	return page.Items, page.Next != "", err
}

func (l singletable) transact(ctx context.Context, c change) error {
	return l.table.Transact(
		ctx,
		table.Create(txKey(c.created.UserID, c.created.CreatedAt, c.created.ID), c.created),
		table.Put(txKey(c.put.UserID, c.put.CreatedAt, c.put.ID), c.put),
		table.Update(
			txKey(c.account.UserID, c.account.CreatedAt, c.account.ID),
			expression.Set(expression.Name("amount"), expression.Value(c.account.Amount)).
				Set(expression.Name("note"), expression.Value(c.account.Note)),
		).If(expression.Name("status").Equal(expression.Value("open"))),
	)
}

func (l singletable) transactPut(ctx context.Context, records trio) error {
	entries := make([]table.Entry, len(records))
	for i, r := range records {
		entries[i] = table.Entry{Key: txKey(r.UserID, r.CreatedAt, r.ID), Value: r}
	}
	return l.table.TransactCreate(ctx, entries...)
}
