package conformance

import (
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

func writeTests() tests {
	return tests{
		"Put replaces the whole item":              putReplaces,
		"Put overwrites key attributes in a value": putKeys,
		"a failed condition leaves all as it was":  failedConditions,
		"Update makes an item unless told not to":  updateMakes,
		"one Op runs many times, on many tables":   opReused,
	}
}

func putReplaces(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	must(t, tbl.Do(t.Context(), table.Put(user, note{ID: "a", N: 1, ExpiresAt: 4103690701})))
	must(t, tbl.Do(t.Context(), table.Put(user, &note{N: 2})))
	stored(t, tbl, user, note{N: 2})
	must(t, tbl.Do(t.Context(), table.Put(user, map[string]any{"n": 3, "id": "c"})))
	stored(t, tbl, user, note{N: 3, ID: "c"})
}

func putKeys(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	value := table.Item{"pk": str("USER#someone"), "sk": num("1"), "n": num("4")}
	must(t, tbl.Do(t.Context(), table.Put(user, value)))
	stored(t, tbl, user, note{N: 4})
	if diff := diffItems(table.Item{"pk": str("USER#someone"), "sk": num("1"), "n": num("4")}, value); diff != "" {
		t.Errorf("the caller's value has changed:\n%s", diff)
	}
}

func failedConditions(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	must(t, tbl.Do(t.Context(), table.Put(user, note{N: 1})))
	for name, op := range map[string]table.Op{
		"Put":                      table.Put(user, note{N: 9}).If(nIs(2)),
		"Update":                   table.Update(user, setN(9)).If(nIs(2)),
		"Update, counting":         table.Update(user, addN(9)).If(nIs(2)),
		"Delete":                   table.Delete(user).If(nIs(2)),
		"Check":                    table.Check(user, nIs(2)),
		"Put over nothing":         table.Put(other, note{N: 9}).If(nIs(2)),
		"Delete of two conditions": table.Delete(user).If(nIs(1)).If(nIs(2)),
	} {
		for how, run := range runs(t, tbl) {
			err := run(op)
			if !errors.Is(err, table.ErrConditionFailed) || errors.Is(err, table.ErrExists) ||
				table.Classify(err) != table.Permanent {
				t.Errorf("%s, %s: %v (%v)", name, how, err, table.Classify(err))
			}
		}
	}
	stored(t, tbl, user, note{N: 1})
	absent(t, tbl, other)
}

func updateMakes(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	exists := expression.Name("pk").AttributeExists()
	wantErr(t, tbl.Do(t.Context(), table.Update(user, addN(1)).If(exists)), table.ErrConditionFailed)
	absent(t, tbl, user)
	must(t, tbl.Do(t.Context(), table.Update(user, addN(1))))
	must(t, tbl.Do(t.Context(), table.Update(user, addN(2)).If(exists)))
	stored(t, tbl, user, note{N: 3})
	must(t, tbl.Do(t.Context(), table.Update(user,
		expression.Remove(expression.Name("n")).Set(expression.Name("id"), expression.Value("a")))))
	stored(t, tbl, user, note{ID: "a"})
	must(t, tbl.Do(t.Context(), table.Patch(user, table.Item{"n": num("4")}, "id", "id")))
	stored(t, tbl, user, note{N: 4})
}

func opReused(t *testing.T, h Harness) {
	count := table.Update(user, addN(1)).WithName("count")
	guarded := count.If(nIs(2))
	a, b := h.newTable(t, appCore()), h.newTable(t, schema.Table{PK: "PK", SK: "SK"})
	for range 2 {
		must(t, a.Do(t.Context(), count))
		must(t, b.Transact(t.Context(), count))
	}
	must(t, a.Do(t.Context(), guarded))
	wantErr(t, a.Do(t.Context(), guarded), table.ErrConditionFailed)
	stored(t, a, user, note{N: 3})
	stored(t, b, user, note{N: 2})
}
