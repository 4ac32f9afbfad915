package tabletest_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// A program, or an Example, has an engine to itself or shares the one that
// AWS_ENDPOINT_URL_DYNAMODB names.
func ExampleStart() {
	ctx := context.Background()
	engine, err := tabletest.Start(ctx, nil)
	if err != nil {
		log.Fatal(err) // It says how to get an engine.
	}
	defer engine.Close()

	_, err = engine.Client().DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String("Nobodys")})
	fmt.Println(err != nil)
	// Output: true
}

// The response to a write is lost. The SDK sends the write again, and the caller
// does not notice; the engine has received the write twice.
func ExampleFaults() {
	ctx := context.Background()
	engine, err := tabletest.Start(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close()
	var faults tabletest.Faults
	client := engine.Client(faults.Install)
	drop := createExampleTable(ctx, client, "ExampleFaults")
	defer drop()

	faults.Next("UpdateItem", tabletest.DropResponse())
	out, err := client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName:        aws.String("ExampleFaults"),
		Key:              map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "COUNTER"}},
		UpdateExpression: aws.String("ADD hits :one"),
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":one": &types.AttributeValueMemberN{Value: "1"},
		},
		ReturnValues: types.ReturnValueUpdatedNew,
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("requests:", len(faults.Requests("UpdateItem")))
	fmt.Println("hits:", out.Attributes["hits"].(*types.AttributeValueMemberN).Value)
	// Output:
	// requests: 2
	// hits: 2
}

// The errors that a caller of package table gets for some faults.
func ExampleFault() {
	ctx := context.Background()
	engine, err := tabletest.Start(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close()
	var faults tabletest.Faults
	client, spec := engine.Client(faults.Install), schema.Table{Name: "ExampleFault-" + rand.Text()}
	if err := spec.Ensure(ctx, client); err != nil {
		log.Fatal(err)
	}
	defer dropExampleTable(client, spec.Name)
	tbl, err := table.New(client, spec, &table.Options{MaxAttempts: 1})
	if err != nil {
		log.Fatal(err)
	}

	hit := table.Update(keys.Key{PK: "PAGE#home", SK: keys.Metadata}, expression.Add(expression.Name("hits"), expression.Value(1)))
	faults.Always("", tabletest.Corrupt())
	fmt.Println("an unreadable response:", errors.Is(tbl.Do(ctx, hit), table.ErrOutcomeUnknown))

	faults.Always("", tabletest.BadChecksum())
	fmt.Println("a damaged response:", errors.Is(tbl.Do(ctx, hit), table.ErrOutcomeUnknown))

	faults.Always("", tabletest.CancelTransaction("TransactionConflict", "None"))
	profile := table.Put(keys.Key{PK: "USER#ana", SK: keys.Profile}, nil)
	fmt.Println("another transaction:", errors.Is(tbl.Transact(ctx, hit, profile), table.ErrConflict))

	faults.Always("", tabletest.Block(nil))
	soon, cancel := context.WithTimeout(ctx, time.Millisecond)
	defer cancel()
	_, err = table.Get[table.Item](soon, tbl, keys.Key{PK: "USER#ana", SK: keys.Profile})
	fmt.Println("no response:", errors.Is(err, context.DeadlineExceeded))
	// Output:
	// an unreadable response: true
	// a damaged response: true
	// another transaction: true
	// no response: true
}

// An http.Client of your own takes the faults as its Transport. Its former transport
// becomes their Base.
func ExampleFaults_transport() {
	ctx := context.Background()
	engine, err := tabletest.Start(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close()
	pool := &http.Transport{MaxConnsPerHost: 2}
	defer pool.CloseIdleConnections()
	faults := &tabletest.Faults{Base: pool}
	client := engine.Client(func(o *dynamodb.Options) { o.HTTPClient = &http.Client{Transport: faults} })

	if _, err := client.ListTables(ctx, nil); err != nil {
		log.Fatal(err)
	}
	fmt.Println(faults.Requests()[0].Operation)
	// Output: ListTables
}

// The text is for a golden file. Table names and the tokens of transactions, which
// differ from run to run, are replaced.
func ExampleTranscript() {
	ctx := context.Background()
	engine, err := tabletest.Start(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close()
	var faults tabletest.Faults
	client := engine.Client(faults.Install)
	name := "Example-" + rand.Text()
	drop := createExampleTable(ctx, client, name)
	defer drop()

	_, err = client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: aws.String(name),
		Key:       map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "COUNTER"}},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(tabletest.Transcript(faults.Requests("GetItem"), strings.NewReplacer(name, "Counters")))
	// Output:
	// {
	//   "GetItem": {
	//     "Key": {
	//       "pk": {
	//         "S": "COUNTER"
	//       }
	//     },
	//     "TableName": "Counters"
	//   }
	// }
}

// createExampleTable creates a table with the key "pk" and returns a function
// that drops it.
func createExampleTable(ctx context.Context, client *dynamodb.Client, name string) (drop func()) {
	_, err := client.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName:   &name,
		BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("pk"), AttributeType: types.ScalarAttributeTypeS},
		},
		KeySchema: []types.KeySchemaElement{{AttributeName: aws.String("pk"), KeyType: types.KeyTypeHash}},
	})
	if err != nil {
		log.Fatal(err)
	}
	return func() { dropExampleTable(client, name) }
}

func dropExampleTable(client *dynamodb.Client, name string) {
	if _, err := client.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &name}); err != nil {
		log.Print(err)
	}
}
