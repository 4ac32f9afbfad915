package conformance

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

func outcomeTests() tests {
	return tests{
		"a write meets its own effect": lostResponse,
		"a Transact has one effect":    lostTransact,
	}
}

func name(s string) expression.NameBuilder { return expression.Name(s) }

// lostResponse drops the response of each kind of write, so that it is sent again: the
// engine then refuses conditions over the effect of the first send, and returns the item.
func lostResponse(t *testing.T, h Harness) {
	own := table.Item{"n": num("2.50"), "ss": set("b", "a"), "l": list(num("1E2"), str("x"))}
	for what, tt := range map[string]struct {
		op table.Op
		// want is the error, and requests how often it is sent.
		want     error
		requests int
	}{
		"Put":                    {table.Put(user, note{N: 2}), nil, 2},
		"Update":                 {table.Update(user, setN(3)), nil, 2},
		"Update that counts":     {table.Update(user, addN(1)), table.ErrOutcomeUnknown, 1},
		"Delete":                 {table.Delete(user), nil, 2},
		"Create":                 {table.Create(user, own), nil, 2},
		"Create with condition":  {table.Create(other, own).If(nIs(1).Not()), nil, 2},
		"Put with condition":     {table.Put(user, note{N: 2}).If(nIs(1)), nil, 2},
		"Update with condition":  {table.Update(user, setN(2)).If(nIs(1)), table.ErrOutcomeUnknown, 2},
		"Delete with condition":  {table.Delete(user).If(nIs(1)), table.ErrOutcomeUnknown, 2},
		"Update with a version":  {table.Update(user, setN(2)).IfVersion("n", 1), table.ErrOutcomeUnknown, 2},
		"Delete with a version":  {table.Delete(user).IfVersion("n", 1), nil, 2},
		"Patch with a revision":  {table.Patch(user, table.Item{"id": str("new")}).IfRevision("id", "old"), nil, 2},
		"Delete with a revision": {table.Delete(user).IfRevision("id", "old"), nil, 2},
	} {
		tbl, faults := h.withFaults(t, appCore(), nil)
		stored := note{N: 1, ID: "old"}
		if what == "Create" {
			stored.ExpiresAt = 5
		}
		must(t, tbl.Do(t.Context(), table.Put(user, stored)))
		before := sent(faults)
		faults.Next("", tabletest.DropResponse())
		err := tbl.Do(t.Context(), tt.op)
		if tt.want == nil && err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if tt.want != nil {
			wantErr(t, err, tt.want)
			// These promise that nothing was written.
			wantNot(t, err, table.ErrConditionFailed, table.ErrConflict, table.ErrExists)
		}
		equal(t, what+": writes", len(faults.Requests("PutItem", "UpdateItem", "DeleteItem"))-1, tt.requests)
		if reads := sent(faults) - before - tt.requests; reads > 1 {
			t.Errorf("%s: %d reads", what, reads)
		}
	}
}

// lostTransact sends a transaction twice, with its token, and another one.
func lostTransact(t *testing.T, h Harness) {
	tbl, faults := h.withFaults(t, appCore(), nil)
	add := table.Update(user, addN(1))
	faults.Next("TransactWriteItems", tabletest.DropResponse(), nil, tabletest.Truncate())
	must(t, tbl.Transact(t.Context(), add, table.Create(other, note{N: 1})))
	stored(t, tbl, user, note{N: 1})
	must(t, tbl.Transact(t.Context(), add))
	stored(t, tbl, user, note{N: 2})
	equal(t, "requests", len(faults.Requests("TransactWriteItems")), 4)
	must(t, expect.ErrOf(table.Get[table.Item](t.Context(), tbl, other)))
}
