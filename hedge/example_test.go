package hedge_test

import (
	"context"
	"fmt"
	"log"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/hedge"
	"github.com/singletable/singletable/table/tabletest"
)

// A read that is late is sent a second time; the first success counts. Hedges pay if many of
// them win.
func Example() {
	ctx := context.Background()
	engine, err := tabletest.Start(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close()

	var hedges *hedge.Client
	client := dynamodb.New(engine.Client().Options(), func(o *dynamodb.Options) {
		hedges = hedge.New(o.HTTPClient)
		o.HTTPClient = hedges
	})
	_, err = client.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: aws.String("App"), BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("PK"), AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("PK"), KeyType: types.KeyTypeHash}},
	})
	if err != nil {
		log.Fatal(err)
	}
	out, err := client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: aws.String("App"), Key: map[string]types.AttributeValue{"PK": &types.AttributeValueMemberS{Value: "USER#u-123"}},
	})
	if err != nil {
		log.Fatal(err)
	}
	stats := hedges.Stats()
	fmt.Println(len(out.Item), "attributes;", stats.Reads, "reads,", stats.Hedges, "hedges,", stats.Won, "of them faster")
	// Output: 0 attributes; 1 reads, 0 hedges, 0 of them faster
}
