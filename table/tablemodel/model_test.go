package tablemodel_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tablemodel"
)

// sample is an item of the type T with a key and further attributes: names and
// values in turn. A number is written with a '=' before it.
func sample(pk, sk string, attributes ...string) table.Item {
	item := table.Item{"pk": stringValue(pk), "sk": stringValue(sk), "entityType": stringValue("T")}
	for i := 0; i < len(attributes); i += 2 {
		if n, number := strings.CutPrefix(attributes[i+1], "="); number {
			item[attributes[i]] = &types.AttributeValueMemberN{Value: n}
		} else {
			item[attributes[i]] = stringValue(attributes[i+1])
		}
	}
	return item
}

var indexed = schema.Table{Name: "Samples", Indexes: []schema.Index{
	{Name: "GSI1", PK: "GSI1PK", SK: "GSI1SK"},
	{Name: "by-status", PK: "status"},
	{Name: "several", PKs: []schema.Attribute{{Name: "a"}, {Name: "b"}}},
}}

// patterns returns the patterns of the entity T as "pk / sk", and those of its
// indexes after a name.
func patterns(m tablemodel.Model) []string {
	var all []string
	for _, e := range m.Entities {
		for _, p := range e.Items {
			text := p.PK + " / " + p.SK
			for _, x := range m.Indexes {
				if p, ok := p.Indexes[x.Name]; ok {
					text += "; " + x.Name + " " + p.PK + " / " + p.SK
				}
			}
			all = append(all, text)
		}
	}
	return all
}

func TestInferredPatterns(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		items []table.Item
		want  []string
	}{
		"an attribute": {
			[]table.Item{sample("USER#a", "PROFILE", "id", "a")},
			[]string{"USER#{id} / PROFILE"},
		},
		"escapes": {
			[]table.Item{sample("USER#a%23b%20c", "PROFILE", "id", "a#b c")},
			[]string{"USER#{id} / PROFILE"},
		},
		"a padded number, a plain one, and one of one width": {
			[]table.Item{
				sample("P#7", "V#007#11", "n", "=7", "m", "=11"), sample("P#12", "V#012#12", "n", "=12", "m", "=12"),
			},
			[]string{"P#{n} / V#{n:3}#{m}"},
		},
		"times of every attribute": {
			[]table.Item{
				sample("P#1", "T#2024-01-15T10:00:00.000Z", "at", "2024-01-15T11:00:00+01:00"),
				sample("Q#1", "T#2024-01-15T10:00:00.000Z", "at", "=1705312800"),
				sample("R#1", "T#2024-01-15T10:00:00.001Z", "at", "=1705312800001"),
				sample("S#1", "T#2024-01-15T10:00:00.001Z", "at", "2024-01-15T10:00:00.001Z"),
			},
			[]string{"P#{1} / T#{at:time}", "Q#{1} / T#{at:time}", "R#{1} / T#{at:time-ms}", "S#{1} / T#{at:time}"},
		},
		"the attribute that resembles the prefix, then the shortest": {
			[]table.Item{sample("USER#a", "NOTE#b", "a1", "a", "userId", "a", "noteKey", "c", "text", "b", "b", "b")},
			[]string{"USER#{userId} / NOTE#{b}"},
		},
		"labels and values of ElectroDB": {
			[]table.Item{
				sample("$shop#customerid_οδος", "$order_1#orderid_o-1#total_1e-7", "customerId", "ΟΔΟΣ", "orderId", "O-1", "total", "=0.0000001",
					"GSI1PK", "$shop#stage_paid", "GSI1SK", "$things#order_1#seq_0001", "stage", "Paid", "mode", "paid", "seq", "=1"),
				sample("$shop#customerid_c-2", "$order_1#orderid_o-2#total_-3", "customerId", "C-2", "orderId", "O-2", "total", "=-3",
					"GSI1PK", "$shop#stage_paid", "GSI1SK", "$things#order_1#seq_0-12", "stage", "Paid", "mode", "paid", "seq", "=-12"),
			},
			[]string{"$shop#customerid_{customerId:lower} / $order_1#orderid_{orderId:lower}#total_{total:lower}; GSI1 $shop#stage_{stage:lower} / $things#order_1#{1}"},
		},
		"the casing none, and labels of its own": {
			[]table.Item{
				sample("$shop#customerId_c-1", "x_a B", "customerId", "c-1", "name", "a B", "GSI1PK", "b_1", "GSI1SK", "Z#a b", "1", "v", "n", "=1", "nick", "a b"),
				sample("$shop#customerId_c-2", "x_C", "customerId", "c-2", "name", "C", "GSI1PK", "b_1", "GSI1SK", "Z#a b", "1", "v", "n", "=1", "nick", "a b"),
			},
			[]string{"$shop#customerId_{customerId:raw} / x_{name:raw}; GSI1 b_1 / Z#{nick:raw}"},
		},
		"a part of a value is no label": {
			[]table.Item{sample("P#usr_1", "A", "n", "=1"), sample("P#usr_1", "B", "n", "=1")},
			[]string{"P#{1} / A", "P#{1} / B"},
		},
		"an identifier in one partition is no constant": {
			[]table.Item{sample("USER#ana", "FRIEND#bob"), sample("USER#ana", "FRIEND#cleo")},
			[]string{"USER#{1} / FRIEND#{2}"},
		},
		"a word in one partition before an attribute of its name": {
			[]table.Item{
				sample("customer#c-1", "order#profile#o-1", "customerId", "c-1", "orderId", "o-1", "GSI1PK", "stage#new", "GSI1SK", "a#Main", "stage", "new", "address", "Main"),
				sample("customer#c-1", "order#profile#o-2", "customerId", "c-1", "orderId", "o-2", "GSI1PK", "stage#new", "GSI1SK", "a#Main", "stage", "new", "address", "Main"),
			},
			[]string{"customer#{customerId} / {1}#{2}#{orderId}; GSI1 stage#{stage} / {1}#{address}"},
		},
		"an identifier in capitals is no constant": {
			[]table.Item{sample("01ARZ3NDEKTSV4RRFFQ69G5FAV", "01ARZ3NDEKTSV4RRFFQ69G5FAV"), sample("USER#ANA", "PROFILE"), sample("ANA1990#x", "PROFILE")},
			[]string{"{1} / {2}", "{1}#{2} / PROFILE", "USER#{1} / PROFILE"},
		},
		"one of many values is no constant": {
			func() (items []table.Item) {
				for _, c := range "ABCDEFGHIJKL" {
					items = append(items, sample("GROUP#1", "MEMBER-"+string(c)))
				}
				return items
			}(),
			[]string{"GROUP#{1} / {2}"},
		},
		"later segments that partitions share": {
			[]table.Item{sample("A#LOG#b#1", "x#1#meta"), sample("A#LOG#b#2", "x#1#meta")},
			[]string{"A#LOG#{1}#{2} / x#{3}#meta"},
		},
		"prefixes of another program": {
			[]table.Item{
				sample("$app#user_1", "$user_1"), sample("$app#user_2", "$user_1"),
				sample("user#1", "profile"), sample("user#2", "profile"),
				sample("#META#1", "A##B"), sample("#META#2", "A##B"),
			},
			[]string{"#META#{1} / A##B", "$app#{1} / {2}", "user#{1} / {2}"},
		},
		"an attribute tells values from prefixes": {
			[]table.Item{sample("EUR", "RATE", "currency", "EUR"), sample("USD", "RATE", "currency", "USD")},
			[]string{"{currency} / RATE"},
		},
		"a prefix that happens to be a value": {
			[]table.Item{sample("USER#a", "PROFILE", "role", "USER"), sample("USER#b", "PROFILE", "role", "USER")},
			[]string{"USER#{1} / PROFILE"},
		},
		"braces": {
			[]table.Item{sample("{a}#1", "}{"), sample("{a}#2", "}{")},
			[]string{"{{a}}#{1} / }}{{"},
		},
		"names that patterns cannot write": {
			[]table.Item{sample("P#a", "Q", "1", "a", "a:b", "a", "{", "a", "#", "a")},
			[]string{"P#{1} / Q"},
		},
		"a sharded index": {
			[]table.Item{
				sample("P#a", "Q", "id", "a", "GSI1PK", "ALL", "GSI1SK", "a", "status", "NEW", "a", "x", "b", "x"),
				sample("P#b", "Q", "id", "b", "GSI1PK", "ALL#3", "GSI1SK", "b", "status", "PAID"),
				sample("P#c", "Q", "id", "c", "GSI1PK", "ALL#3", "GSI1SK", "c"),
			},
			[]string{"P#{id} / Q; GSI1 ALL#{1} / {id}; by-status {status} / "},
		},
		"keys of indexes that are equal by chance": {
			[]table.Item{
				sample("P#a", "Q", "GSI1PK", "new", "GSI1SK", "AT#new", "status", "new"),
				sample("P#b", "Q", "GSI1PK", "paid", "GSI1SK", "AT#paid", "status", "paid"),
			},
			[]string{"P#{1} / Q; GSI1 {GSI1PK} / AT#{1}; by-status {status} / "},
		},
		"a key of an index that the key of the table is made of": {
			[]table.Item{
				sample("P#new", "Q", "GSI1PK", "X", "GSI1SK", "AT#new", "status", "new"),
				sample("P#paid", "Q", "GSI1PK", "X", "GSI1SK", "AT#paid", "status", "paid"),
			},
			[]string{"P#{status} / Q; GSI1 X / AT#{status}; by-status {status} / "},
		},
		"the main item has the index, or its key has the type": {
			[]table.Item{
				sample("A#1", "X"), sample("T#1", "X"),
				sample("B#1", "X", "GSI1PK", "P", "GSI1SK", "Q"),
			},
			[]string{"B#{1} / X; GSI1 P / Q", "T#{1} / X", "A#{1} / X"},
		},
	} {
		m := expect.Value(tablemodel.Infer(indexed, tc.items))(t)
		if diff := cmp.Diff(tc.want, patterns(m)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if err := m.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Numbers and binary values are taken as a whole.
func TestInferredPatternsOfOtherKeys(t *testing.T) {
	t.Parallel()
	item := func(sensor, at string, more ...string) table.Item {
		i := sample("", "", more...)
		i["sensor"], i["kind"] = &types.AttributeValueMemberB{Value: []byte(sensor)}, stringValue("READING")
		i["at"], i["value"] = &types.AttributeValueMemberN{Value: at}, &types.AttributeValueMemberN{Value: "3"}
		return i
	}
	items := []table.Item{item("a#b\xff", "1", "seconds", "=1"), item("c", "-2.5", "seconds", "=-2.5")}
	m := expect.Value(tablemodel.Infer(schemas["numbers"], items))(t)
	if diff := cmp.Diff([]string{"{sensor} / {seconds}; by-value {value} / "}, patterns(m)); diff != "" {
		t.Error(diff)
	}
	e, n, ok := m.Find(items[0])
	all := expect.Value(e.Keys(items[0]))(t)
	if !ok || n != 0 || !slices.Equal(all, []keys.Key{{PK: "a#b\xff", SK: "1"}}) {
		t.Errorf("found %v %d, keys %q", ok, n, all)
	}
}

func TestAModelSurvivesJSON(t *testing.T) {
	t.Parallel()
	tbl, _ := stored(t)
	items := expect.Value(tablemodel.Scan(t.Context(), tbl, 0))(t)
	m := expect.Value(tablemodel.Infer(full, items))(t)
	text := expect.Value(json.MarshalIndent(m, "", "  "))(t)
	expect.Golden(t, "payments.model.json", string(text)+"\n")
	var again tablemodel.Model
	expect.OK(t, json.Unmarshal(text, &again))
	if diff := cmp.Diff(m, again); diff != "" {
		t.Error(diff)
	}
}

var users = tablemodel.Model{
	Table: schema.Table{Name: "Samples"},
	Entities: []tablemodel.Entity{{Type: "T", Items: []tablemodel.Pattern{
		{PK: "USER#{id}", SK: "PROFILE"},
		{PK: "EMAIL#{email}", SK: "METADATA"},
		{PK: "DAY#{day:time}", SK: "{rank:3}#{id}"},
	}}},
}

func TestDriftedItemsAreFound(t *testing.T) {
	t.Parallel()
	model := tablemodel.Model{Table: users.Table, Entities: []tablemodel.Entity{{
		Type: "T", Items: append(slices.Clone(users.Entities[0].Items), tablemodel.Pattern{PK: "LABEL#id_{id:lower}", SK: "x"}),
	}}}
	for name, tc := range map[string]struct {
		item table.Item
		n    int
		ok   bool
	}{
		"main":           {sample("USER#a", "PROFILE", "id", "a"), 0, true},
		"copy":           {sample("EMAIL#a%20b", "METADATA", "email", "a b"), 1, true},
		"drifted":        {sample("EMAIL#old", "METADATA", "email", "new"), 1, true},
		"no attributes":  {sample("DAY#2024-01-15T00:00:00.000Z", "007#a"), 2, true},
		"not a time":     {sample("DAY#monday", "007#a"), 0, false},
		"another width":  {sample("DAY#2024-01-15T00:00:00.000Z", "7#a"), 0, false},
		"another prefix": {sample("USER#a", "METADATA"), 0, false},
		"more segments":  {sample("USER#a#b", "PROFILE"), 0, false},
		"another type":   {sample("USER#a", "PROFILE", "entityType", "U"), 0, false},
		"no type":        {table.Item{"pk": stringValue("USER#a"), "sk": stringValue("PROFILE")}, 0, false},
		"no key":         {table.Item{"entityType": stringValue("T")}, 0, false},
		"label":          {sample("LABEL#id_old", "x", "id", "New"), 3, true},
		"another label":  {sample("LABEL#i_old", "x", "id", "old"), 0, false},
		"another case":   {sample("LABEL#id_OLD", "x", "id", "OLD"), 0, false},
	} {
		e, n, ok := model.Find(tc.item)
		if n != tc.n || ok != tc.ok || ok != (e.Type == "T") {
			t.Errorf("%s: %q %d %v, want %d %v", name, e.Type, n, ok, tc.n, tc.ok)
		}
	}
	// The attributes decide between patterns that a key is like.
	twice := tablemodel.Model{Table: users.Table, Entities: []tablemodel.Entity{{Type: "T", Items: []tablemodel.Pattern{
		{PK: "{1}", SK: "{2}"}, {PK: "{b}", SK: "{a}"}, {PK: "{a}", SK: "{b}"}, {PK: "ALL", SK: "{a}"},
	}}}}
	for n, item := range []table.Item{
		sample("x", "y"), sample("x", "y", "a", "y", "b", "x"), sample("x", "y", "a", "x", "b", "y"), sample("ALL", "y", "a", "y", "b", "ALL"),
	} {
		if _, got, ok := twice.Find(item); got != n || !ok {
			t.Errorf("item %d is found as %d, %v", n, got, ok)
		}
	}
}

func TestKeysOfAnEntity(t *testing.T) {
	t.Parallel()
	day := []string{"day", "2024-01-15", "rank", "=7"}
	main, email := keys.Key{PK: "USER#a", SK: "PROFILE"}, keys.Key{PK: "EMAIL#a@b", SK: "METADATA"}
	for name, tc := range map[string]struct {
		item table.Item
		want []keys.Key
		says string
	}{
		"all":              {sample("", "", "id", "a", "email", "a@b", "day", "2024-01-15T01:00:00+01:00", "rank", "=7"), []keys.Key{main, email, {PK: "DAY#2024-01-15T00:00:00.000Z", SK: "007#a"}}, ""},
		"no copy":          {sample("", "", "id", "a"), []keys.Key{main, {}, {}}, ""},
		"an empty one":     {sample("", "", "id", "a", "email", ""), []keys.Key{main, {}, {}}, ""},
		"no main item":     {sample("", "", "email", "a@b"), []keys.Key{{}, email, {}}, `"T": items[0]: invalid: attribute "id" is missing`},
		"no time":          {sample("", "", append(day, "id", "a")...), []keys.Key{main, {}, {}}, `items[2]: invalid: attribute "day" is not a time`},
		"too wide":         {sample("", "", "id", "a", "day", "=0", "rank", "=1000"), []keys.Key{main, {}, {}}, `attribute "rank" is a value that a key cannot hold`},
		"no number":        {sample("", "", "id", "a", "day", "=0", "rank", "x"), []keys.Key{main, {}, {}}, `attribute "rank" is a string`},
		"no whole number":  {sample("", "", "id", "a", "day", "=0", "rank", "=1.5"), []keys.Key{main, {}, {}}, `attribute "rank" is not a whole number`},
		"a year too far":   {sample("", "", "id", "a", "day", "=999999999999999999", "rank", "=1"), []keys.Key{main, {}, {}}, `attribute "day" is a value that a key cannot hold`},
		"another type":     {table.Item{"id": &types.AttributeValueMemberBOOL{}}, []keys.Key{{}, {}, {}}, `attribute "id" is no string`},
		"not valid UTF-8":  {sample("", "", "id", "\xff"), []keys.Key{{}, {}, {}}, `attribute "id" is a value that a key cannot hold`},
		"NULL is missing":  {table.Item{"id": stringValue("a"), "email": &types.AttributeValueMemberNULL{Value: true}}, []keys.Key{main, {}, {}}, ""},
		"binary in a time": {table.Item{"id": stringValue("a"), "day": &types.AttributeValueMemberB{Value: []byte{1}}}, []keys.Key{main, {}, {}}, `attribute "day" is binary`},
	} {
		got, err := users.Entities[0].Keys(tc.item)
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if (err == nil) != (tc.says == "") || err != nil && (!errors.Is(err, table.ErrInvalid) || !strings.Contains(err.Error(), tc.says)) {
			t.Errorf("%s: error %v, want %q", name, err, tc.says)
		}
	}
	peer := tablemodel.Entity{Type: "T", Items: []tablemodel.Pattern{
		{PK: "$shop#customerid_{customerId:lower}", SK: "{{{name:raw}}}"}, {PK: "t_{at:time}.x", SK: "n_{n:3}-{{"}, {PK: "a_{1}"},
	}}
	for name, tc := range map[string]struct {
		item table.Item
		want keys.Key
		says string
	}{
		"lower case":            {sample("", "", "customerId", "ΟΔΟΣ", "name", "a B"), keys.Key{PK: "$shop#customerid_οδος", SK: "{a B}"}, ""},
		"numbers of JavaScript": {sample("", "", "customerId", "=0.00000010", "name", "=-3"), keys.Key{PK: "$shop#customerid_1e-7", SK: "{-3}"}, ""},
		"a truth value":         {table.Item{"customerId": &types.AttributeValueMemberBOOL{Value: true}, "name": stringValue("x")}, keys.Key{PK: "$shop#customerid_true", SK: "{x}"}, ""},
		"a delimiter":           {sample("", "", "customerId", "a#b", "name", "x"), keys.Key{}, `attribute "customerId" is a text with a '#'`},
		"a great number":        {sample("", "", "customerId", "=9007199254740993", "name", "x"), keys.Key{}, `attribute "customerId" is a value that a key cannot hold`},
		"an infinite number":    {sample("", "", "customerId", "a", "name", "=1e999"), keys.Key{}, `attribute "name" is a value that a key cannot hold`},
		"an empty text":         {sample("", "", "customerId", "", "name", "x"), keys.Key{}, `attribute "customerId" is missing`},
		"a newer letter":        {sample("", "", "customerId", "\u1C89", "name", "x"), keys.Key{}, `attribute "customerId" is a value that a key cannot hold`},
	} {
		got, err := peer.Keys(tc.item)
		if got[0] != tc.want || tc.says != "" && (!errors.Is(err, table.ErrInvalid) || !strings.Contains(err.Error(), tc.says)) {
			t.Errorf("%s: %q, %v, want %q, %q", name, got[0], err, tc.want, tc.says)
		}
	}
	if got, err := peer.Keys(sample("", "", "at", "=0", "n", "=7")); got[1] != (keys.Key{PK: "t_1970-01-01T00:00:00.000Z.x", SK: "n_007-{"}) || err == nil {
		t.Errorf("text around other forms: %q, %v", got, err)
	}
	unknown := tablemodel.Entity{Type: "T", Items: []tablemodel.Pattern{{PK: "A#{1}"}, {PK: "A#{id}"}, {PK: "{"}}}
	got, err := unknown.Keys(sample("", "", "id", "a"))
	if diff := cmp.Diff([]keys.Key{{}, {PK: "A#a"}, {}}, got); diff != "" || !errors.Is(err, table.ErrInvalid) {
		t.Errorf("error %v, keys (-want +got):\n%s", err, diff)
	}
}

func TestInvalidModels(t *testing.T) {
	t.Parallel()
	of := func(p tablemodel.Pattern) []tablemodel.Entity {
		return []tablemodel.Entity{{Type: "T", Items: []tablemodel.Pattern{p}}}
	}
	for says, entities := range map[string][]tablemodel.Entity{
		"Entities[0].Type: is empty":                                                {{Items: users.Entities[0].Items}},
		`Entities[1].Type: "T" is used twice`:                                       {users.Entities[0], users.Entities[0]},
		"Entities[0].Items: is empty":                                               {{Type: "T"}},
		"Entities[0].Items[0].PK: is empty":                                         of(tablemodel.Pattern{SK: "A"}),
		"Entities[0].Items[0].SK: is empty":                                         of(tablemodel.Pattern{PK: "A"}),
		`Entities[0].Items[0].PK: segment "a}" has a single brace`:                  of(tablemodel.Pattern{PK: "a}", SK: "A"}),
		`Entities[0].Items[0].PK: segment "a{{{" has a single brace`:                of(tablemodel.Pattern{PK: "a{{{", SK: "A"}),
		`Entities[0].Items[0].SK: segment "{a" is not the name`:                     of(tablemodel.Pattern{PK: "A", SK: "{a"}),
		`Entities[0].Items[0].SK: segment "{}" is not the name`:                     of(tablemodel.Pattern{PK: "A", SK: "{}"}),
		`Entities[0].Items[0].SK: segment "{1:time}" is not the name`:               of(tablemodel.Pattern{PK: "A", SK: "{1:time}"}),
		`Entities[0].Items[0].SK: segment "{a}{b}" has a single brace, or more`:     of(tablemodel.Pattern{PK: "A", SK: "{a}{b}"}),
		`Entities[0].Items[0].SK: segment "x{}" is not the name`:                    of(tablemodel.Pattern{PK: "A", SK: "x{}"}),
		`Entities[0].Items[0].SK: segment "x{a}}" has a single brace`:               of(tablemodel.Pattern{PK: "A", SK: "x{a}}"}),
		`Entities[0].Items[0].SK: segment "x{a:upper}" has a form`:                  of(tablemodel.Pattern{PK: "A", SK: "x{a:upper}"}),
		`Entities[0].Items[0].SK: segment "{a:}" has a form`:                        of(tablemodel.Pattern{PK: "A", SK: "{a:}"}),
		`Entities[0].Items[0].SK: segment "{a:21}" has a form`:                      of(tablemodel.Pattern{PK: "A", SK: "{a:21}"}),
		`Entities[0].Items[0].SK: segment "{a:+1}" has a form`:                      of(tablemodel.Pattern{PK: "A", SK: "{a:+1}"}),
		`Entities[0].Items[0].Indexes["no"]: the schema has no such index`:          of(tablemodel.Pattern{PK: "A", SK: "B", Indexes: map[string]tablemodel.Pattern{"no": {PK: "A"}}}),
		`Entities[0].Items[0].Indexes["several"]: its keys have several attributes`: of(tablemodel.Pattern{PK: "A", SK: "B", Indexes: map[string]tablemodel.Pattern{"several": {PK: "A"}}}),
		`Entities[0].Items[0].Indexes["GSI1"].SK: is empty`:                         of(tablemodel.Pattern{PK: "A", SK: "B", Indexes: map[string]tablemodel.Pattern{"GSI1": {PK: "A"}}}),
		`Entities[0].Items[0].Indexes["by-status"].SK: is given, and there is no`:   of(tablemodel.Pattern{PK: "A", SK: "B", Indexes: map[string]tablemodel.Pattern{"by-status": {PK: "A", SK: "B"}}}),
		`Entities[0].Items[0].Indexes["by-status"].Indexes: is not empty`:           of(tablemodel.Pattern{PK: "A", SK: "B", Indexes: map[string]tablemodel.Pattern{"by-status": {PK: "A", Indexes: map[string]tablemodel.Pattern{"x": {}}}}}),
	} {
		err := tablemodel.Model{Table: indexed, Entities: entities}.Validate()
		e, ok := errors.AsType[*schema.Error](err)
		if !ok || !errors.Is(err, table.ErrInvalid) || e.Table != "Samples" || !strings.Contains(strings.Join(e.Problems, "\n"), says) {
			t.Errorf("error %v, want %q", err, says)
		}
	}
	err := tablemodel.Model{Entities: []tablemodel.Entity{{}}}.Validate()
	if e, ok := errors.AsType[*schema.Error](err); !ok || len(e.Problems) != 3 {
		t.Errorf("an invalid schema with invalid entities: %v", err)
	}
}

// FuzzInfer infers a model of three items and finds each of them in it.
func FuzzInfer(f *testing.F) {
	f.Add("USER#a", "PROFILE", "USER#b", "PROFILE", "id", "a", int64(7))
	f.Add("{a}#1", "}", "{{#}#", "{{}", "{", "{a}", int64(1))
	f.Add("A##B", "#", "%#%2", "#METADATA#x", "1", "", int64(-1))
	f.Add("T#2024-01-15T10:00:00.000Z", "007", "T#1970-01-01T00:00:07.000Z", "7", "at", "2024-01-15T10:00:00Z", int64(7))
	f.Add("\xff", "a\x00", "EMAIL#\xff", "日本", "\xff", "\xff", int64(1)<<62)
	f.Fuzz(func(t *testing.T, pk, sk, pk2, sk2, name, value string, number int64) {
		items := []table.Item{sample(pk, sk), sample(pk2, sk2), sample(pk2, sk)}
		for i, item := range items {
			for _, name := range []string{name, "GSI1SK"} {
				if item[name] == nil && i < 2 {
					item[name] = stringValue(value)
				}
			}
			item["GSI1PK"] = stringValue(sk2)
			if item[name+"2"] == nil {
				item[name+"2"] = &types.AttributeValueMemberN{Value: strconv.FormatInt(number+int64(i), 10)}
			}
		}
		m, err := tablemodel.Infer(indexed, items)
		if err != nil {
			return // a key is empty, or name is that of a key
		}
		expect.OK(t, m.Validate())
		text := expect.Value(json.Marshal(m))(t)
		var again tablemodel.Model
		expect.OK(t, json.Unmarshal(text, &again))
		if diff := cmp.Diff(m, again); diff != "" {
			t.Fatalf("JSON changes the model:\n%s", diff)
		}
		for i, item := range items {
			kind, _ := item["entityType"].(*types.AttributeValueMemberS)
			if kind == nil || kind.Value == "" || !utf8.ValidString(kind.Value) {
				continue
			}
			e, n, ok := m.Find(item)
			if !ok || e.Type != kind.Value {
				t.Fatalf("item %d is not found in %s", i, text)
			}
			own := keys.Key{PK: keys.PK(item["pk"].(*types.AttributeValueMemberS).Value), SK: keys.SK(item["sk"].(*types.AttributeValueMemberS).Value)}
			all, err := e.Keys(item)
			if len(all) != len(e.Items) || err != nil && !errors.Is(err, table.ErrInvalid) {
				t.Fatalf("item %d: keys %q, error %v", i, all, err)
			}
			if p := e.Items[n]; !unknownSegment(p.PK) && !unknownSegment(p.SK) && all[n] != own {
				t.Fatalf("item %d: %q, computed %q by %s", i, own, all[n], text)
			}
		}
	})
}

// unknownSegment reports whether a pattern has a segment such as {1}.
func unknownSegment(pattern string) bool {
	return slices.ContainsFunc(strings.Split(pattern, "#"), func(s string) bool {
		return len(s) > 2 && s[0] == '{' && s[1] != '{' && strings.Trim(s[1:len(s)-1], "0123456789") == ""
	})
}

// Keys of many numbers of segments, which other programs can write, do not make a model
// of a few items expensive.
func TestManyPatterns(t *testing.T) {
	spec := schema.Table{Name: "Patterns"}
	var items []table.Item
	for i := range 300 {
		items = append(items, table.Item{
			"pk":         &types.AttributeValueMemberS{Value: "P" + strings.Repeat("#x", i)},
			"sk":         &types.AttributeValueMemberS{Value: strings.Repeat("Y#", i) + strconv.Itoa(i)},
			"entityType": &types.AttributeValueMemberS{Value: "X"},
		})
	}
	var model tablemodel.Model
	var err error
	allocations := testing.AllocsPerRun(1, func() { model, err = tablemodel.Infer(spec, items) })
	if err != nil || len(model.Entities[0].Items) != len(items) {
		t.Fatalf("%v, %d entities", err, len(model.Entities))
	}
	if perItem := allocations / float64(len(items)); perItem > 2500 {
		t.Errorf("Infer: %.0f allocations for an item", perItem)
	}
	if n := testing.AllocsPerRun(1, func() { model.Find(items[200]) }); n > 1000 {
		t.Errorf("Find: %.0f allocations", n)
	}
}
