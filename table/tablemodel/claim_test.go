package tablemodel_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tablemodel"
)

func TestClaimOwner(t *testing.T) {
	t.Parallel()
	str := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	number := func(n string) types.AttributeValue { return &types.AttributeValueMemberN{Value: n} }
	raw := func(b string) types.AttributeValue { return &types.AttributeValueMemberB{Value: []byte(b)} }
	var null *types.AttributeValueMemberS
	plain, simple := schema.Table{Name: "T"}, schema.Table{Name: "T", SimpleKey: true, TypeAttribute: "kind"}
	other := schema.Table{Name: "T", PKType: "B", SKType: "N"}
	for name, test := range map[string]struct {
		spec schema.Table
		item table.Item
		kind string
		key  keys.Key
	}{
		"claim":       {plain, table.Item{"entityType": str("USER claim"), "ownerPK": str("a"), "ownerSK": str("b")}, "USER", keys.Key{PK: "a", SK: "b"}},
		"simple key":  {simple, table.Item{"kind": str("USER claim"), "ownerPK": str("a"), "ownerSK": number("1")}, "USER", keys.Key{PK: "a"}},
		"other types": {other, table.Item{"entityType": str("USER claim"), "ownerPK": raw("\xff"), "ownerSK": number("1")}, "USER", keys.Key{PK: "\xff", SK: "1"}},
		"a claim's":   {plain, table.Item{"entityType": str("USER claim claim"), "ownerPK": str("a"), "ownerSK": str("b")}, "USER claim", keys.Key{PK: "a", SK: "b"}},

		"nothing":            {plain, nil, "", keys.Key{}},
		"another type":       {plain, table.Item{"entityType": str("USERclaim"), "ownerPK": str("a"), "ownerSK": str("b")}, "", keys.Key{}},
		"no type":            {plain, table.Item{"entityType": str(" claim"), "ownerPK": str("a"), "ownerSK": str("b")}, "", keys.Key{}},
		"a number as type":   {plain, table.Item{"entityType": number("1"), "ownerPK": str("a"), "ownerSK": str("b")}, "", keys.Key{}},
		"no owner":           {plain, table.Item{"entityType": str("USER claim")}, "", keys.Key{}},
		"no sort key":        {plain, table.Item{"entityType": str("USER claim"), "ownerPK": str("a")}, "", keys.Key{}},
		"no partition key":   {plain, table.Item{"entityType": str("USER claim"), "ownerSK": str("b")}, "", keys.Key{}},
		"a number":           {plain, table.Item{"entityType": str("USER claim"), "ownerPK": number("1"), "ownerSK": str("b")}, "", keys.Key{}},
		"a text as a number": {other, table.Item{"entityType": str("USER claim"), "ownerPK": raw("a"), "ownerSK": str("1")}, "", keys.Key{}},
		"empty":              {plain, table.Item{"entityType": str("USER claim"), "ownerPK": str(""), "ownerSK": str("b")}, "", keys.Key{}},
		"nil":                {plain, table.Item{"entityType": str("USER claim"), "ownerPK": null, "ownerSK": str("b")}, "", keys.Key{}},
		"too long":           {plain, table.Item{"entityType": str("USER claim"), "ownerPK": str("a"), "ownerSK": str(strings.Repeat("b", keys.MaxSK+1))}, "", keys.Key{}},
	} {
		kind, key, ok := tablemodel.ClaimOwner(test.spec, test.item)
		if kind != test.kind || key != test.key || ok != (test.kind != "") {
			t.Errorf("%s: %q %v %v, want %q %v", name, kind, key, ok, test.kind, test.key)
		}
	}
}

// A claim and its owner can have the same sort key, which is no attribute then.
func TestInferOfClaims(t *testing.T) {
	t.Parallel()
	str := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	for kind, want := range map[string]tablemodel.Pattern{
		"USER claim": {PK: "EMAIL#{1}", SK: "METADATA"}, "USER": {PK: "EMAIL#{1}", SK: "{ownerSK}"},
	} {
		m, err := tablemodel.Infer(schema.Table{Name: "Table"}, []table.Item{{
			"pk": str("EMAIL#a@example.com"), "sk": str("METADATA"), "entityType": str(kind), "ownerPK": str("USER#a"), "ownerSK": str("METADATA"),
		}})
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Entities[0].Items; len(got) != 1 || got[0].PK != want.PK || got[0].SK != want.SK {
			t.Errorf("%s: %+v, want %+v", kind, got, want)
		}
	}
}
