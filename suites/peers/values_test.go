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
	holds        map[*peer]string
}{
	{"a set of texts", "tags", set("a", "b"), nil},
	{"an empty set", "tags", set(), nil},
	{"a list of texts in a set", "tags", []string{"a"}, nil},
	{"null", "note", nil, nil},
	{"an empty text", "note", "", nil},
	{"bytes", "photo", bytesOf("AQL/"), nil},
	{"a Date", "sent", date("2026-01-02T03:04:05.678Z"), nil},
	{"an unknown member of a map", "address", values{"street": "Main", "zip": "0100"}, nil},
	{"0.1", "total", json.Number("0.1"), nil},
	{"1e21", "total", json.Number("1e21"), nil},
}

func TestStores(t *testing.T) {
	t.Parallel()
	for _, v := range stores {
		for _, p := range ordered() {
			t.Run(v.what+", "+p.name, func(t *testing.T) {
				t.Parallel()
				s := newShop(t, p.file, p.spec)
				got := "throws"
				if _, err := s.try("create", p.order(anOrder).with(values{v.member: v.value})); err == nil {
					got = attribute(s.scan()[0][v.member])
				}
				expect.Equal(t, "stored", got, v.holds[p])
			})
		}
	}
}

// reads is what each peer reads of a value that a Go program has stored in an order.
var reads = []struct {
	what, member string
	value        types.AttributeValue
	holds        map[*peer]string
}{
	{"`NULL` for a set", "tags", &types.AttributeValueMemberNULL{Value: true}, nil},
	{"a list for a set", "tags", list(attributeText("a")), nil},
	{"a set for a list", "tags", &types.AttributeValueMemberSS{Value: []string{"a"}}, nil},
	{"a time without `.000`", "placed", attributeText("2026-01-02T03:04:05Z"), nil},
	{"milliseconds", "sent", number("1767323045678"), nil},
	{"seconds", "sent", number("1767323045"), nil},
	{"a time as text", "sent", attributeText("2026-01-02T03:04:05.678Z"), nil},
	{"9007199254740993", "total", number("9007199254740993"), nil},
	{"9007199254740993.5", "total", number("9007199254740993.5"), nil},
	{"0.12345678901234567890", "total", number("0.1234567890123456789"), nil},
	{"bytes", "photo", &types.AttributeValueMemberB{Value: []byte{1, 2, 255}}, nil},
	{"a list with `NULL`", "note", list(&types.AttributeValueMemberNULL{Value: true}), nil},
}

func number(n string) types.AttributeValue { return &types.AttributeValueMemberN{Value: n} }

func list(members ...types.AttributeValue) types.AttributeValue {
	return &types.AttributeValueMemberL{Value: members}
}

func TestReads(t *testing.T) {
	t.Parallel()
	for _, v := range reads {
		for _, p := range ordered() {
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
				expect.Equal(t, "read", got, v.holds[p])
			})
		}
	}
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
		if v.Value["zip"] != nil {
			return "M with it"
		}
		return "M without it"
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
