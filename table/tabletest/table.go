package tabletest

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
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

// New returns a new, empty table with the keys, indexes, TTL and stream of the
// schema, on the engine that all tests share. It has a name of its own, whatever
// the schema's, so tests may run in parallel. It is dropped when the test ends.
//
// The table is not protected against deletion and has no backups, whatever the
// schema says. It is billed by request, is of the standard class, and has no
// warm throughput and no tags.
func New(tb testing.TB, spec schema.Table, opts *table.Options) *table.Table {
	tb.Helper()
	return NewWith(tb, Client(tb), spec, opts)
}

// NewWith is [New] with a client of the caller's: one with [Faults], or of
// another engine.
func NewWith(tb testing.TB, client *dynamodb.Client, spec schema.Table, opts *table.Options) *table.Table {
	tb.Helper()
	spec = disposable(spec)
	spec.Name = tableName(tb.Name())
	t, err := table.New(client, spec, opts)
	if err != nil {
		tb.Fatalf("tabletest: %v", err)
	}
	// Registered first: a creation whose response is lost leaves a table too.
	tb.Cleanup(func() {
		// The test's own context has ended by now.
		_, err := client.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{
			TableName: aws.String(spec.Name),
		})
		if _, gone := errors.AsType[*types.ResourceNotFoundException](err); err != nil && !gone {
			tb.Errorf("tabletest: the table %s is left behind: %v", spec.Name, err)
		}
	})
	if err := spec.Ensure(tb.Context(), client); err != nil {
		tb.Fatalf("tabletest: %v", err)
	}
	return t
}

// disposable returns the schema without the settings of a production table: a
// test's table must be free to create on any engine, and possible to delete.
func disposable(s schema.Table) schema.Table {
	s.DeletionProtection, s.PointInTimeRecovery = false, false
	s.BillingMode, s.TableClass, s.Tags = "", "", nil
	s.ProvisionedThroughput, s.WarmThroughput = schema.Throughput{}, schema.Throughput{}
	s.Indexes = slices.Clone(s.Indexes)
	for i := range s.Indexes {
		s.Indexes[i].ProvisionedThroughput, s.Indexes[i].WarmThroughput = schema.Throughput{}, schema.Throughput{}
	}
	return s
}

// maxTableName is DynamoDB's limit. AWS: "Constraints in Amazon DynamoDB",
// Amazon DynamoDB Developer Guide.
const maxTableName = 255

// tableName returns a new table name that tells the test it belongs to.
func tableName(test string) string {
	suffix := "-" + rand.Text()[:12]
	name := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '.', r == '-':
			return r
		default:
			return '-'
		}
	}, test)
	return name[:min(len(name), maxTableName-len(suffix))] + suffix
}
