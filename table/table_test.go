package table_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"

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
		Name:         "AppCore",
		TTLAttribute: "expiresAt",
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

// watch returns an option of a client whose middleware looks at the inputs and the
// outputs of operations.
func watch(look func(in, out any)) func(*dynamodb.Options) {
	return func(o *dynamodb.Options) {
		o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
			return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("Watch", func(
				ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
			) (middleware.InitializeOutput, middleware.Metadata, error) {
				out, metadata, err := next.HandleInitialize(ctx, in)
				look(in.Parameters, out.Result)
				return out, metadata, err
			}), middleware.Before)
		})
	}
}

// accounts stores n accounts under one partition key, and returns their keys.
func accounts(t *testing.T, tbl *table.Table, n int) (ks []keys.Key, all []account) {
	t.Helper()
	for i := range n {
		ks = append(ks, keys.Key{PK: "USER#1", SK: keys.SK(fmt.Sprintf("ACCOUNT#%d", i))})
		all = append(all, account{Name: "secret", N: i})
		must(t, tbl.Do(t.Context(), table.Put(ks[i], all[i])))
	}
	return ks, all
}

// readers are all the ways to read items. The keys are those of the whole table, and
// have one partition key.
var readers = map[string]func(context.Context, *table.Table, []keys.Key) ([]account, error){
	"Get": func(ctx context.Context, t *table.Table, ks []keys.Key) (all []account, err error) {
		for _, k := range ks {
			a, err := table.Get[account](ctx, t, k)
			if err != nil {
				return nil, err
			}
			all = append(all, a)
		}
		return all, nil
	},
	"BatchGet": func(ctx context.Context, t *table.Table, ks []keys.Key) ([]account, error) {
		found, err := table.BatchGet[account](ctx, t, ks)
		return inOrder(found, ks), err
	},
	"TransactGet": func(ctx context.Context, t *table.Table, ks []keys.Key) ([]account, error) {
		found, err := table.TransactGet[account](ctx, t, ks)
		return inOrder(found, ks), err
	},
	"QueryPage": func(ctx context.Context, t *table.Table, ks []keys.Key) ([]account, error) {
		page, err := table.QueryPage[account](ctx, t, table.Query{PK: ks[0].PK})
		return page.Items, err
	},
	"All": func(ctx context.Context, t *table.Table, ks []keys.Key) ([]account, error) {
		return table.Collect(table.All[account](ctx, t, table.Query{PK: ks[0].PK}))
	},
	"QueryRows": func(ctx context.Context, t *table.Table, ks []keys.Key) ([]account, error) {
		page, err := table.QueryRows[account](ctx, t, table.Query{PK: ks[0].PK}, nil)
		return inRows(page, err)
	},
	"ScanPage": func(ctx context.Context, t *table.Table, _ []keys.Key) ([]account, error) {
		page, err := table.ScanPage[account](ctx, t, table.Scan{})
		return page.Items, err
	},
	"ScanRows": func(ctx context.Context, t *table.Table, _ []keys.Key) ([]account, error) {
		page, err := table.ScanRows[account](ctx, t, table.Scan{}, nil)
		return inRows(page, err)
	},
}

// inOrder returns the values that were found, in the order of the keys.
func inOrder(found map[keys.Key]account, ks []keys.Key) (values []account) {
	for _, k := range ks {
		if v, ok := found[k]; ok {
			values = append(values, v)
		}
	}
	return values
}

func inRows(page table.RowPage[account], err error) (values []account, _ error) {
	for _, row := range page.Rows {
		if err = errors.Join(err, row.Err); row.Err == nil {
			values = append(values, row.Value)
		}
	}
	return values, err
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
	equal(t, "index and defaults", []string{got.Indexes[0].Name, got.PK, got.SK, got.TypeAttribute}, []string{"GSI1", "pk", "sk", "entityType"})
	equal(t, "time", tbl.Now(), now)
}
