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
		"a patch sets, adds and removes":             patches,
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
	add := func(name string) repo.Patch { return repo.Patch{Add: map[string]any{name: 1}} }
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

// patches changes attributes of every type, alone and in a transaction, and meets what fails.
func patches(t *testing.T, h Harness) {
	type issue struct {
		ID       string   `dynamodbav:"id"`
		Title    string   `dynamodbav:"title"`
		Note     string   `dynamodbav:"note,omitempty"`
		Seats    uint8    `dynamodbav:"seats"`
		Weight   float64  `dynamodbav:"weight"`
		Watchers []string `dynamodbav:"watchers,stringset,omitempty"`
		Revision string   `dynamodbav:"revision"`
	}
	tbl := h.newTable(t, appCore())
	e := repo.Entity[issue]{Type: "ISSUE", Version: "revision", Key: func(i issue) keys.Key { return accountKey(i.ID) }}
	r := newRepo(t, tbl, e)
	v := issue{ID: "1", Title: "first", Note: "x", Seats: 3, Watchers: []string{"ana"}}
	must(t, r.Create(t.Context(), &v))
	all := repo.Patch{
		Set: map[string]any{"title": "second", "note": ""}, IfRevision: v.Revision,
		Add: map[string]any{"seats": -1, "weight": 0.5, "watchers": []string{"bo"}},
	}
	want := issue{ID: "1", Title: "second", Seats: 2, Weight: 0.5, Watchers: []string{"ana", "bo"}}
	got := expect.Value(r.Patch(t.Context(), accountKey("1"), all))(t)
	want.Revision = got.Revision
	equal(t, "patched", got, want)
	must(t, tbl.Transact(t.Context(), r.PatchOps(accountKey("1"), repo.Patch{Add: map[string]any{"seats": 1}, Remove: []string{"watchers"}})...))
	got = expect.Value(r.Consistent().Get(t.Context(), accountKey("1")))(t)
	equal(t, "patched in a transaction", got, issue{ID: "1", Title: "second", Seats: 3, Weight: 0.5, Revision: got.Revision})

	title := repo.Patch{Set: map[string]any{"title": "third"}}
	unless := title
	unless.If = expression.Name("note").AttributeExists()
	must(t, tbl.Do(t.Context(), table.Put(accountKey("other"), note{Type: "OTHER"})))
	e.Upgrades = []repo.Upgrade{repo.Drop("legacy")}
	later := newRepo(t, tbl, e)
	for name, test := range map[string]struct {
		r    *repo.Repo[issue]
		id   string
		p    repo.Patch
		want error
	}{
		"stale":         {r, "1", all, table.ErrStale},
		"a condition":   {r, "1", unless, table.ErrConditionFailed},
		"a sum":         {r, "1", repo.Patch{Add: map[string]any{"seats": -4}}, table.ErrConditionFailed},
		"missing":       {r, "2", title, table.ErrNotFound},
		"another type":  {r, "other", title, table.ErrWrongType},
		"an older item": {later, "1", title, table.ErrStale},
	} {
		wantErr(t, tbl.Transact(t.Context(), test.r.PatchOps(accountKey(test.id), test.p)...), test.want)
		if name != "an older item" {
			wantErr(t, expect.ErrOf(test.r.Patch(t.Context(), accountKey(test.id), test.p)), test.want)
		}
	}
	must(t, expect.ErrOf(later.Patch(t.Context(), accountKey("1"), title)))
	wantErr(t, expect.ErrOf(r.Patch(t.Context(), accountKey("1"), title)), table.ErrNewerShape)
}
