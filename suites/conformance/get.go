package conformance

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

func getTests() tests {
	return tests{
		"values come back as they were":          getValues,
		"a table without sort key":               getSimpleKey,
		"renamed key attributes":                 getRenamed,
		"keys in other scripts and at the limit": getUnusualKeys,
	}
}

func getValues(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	item := table.Item{
		"s":    str("ü 日本 \x00 \" \\ </script>"),
		"s0":   str(""),
		"b0":   &types.AttributeValueMemberB{Value: []byte{}},
		"n":    num("9007199254740993"),
		"n38":  num("-12345678901234567890123456789012345678"),
		"b":    &types.AttributeValueMemberB{Value: []byte{0, 1, 0xff}},
		"yes":  &types.AttributeValueMemberBOOL{Value: true},
		"no":   &types.AttributeValueMemberBOOL{},
		"null": &types.AttributeValueMemberNULL{Value: true},
		"ss":   &types.AttributeValueMemberSS{Value: []string{"a"}},
		"ns":   &types.AttributeValueMemberNS{Value: []string{"1.5"}},
		"bs":   &types.AttributeValueMemberBS{Value: [][]byte{{0}}},
		"l":    &types.AttributeValueMemberL{Value: []types.AttributeValue{str("x"), num("-1")}},
		"m": &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{
			"a.b": &types.AttributeValueMemberL{Value: []types.AttributeValue{}},
			"c":   &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{}},
		}},
	}
	must(t, tbl.Do(t.Context(), table.Put(user, item)))
	if _, ok := item["pk"]; ok {
		t.Error("Put has changed the caller's item")
	}
	item["pk"], item["sk"] = str(string(user.PK)), str(string(user.SK))
	got := expect.Value(table.Get[table.Item](t.Context(), tbl, user))(t)
	if diff := diffItems(item, got); diff != "" {
		t.Error(diff)
	}
	plain := expect.Value(table.Get[map[string]types.AttributeValue](t.Context(), tbl, user))(t)
	if diff := diffItems(item, plain); diff != "" {
		t.Error(diff)
	}
}

func getSimpleKey(t *testing.T, h Harness) {
	tbl := h.newTable(t, schema.Table{SimpleKey: true})
	key := keys.Key{PK: keys.User.PK("u-1")}
	must(t, tbl.Do(t.Context(), table.Create(key, note{N: 1})))
	wantErr(t, tbl.Do(t.Context(), table.Create(key, note{N: 2})), table.ErrExists)
	stored(t, tbl, key, note{N: 1})
	all := expect.Value(table.Collect(table.All[note](t.Context(), tbl, table.Query{PK: key.PK, Limit: 5})))(t)
	equal(t, "items", numbers(all), []int{1})
	page := expect.Value(table.QueryPage[note](t.Context(), tbl, table.Query{PK: key.PK, Limit: 1}))(t)
	equal(t, "page", numbers(page.Items), []int{1})
	got := expect.Value(table.BatchGet[note](t.Context(), tbl, []keys.Key{key, {PK: "USER#u-2"}}))(t)
	found, missing := inOrder(got, []keys.Key{key, {PK: "USER#u-2"}})
	equal(t, "found", numbers(found), []int{1})
	equal(t, "missing", missing, []keys.Key{{PK: "USER#u-2"}})
}

func getRenamed(t *testing.T, h Harness) {
	tbl := h.newTable(t, schema.Table{
		PK: "hash", SK: "range", TTLAttribute: "ttl", TypeAttribute: "_t", // The first two are reserved in expressions.
		Indexes: []schema.Index{{Name: "inverted", PK: "range", SK: "hash"}},
	})
	must(t, tbl.Do(t.Context(), table.Create(user, table.Item{"_t": str("user"), "ttl": num("4133980800"), "n": num("7")})))
	got := expect.Value(table.Get[table.Item](t.Context(), tbl.OfType("user"), user))(t)
	if diff := diffItems(table.Item{
		"hash": str(string(user.PK)), "range": str("PROFILE"), "_t": str("user"), "ttl": num("4133980800"), "n": num("7"),
	}, got); diff != "" {
		t.Error(diff)
	}
	must(t, tbl.Do(t.Context(), table.Put(other, note{N: 8})))
	wantErr(t, tbl.Do(t.Context(), table.Create(other, note{})), table.ErrExists)
	equal(t, "range", joined(pages(t, tbl, table.Query{PK: other.PK, Range: keys.Exactly(other.SK)}, nil)), []int{8})
	equal(t, "inverted index", joined(pages(t, tbl, table.Query{Index: "inverted", PK: "PROFILE", Limit: 1}, nil)), []int{7, 8})
}

func getUnusualKeys(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	for i, key := range []keys.Key{
		{PK: keys.User.PK("日本 ü\n\x00#%"), SK: keys.Tx.SK(keys.Str("\x01 🙂"))},
		{PK: keys.PK(long(keys.MaxPK)), SK: keys.SK(long(keys.MaxSK))},
		{PK: "a", SK: "b"},
	} {
		must(t, tbl.Do(t.Context(), table.Create(key, note{N: i})))
		stored(t, tbl, key, note{N: i})
		found := expect.Value(table.BatchGet[note](t.Context(), tbl, []keys.Key{key}))(t)
		equal(t, "batch", found[key].N, i)
	}
}
