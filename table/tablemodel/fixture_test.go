package tablemodel_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// schemas are schemas that use everything there is.
var schemas = map[string]schema.Table{
	"small":  {Name: "Notes"},
	"simple": {Name: "Flags", PK: "id", SimpleKey: true, TTLAttribute: "until"},
	"full":   full,
	"numbers": {
		Name: "Readings", PK: "sensor", SK: "at", PKType: types.ScalarAttributeTypeB, SKType: types.ScalarAttributeTypeN,
		TypeAttribute: "kind", Indexes: []schema.Index{{Name: "by-value", PK: "value", PKType: types.ScalarAttributeTypeN}},
	},
	"several": {
		Name: "Matches", Indexes: []schema.Index{{
			Name: "byRound", PKs: []schema.Attribute{{Name: "tournament"}, {Name: "region"}},
			SKs: []schema.Attribute{{Name: "round", Type: types.ScalarAttributeTypeN}, {Name: "bracket"}},
		}},
	},
	"production": {
		Name: "Orders", TTLAttribute: "expiresAt",
		Indexes: []schema.Index{
			{
				Name: "GSI1", PK: "gsi1pk", SK: "gsi1sk",
				ProvisionedThroughput: schema.Throughput{Read: 7, Write: 8}, WarmThroughput: schema.Throughput{Write: 5000},
			},
			{Name: "LSI1", SK: "lsi1sk", Local: true},
		},
		Stream: types.StreamViewTypeNewAndOldImages, BillingMode: types.BillingModeProvisioned,
		ProvisionedThroughput: schema.Throughput{Read: 5, Write: 6}, WarmThroughput: schema.Throughput{Read: 13000, Write: 5000},
		TableClass: types.TableClassStandardInfrequentAccess, PointInTimeRecovery: true, DeletionProtection: true,
		Tags: map[string]string{"team": "payments", "cost-center": ""},
	},
	// Names that Terraform would take for templates.
	"templates": {
		Name: "Templates", PK: "${a}", SK: "$${b}", TTLAttribute: `${file("secret")}`,
		Indexes: []schema.Index{
			{Name: "GSI1", PK: "%{ if true }", SK: "%%{", Projection: types.ProjectionTypeInclude, Include: []string{"$%{c}${", "$", "100%", "//"}},
			{Name: "LSI1", SK: "$$$${d}", Local: true},
		},
	},
}

var full = schema.Table{
	Name: "Payments", PK: "PK", SK: "SK", TTLAttribute: "expiresAt",
	Indexes: []schema.Index{
		{Name: "GSI1", PK: "GSI1PK", SK: "GSI1SK"},
		{Name: "inverted", PK: "SK", SK: "PK", Projection: types.ProjectionTypeKeysOnly},
		{Name: "by-status", PK: "status", Projection: types.ProjectionTypeInclude, Include: []string{"amount", "entityType"}},
		{Name: "by-amount", SK: "amount", SKType: types.ScalarAttributeTypeN, Local: true},
	},
}

var start = time.Date(2024, 1, 15, 10, 0, 0, 0, time.UTC)

// payments are the sample items of the schema full: users with their payments,
// some of which are in the index, and a settings item without a type.
func payments() []table.Op {
	key := func(pk keys.PK, sk keys.SK) keys.Key { return keys.Key{PK: pk, SK: sk} }
	var ops []table.Op
	for _, user := range []string{"ana", "bob", "cleo", "dora"} {
		ops = append(ops, table.Put(key(keys.User.PK(user), keys.Profile), map[string]any{
			"entityType": "USER", "name": user, "tags": []string{"a|b", "`c`"}, "expiresAt": start.AddDate(90, 0, 0).Unix(),
		}))
	}
	for i := range 5 {
		at, id := start.Add(time.Duration(i)*time.Hour), fmt.Sprintf("tx-%d", i)
		v := map[string]any{
			"entityType": "TX", "amount": 100 * (i + 1), "note": "<b>tea</b> | #1", "open": i%2 == 0,
			"lines": []map[string]any{{"what": "tea", "price": 100}}, "status": []string{"NEW", "PAID"}[i%2],
		}
		if i%2 == 0 {
			v["GSI1PK"], v["GSI1SK"] = fmt.Sprintf("GLOBAL#%d", i%4), at.Format(time.RFC3339)+"#"+id
		}
		ops = append(ops, table.Put(key(keys.User.PK("ana"), keys.Tx.SK(keys.Time(at), keys.Str(id))), v))
	}
	return append(ops, table.Put(key("SETTINGS", "ALL"), map[string]any{
		"blob": []byte{1, 2, 0xff}, "empty": nil, "text": "line one\nline two, and so long that it has to be cut somewhere before its end",
	}))
}

// stored returns the sample items as they are stored.
func stored(t *testing.T) (*table.Table, []table.Op) {
	t.Helper()
	tbl := tabletest.New(t, full, nil)
	ops := payments()
	expect.OK(t, tbl.BatchWrite(t.Context(), ops...))
	return tbl, ops
}
