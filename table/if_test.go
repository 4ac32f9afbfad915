package table_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// built returns an expression's text, names and values.
func built(tb testing.TB, c expression.ConditionBuilder) []any {
	tb.Helper()
	e, err := expression.NewBuilder().WithCondition(c).Build()
	if err != nil {
		tb.Fatal(err)
	}
	return []any{*e.Condition(), e.Names(), e.Values()}
}

// TestIf compares conditions from their text with the same ones by hand.
func TestIf(t *testing.T) {
	t.Parallel()
	name, value := expression.Name, expression.Value
	a, b := name("a"), name("b")
	for text, tt := range map[string]struct {
		values []any
		want   expression.ConditionBuilder
	}{
		"closing = ? AND seats >= ?":              {[]any{false, 3}, name("closing").Equal(value(false)).And(name("seats").GreaterThanEqual(value(3)))},
		"a <> ? OR b < ? AND b > ?":               {[]any{1, 2, 3}, a.NotEqual(value(1)).Or(b.LessThan(value(2)).And(b.GreaterThan(value(3))))},
		"(a = ? OR b = ?) AND NOT a <= b":         {[]any{1, 2}, a.Equal(value(1)).Or(b.Equal(value(2))).And(a.LessThanEqual(b).Not())},
		"NOT (a = ?)\n\tAND b = ?":                {[]any{1, 2}, a.Equal(value(1)).Not().And(b.Equal(value(2)))},
		"a BETWEEN ? AND ? AND b = ?":             {[]any{1, 2, 3}, a.Between(value(1), value(2)).And(b.Equal(value(3)))},
		"a IN (?, b,?)":                           {[]any{1, "x"}, a.In(value(1), b, value("x"))},
		"a IN ?":                                  {[]any{[]string{"x", "y"}}, a.In(value("x"), value("y"))},
		"? = a":                                   {[]any{keys.PK("x")}, value(keys.PK("x")).Equal(a)},
		"attribute_exists(a)":                     {nil, a.AttributeExists()},
		"attribute_not_exists (a) OR a = ?":       {[]any{1}, a.AttributeNotExists().Or(a.Equal(value(1)))},
		"attribute_type(a, ?)":                    {[]any{"SS"}, a.AttributeType(expression.StringSet)},
		"begins_with(a, ?) AND contains(b, ?)":    {[]any{keys.PK("x"), 1}, a.BeginsWith("x").And(b.Contains(1))},
		"size(a) < size(b)":                       {nil, a.Size().LessThan(b.Size())},
		"size = ? AND begins_with = ?":            {[]any{1, 2}, name("size").Equal(value(1)).And(name("begins_with").Equal(value(2)))},
		"status = ? AND and = ? AND 'AND' = ?":    {[]any{1, 2, 3}, name("status").Equal(value(1)).And(name("and").Equal(value(2))).And(name("AND").Equal(value(3)))},
		"a.b[0][12].c = ?":                        {[]any{nil}, name("a.b[0][12].c").Equal(value(nil))},
		"'a.b'.c = ? AND 'it''s' = ? AND 'ü' = ?": {[]any{1, 2, 3}, expression.NameNoDotSplit("a.b").AppendName(name("c")).Equal(value(1)).And(expression.NameNoDotSplit("it's").Equal(value(2))).And(name("ü").Equal(value(3)))},
		"_id = ?": {[]any{1}, name("_id").Equal(value(1))},
	} {
		if diff := cmp.Diff(built(t, tt.want), built(t, table.If(text, tt.values...)), unexported); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", text, diff)
		}
	}
}

// TestIfOnEngine has a condition with brackets in a name, and a filter, on the engine.
func TestIfOnEngine(t *testing.T) {
	t.Parallel()
	tbl, _ := newTable(t, appCore())
	if err := tbl.Do(t.Context(), table.Create(user, table.Item{"a[0]": num("1"), "list": list(num("5")), "size": num("2")})); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]error{
		"'a[0]' = ? AND list[0] = ? AND size = ?": nil,
		"'a[0]' > ? OR list[0] > ? OR size > ?":   table.ErrConditionFailed,
	} {
		if err := tbl.Transact(t.Context(), table.Check(user, table.If(text, 1, 5, 2))); !errors.Is(err, want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	page, err := table.QueryPage[table.Item](t.Context(), tbl, table.Query{PK: user.PK, Filter: table.If("size IN ?", []int{1, 2})})
	if err != nil || len(page.Items) != 1 {
		t.Errorf("filter: %d items, %v", len(page.Items), err)
	}
}

// TestIfErrors shows that a faulty text, and values that do not belong to it, are
// refused before a request is sent, without the values.
func TestIfErrors(t *testing.T) {
	t.Parallel()
	tbl, faults := newTable(t, appCore())
	for text, tt := range map[string]struct {
		values []any
		says   string
	}{
		"":                                 {nil, "a name is missing"},
		"a":                                {nil, "a comparison is missing"},
		"a = ?":                            {nil, "more ? than"},
		"a = ? ":                           {[]any{"secret", 2}, "1 ?, and there are 2 values"},
		"a = ?) OR (b = ?":                 {[]any{1, 2}, `")" is unexpected`},
		"(a = ?":                           {[]any{1}, `")" is missing`},
		"a = ? b = ?":                      {[]any{1, 2}, `"b" is unexpected`},
		"a = ? AND":                        {[]any{1}, "a name is missing"},
		"a = ? and b = ?":                  {[]any{1, 2}, `"and" is unexpected`},
		"a = 5":                            {nil, "write ? for a value"},
		`a = "x"`:                          {nil, "write ? for a value"},
		"a = 'x":                           {nil, "a quote does not end"},
		"'' = ?":                           {[]any{1}, "a name is empty"},
		"a == ?":                           {[]any{1}, "write ? for a value"},
		"a <> <> ?":                        {[]any{1}, "a name is missing"},
		"a-b = ?":                          {[]any{1}, "a comparison is missing"},
		"a[x] = ?":                         {[]any{1}, "no place in a list"},
		"a[99999999999] = ?":               {[]any{1}, "no place in a list"},
		"a. = ?":                           {[]any{1}, "a name is missing"},
		"a IN ?":                           {[]any{"secret"}, "must be a slice"},
		"a IN  ?":                          {[]any{[]int{}}, "is empty"},
		"a IN ()":                          {nil, "a name is missing"},
		"a BETWEEN ? OR ?":                 {[]any{1, 2}, `"AND" is missing`},
		"begins_with(a, ?)":                {[]any{5}, "must be a string"},
		"begins_with(a, ? )":               {[]any{nil}, "is a nil, and must be a string"},
		"begins_with(a, b)":                {nil, `"?" is missing`},
		"size(a)":                          {nil, "a comparison is missing"},
		"size(?) = ?":                      {[]any{1, 2}, "a name is missing"},
		"exists(a)":                        {nil, `no function "exists"`},
		"a = contains(b, ?)":               {[]any{1}, "contains is no operand"},
		"attribute_exists(a, ?)":           {[]any{1}, `")" is missing`},
		"AND = ?":                          {[]any{1}, "quotes around a name"},
		"ü = ?":                            {[]any{1}, "quotes around a name"},
		strings.Repeat("(", 200) + "a = ?": {[]any{1}, "nested too deeply"},
	} {
		err := tbl.Do(t.Context(), table.Delete(user).If(table.If(text, tt.values...)))
		if !errors.Is(err, table.ErrInvalid) || !strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%.40s: %v, want %s", text, err, tt.says)
		}
	}
	_, err := table.QueryPage[table.Item](t.Context(), tbl, table.Query{PK: user.PK, Filter: table.If("a = 5")})
	if !errors.Is(err, table.ErrInvalid) || !strings.Contains(err.Error(), "If: ") {
		t.Errorf("filter: %v", err)
	}
	equal(t, "requests", len(onItems(faults)), 0)
}

// FuzzIf gives arbitrary text: it is refused, or it is a condition with all of its values.
func FuzzIf(f *testing.F) {
	for _, text := range []string{"a = ?", "NOT (a.b[0] IN (?, ?))", "begins_with('a''b', ?) OR size(c) BETWEEN ? AND ?", "a IN ?", "((a"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		values := make([]any, strings.Count(text, "?"))
		for i := range values {
			values[i] = "x"
		}
		e, err := expression.NewBuilder().WithCondition(table.If(text, values...)).Build()
		if err == nil && (len(e.Values()) != len(values) || strings.Count(*e.Condition(), "(") != strings.Count(*e.Condition(), ")")) {
			t.Errorf("%q became %s with %d values", text, *e.Condition(), len(e.Values()))
		}
	})
}
