package tabletest

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/table"
)

// New returns a new, empty table with the keys and indexes of the schema, on the
// engine that all tests share. It has a name of its own, whatever the schema's,
// so tests may run in parallel. It is dropped when the test ends.
func New(tb testing.TB, schema table.Schema, opts *table.Options) *table.Table {
	tb.Helper()
	return NewWith(tb, Client(tb), schema, opts)
}

// NewWith is [New] with a client of the caller's: one with [Faults], or of
// another engine.
func NewWith(tb testing.TB, client *dynamodb.Client, schema table.Schema, opts *table.Options) *table.Table {
	tb.Helper()
	schema.Name = tableName(tb.Name())
	t, err := table.New(client, schema, opts)
	if err != nil {
		tb.Fatalf("tabletest: %v", err)
	}
	// Registered first: a creation whose answer is lost leaves a table too.
	tb.Cleanup(func() {
		// The test's own context has ended by now.
		_, err := client.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{
			TableName: aws.String(schema.Name),
		})
		if _, gone := errors.AsType[*types.ResourceNotFoundException](err); err != nil && !gone {
			tb.Errorf("tabletest: the table %s is left behind: %v", schema.Name, err)
		}
	})
	if err := schema.Ensure(tb.Context(), client); err != nil {
		tb.Fatalf("tabletest: %v", err)
	}
	return t
}

// maxTableName is DynamoDB's limit.
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
