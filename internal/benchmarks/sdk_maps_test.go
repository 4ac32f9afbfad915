package benchmarks_test

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// sdkMaps is sdk with items made of records, and records of items, by code that
// is written by hand for this one type: what is left of the SDK's cost without
// attributevalue. Its mixed transaction is that of sdk.
type sdkMaps struct{ sdk }

func openSDKMaps(client *dynamodb.Client, tableName string) library {
	return sdkMaps{sdk{client, aws.String(tableName)}}
}

// item writes a record as attributevalue does.
func item(r record) map[string]types.AttributeValue {
	tags := make([]types.AttributeValue, len(r.Tags))
	for i, tag := range r.Tags {
		tags[i] = stringValue(tag)
	}
	return map[string]types.AttributeValue{
		"pk":         stringValue(r.PK),
		"sk":         stringValue(r.SK),
		"entityType": stringValue(r.Type),
		"id":         stringValue(r.ID),
		"userId":     stringValue(r.UserID),
		"amount":     &types.AttributeValueMemberN{Value: strconv.FormatInt(r.Amount, 10)},
		"status":     stringValue(r.Status),
		"createdAt":  stringValue(r.CreatedAt.Format(time.RFC3339Nano)),
		"tags":       &types.AttributeValueMemberL{Value: tags},
		"note":       stringValue(r.Note),
	}
}

// fromItem reads what item has written.
func fromItem(item map[string]types.AttributeValue) (r record, err error) {
	text := func(v types.AttributeValue) string {
		s, ok := v.(*types.AttributeValueMemberS)
		if !ok {
			err = errors.New("not a string")
			return ""
		}
		return s.Value
	}
	r.PK, r.SK, r.Type = text(item["pk"]), text(item["sk"]), text(item["entityType"])
	r.ID, r.UserID, r.Status, r.Note = text(item["id"]), text(item["userId"]), text(item["status"]), text(item["note"])
	tags, _ := item["tags"].(*types.AttributeValueMemberL)
	amount, _ := item["amount"].(*types.AttributeValueMemberN)
	created := text(item["createdAt"])
	if err != nil || tags == nil || amount == nil {
		return r, errors.Join(err, errors.New("not a record"))
	}
	r.Tags = make([]string, len(tags.Value))
	for i, tag := range tags.Value {
		r.Tags[i] = text(tag)
	}
	var badNumber, badTime error
	r.Amount, badNumber = strconv.ParseInt(amount.Value, 10, 64)
	r.CreatedAt, badTime = time.Parse(time.RFC3339, created)
	return r, errors.Join(err, badNumber, badTime)
}

func (l sdkMaps) get(ctx context.Context, user string, at time.Time, id string) (record, error) {
	out, err := l.client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: l.table,
		Key: map[string]types.AttributeValue{
			"pk": stringValue(userPK(user)),
			"sk": stringValue(txSK(at, id)),
		},
	})
	if err != nil {
		return record{}, err
	}
	return fromItem(out.Item)
}

func (l sdkMaps) page(ctx context.Context, user string) ([]record, bool, error) {
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
	page := make([]record, len(out.Items))
	for i, item := range out.Items {
		if page[i], err = fromItem(item); err != nil {
			return nil, false, err
		}
	}
	return page, out.LastEvaluatedKey != nil, nil
}

func (l sdkMaps) transactPut(ctx context.Context, records trio) error {
	writes := make([]types.TransactWriteItem, len(records))
	for i, r := range records {
		r.PK, r.SK = userPK(r.UserID), txSK(r.CreatedAt, r.ID)
		writes[i].Put = &types.Put{
			TableName: l.table, Item: item(r),
			ConditionExpression: aws.String("attribute_not_exists(pk)"),
		}
	}
	_, err := l.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: writes})
	return err
}
