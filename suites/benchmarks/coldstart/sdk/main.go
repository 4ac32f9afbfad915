// Program sdk makes the calls of program library with the SDK alone, and ends.
package main

import (
	"context"
	"crypto/rand"
	"log"
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/suites/benchmarks/coldstart/local"
)

type order struct {
	PK, SK             string
	Customer, ID, Note string
	Revision           string
}

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	client := local.Client()
	name := aws.String(os.Getenv(local.Table))
	o := order{Customer: "bob", ID: os.Getenv(local.ID), Note: "first", Revision: rand.Text()}
	o.PK, o.SK = "USER#"+o.Customer, "TX#"+o.ID
	item, err := attributevalue.MarshalMap(o)
	if err != nil {
		return err
	}
	missing, err := expression.NewBuilder().WithCondition(expression.Name("PK").AttributeNotExists()).Build()
	if err != nil {
		return err
	}
	if _, err := client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: name, Item: item, ConditionExpression: missing.Condition(), ExpressionAttributeNames: missing.Names(),
	}); err != nil {
		return err
	}

	key := map[string]types.AttributeValue{"PK": item["PK"], "SK": item["SK"]}
	got, err := client.GetItem(ctx, &dynamodb.GetItemInput{TableName: name, Key: key, ConsistentRead: aws.Bool(true)})
	if err != nil {
		return err
	}
	if err := attributevalue.UnmarshalMap(got.Item, &o); err != nil {
		return err
	}
	change, err := expression.NewBuilder().
		WithUpdate(expression.Set(expression.Name("Note"), expression.Value("second")).
			Set(expression.Name("Revision"), expression.Value(rand.Text()))).
		WithCondition(expression.Name("Revision").Equal(expression.Value(o.Revision))).Build()
	if err != nil {
		return err
	}
	if _, err := client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: name, Key: key, UpdateExpression: change.Update(), ConditionExpression: change.Condition(),
		ExpressionAttributeNames: change.Names(), ExpressionAttributeValues: change.Values(),
	}); err != nil {
		return err
	}

	which, err := expression.NewBuilder().WithKeyCondition(
		expression.Key("PK").Equal(expression.Value(o.PK)).And(expression.Key("SK").BeginsWith("TX#"))).Build()
	if err != nil {
		return err
	}
	page, err := client.Query(ctx, &dynamodb.QueryInput{
		TableName: name, KeyConditionExpression: which.KeyCondition(), ExpressionAttributeNames: which.Names(),
		ExpressionAttributeValues: which.Values(), ScanIndexForward: aws.Bool(false), Limit: aws.Int32(10),
	})
	if err != nil {
		return err
	}
	var orders []order
	return attributevalue.UnmarshalListOfMaps(page.Items, &orders)
}
