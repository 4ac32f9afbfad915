package conformance

import (
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

func updateOutcomeTests() tests {
	return tests{
		"one that counts is carried out once at most": countingUpdates,
		"one that assigns is repeated":                assigningUpdates,
	}
}

func name(s string) expression.NameBuilder { return expression.Name(s) }

// before is the item that updates start from.
func before() table.Item {
	return table.Item{
		"n": num("1"), "m": num("10"), "id": str("a"), "tags": set("x", "y"),
		"list": list(str("a"), str("b"), str("c"), str("d")),
	}
}

// countingUpdates checks updates that are not idempotent.
func countingUpdates(t *testing.T, h Harness) {
	value := expression.Value("v")
	for what, update := range map[string]expression.UpdateBuilder{
		"ADD":                    expression.Add(name("n"), expression.Value(1)),
		"plus":                   expression.Set(name("n"), name("n").Plus(expression.Value(1))),
		"minus":                  expression.Set(name("n"), name("n").Minus(expression.Value(1))),
		"list_append":            expression.Set(name("list"), name("list").ListAppend(expression.Value([]string{"e"}))),
		"swap":                   expression.Set(name("n"), name("m")).Set(name("m"), name("n")),
		"remove an element":      expression.Remove(name("list[0]")),
		"set beyond the list":    expression.Set(name("list[9]"), value),
		"default from elsewhere": expression.Set(name("new"), name("other").IfNotExists(value)).Set(name("other"), expression.Value("w")),
	} {
		tbl, faults := h.withFaults(t, appCore(), nil)
		must(t, tbl.Do(t.Context(), table.Put(user, before())))
		must(t, tbl.Do(t.Context(), table.Put(other, before())))
		must(t, tbl.Do(t.Context(), table.Update(other, update)))
		faults.Next("UpdateItem", tabletest.DropResponse())
		err := tbl.Do(t.Context(), table.Update(user, update))
		if !errors.Is(err, table.ErrOutcomeUnknown) {
			t.Errorf("%s: %v", what, err)
		}
		sameBut(t, what, tbl)
		faults.Next("UpdateItem", tabletest.Throttle())
		if err := tbl.Do(t.Context(), table.Update(user, update)); err != nil {
			t.Errorf("%s: a throttled request is not repeated: %v", what, err)
		}
	}
}

// assigningUpdates checks updates that may be repeated, and therefore are.
func assigningUpdates(t *testing.T, h Harness) {
	value := expression.Value("v")
	for what, update := range map[string]expression.UpdateBuilder{
		"set":                expression.Set(name("id"), value),
		"set in a map":       expression.Set(name("m"), expression.Value(map[string]int{"a": 1})),
		"remove":             expression.Remove(name("id")),
		"delete from a set":  expression.Delete(name("tags"), expression.Value(set("x"))),
		"default":            expression.Set(name("new"), name("new").IfNotExists(value)),
		"default that holds": expression.Set(name("id"), name("id").IfNotExists(value)),
		"two of them":        expression.Set(name("id"), value).Set(name("new"), name("new").IfNotExists(value)),
	} {
		tbl, faults := h.withFaults(t, appCore(), nil)
		must(t, tbl.Do(t.Context(), table.Put(user, before())))
		must(t, tbl.Do(t.Context(), table.Put(other, before())))
		must(t, tbl.Do(t.Context(), table.Update(other, update)))
		for fault, f := range after() {
			faults.Next("UpdateItem", f)
			if err := tbl.Do(t.Context(), table.Update(user, update)); err != nil {
				t.Errorf("%s, %s: %v", what, fault, err)
			}
		}
		sameBut(t, what, tbl)
	}
}

// sameBut checks that the items of user and other differ in their key only.
func sameBut(t *testing.T, what string, tbl *table.Table) {
	t.Helper()
	got := expect.Value(table.Get[table.Item](t.Context(), tbl, user))(t)
	want := expect.Value(table.Get[table.Item](t.Context(), tbl, other))(t)
	delete(got, "pk")
	delete(want, "pk")
	if diff := diffItems(want, got); diff != "" {
		t.Errorf("%s: not one effect:\n%s", what, diff)
	}
}
