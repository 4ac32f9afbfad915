package peers_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/table"
)

// stores is what each peer stores of a value of an order.
var stores = []struct {
	what, member string
	value        any
	holds        []string // in the order of the peers
}{
	{"a set of texts", "tags", set("a", "b"), []string{"SS", "SS", "SS", "L", "SS"}},
	{"an empty set", "tags", set(), []string{"throws", "throws", "throws", "L", "throws"}},
	{"a list of texts in a set", "tags", []string{"a"}, []string{"SS", "throws", "L", "L", "SS"}},
	{"null", "note", nil, []string{"NULL", "NULL", "NULL", "NULL", "NULL"}},
	{"an empty text", "note", "", []string{"S ``", "S ``", "S ``", "S ``", "S ``"}},
	{"bytes", "photo", bytesOf("AQL/"), []string{"B", "B", "S `AQL/`", "B", "B"}},
	{"a Date", "sent", date("2026-01-02T03:04:05.678Z"), []string{"throws", "throws", "N `1767323045678`", "throws", "N `1767323045678`"}},
	{"a map with a member that the schema lacks", "address", values{"street": "Main", "zip": "0100"}, []string{"M of 2", "M of 2", "M of 1", "M of 2", "M of 1"}},
	{"0.1", "total", json.Number("0.1"), []string{"N `0.1`", "N `0.1`", "N `0.1`", "N `0.1`", "N `0.1`"}},
	{"1e21", "total", json.Number("1e21"), []string{"throws", "throws", "throws", "throws", "throws"}},
}

// TestStores has each peer store each value.
func TestStores(t *testing.T) {
	t.Parallel()
	for _, v := range stores {
		for i, p := range ordered() {
			t.Run(v.what+", "+p.name, func(t *testing.T) {
				t.Parallel()
				s := newShop(t, p.file, p.spec)
				got := "throws"
				if _, err := s.try("create", p.order(anOrder).with(values{v.member: p.value(v.value)})); err == nil {
					got = attribute(s.scan()[0][v.member])
				}
				expect.Equal(t, "stored", got, v.holds[i])
			})
		}
	}
}

// reads is what each peer reads of a value that a Go program has stored in an order.
var reads = []struct {
	what, member string
	value        types.AttributeValue
	holds        []string // in the order of the peers
}{
	{"`NULL` for a set", "tags", &types.AttributeValueMemberNULL{Value: true}, []string{"`null`", "throws", "`null`", "`null`", "throws"}},
	{"a list for a set", "tags", list(attributeText("a")), []string{"`[\"a\"]`", "throws", "`[\"a\"]`", "`[\"a\"]`", "throws"}},
	{"a set for a list", "tags", &types.AttributeValueMemberSS{Value: []string{"a"}}, []string{"`[\"a\"]`", "set `[a]`", "set `[a]`", "`{}`", "set `[a]`"}},
	{"a time without `.000`", "placed", attributeText("2026-01-02T03:04:05Z"), []string{"`\"2026-01-02T03:04:05Z\"`", "`\"2026-01-02T03:04:05Z\"`", "`\"2026-01-02T03:04:05Z\"`", "`\"2026-01-02T03:04:05Z\"`", "throws"}},
	{"milliseconds", "sent", number("1767323045678"), []string{"`1767323045678`", "`1767323045678`", "date `2026-01-02T03:04:05.678Z`", "`1767323045678`", "date `2026-01-02T03:04:05.678Z`"}},
	{"seconds", "sent", number("1767323045"), []string{"`1767323045`", "`1767323045`", "date `1970-01-21T10:55:23.045Z`", "`1767323045`", "date `1970-01-21T10:55:23.045Z`"}},
	{"a time as text", "sent", attributeText("2026-01-02T03:04:05.678Z"), []string{"`\"2026-01-02T03:04:05.678Z\"`", "`\"2026-01-02T03:04:05.678Z\"`", "date `2026-01-02T03:04:05.678Z`", "`\"2026-01-02T03:04:05.678Z\"`", "throws"}},
	{"9007199254740993", "total", number("9007199254740993"), []string{"bigint `9007199254740993`", "throws", "bigint `9007199254740993`", "throws", "throws"}},
	{"9007199254740993.5", "total", number("9007199254740993.5"), []string{"throws", "throws", "throws", "throws", "throws"}},
	{"0.12345678901234567890", "total", number("0.1234567890123456789"), []string{"`0.12345678901234568`", "`0.12345678901234568`", "`0.12345678901234568`", "`0.12345678901234568`", "`0.12345678901234568`"}},
	{"bytes", "photo", &types.AttributeValueMemberB{Value: []byte{1, 2, 255}}, []string{"bytes `AQL/`", "bytes `AQL/`", "bytes `AQL/`", "`{\"0\":1,\"1\":2,\"2\":255}`", "bytes `AQL/`"}},
	{"a list with `NULL`", "note", list(&types.AttributeValueMemberNULL{Value: true}), []string{"`[null]`", "`[null]`", "`[null]`", "`[null]`", "throws"}},
}

func number(n string) types.AttributeValue { return &types.AttributeValueMemberN{Value: n} }

func list(members ...types.AttributeValue) types.AttributeValue {
	return &types.AttributeValueMemberL{Value: members}
}

// TestReads has each peer read each value.
func TestReads(t *testing.T) {
	t.Parallel()
	for _, v := range reads {
		for i, p := range ordered() {
			t.Run(v.what+", "+p.name, func(t *testing.T) {
				t.Parallel()
				s := newShop(t, p.file, p.spec)
				s.call("create", p.order(anOrder))
				key := s.table.KeyOf("", s.scan()[0])
				expect.OK(t, s.table.Do(s.Context(), table.Patch(key, table.Item{v.member: v.value}).IfExists()))
				got := "throws"
				if result, err := s.try("get", orderKey(anOrder)); err == nil {
					got = shown(result.(map[string]any)[v.member])
				}
				expect.Equal(t, "read", got, v.holds[i])
			})
		}
	}
}

// value returns a value as the peer takes it.
func (p *peer) value(v any) any {
	if m, ok := v.(values); ok && m["$set"] != nil && p.lists {
		return m["$set"]
	}
	return v
}

// ordered are the peers that have orders.
func ordered() []*peer {
	return slices.DeleteFunc(slices.Clone(peers), func(p *peer) bool { return p.order == nil })
}

// attribute describes a stored attribute.
func attribute(v types.AttributeValue) string {
	switch v := v.(type) {
	case nil:
		return "left out"
	case *types.AttributeValueMemberS:
		return "S `" + v.Value + "`"
	case *types.AttributeValueMemberN:
		return "N `" + v.Value + "`"
	case *types.AttributeValueMemberNULL:
		return "NULL"
	case *types.AttributeValueMemberSS:
		return "SS"
	case *types.AttributeValueMemberL:
		return "L"
	case *types.AttributeValueMemberM:
		if len(v.Value) == 0 {
			return "M `{}`"
		}
		return fmt.Sprintf("M of %d", len(v.Value))
	case *types.AttributeValueMemberB:
		return "B"
	default:
		return fmt.Sprintf("%T", v)
	}
}

// shown describes what a peer has returned.
func shown(v any) string {
	if m, ok := v.(map[string]any); ok && len(m) == 1 {
		for kind, value := range m {
			if strings.HasPrefix(kind, "$") {
				return fmt.Sprintf("%s `%v`", kind[1:], value)
			}
		}
	}
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return "`" + string(text) + "`"
}
