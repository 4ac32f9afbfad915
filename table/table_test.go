package table_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// now is the time by the clock of every table of these tests.
var now = time.Date(2024, time.January, 15, 10, 5, 0, 0, time.UTC)

// user is the key of an item; its text must not be in messages.
var user = keys.Key{PK: keys.User.PK("u-123"), SK: keys.Profile}

// account is the value of most items.
type account struct {
	Type string `dynamodbav:"entityType,omitempty"`
	Name string `dynamodbav:"name,omitempty"`
	N    int    `dynamodbav:"n"`
}

func appCore() schema.Table {
	return schema.Table{
		Name: "AppCore",
		TTL:  "expiresAt",
		Indexes: []schema.Index{
			{Name: "GSI1", PK: "gsi1pk", SK: "gsi1sk"},
			{Name: "LSI1", SK: "lsi1sk", Local: true},
		},
	}
}

func options() *table.Options {
	return &table.Options{Now: func() time.Time { return now }}
}

// newTable returns a new table on the engine, and what stands in between.
func newTable(tb testing.TB, spec schema.Table) (*table.Table, *tabletest.Faults) {
	tb.Helper()
	faults := &tabletest.Faults{}
	return tabletest.NewWith(tb, tabletest.Client(tb, faults.Install), spec, options()), faults
}

// onItems returns the requests about items.
func onItems(faults *tabletest.Faults) []tabletest.Request {
	return faults.Requests("GetItem", "BatchGetItem", "TransactGetItems", "Query",
		"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems")
}

var must = expect.OK

func equal[T any](tb testing.TB, what string, got, want T) {
	tb.Helper()
	expect.Equal(tb, what, got, want)
}

func str(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
func num(s string) types.AttributeValue { return &types.AttributeValueMemberN{Value: s} }
func bin(s string) types.AttributeValue { return &types.AttributeValueMemberB{Value: []byte(s)} }
func list(vs ...types.AttributeValue) types.AttributeValue {
	return &types.AttributeValueMemberL{Value: vs}
}

func nIs(n int) expression.ConditionBuilder {
	return expression.Name("n").Equal(expression.Value(n))
}

func setN(n int) expression.UpdateBuilder {
	return expression.Set(expression.Name("n"), expression.Value(n))
}

func get(ctx context.Context, t *table.Table, key keys.Key) error {
	_, err := table.Get[account](ctx, t, key)
	return err
}

// The schema of a table is a copy, its indexes and tags included.
func TestSchemaOfATableIsACopy(t *testing.T) {
	t.Parallel()
	made := func() schema.Table {
		return schema.Table{Name: "Notes", Tags: map[string]string{"team": "core"}, Indexes: []schema.Index{{Name: "GSI1", PK: "gsi1pk"}}}
	}
	spec := made()
	tbl, _, _ := faultyTable(t, spec, canned(http.StatusOK, "", "{}"))
	for _, s := range []schema.Table{spec, tbl.Schema()} {
		s.Tags["team"], s.Indexes[0].Name = "other", "changed"
	}
	got := tbl.Schema()
	equal(t, "tags", got.Tags, made().Tags)
	equal(t, "index and defaults", []string{got.Indexes[0].Name, got.PK, got.SK, got.Type}, []string{"GSI1", "pk", "sk", "entityType"})
	equal(t, "time", tbl.Now(), now)
}
