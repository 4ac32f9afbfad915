package tabletest

import (
	"context"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// shared is the engine of all tests of the process. It ends with the process.
var shared = sync.OnceValues(func() (*Engine, error) {
	return Start(context.Background(), nil)
})

// Client returns a new client of the engine that all tests of the process
// share, as [Engine.Client] does; the first call starts it. Without an engine
// the test fails: a test of storage that was skipped has shown nothing.
func Client(tb testing.TB, optFns ...func(*dynamodb.Options)) *dynamodb.Client {
	tb.Helper()
	engine, err := shared()
	if err != nil {
		tb.Fatal(err)
	}
	return engine.Client(optFns...)
}
