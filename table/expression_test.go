package table_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// TestExpressionErrors shows where an error says that a value of an expression is
// wrong.
func TestExpressionErrors(t *testing.T) {
	t.Parallel()
	tbl, faults := newTable(t, appCore())
	v, w := expression.Name("v"), expression.Name("w")
	wrong := expression.Value(num("1,5"))
	for name, tt := range map[string]struct {
		op   table.Op
		says string // after the error's kind
	}{
		"behind the attribute": {table.Put(user, nil).If(v.Equal(wrong)), `condition: the value for attribute "v"`},
		"before the attribute": {table.Put(user, nil).If(wrong.Equal(v)), `condition: the value for attribute "v"`},
		"without an attribute": {table.Put(user, nil).If(wrong.Equal(expression.Value(1))), "condition: the value for "},
		"of two":               {table.Put(user, nil).If(v.Equal(expression.Value(1)).And(w.Equal(wrong))), `condition: the value for attribute "w"`},
		"a lower bound":        {table.Put(user, nil).If(v.Between(expression.Value(2), expression.Value(1))), `condition: the value for attribute "v" is a lower bound above`},
		"a bound of its own":   {table.Put(user, nil).If(v.Between(expression.Value("a"), expression.Value(1))), `condition: the value for attribute "v" is a bound of another type`},
		"in an update":         {table.Update(user, expression.Set(v, wrong)), `attribute "v"`},
	} {
		err := tbl.Do(t.Context(), tt.op)
		if !errors.Is(err, table.ErrInvalid) || !strings.Contains(err.Error(), ": "+tt.says) {
			t.Errorf("%s: %v, want %s", name, err, tt.says)
		}
		if strings.Contains(err.Error(), "the value for") == (name == "in an update") {
			t.Errorf("%s: %v", name, err)
		}
	}
	equal(t, "requests", len(onItems(faults)), 0)
}

// TestLargestExpressions sends expressions that are as large as DynamoDB takes, which
// not all engines do.
func TestLargestExpressions(t *testing.T) {
	t.Parallel()
	spec := appCore()
	spec.Indexes = append(spec.Indexes, schema.Index{Name: "ranks", PK: "game", SK: "rank", SKType: types.ScalarAttributeTypeN})
	tbl, _, _ := faultyTable(t, spec, cannedTimes(0, 0, "", ""))
	name := expression.Name("v")
	in := func(n int) table.Op {
		all := make([]expression.OperandBuilder, n)
		for i := range all {
			all[i] = expression.Value(i)
		}
		return table.Delete(user).If(name.In(all[0], all[1:]...))
	}
	substitutes := func(size int) table.Op {
		return table.Delete(user).If(name.Equal(expression.Value(strings.Repeat("x", size-len("v")))))
	}
	// A number is added to what DynamoDB has, so that the sum may need one byte.
	sum := func(size int, of expression.UpdateBuilder) table.Op {
		rest := size - (table.Item{"pk": str(string(user.PK)), "sk": str(string(user.SK)), "v": str("")}).Size()
		return table.Update(user, of.Set(name, expression.Value(strings.Repeat("x", rest))))
	}
	long := expression.Value(num("1.2345678901234567890123456789"))
	for what, tt := range map[string]struct{ good, bad table.Op }{
		"operands of IN":        {in(100), in(101)},
		"names and values":      {substitutes(2 << 20), substitutes(2<<20 + 1)},
		"equal bounds":          {table.Delete(user).If(name.Between(expression.Value(9), expression.Value(9))), table.Delete(user).If(name.Between(expression.Value(9), expression.Value(8)))},
		"an item":               {sum(table.MaxItemSize, expression.UpdateBuilder{}), sum(table.MaxItemSize+1, expression.UpdateBuilder{})},
		"an item with a sum":    {sum(table.MaxItemSize-len("n")-1, expression.Add(expression.Name("n"), long)), sum(table.MaxItemSize-len("n"), expression.Add(expression.Name("n"), long))},
		"an item with a number": {sum(table.MaxItemSize-len("n")-16, expression.Set(expression.Name("n"), long)), sum(table.MaxItemSize-len("n")-15, expression.Set(expression.Name("n"), long))},
		"a sum in a key":        {table.Update(user, expression.Add(expression.Name("rank"), expression.Value(1))), table.Update(user, expression.Add(expression.Name("gsi1sk"), expression.Value(1)))},
		"a key after a list": {
			table.Update(user, expression.Set(name, name.IfNotExists(expression.Value(1))).Set(expression.Name("gsi1sk"), expression.Value("a"))),
			table.Update(user, expression.Set(name, name.IfNotExists(expression.Value(1))).Set(expression.Name("gsi1sk"), expression.Value(1))),
		},
	} {
		must(t, tbl.Do(t.Context(), tt.good))
		if err := tbl.Do(t.Context(), tt.bad); !errors.Is(err, table.ErrInvalid) && !errors.Is(err, table.ErrTooLarge) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestPatch sets and removes many attributes, and shows what is refused.
func TestPatch(t *testing.T) {
	t.Parallel()
	tbl, faults := newTable(t, appCore())
	must(t, tbl.Do(t.Context(), table.Put(user, table.Item{"n": num("7")})))
	want, set, others := table.Item{"n": num("7")}, table.Item{}, table.Item{}
	var removed []string
	for i := range 12 {
		set[fmt.Sprint("s", i)], want[fmt.Sprint("s", i)] = num(fmt.Sprint(i)), num(fmt.Sprint(i))
		others[fmt.Sprint("r", i)] = num("1")
		removed = append(removed, fmt.Sprint("r", i))
	}
	must(t, tbl.Do(t.Context(), table.Patch(user, others)))
	must(t, tbl.Do(t.Context(), table.Patch(user, set, removed...)))
	got := expect.Value(table.Get[table.Item](t.Context(), tbl, user))(t)
	delete(got, tbl.Schema().PK)
	delete(got, tbl.Schema().SK)
	expect.Equal(t, "item", fmt.Sprint(names(got)), fmt.Sprint(names(want)))

	text := func(size int) table.Item {
		empty := table.Item{"pk": str(string(user.PK)), "sk": str(string(user.SK)), "v": str("")}
		return table.Item{"v": str(strings.Repeat("x", size-empty.Size()))}
	}
	stub, _, _ := faultyTable(t, appCore(), cannedTimes(0, 0, "", "")) // one engine refuses the largest
	must(t, stub.Do(t.Context(), table.Patch(user, text(table.MaxItemSize))))
	sent := len(onItems(faults))
	many := make([]string, 1000)
	for i := range many {
		many[i] = fmt.Sprint("a", i)
	}
	for name, tt := range map[string]struct {
		op   table.Op
		want error
		says string
	}{
		"nothing":              {table.Patch(user, nil), table.ErrInvalid, "without attributes"},
		"a key that is set":    {table.Patch(user, table.Item{"sk": str("x")}), table.ErrInvalid, `"sk" is part of the key`},
		"a key that is gone":   {table.Patch(user, nil, "pk"), table.ErrInvalid, `"pk" is part of the key`},
		"1,000 attributes":     {table.Patch(user, nil, many...), table.ErrInvalid, "DynamoDB takes 4096"},
		"a number in an index": {table.Patch(user, table.Item{"gsi1sk": num("1")}), table.ErrInvalid, `"gsi1sk"`},
		"no number":            {table.Patch(user, table.Item{"v": num("x")}), table.ErrInvalid, `"v"`},
		"400 KB and a byte":    {table.Patch(user, text(table.MaxItemSize+1)), table.ErrTooLarge, "409601"},
	} {
		if err := tbl.Do(t.Context(), tt.op); !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	equal(t, "requests", len(onItems(faults))-sent, 0)
}

// names returns the attributes of an item and their values, in order.
func names(item table.Item) []string {
	all := make([]string, 0, len(item))
	for name, value := range item {
		all = append(all, fmt.Sprint(name, " ", value))
	}
	slices.Sort(all)
	return all
}

// TestCheckItem refuses what Put refuses, and an item without its key.
func TestCheckItem(t *testing.T) {
	t.Parallel()
	tbl, faults := newTable(t, appCore())
	with := func(more table.Item) table.Item {
		item := table.Item{"pk": str("A"), "sk": str("B")}
		maps.Copy(item, more)
		return item
	}
	rest := table.MaxItemSize - with(table.Item{"v": str("")}).Size()
	for name, tt := range map[string]struct {
		item table.Item
		want error
	}{
		"an item":              {with(nil), nil},
		"the largest":          {with(table.Item{"v": str(strings.Repeat("x", rest))}), nil},
		"a byte more":          {with(table.Item{"v": str(strings.Repeat("x", rest+1))}), table.ErrTooLarge},
		"no item":              {nil, table.ErrInvalid},
		"no sort key":          {table.Item{"pk": str("A")}, table.ErrInvalid},
		"a number for a key":   {with(table.Item{"pk": num("1")}), table.ErrInvalid},
		"an empty key":         {with(table.Item{"sk": str("")}), keys.ErrInvalid},
		"a number in an index": {with(table.Item{"gsi1pk": num("1")}), table.ErrInvalid},
		"a key of an index":    {with(table.Item{"gsi1pk": str("x")}), nil},
		"a nil attribute":      {with(table.Item{"v": nil}), table.ErrInvalid},
	} {
		if err := tbl.CheckItem(tt.item); !errors.Is(err, tt.want) || err != nil && tt.want == nil {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
	}
	equal(t, "requests", len(onItems(faults)), 0)
	simple := expect.Value(table.New(tabletest.Client(t), schema.Table{Name: "Simple", PK: "id", SimpleKey: true}, nil))(t)
	if err := simple.CheckItem(table.Item{"id": str("A"), "": str("x")}); err == nil || !strings.Contains(err.Error(), "has an empty name") {
		t.Errorf("an attribute without a name: %v", err)
	}
}
