package table_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// A local index without the type and TTL attributes counts as a global one does: all
// items, not none.
func TestCountOfAnIndexWithoutTheType(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema.Table{TTLAttribute: "ttl", Indexes: []schema.Index{
		{Name: "local", SK: "rank", Local: true, Projection: types.ProjectionTypeKeysOnly},
		{Name: "global", PK: "list", SK: "rank", Projection: types.ProjectionTypeKeysOnly},
	}}, nil)
	for _, sk := range []keys.SK{"1", "2", "3"} {
		item := map[string]string{"list": "LIST", "rank": "first", tbl.Schema().TypeAttribute: "GAME"}
		expect.OK(t, tbl.Do(t.Context(), table.Put(keys.Key{PK: "LIST", SK: sk}, item)))
	}
	for _, index := range []string{"local", "global"} {
		stats := expect.Value(tbl.OfType("GAME").Count(t.Context(), table.Query{Index: index, PK: "LIST"}))(t)
		expect.Equal(t, "items of the "+index+" index", stats.Items, 3)
	}
}

// The items of an index by type are counted without a condition for the type, which
// DynamoDB refuses for a key.
func TestCountOfAnIndexByType(t *testing.T) {
	t.Parallel()
	spec := matches()
	spec.Indexes = []schema.Index{{Name: "byType", PKs: []schema.Attribute{{Name: "entityType"}}}}
	tbl, _, faults := faultyTable(t, spec, cannedTimes(1, 200, "", `{"Count":3,"ScannedCount":3}`))
	q := table.Query{Index: "byType", PKs: []string{"MATCH"}}
	stats := expect.Value(tbl.OfType("MATCH").Count(t.Context(), q))(t)
	expect.Equal(t, "items", stats.Items, 3)
	if body := string(faults.Requests()[0].Body); strings.Contains(body, "FilterExpression") {
		t.Errorf("the request has a filter: %s", body)
	}
	_, err := tbl.OfType("PLAYER").Count(t.Context(), q)
	expect.Err(t, err, table.ErrInvalid)
}
