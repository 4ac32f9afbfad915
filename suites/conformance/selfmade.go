package conformance

import (
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
)

func selfMadeTests() tests {
	return tests{
		"a type that makes its attributes itself is kept": selfMade,
	}
}

// ticket makes its attributes itself, and takes those that it is given for all
// that it has.
type ticket struct{ id, text, revision string }

func (t *ticket) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return mapOf(table.Item{"id": str(t.id), "text": str(t.text), "revision": str(t.revision)}), nil
}

func (t *ticket) UnmarshalDynamoDBAttributeValue(value types.AttributeValue) error {
	m, ok := value.(*types.AttributeValueMemberM)
	if !ok {
		return fmt.Errorf("a %T is no ticket", value)
	}
	text := func(name string) string {
		s, _ := m.Value[name].(*types.AttributeValueMemberS)
		if s == nil {
			return ""
		}
		return s.Value
	}
	*t = ticket{text("id"), text("text"), text("revision")}
	return nil
}

func selfMade(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	key := accountKey("t-1")
	r := newRepo(t, tbl, repo.Entity[ticket]{
		Type: "TICKET", Key: func(v ticket) keys.Key { return accountKey(v.id) }, Version: "revision",
	})
	v := ticket{id: "t-1", text: "one"}
	must(t, r.Create(t.Context(), &v))
	patched(t, tbl, key, table.Item{"extra": num("1")})
	is := func(text string) {
		t.Helper()
		item := raw(t, tbl, key)
		want := table.Item{"id": str("t-1"), "text": str(text), "extra": num("1"), "revision": str(v.revision), "entityType": str("TICKET")}
		delete(item, "pk")
		delete(item, "sk")
		if diff := diffItems(want, item); v.revision == "" || diff != "" {
			t.Errorf("stored, with revision %q (-want +got):\n%s", v.revision, diff)
		}
		if v.id != "t-1" || v.text != text {
			t.Errorf("the value is %+v", v)
		}
	}
	is("one")
	v.text = "two"
	must(t, r.Put(t.Context(), &v))
	is("two")
	var err error
	v, err = r.Update(t.Context(), key, func(v *ticket) error { v.text = "three"; return nil })
	must(t, err)
	is("three")
	again := v
	wantErr(t, tbl.Transact(t.Context(), r.PutOps(&again)...), table.ErrInvalid)
	is("three")

	// A map is the caller's until it is stored.
	dictionaries := newRepo(t, tbl, repo.Entity[map[string]string]{
		Type: "MAP", Key: func(m map[string]string) keys.Key { return accountKey(m["id"]) }, Version: "revision",
	})
	m := map[string]string{"id": "t-1"}
	wantErr(t, dictionaries.Create(t.Context(), &m), table.ErrExists)
	equal(t, "a map that was not stored", m, map[string]string{"id": "t-1"})
}
