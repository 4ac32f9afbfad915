package table_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// secret is a key that is long enough not to be in a message by chance.
var secret = keys.Key{PK: keys.User.PK("ana.lopez@example.com"), SK: keys.Tx.SK(keys.Str("4111-1111-1111-1111"))}

// writing are the functions that write.
var writing = map[string]func(context.Context, *table.Table) error{
	"Put": func(ctx context.Context, tbl *table.Table) error {
		return tbl.Do(ctx, table.Put(secret, account{N: 1}))
	},
	"Create": func(ctx context.Context, tbl *table.Table) error {
		return tbl.Do(ctx, table.Create(secret, account{N: 1}))
	},
	"Update": func(ctx context.Context, tbl *table.Table) error {
		return tbl.Do(ctx, table.Update(secret, setN(1)).IfVersion("version", 1))
	},
	"Delete": func(ctx context.Context, tbl *table.Table) error { return tbl.Do(ctx, table.Delete(secret).If(nIs(1))) },
	"Transact": func(ctx context.Context, tbl *table.Table) error {
		return tbl.Transact(ctx, table.Create(secret, nil).WithName("one"), table.Check(user, nIs(1)))
	},
	"BatchWrite": func(ctx context.Context, tbl *table.Table) error {
		return tbl.BatchWrite(ctx, table.Put(secret, nil), table.Delete(user))
	},
}

// itemText is the item under secret, as the engine sends it.
const itemText = `{"pk":{"S":"USER#ana.lopez@example.com"},"sk":{"S":"TX#4111-1111-1111-1111"},"n":{"N":"1"}}`

// responseSeeds are responses that are right for some functions and wrong for others.
var responseSeeds = []struct {
	status uint16
	kind   string
	body   string
}{
	{200, "", `{}`},
	{200, "", `{"Item":` + itemText + `}`},
	{200, "", `{"Items":[` + itemText + `,` + itemText + `],"Count":2,"ScannedCount":2,"LastEvaluatedKey":` + itemText + `}`},
	{200, "", `{"Responses":{"AppCore":[` + itemText + `]},"UnprocessedKeys":{"AppCore":{"Keys":[` + itemText + `]}}}`},
	{200, "", `{"Responses":[{"Item":` + itemText + `},{}]}`},
	{200, "", `{"UnprocessedItems":{"AppCore":[{"PutRequest":{"Item":` + itemText + `}},{}]}}`},
	{200, "", `{"Table":{"TableStatus":"ACTIVE","KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}]}}`},
	{200, "", `{"Table":null,"TimeToLiveDescription":null}`},
	{400, "ConditionalCheckFailedException", `{"Item":` + itemText + `}`},
	{400, "com.amazonaws.dynamodb.v20120810#TransactionCanceledException", `{"CancellationReasons":[{"Code":"ConditionalCheckFailed","Item":` + itemText + `},{"Code":"None"},{},null]}`},
	{400, "", `{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException"}`},
	{400, "TransactionInProgressException", `{}`},
	{500, "InternalServerError", `{"message":null}`},
	{503, "", `<html>`},
	{302, "", ``},
}

// FuzzArbitraryResponse gives every function an arbitrary response of an engine or
// a proxy. No function panics, returns items with an error, or succeeds without a
// response that says so. A write that may have been executed is not reported as
// refused.
func FuzzArbitraryResponse(f *testing.F) {
	for _, seed := range responseSeeds {
		f.Add(seed.status, seed.kind, seed.body)
	}
	f.Fuzz(func(t *testing.T, status uint16, kind, body string) {
		code := 200 + int(status)%400 // of final responses
		if status >= 200 && status < 600 {
			code = int(status)
		}
		good := code < 300
		meet := func() (*table.Table, *dynamodb.Client) {
			tbl, client, _ := faultyTable(t, appCore(), cannedTimes(3, code, kind, body))
			return tbl, client
		}
		for name, read := range readers {
			tbl, _ := meet()
			got, err := read(t.Context(), tbl, []keys.Key{secret, user})
			wellFormed(t, name, err)
			if err == nil && !good {
				t.Errorf("%s succeeds with status %d", name, code)
			}
			if err != nil && len(got) > 0 && !strings.HasSuffix(name, "Rows") {
				t.Errorf("%s: %v with error %v", name, got, err)
			}
		}
		tbl, client := meet()
		page, err := table.QueryPage[table.Item](t.Context(), tbl, table.Query{Index: "GSI1", PK: secret.PK, Filter: nIs(1), Limit: 3})
		if wellFormed(t, "QueryPage of an index", err); err != nil && len(page.Items) > 0 || len(page.Items) > 3 {
			t.Errorf("QueryPage of an index: %v with error %v", page.Items, err)
		}
		for name, write := range writing {
			tbl, _ := meet()
			err := write(t.Context(), tbl)
			wellFormed(t, name, err)
			unknown := errors.Is(err, table.ErrOutcomeUnknown)
			_, cancelled := errors.AsType[*table.TxError](err)
			switch {
			case err == nil && !good:
				t.Errorf("%s succeeds with status %d", name, code)
			case err != nil && (good || code >= 500) && !unknown && !cancelled && !errors.Is(err, table.ErrThrottled):
				t.Errorf("%s with status %d: %v; it may have been executed", name, code, err)
			}
		}
		wellFormed(t, "Verify", appCore().Verify(t.Context(), client))
	})
}
