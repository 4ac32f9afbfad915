package main_test

import (
	"context"
	"crypto/rand"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// tableAlone does by package table what package repo does: the same requests,
// written by hand for this one type.
type tableAlone struct{ table, records, consistent *table.Table }

func openTable(client *dynamodb.Client, tableName string) library {
	t := newTable(client, tableName)
	return tableAlone{t, t.OfType(recordType), t.OfType(recordType).Consistent()}
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

func (l tableAlone) get(ctx context.Context, user string, at time.Time, id string) (record, error) {
	return table.Get[record](ctx, l.records, txKey(user, at, id))
}

func (l tableAlone) page(ctx context.Context, user string) ([]record, bool, error) {
	page, err := table.QueryPage[record](ctx, l.records, newest(user))
	return page.Items, page.Next != "", err
}

func (l tableAlone) create(ctx context.Context, r record) error {
	r.Type, r.Revision = recordType, rand.Text()
	return l.table.Transact(ctx, table.Create(txKey(r.UserID, r.CreatedAt, r.ID), r), table.Create(copyKey(r.ID), r))
}

func (l tableAlone) update(ctx context.Context, user string, at time.Time, id string, amount int64) error {
	key := txKey(user, at, id)
	old, set, err := l.change(ctx, key, amount)
	if err != nil {
		return err
	}
	return l.table.Do(ctx, patched(key, set, old))
}

func (l tableAlone) updateBoth(ctx context.Context, user string, at time.Time, id string, amount int64) error {
	key := txKey(user, at, id)
	old, set, err := l.change(ctx, key, amount)
	if err != nil {
		return err
	}
	return l.table.Transact(ctx, patched(key, set, old), patched(copyKey(old.ID), set, old))
}

// change reads a record and returns the attributes that a new amount changes.
func (l tableAlone) change(ctx context.Context, key keys.Key, amount int64) (old record, set table.Item, err error) {
	old, err = table.Get[record](ctx, l.consistent, key)
	return old, table.Item{
		"amount":   &types.AttributeValueMemberN{Value: strconv.FormatInt(amount, 10)},
		"revision": stringValue(rand.Text()),
	}, err
}

func patched(key keys.Key, set table.Item, old record) table.Op {
	return table.Patch(key, set).IfType(recordType).IfRevision("revision", old.Revision).IfExists()
}

func (l tableAlone) createAll(ctx context.Context, records []record) error {
	ops := make([]table.Op, len(records))
	for i, r := range records {
		r.Type, r.Revision = recordType, rand.Text()
		ops[i] = table.Create(txKey(r.UserID, r.CreatedAt, r.ID), r)
	}
	return l.table.Transact(ctx, ops...)
}

func (l tableAlone) transactPut(ctx context.Context, records []record) error {
	entries := make([]table.Entry, len(records))
	for i, r := range records {
		r.Type, r.Revision = recordType, rand.Text()
		entries[i] = table.Entry{Key: txKey(r.UserID, r.CreatedAt, r.ID), Value: r}
	}
	return l.table.TransactPut(ctx, entries...)
}

func (l tableAlone) pay(ctx context.Context, from, r record) error {
	r.Type, r.Revision = recordType, rand.Text()
	return l.table.Transact(ctx,
		table.Create(txKey(r.UserID, r.CreatedAt, r.ID), r), table.Create(copyKey(r.ID), r), take(from, r.Amount))
}

// take returns the op that takes an amount from an open record that holds as much.
func take(from record, amount int64) table.Op {
	a, by := expression.Name("amount"), expression.Value(amount)
	return table.Update(txKey(from.UserID, from.CreatedAt, from.ID), expression.Set(a, a.Minus(by))).
		If(expression.Name("status").Equal(expression.Value("open")).And(a.GreaterThanEqual(by)))
}
