package table_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/suites/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// A local index without the type and TTL attributes counts as a global one does: all
// items, not none.
func TestCountOfAnIndexWithoutTheType(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, table.Schema{TTL: "ttl", Indexes: []table.Index{
		{Name: "local", SK: "rank", Local: true, Projection: types.ProjectionTypeKeysOnly},
		{Name: "global", PK: "list", SK: "rank", Projection: types.ProjectionTypeKeysOnly},
	}}, nil)
	for _, sk := range []keys.SK{"1", "2", "3"} {
		item := map[string]string{"list": "LIST", "rank": "first", tbl.Schema().Type: "GAME"}
		expect.OK(t, tbl.Do(t.Context(), table.Put(keys.Key{PK: "LIST", SK: sk}, item)))
	}
	for _, index := range []string{"local", "global"} {
		stats := expect.Value(tbl.OfType("GAME").Count(t.Context(), table.Query{Index: index, PK: "LIST"}))(t)
		expect.Equal(t, "items of the "+index+" index", stats.Items, 3)
	}
}
