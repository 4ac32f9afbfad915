package conformance_test

import (
	"flag"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"

	"github.com/singletable/singletable/suites/conformance"
	"github.com/singletable/singletable/table/tabletest"
)

var records = flag.Int("records", 0, "about how many records of a stream are written and read; 0 for the default")

// dynoxide is where the default engine is less than the service.
var dynoxide = conformance.Capabilities{NoContinuousBackups: true}

func TestDefaultEngine(t *testing.T) {
	h := conformance.Harness{Client: tabletest.Client, Capabilities: dynoxide, Records: *records}
	conformance.Run(t, h)
}

// TestMiddleware shows that nothing depends on who reads the responses: with middleware
// that may change items, the SDK does.
func TestMiddleware(t *testing.T) {
	conformance.Run(t, conformance.Harness{Client: withMiddleware, Rewritten: true, Capabilities: dynoxide, Records: 1000})
}

func withMiddleware(tb testing.TB, optFns ...func(*dynamodb.Options)) *dynamodb.Client {
	return tabletest.Client(tb, append(optFns, dynamodb.WithAPIOptions(func(*middleware.Stack) error { return nil }))...)
}
