package telling_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/cmd/singletable/internal/telling"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

func str(text string) types.AttributeValue { return &types.AttributeValueMemberS{Value: text} }

func number(text string) types.AttributeValue { return &types.AttributeValueMemberN{Value: text} }

// ticket returns one of several tickets, of which the title, the state and the token differ.
func ticket(n int) table.Item {
	return table.Item{
		"pk": str("TENANT#acme"), "sk": str(fmt.Sprintf("TICKET#%010d", n)), "gsi1pk": str("x#y"), "entityType": str("TICKET"),
		"title": str(fmt.Sprintf("Tap %d", n)), "state": str(fmt.Sprintf("s%d", n)), "channel": str("mail"), "token": str(fmt.Sprintf("01HM0000000000000000000%03d", n)),
		"_md": str(fmt.Sprintf("at %d", n)), "version": number(fmt.Sprint(10 + n)), "entityCounted": &types.AttributeValueMemberM{},
	}
}

// What differs comes first, and of that what a person reads. What a library keeps for itself is
// last.
func TestOrder(t *testing.T) {
	t.Parallel()
	spec := schema.Table{Name: "T", Indexes: []schema.Index{{Name: "GSI1", PK: "gsi1pk", SK: "gsi1sk"}}}
	kind := func(item table.Item) string { return item["entityType"].(*types.AttributeValueMemberS).Value }
	for rows, want := range map[int]string{
		2: "title state _md token version channel pk sk entityCounted entityType gsi1pk",
		5: "title state _md token version pk sk channel entityCounted entityType gsi1pk",
	} {
		var items []table.Item
		for n := range rows {
			items = append(items, ticket(n))
		}
		c := telling.Choose(spec, items, kind, []string{"pk", "sk"})
		if got := strings.Join(c.Order(items[1], nil), " "); got != want {
			t.Errorf("%d rows: %s, want %s", rows, got, want)
		}
	}
}

// An attribute is last if the keys say it in all rows, however they write it.
func TestKeyed(t *testing.T) {
	t.Parallel()
	for key, c := range map[string]struct {
		value types.AttributeValue
		want  bool
	}{
		"USER#ana": {str("ana"), true}, "USER#ANA": {str("ana"), true}, "USER#a%23b": {str("a#b"), true}, "USER#anais": {str("ana"), false},
		"N#0000000042": {number("42"), true}, "N#1042": {number("42"), false}, "N#4.2": {number("4"), false}, "N#00": {number("0"), true},
		"$order_1#orderid_o-7": {str("O-7"), true}, "ORDER#o-7": {str("7"), false}, "ORDER|7": {number("7"), true},
		"AT#2026-11-07T01:29:18.803Z": {str("2026-11-07T01:29:18.803481445Z"), true}, "AT#2026-11-07T01:29:18.000Z": {str("2026-11-07T02:29:18+01:00"), true},
		"AT#2026-11-07T01:29:19.803Z": {str("2026-11-07T01:29:18.803Z"), false}, "AT#00000001794014958803": {str("2026-11-07T01:29:18.803481445Z"), false},
		"AT#2024-01-18T12:00:00.000Z": {number("1705579200"), true}, "AT#01705579200": {number("1705579200"), true}, "AT#": {str(""), false},
		"MAP": {&types.AttributeValueMemberM{}, false},
	} {
		item := table.Item{"sk": str(key), "placedAt": c.value}
		choice := telling.Choose(schema.Table{Name: "T"}, []table.Item{item}, func(table.Item) string { return "" }, []string{"sk"})
		if got := choice.Rank(item, "placedAt") == telling.Keyed; got != c.want {
			t.Errorf("%s says %v: %t", key, c.value, got)
		}
	}
	line := table.Item{"sk": str("LINE#2"), "quantity": number("2")}
	if got := telling.Choose(schema.Table{Name: "T"}, []table.Item{line}, func(table.Item) string { return "" }, []string{"sk"}).Rank(line, "quantity"); got != telling.Much {
		t.Errorf("rank %d of an amount that is a number of the key by chance", got)
	}
	same := table.Item{"pk": str("TENANT#acme"), "tenant": str("acme")}
	if got := telling.Choose(schema.Table{Name: "T"}, []table.Item{same, same}, func(table.Item) string { return "" }, []string{"pk"}).Rank(same, "tenant"); got != telling.Keyed {
		t.Errorf("rank %d of what the key of each row says", got)
	}
	items := []table.Item{{"sk": number("1"), "line": number("1")}, {"sk": number("2"), "line": number("7")}}
	choice := telling.Choose(schema.Table{Name: "T"}, items, func(table.Item) string { return "" }, []string{"sk"})
	if got := choice.Order(items[0], nil); !slices.Equal(got, []string{"line", "sk"}) {
		t.Errorf("%q: the key says one of the lines only", got)
	}
}
