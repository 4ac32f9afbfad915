// Package vectors is for tests that need an engine with vector indexes.
package vectors

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table/tabletest"
)

// Needed ends the test if the engine that AWS_ENDPOINT_URL_DYNAMODB names has no vector
// indexes. That such an engine has none is what [schema.Table.Ensure] says. The default engine
// has them: there the test fails.
func Needed(tb testing.TB) {
	tb.Helper()
	switch err := tried(); {
	case err == nil:
	case errors.Is(err, schema.ErrUnsupported) && os.Getenv("AWS_ENDPOINT_URL_DYNAMODB") != "":
		tb.Skip("this engine cannot search vectors")
	default:
		tb.Fatal(err)
	}
}

// tried makes a table with a vector index, once.
var tried = sync.OnceValue(func() error {
	ctx := context.Background()
	engine, err := tabletest.Start(ctx, nil)
	if err != nil {
		return err
	}
	defer engine.Close()
	client := engine.Client()
	spec := schema.Table{
		Name:    "Vectors-" + rand.Text(),
		Vectors: []schema.VectorIndex{{Name: "similar", Attribute: "vector", Dimensions: 2, Filters: []schema.Attribute{{Name: "kind"}}}},
	}
	ensured := spec.Ensure(ctx, client)
	_, err = client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &spec.Name})
	if ensured != nil {
		return ensured
	}
	return err
})
