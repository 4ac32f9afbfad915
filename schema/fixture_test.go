package schema_test

import (
	"context"
	"crypto/rand"
	"errors"
	"log"
	"net/http"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table/tabletest"
)

var must = expect.OK

func equal[T any](tb testing.TB, what string, got, want T) {
	tb.Helper()
	expect.Equal(tb, what, got, want)
}

// engine is the local engine of the examples.
var engine = sync.OnceValue(func() *tabletest.Engine {
	e, err := tabletest.Start(context.Background(), nil)
	if err != nil {
		log.Fatal(err)
	}
	return e
})

// exampleSchema returns a schema under a new table name.
func exampleSchema() schema.Table {
	return schema.Table{
		Name:         "Example-" + rand.Text(),
		TTLAttribute: "expiresAt",
		Indexes:      []schema.Index{{Name: "GSI1", PK: "gsi1pk", SK: "gsi1sk"}},
	}
}

// drop removes a table.
func drop(spec schema.Table) {
	if _, err := engine().Client().DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &spec.Name}); err != nil {
		log.Fatal(err)
	}
}

// canned responds without sending the request.
func canned(status int, kind, body string) tabletest.Fault {
	return func(r *http.Request, _ http.RoundTripper) (*http.Response, error) {
		return expect.Response(r, status, kind, body), nil
	}
}

// faulty returns a client all of whose requests meet the fault. Nothing is sent, and
// nothing is retried.
func faulty(fault tabletest.Fault) (*dynamodb.Client, *tabletest.Faults) {
	faults := &tabletest.Faults{}
	for _, operation := range []string{
		"CreateTable", "DescribeTable", "UpdateTable", "DescribeTimeToLive", "UpdateTimeToLive",
		"DescribeContinuousBackups", "UpdateContinuousBackups",
	} {
		faults.Always(operation, fault)
	}
	return dynamodb.New(dynamodb.Options{
		BaseEndpoint: aws.String("http://faulty.invalid"), Region: "us-east-1",
		Credentials: aws.AnonymousCredentials{}, Retryer: aws.NopRetryer{},
	}, faults.Install), faults
}

// wellFormed checks what holds for every error: it says where it happened, and why.
func wellFormed(t *testing.T, what string, err error) {
	t.Helper()
	ours, typed := errors.AsType[*schema.Error](err)
	if err != nil && (!typed || ours.Op == "" && len(ours.Problems) == 0 || ours.Err == nil) {
		t.Errorf("%s: %v (%T) is not of this package", what, err, err)
	}
}

func appCore() schema.Table {
	return schema.Table{
		Name:         "AppCore",
		TTLAttribute: "expiresAt",
		Indexes: []schema.Index{
			{Name: "GSI1", PK: "gsi1pk", SK: "gsi1sk"},
			{Name: "LSI1", SK: "lsi1sk", Local: true},
		},
	}
}
