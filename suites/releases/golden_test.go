package releases_test

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/internal/released"
	"github.com/singletable/singletable/internal/vectors"
	"github.com/singletable/singletable/suites/releases/program"
	"github.com/singletable/singletable/table"
)

// golden are items that the tests of package repo start from.
const golden = "../../repo/testdata/items-0.1.0-rc.1.json"

// The program of 0.1.0-rc.1 stores what the golden file has, but for what it draws. With the
// flag -update, the test writes the file.
func TestGoldenItems(t *testing.T) {
	t.Parallel()
	vectors.Needed(t)
	s := newSide(t)
	doc := func(id string) program.Value {
		return program.Value{Doc: released.Doc{ID: id, Email: id + "@x", Aliases: []string{id + "1", id + "2"}, N: 1, Expires: 1 << 34}}
	}
	for _, c := range []program.Call{
		{Verb: "save", Of: released.Plain, New: program.Value{Doc: released.Doc{ID: "plain", N: 1, Expires: 1 << 34}}},
		{Verb: "save", Of: released.Plain, New: program.Value{Doc: released.Doc{ID: "expired", N: 1, Expires: 1}}},
		{Verb: "count", Of: released.Tally, New: program.Value{Doc: released.Doc{ID: "tally", N: 1}}},
		{Verb: "count", Of: released.Grown, New: boxed(program.Value{Doc: released.Doc{ID: "grown", Email: "grown@x", N: 1}})},
		{Verb: "create", Of: released.Counted, New: doc("random")},
		{Verb: "create", Of: released.Counted + " from one", New: doc("small")},
		{Verb: "create", Of: released.Counted + " from one", New: doc("equal")},
		{Verb: "create", Of: released.Revised, New: doc("revised")},
		{Verb: "create", Of: released.Shaped + " before", New: doc("older")},
		{Verb: "create", Of: released.Shaped, New: boxed(doc("newer"))},
		{Verb: "create", Of: released.Shaped, New: boxed(doc("between"))},
		// By the older program, which does not know the mailbox.
		{Verb: "update", Of: released.Shaped + " before", ID: "between", New: moved(doc("between"))},
		{Verb: "create", Of: released.Sealed + " before", New: doc("open")},
		{Verb: "create", Of: released.Sealed, New: boxed(doc("sealed"))},
	} {
		expect.Equal(t, c.Verb+" "+c.Of, s.old.Do(t.Context(), c).Err, "")
	}
	all := stored(t, s.table)
	products := newTable(t, released.VectorSchema)
	t.Run("products", func(t *testing.T) { start(t, products.Schema()) })
	all = append(all, stored(t, products)...)
	text := lines(all)
	if *expect.Update {
		expect.OK(t, os.WriteFile(golden, []byte(text), 0o644))
	}
	var want []json.RawMessage
	expect.OK(t, json.Unmarshal(expect.Value(os.ReadFile(golden))(t), &want))
	kept := make([]table.Item, len(want))
	for i, text := range want {
		kept[i] = item.RawJSON(text).Attributes(nil)
	}
	expect.Equal(t, "items", lines(drawn(all)), lines(drawn(kept)))
}

func boxed(v program.Value) program.Value {
	v.Mailbox = released.Mailbox(v.Email)
	return v
}

// lines returns items as a JSON array with an item on each line, in the order of their text.
func lines(items []table.Item) string {
	texts := make([]string, len(items))
	for i, it := range items {
		texts[i] = string(item.JSON(it))
	}
	slices.Sort(texts)
	return "[\n" + strings.Join(texts, ",\n") + "\n]\n"
}

// drawn returns items without what a release draws at random: revisions, and versions of 10
// digits and more.
func drawn(items []table.Item) []table.Item {
	without := make([]table.Item, len(items))
	for i, it := range items {
		without[i] = maps.Clone(it)
		for _, name := range []string{"revision", "version", "entityShapeAt"} {
			switch v := it[name].(type) {
			case *types.AttributeValueMemberS:
				without[i][name] = &types.AttributeValueMemberS{Value: "drawn"}
			case *types.AttributeValueMemberN:
				if len(v.Value) >= 10 {
					without[i][name] = &types.AttributeValueMemberN{Value: "0"}
				}
			}
		}
	}
	return without
}

// moved returns a value with another e-mail.
func moved(v program.Value) program.Value {
	v.Email = "moved@x"
	return v
}
