package benchmarks_test

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// sdkExpression is sdk with the SDK's expression package for the expressions,
// as singletable has them from its callers. Its get is that of sdk: how much the
// two differ there is noise.
type sdkExpression struct{ sdk }

func openSDKExpression(client *dynamodb.Client, tableName string) library {
	return sdkExpression{sdk{client, aws.String(tableName)}}
}

func (l sdkExpression) page(ctx context.Context, user string) ([]record, bool, error) {
	built, err := expression.NewBuilder().WithKeyCondition(
		expression.Key("pk").Equal(expression.Value(userPK(user))).
			And(expression.Key("sk").BeginsWith("TX#")),
	).Build()
	if err != nil {
		return nil, false, err
	}
	out, err := l.client.Query(ctx, &dynamodb.QueryInput{
		TableName:                 l.table,
		KeyConditionExpression:    built.KeyCondition(),
		ExpressionAttributeNames:  built.Names(),
		ExpressionAttributeValues: built.Values(),
		ScanIndexForward:          aws.Bool(false),
		Limit:                     aws.Int32(pageSize),
	})
	if err != nil {
		return nil, false, err
	}
	var page []record
	err = attributevalue.UnmarshalListOfMaps(out.Items, &page)
	return page, out.LastEvaluatedKey != nil, err
}

func (l sdkExpression) transact(ctx context.Context, c change) error {
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
	absent, err := expression.NewBuilder().
		WithCondition(expression.AttributeNotExists(expression.Name("pk"))).
		Build()
	if err != nil {
		return err
	}
	update, err := expression.NewBuilder().
		WithUpdate(expression.Set(expression.Name("amount"), expression.Value(c.account.Amount)).
			Set(expression.Name("note"), expression.Value(c.account.Note))).
		WithCondition(expression.Name("status").Equal(expression.Value("open"))).
		Build()
	if err != nil {
		return err
	}
	_, err = l.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{
		TransactItems: []types.TransactWriteItem{
			{Put: &types.Put{
				TableName: l.table, Item: created,
				ConditionExpression:      absent.Condition(),
				ExpressionAttributeNames: absent.Names(), ExpressionAttributeValues: absent.Values(),
			}},
			{Put: &types.Put{TableName: l.table, Item: put}},
			{Update: &types.Update{
				TableName: l.table,
				Key: map[string]types.AttributeValue{
					"pk": stringValue(userPK(c.account.UserID)),
					"sk": stringValue(txSK(c.account.CreatedAt, c.account.ID)),
				},
				UpdateExpression: update.Update(), ConditionExpression: update.Condition(),
				ExpressionAttributeNames: update.Names(), ExpressionAttributeValues: update.Values(),
			}},
		},
	})
	return err
}

func (l sdkExpression) transactPut(ctx context.Context, records trio) error {
	absent, err := expression.NewBuilder().
		WithCondition(expression.AttributeNotExists(expression.Name("pk"))).
		Build()
	if err != nil {
		return err
	}
	writes := make([]types.TransactWriteItem, len(records))
	for i, r := range records {
		r.PK, r.SK = userPK(r.UserID), txSK(r.CreatedAt, r.ID)
		item, err := attributevalue.MarshalMap(r)
		if err != nil {
			return err
		}
		writes[i].Put = &types.Put{
			TableName: l.table, Item: item,
			ConditionExpression:      absent.Condition(),
			ExpressionAttributeNames: absent.Names(), ExpressionAttributeValues: absent.Values(),
		}
	}
	_, err = l.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: writes})
	return err
}
