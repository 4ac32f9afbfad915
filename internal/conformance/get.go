package conformance

import (
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

func getTests() tests {
	return tests{
		"a missing key is not found":              getMissing,
		"another type's item is of a wrong type":  getWrongType,
		"an item is gone at its second of expiry": getExpired,
		"values come back as they were":           getValues,
		"a table without sort key":                getSimpleKey,
		"renamed key attributes":                  getRenamed,
		"keys in other scripts and at the limit":  getUnusualKeys,
		"reads are consistent only when asked":    getConsistent,
		"an item that does not fit the Go type":   getMisfit,
	}
}

func getMissing(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	_, err := table.Get[note](t.Context(), tbl, user)
	wantErr(t, err, table.ErrNotFound)
	e, ok := errors.AsType[*table.Error](err)
	if !ok {
		t.Fatalf("%T is no *table.Error", err)
	}
	equal(t, "error", [3]string{e.Op, e.Table, e.Index}, [3]string{"Get", tbl.Schema().Name, ""})
	equal(t, "key", e.Key, user)
}

func getWrongType(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	must(t, tbl.Do(t.Context(), table.Put(user, note{Type: "user", N: 1})))
	must(t, tbl.Do(t.Context(), table.Put(other, note{N: 2})))
	for _, key := range []keys.Key{user, other} {
		got, err := table.Get[note](t.Context(), tbl.OfType("order"), key)
		wantErr(t, err, table.ErrWrongType)
		wantNot(t, err, table.ErrNotFound)
		equal(t, "value beside the error", got, note{})
	}
	got, err := table.Get[note](t.Context(), tbl.OfType("user"), user)
	must(t, err)
	equal(t, "n", got.N, 1)
}

func getExpired(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	for _, tt := range []struct {
		name string
		ttl  types.AttributeValue
		live bool
	}{
		{"long ago", num("1"), false},
		{"one second ago", num("1705313099"), false},
		{"this second", num("1705313100"), false},
		{"within the next second", num("1705313100.5"), true},
		{"next second", num("1705313101"), true},
		{"zero", num("0"), true},
		{"negative", num("-5"), true},
		{"text", str("1"), true},
	} {
		key := keys.Key{PK: keys.User.PK(tt.name), SK: keys.Profile}
		must(t, tbl.Do(t.Context(), table.Put(key, table.Item{"expiresAt": tt.ttl})))
		_, err := table.Get[table.Item](t.Context(), tbl, key)
		if tt.live != (err == nil) || err != nil && !errors.Is(err, table.ErrNotFound) {
			t.Errorf("%s: live %v, error %v", tt.name, tt.live, err)
		}
	}
}

func getValues(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	item := table.Item{
		"s":    str("ü 日本 \x00 \" \\ </script>"),
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
	if !h.Capabilities.NoEmptyStrings {
		item["empty"] = str("")
		item["emptyB"] = &types.AttributeValueMemberB{Value: []byte{}}
	}
	must(t, tbl.Do(t.Context(), table.Put(user, item)))
	if _, ok := item["pk"]; ok {
		t.Error("Put has changed the caller's item")
	}
	item["pk"], item["sk"] = str(string(user.PK)), str(string(user.SK))
	got, err := table.Get[table.Item](t.Context(), tbl, user)
	must(t, err)
	if diff := diffItems(item, got); diff != "" {
		t.Error(diff)
	}
	plain, err := table.Get[map[string]types.AttributeValue](t.Context(), tbl, user)
	must(t, err)
	if diff := diffItems(item, plain); diff != "" {
		t.Error(diff)
	}
}

func getSimpleKey(t *testing.T, h Harness) {
	tbl := h.newTable(t, table.Schema{SimpleKey: true})
	key := keys.Key{PK: keys.User.PK("u-1")}
	must(t, tbl.Do(t.Context(), table.Create(key, note{N: 1})))
	wantErr(t, tbl.Do(t.Context(), table.Create(key, note{N: 2})), table.ErrExists)
	stored(t, tbl, key, note{N: 1})
	all, err := table.Collect(table.All[note](t.Context(), tbl, table.Query{PK: key.PK, Limit: 5}))
	must(t, err)
	equal(t, "items", numbers(all), []int{1})
	page, err := table.QueryPage[note](t.Context(), tbl, table.Query{PK: key.PK, Limit: 1})
	must(t, err)
	equal(t, "page", numbers(page.Items), []int{1})
	got, err := table.BatchGet[note](t.Context(), tbl, []keys.Key{key, {PK: "USER#u-2"}})
	must(t, err)
	found, missing := inOrder(got, []keys.Key{key, {PK: "USER#u-2"}})
	equal(t, "found", numbers(found), []int{1})
	equal(t, "missing", missing, []keys.Key{{PK: "USER#u-2"}})
}

func getRenamed(t *testing.T, h Harness) {
	tbl := h.newTable(t, table.Schema{
		PK: "PK", SK: "SK", TTL: "ttl", Type: "_t",
		Indexes: []table.Index{{Name: "inverted", PK: "SK", SK: "PK"}},
	})
	must(t, tbl.Do(t.Context(), table.Create(user, table.Item{"_t": str("user"), "ttl": num("1705313101"), "n": num("7")})))
	got, err := table.Get[table.Item](t.Context(), tbl.OfType("user"), user)
	must(t, err)
	if diff := diffItems(table.Item{
		"PK": str(string(user.PK)), "SK": str("PROFILE"), "_t": str("user"), "ttl": num("1705313101"), "n": num("7"),
	}, got); diff != "" {
		t.Error(diff)
	}
	must(t, tbl.Do(t.Context(), table.Put(other, note{N: 8})))
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
		found, err := table.BatchGet[note](t.Context(), tbl, []keys.Key{key})
		must(t, err)
		equal(t, "batch", found[key].N, i)
	}
}

func getConsistent(t *testing.T, h Harness) {
	tbl, faults := h.withFaults(t, appCore(), nil)
	read := func(tbl *table.Table) {
		_, err := table.Get[note](t.Context(), tbl, user)
		wantErr(t, err, table.ErrNotFound)
		_, err = table.QueryPage[note](t.Context(), tbl, table.Query{PK: user.PK})
		must(t, err)
		_, err = table.BatchGet[note](t.Context(), tbl, []keys.Key{user})
		must(t, err)
	}
	read(tbl)
	read(tbl.Consistent())
	read(tbl.Consistent().OfType("user"))
	var got []bool
	for _, r := range faults.Requests("GetItem", "Query", "BatchGetItem") {
		got = append(got, isConsistent(t, r))
	}
	equal(t, "consistent", got, []bool{false, false, false, true, true, true, true, true, true})
}

func isConsistent(t *testing.T, r tabletest.Request) bool {
	t.Helper()
	if r.Operation == "BatchGetItem" {
		return strings.Contains(bodyField(t, r, "RequestItems"), "ConsistentRead:true")
	}
	return bodyField(t, r, "ConsistentRead") == "true"
}

func getMisfit(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	must(t, tbl.Do(t.Context(), table.Put(user, table.Item{"id": str("a"), "n": str("not a number")})))
	got, err := table.Get[note](t.Context(), tbl, user)
	if err == nil {
		t.Error("no error")
	}
	equal(t, "value beside the error", got, note{})
	page, err := table.QueryPage[note](t.Context(), tbl, table.Query{PK: user.PK})
	if err == nil || len(page.Items) > 0 || page.Next != "" {
		t.Errorf("page %v, error %v", page, err)
	}
	found, err := table.BatchGet[note](t.Context(), tbl, []keys.Key{user})
	if e, ok := errors.AsType[*table.OpError](err); !ok || e.Key != user || len(found) > 0 {
		t.Errorf("found %v, error %v", found, err)
	}
}
