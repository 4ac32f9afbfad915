package conformance

import (
	"errors"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
)

func returningTests() tests {
	return tests{
		"a counter gives each caller a value of its own": returningCounts,
		"a delete returns what it removed, once":         deleteReturning,
		"what does not decode is written all the same":   returningUndecodable,
		"conditions hold": returningConditions,
		"an upsert creates, counts and checks names": upserts,
	}
}

func returningCounts(t *testing.T, h Harness) {
	tbl, faults := h.withFaults(t, appCore(), nil)
	const callers = 64
	before := sent(faults)
	values := make([]int, callers)
	var group sync.WaitGroup
	for i := range values {
		group.Go(func() {
			v, err := table.DoReturning[note](t.Context(), tbl, table.Update(user, addN(1)))
			if err != nil {
				t.Error(err)
			}
			values[i] = v.N
		})
	}
	group.Wait()
	seen := map[int]bool{}
	for _, v := range values {
		seen[v] = v >= 1 && v <= callers
	}
	equal(t, "different values", len(seen), callers)
	equal(t, "requests", sent(faults)-before, callers)
}

func deleteReturning(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	must(t, tbl.Do(t.Context(), table.Put(user, note{N: 1})))
	v := expect.Value(table.DoReturning[note](t.Context(), tbl, table.Delete(user)))(t)
	equal(t, "deleted", v, note{N: 1})
	wantErr(t, expect.ErrOf(table.DoReturning[note](t.Context(), tbl, table.Delete(user))), table.ErrNotFound)
	must(t, tbl.Do(t.Context(), table.Put(user, note{N: 1, ExpiresAt: 5})))
	wantErr(t, expect.ErrOf(table.DoReturning[note](t.Context(), tbl, table.Delete(user))), table.ErrNotFound)
	wantErr(t, expect.ErrOf(table.DoReturning[note](t.Context(), tbl, table.Put(user, note{}))), table.ErrInvalid)
}

// returningUndecodable shows that what cannot be decoded was written.
func returningUndecodable(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	must(t, tbl.Do(t.Context(), table.Put(user, table.Item{"id": list(), "n": num("1")})))
	if _, err := table.DoReturning[note](t.Context(), tbl, table.Update(user, addN(1))); err == nil {
		t.Error("DoReturning of an item that does not decode succeeds")
	}
	if diff := diffItems(table.Item{"n": num("2")}, table.Item{"n": raw(t, tbl, user)["n"]}); diff != "" {
		t.Errorf("the update (-want +got):\n%s", diff)
	}
	if _, err := table.DoReturning[note](t.Context(), tbl, table.Delete(user)); err == nil || errors.Is(err, table.ErrNotFound) {
		t.Errorf("DoReturning of a deleted item that does not decode: %v", err)
	}
	if item := raw(t, tbl, user); item != nil {
		t.Errorf("left over: %v", item)
	}
}

func returningConditions(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	op := table.Update(user, addN(1)).IfExists()
	wantErr(t, expect.ErrOf(table.DoReturning[note](t.Context(), tbl, op)), table.ErrNotFound)
	must(t, tbl.Do(t.Context(), table.Put(user, note{Type: "a", N: 1, ExpiresAt: 5})))
	wantErr(t, expect.ErrOf(table.DoReturning[note](t.Context(), tbl, op)), table.ErrNotFound)
	must(t, tbl.Do(t.Context(), table.Put(user, note{Type: "a", N: 1})))
	v := expect.Value(table.DoReturning[note](t.Context(), tbl, op.IfType("a")))(t)
	equal(t, "value", v.N, 2)
	for how, run := range runs(t, tbl) {
		for name, test := range map[string]struct {
			op   table.Op
			want error
		}{
			"type":                  {table.Put(user, note{}).IfType("b"), table.ErrWrongType},
			"type and existence":    {table.Put(user, note{}).IfType("b").IfExists(), table.ErrWrongType},
			"existence":             {table.Put(other, note{}).IfExists(), table.ErrNotFound},
			"existence and type":    {table.Delete(other).IfType("a").IfExists(), table.ErrNotFound},
			"a revision":            {table.Delete(user).IfRevision("rev", "r"), table.ErrStale},
			"a version":             {table.Delete(user).IfVersion("v", 3), table.ErrStale},
			"a condition":           {table.Delete(user).IfType("a").If(nIs(7)), table.ErrConditionFailed},
			"a revision of nothing": {table.Delete(other).IfRevision("rev", "r"), table.ErrStale},
		} {
			if err := run(test.op); !errors.Is(err, test.want) {
				t.Errorf("%s, %s: %v, want %v", name, how, err, test.want)
			}
		}
		must(t, run(table.Delete(other).IfType("a").IfRevision("rev", "")))
		must(t, run(table.Put(user, note{Type: "a", N: 2}).IfType("a").IfRevision("rev", "").IfExists()))
	}
}

func upserts(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	r := newRepo(t, tbl, repo.Entity[account]{
		Type: "COUNTER", Key: func(a account) keys.Key { return accountKey(a.ID) }, Version: "version",
	})
	add := func(name string) expression.UpdateBuilder {
		return expression.Add(expression.Name(name), expression.Value(1))
	}
	for i := range 3 {
		got := expect.Value(r.Upsert(t.Context(), account{ID: "c", Name: "clicks"}, add("n")))(t)
		equal(t, "counter", got, account{ID: "c", Name: "clicks", N: i + 1, Version: int64(i + 2)})
	}
	patched(t, tbl, accountKey("c"), table.Item{"expiresAt": num("5")})
	got := expect.Value(r.Upsert(t.Context(), account{ID: "c", Name: "again"}, add("n")))(t)
	equal(t, "counter after it has expired", got, account{ID: "c", Name: "again", N: 1, Version: 2})
	for _, name := range []string{"m", "version", "pk", "entityType"} {
		wantErr(t, expect.ErrOf(r.Upsert(t.Context(), account{ID: "c"}, add(name))), table.ErrInvalid)
	}
	must(t, tbl.Do(t.Context(), table.Put(accountKey("d"), note{Type: "OTHER"})))
	wantErr(t, expect.ErrOf(r.Upsert(t.Context(), account{ID: "d"}, add("n"))), table.ErrWrongType)
	wantErr(t, expect.ErrOf(newRepo(t, tbl, person1Entity).Upsert(t.Context(), person1{ID: "u-1", Email: "e"}, add("n"))), table.ErrInvalid)
}
