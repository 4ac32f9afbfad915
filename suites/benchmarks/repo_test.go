package main_test

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
)

// repos are package repo: records without a copy, records with one, and records
// without a version.
type repos struct {
	single, both, plain *repo.Repo[record]
	table               *table.Table
}

func openRepo(client *dynamodb.Client, tableName string) library {
	return openReposOf(newTable(client, tableName))
}

func openReposOf(t *table.Table) library {
	entity := repo.Entity[record]{
		Type:    recordType,
		Key:     func(r record) keys.Key { return txKey(r.UserID, r.CreatedAt, r.ID) },
		Version: "revision",
	}
	both := entity
	both.Copies = []repo.Copy[record]{{Name: "by id", Key: func(r record) keys.Key { return copyKey(r.ID) }}}
	l := repos{table: t}
	plain := entity
	plain.Version = ""
	for into, e := range map[**repo.Repo[record]]repo.Entity[record]{&l.single: entity, &l.both: both, &l.plain: plain} {
		r, err := repo.New(t, e)
		if err != nil {
			panic(err)
		}
		*into = r
	}
	return l
}

func (l repos) get(ctx context.Context, user string, at time.Time, id string) (record, error) {
	return l.single.Get(ctx, txKey(user, at, id))
}

func (l repos) page(ctx context.Context, user string) ([]record, bool, error) {
	page, err := l.single.Query(ctx, newest(user))
	return page.Items, page.Next != "", err
}

func (l repos) create(ctx context.Context, r record) error { return l.both.Create(ctx, &r) }

func (l repos) update(ctx context.Context, user string, at time.Time, id string, amount int64) error {
	_, err := l.single.Update(ctx, txKey(user, at, id), func(r *record) error { r.Amount = amount; return nil })
	return err
}

func (l repos) updateBoth(ctx context.Context, user string, at time.Time, id string, amount int64) error {
	_, err := l.both.Update(ctx, txKey(user, at, id), func(r *record) error { r.Amount = amount; return nil })
	return err
}

func (l repos) createAll(ctx context.Context, records []record) error {
	ops := make([]table.Op, 0, len(records))
	for i := range records {
		ops = append(ops, l.single.CreateOps(&records[i])...)
	}
	return l.table.Transact(ctx, ops...)
}

func (l repos) transactPut(ctx context.Context, records []record) error {
	all := make([]*record, len(records))
	for i := range records {
		records[i].Revision = rand.Text()
		all[i] = &records[i]
	}
	return l.plain.TransactPut(ctx, all...)
}

func (l repos) pay(ctx context.Context, from, r record) error {
	ops := append(make([]table.Op, 0, 3), l.both.CreateOps(&r)...)
	return l.table.Transact(ctx, append(ops, take(from, r.Amount))...)
}

func newTable(client *dynamodb.Client, tableName string) *table.Table {
	s := spec
	s.Name = tableName
	t, err := table.New(client, s, nil)
	if err != nil {
		panic(err)
	}
	return t
}

func txKey(user string, at time.Time, id string) keys.Key {
	return keys.Key{PK: keys.User.PK(user), SK: keys.Tx.SK(keys.Time(at), keys.Str(id))}
}

func copyKey(id string) keys.Key { return keys.Key{PK: keys.Tx.PK(id), SK: keys.Metadata} }

func newest(user string) table.Query {
	return table.Query{PK: keys.User.PK(user), Range: keys.Tx.All(), Descending: true, Limit: pageSize}
}

// take returns the op that takes an amount from an open record that holds as much.
func take(from record, amount int64) table.Op {
	a, by := expression.Name("amount"), expression.Value(amount)
	return table.Update(txKey(from.UserID, from.CreatedAt, from.ID), expression.Set(a, a.Minus(by))).
		If(expression.Name("status").Equal(expression.Value("open")).And(a.GreaterThanEqual(by)))
}
