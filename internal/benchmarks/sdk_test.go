package benchmarks_test

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// sdk is the AWS SDK with attributevalue, and expressions written by hand, which
// is the cheapest way.
//
// It does less than singletable does. It does not check a key or the size of an
// item; it does not ask for the consumed capacity of a query, nor make a token
// of the position where the next page begins; in a transaction it does not ask
// for the items that made it fail, nor watch what becomes of the attempts.
type sdk struct {
	client *dynamodb.Client
	table  *string
}

func openSDK(client *dynamodb.Client, tableName string) library {
	return sdk{client, aws.String(tableName)}
}

func stringValue(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func userPK(user string) string { return "USER#" + user }

func txSK(at time.Time, id string) string {
	return "TX#" + at.UTC().Format(stamp) + "#" + id
}

func (l sdk) get(ctx context.Context, user string, at time.Time, id string) (record, error) {
	var r record
	out, err := l.client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: l.table,
		Key: map[string]types.AttributeValue{
			"pk": stringValue(userPK(user)),
			"sk": stringValue(txSK(at, id)),
		},
	})
	if err != nil {
		return r, err
	}
	if out.Item == nil {
		return r, errors.New("not found")
	}
	err = attributevalue.UnmarshalMap(out.Item, &r)
	return r, err
}

func (l sdk) page(ctx context.Context, user string) ([]record, bool, error) {
	out, err := l.client.Query(ctx, &dynamodb.QueryInput{
		TableName:              l.table,
		KeyConditionExpression: aws.String("pk = :pk AND begins_with(sk, :prefix)"),
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":pk":     stringValue(userPK(user)),
			":prefix": stringValue("TX#"),
		},
		ScanIndexForward: aws.Bool(false),
		Limit:            aws.Int32(pageSize),
	})
	if err != nil {
		return nil, false, err
	}
	var page []record
	err = attributevalue.UnmarshalListOfMaps(out.Items, &page)
	return page, out.LastEvaluatedKey != nil, err
}

func (l sdk) transact(ctx context.Context, c change) error {
	for _, r := range []*record{&c.created, &c.put} {
		r.PK, r.SK = userPK(r.UserID), txSK(r.CreatedAt, r.ID)
	}
	created, err := attributevalue.MarshalMap(c.created)
	if err != nil {
		return err
	}
	put, err := attributevalue.MarshalMap(c.put)
	if err != nil {
		return err
	}
	_, err = l.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{
		TransactItems: []types.TransactWriteItem{
			{Put: &types.Put{
				TableName: l.table, Item: created,
				ConditionExpression: aws.String("attribute_not_exists(pk)"),
			}},
			{Put: &types.Put{TableName: l.table, Item: put}},
			{Update: &types.Update{
				TableName: l.table,
				Key: map[string]types.AttributeValue{
					"pk": stringValue(userPK(c.account.UserID)),
					"sk": stringValue(txSK(c.account.CreatedAt, c.account.ID)),
				},
				UpdateExpression:         aws.String("SET amount = :amount, note = :note"),
				ConditionExpression:      aws.String("#status = :open"),
				ExpressionAttributeNames: map[string]string{"#status": "status"},
				ExpressionAttributeValues: map[string]types.AttributeValue{
					":amount": &types.AttributeValueMemberN{Value: strconv.FormatInt(c.account.Amount, 10)},
					":note":   stringValue(c.account.Note),
					":open":   stringValue("open"),
				},
			}},
		},
	})
	return err
}

func (l sdk) transactPut(ctx context.Context, records trio) error {
	writes := make([]types.TransactWriteItem, len(records))
	for i, r := range records {
		r.PK, r.SK = userPK(r.UserID), txSK(r.CreatedAt, r.ID)
		item, err := attributevalue.MarshalMap(r)
		if err != nil {
			return err
		}
		writes[i].Put = &types.Put{
			TableName: l.table, Item: item,
			ConditionExpression: aws.String("attribute_not_exists(pk)"),
		}
	}
	_, err := l.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: writes})
	return err
}
