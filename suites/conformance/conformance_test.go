package conformance_test

import (
	"flag"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"

	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/suites/conformance"
	"github.com/singletable/singletable/suites/internal/warm"
	"github.com/singletable/singletable/table/tabletest"
)

var records = flag.Int("records", 0, "about how many records of a stream are written and read; 0 for the default")

// engines are where engines are less than the service, by the Region in the names of their
// tables.
var engines = map[string]conformance.Capabilities{
	"dynoxide": {NoContinuousBackups: true},
	"ddblocal": {NoContinuousBackups: true, NoMultiKeys: true, WrongTransactionCapacity: true},
}

// capabilities returns those of the engine that tests use, which AWS_ENDPOINT_URL_DYNAMODB
// can name.
func capabilities(t *testing.T) conformance.Capabilities {
	t.Helper()
	client := tabletest.Client(t)
	name := tabletest.NewWith(t, client, schema.Table{}, nil).Schema().Name
	out, err := client.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: &name})
	if err != nil {
		t.Fatal(err)
	}
	_, region, _ := strings.Cut(aws.ToString(out.Table.TableArn), ":dynamodb:")
	region, _, _ = strings.Cut(region, ":")
	return engines[region]
}

// warmed are the tables of the engines.
var warmed warm.Tables

func TestMain(m *testing.M) { warm.Main(m, &warmed) }

func TestDefaultEngine(t *testing.T) {
	h := conformance.Harness{Client: tabletest.Client, Tables: &warmed, Capabilities: capabilities(t), Records: *records}
	conformance.Run(t, h)
}

// TestMiddleware shows that nothing depends on who reads the responses: with middleware
// that may change items, the SDK does.
func TestMiddleware(t *testing.T) {
	conformance.Run(t, conformance.Harness{Client: withMiddleware, Rewritten: true, Capabilities: capabilities(t), Records: 1000})
}

func withMiddleware(tb testing.TB, optFns ...func(*dynamodb.Options)) *dynamodb.Client {
	return tabletest.Client(tb, append(optFns, dynamodb.WithAPIOptions(func(*middleware.Stack) error { return nil }))...)
}
