package table_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// TestTokensOfEarlierReleases fails when tokens in clients' hands would stop
// opening because what they are bound to is computed in another way.
func TestTokensOfEarlierReleases(t *testing.T) {
	t.Parallel()
	ring, err := paginate.ParseKeys("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
	must(t, err)
	opts := options()
	opts.Cursors, err = paginate.New(ring, &paginate.Options{Now: opts.Now})
	must(t, err)
	text := func(s string) any { return map[string]any{"S": s} }
	// There is no such table: a token that opens leads to a request that fails.
	schema := appCore()
	schema.Name = "no-such-table"
	for name, tt := range map[string]struct {
		query table.Query
		token string
		start map[string]any
	}{
		"table": {
			table.Query{PK: user.PK, Range: keys.Tx.All(), Reverse: true, Limit: 1, Scope: "alice"},
			"SGMNzSnvbcjarHcE3YV4KsF0FdKhqZFvjRxUQLEj1mbXcvoY-CL9C0Kz",
			map[string]any{"pk": text("USER#u-123"), "sk": text("TX#2")},
		},
		"index": {
			table.Query{Index: "GSI1", PK: "GLOBAL", Limit: 1},
			"SGMNzSkGu-pAjP0P7oXwozqy4Rm2StgXBDV8KtumV1AyyxZxqsa-KAOogz3jm5aS6yGr4GKj8AM9hA",
			map[string]any{"pk": text("USER#u-123"), "sk": text("TX#0"), "gsi1pk": text("GLOBAL"), "gsi1sk": text("TX#0")},
		},
		"filter": {
			table.Query{PK: user.PK, Limit: 1, Filter: expression.Name("n").Equal(expression.Value(1))},
			"SGMNzSm02Ji6gPmPcdLzgaTcepX-RwkuQ6uiiCtCQL3ETGOIzgEONxSs",
			map[string]any{"pk": text("USER#u-123"), "sk": text("TX#0")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var faults tabletest.Faults
			tbl, err := table.New(tabletest.Client(t, faults.Install), schema, opts)
			must(t, err)
			tt.query.After = tt.token
			_, err = table.QueryPage[account](t.Context(), tbl, tt.query)
			if _, sent := errors.AsType[*types.ResourceNotFoundException](err); !sent {
				t.Fatalf("error %v; want that of a missing table", err)
			}
			var body struct{ ExclusiveStartKey map[string]any }
			must(t, json.Unmarshal(faults.Requests("Query")[0].Body, &body))
			if diff := cmp.Diff(tt.start, body.ExclusiveStartKey); diff != "" {
				t.Errorf("start key (-want +got):\n%s", diff)
			}
		})
	}
}
