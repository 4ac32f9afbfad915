package main_test

import (
	"context"
	"crypto/rand"
	"errors"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// sdk is the AWS SDK by hand.
//
// It does less than singletable does. It does not check a key or the size of an
// item; it does not ask for the consumed capacity of a query, nor make a cursor
// of the position where the next page begins; in a transaction it does not ask
// for the items that made it fail, nor watch what becomes of the attempts. An
// update writes the fields that the program says, not those that differ.
type sdk struct {
	client *dynamodb.Client
	table  *string
	// encode and decode make items of records, and records of items.
	encode func(record) (map[string]types.AttributeValue, error)
	decode func(map[string]types.AttributeValue, *record) error
}

// text is an expression as the API has it.
type text struct {
	key, update, condition *string
	names                  map[string]string
	values                 map[string]types.AttributeValue
}

// openSDK returns the SDK with attributevalue, and expressions written by hand,
// which is the cheapest way.
func openSDK(client *dynamodb.Client, tableName string) library {
	return sdk{client, &tableName, encodeValue, decodeValue}
}

func encodeValue(r record) (map[string]types.AttributeValue, error) {
	return attributevalue.MarshalMap(r)
}

func decodeValue(item map[string]types.AttributeValue, r *record) error {
	return attributevalue.UnmarshalMap(item, r)
}

// pageOf has the key condition of the user's records.
func pageOf(user string) text {
	return text{
		key:    aws.String("pk = :pk AND begins_with(sk, :prefix)"),
		values: map[string]types.AttributeValue{":pk": stringValue(userPK(user)), ":prefix": stringValue("TX#")},
	}
}

// absent has the condition that there is no item.
func absent() text { return text{condition: aws.String("attribute_not_exists(pk)")} }

// change has the update of an amount, and the condition that the record has the revision that
// was read.
func change(old record, amount int64) text {
	return text{
		update:    aws.String("SET amount = :amount, revision = :next"),
		condition: aws.String("revision = :revision"),
		values: map[string]types.AttributeValue{
			":amount":   &types.AttributeValueMemberN{Value: strconv.FormatInt(amount, 10)},
			":next":     stringValue(rand.Text()),
			":revision": stringValue(old.Revision),
		},
	}
}

// taking has the update that takes an amount from an open record, and the condition that it
// holds as much.
func taking(amount int64) text {
	return text{
		update: aws.String("SET amount = amount - :amount"), condition: aws.String("#status = :open AND amount >= :amount"),
		names: map[string]string{"#status": "status"}, // a reserved word
		values: map[string]types.AttributeValue{
			":amount": &types.AttributeValueMemberN{Value: strconv.FormatInt(amount, 10)}, ":open": stringValue("open"),
		},
	}
}

func stringValue(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func userPK(user string) string { return "USER#" + user }

func txSK(at time.Time, id string) string {
	return "TX#" + at.UTC().Format(stamp) + "#" + id
}

func keyItem(pk, sk string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"pk": stringValue(pk), "sk": stringValue(sk)}
}

func (l sdk) get(ctx context.Context, user string, at time.Time, id string) (record, error) {
	return l.read(ctx, &dynamodb.GetItemInput{TableName: l.table, Key: keyItem(userPK(user), txSK(at, id))})
}

func (l sdk) read(ctx context.Context, in *dynamodb.GetItemInput) (record, error) {
	var r record
	out, err := l.client.GetItem(ctx, in)
	if err != nil {
		return r, err
	}
	if out.Item == nil {
		return r, errors.New("not found")
	}
	err = l.decode(out.Item, &r)
	return r, err
}

func (l sdk) page(ctx context.Context, user string) ([]record, bool, error) {
	x := pageOf(user)
	out, err := l.client.Query(ctx, &dynamodb.QueryInput{
		TableName:                 l.table,
		KeyConditionExpression:    x.key,
		ExpressionAttributeNames:  x.names,
		ExpressionAttributeValues: x.values,
		ScanIndexForward:          aws.Bool(false),
		Limit:                     aws.Int32(pageSize),
	})
	if err != nil {
		return nil, false, err
	}
	page := make([]record, len(out.Items))
	for i, item := range out.Items {
		if err := l.decode(item, &page[i]); err != nil {
			return nil, false, err
		}
	}
	return page, out.LastEvaluatedKey != nil, nil
}

// stored returns a new record as it is stored.
func stored(r record) record {
	r = keyed(r)
	r.Revision = rand.Text()
	return r
}

func (l sdk) create(ctx context.Context, r record) error {
	r = stored(r)
	return l.putAll(ctx, r, copied(r))
}

func (l sdk) createAll(ctx context.Context, records []record) error {
	items := make([]record, len(records))
	for i, r := range records {
		items[i] = stored(r)
	}
	return l.putAll(ctx, items...)
}

// putAll stores new items, or none if one of them exists.
func (l sdk) putAll(ctx context.Context, items ...record) error {
	return l.put(ctx, absent(), items)
}

func (l sdk) transactPut(ctx context.Context, records []record) error {
	items := make([]record, len(records))
	for i, r := range records {
		items[i] = stored(r)
	}
	return l.put(ctx, text{}, items)
}

// put stores items on a condition about each.
func (l sdk) put(ctx context.Context, x text, items []record) error {
	writes, err := l.puts(x, items)
	if err != nil {
		return err
	}
	_, err = l.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: writes})
	return err
}

func (l sdk) puts(x text, items []record) ([]types.TransactWriteItem, error) {
	writes := make([]types.TransactWriteItem, len(items))
	for i, r := range items {
		item, err := l.encode(r)
		if err != nil {
			return nil, err
		}
		writes[i].Put = &types.Put{
			TableName: l.table, Item: item,
			ConditionExpression:      x.condition,
			ExpressionAttributeNames: x.names, ExpressionAttributeValues: x.values,
		}
	}
	return writes, nil
}

func (l sdk) pay(ctx context.Context, from, r record) error {
	take := taking(r.Amount)
	r = stored(r)
	puts, err := l.puts(absent(), []record{r, copied(r)})
	if err != nil {
		return err
	}
	writes := append(puts, types.TransactWriteItem{Update: &types.Update{
		TableName: l.table, Key: keyItem(userPK(from.UserID), txSK(from.CreatedAt, from.ID)),
		UpdateExpression: take.update, ConditionExpression: take.condition,
		ExpressionAttributeNames: take.names, ExpressionAttributeValues: take.values,
	}})
	_, err = l.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: writes})
	return err
}

func (l sdk) update(ctx context.Context, user string, at time.Time, id string, amount int64) error {
	r, x, err := l.changed(ctx, user, at, id, amount)
	if err != nil {
		return err
	}
	_, err = l.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: l.table, Key: keyItem(r.PK, r.SK),
		UpdateExpression: x.update, ConditionExpression: x.condition,
		ExpressionAttributeNames: x.names, ExpressionAttributeValues: x.values,
	})
	return err
}

func (l sdk) updateBoth(ctx context.Context, user string, at time.Time, id string, amount int64) error {
	r, x, err := l.changed(ctx, user, at, id, amount)
	if err != nil {
		return err
	}
	writes := make([]types.TransactWriteItem, 2)
	for i, r := range []record{r, copied(r)} {
		writes[i].Update = &types.Update{
			TableName: l.table, Key: keyItem(r.PK, r.SK),
			UpdateExpression: x.update, ConditionExpression: x.condition,
			ExpressionAttributeNames: x.names, ExpressionAttributeValues: x.values,
		}
	}
	_, err = l.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: writes})
	return err
}

// changed reads a record consistently and returns the change of its amount.
func (l sdk) changed(ctx context.Context, user string, at time.Time, id string, amount int64) (record, text, error) {
	r, err := l.read(ctx, &dynamodb.GetItemInput{
		TableName: l.table, Key: keyItem(userPK(user), txSK(at, id)), ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return r, text{}, err
	}
	return r, change(r, amount), nil
}
