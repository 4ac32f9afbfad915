package table_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// requests are calls whose requests are compared with files, by the files' names.
var requests = map[string]func(*testing.T, *table.Table){
	"get": func(t *testing.T, tbl *table.Table) {
		must(t, get(t.Context(), tbl, user))
		must(t, get(t.Context(), tbl.Consistent(), user))
	},
	"project": func(t *testing.T, tbl *table.Table) {
		part := tbl.Project("name", "n").OfType("USER")
		_ = get(t.Context(), part, user)
		must(t, expect.ErrOf(table.BatchGet[account](t.Context(), tbl.Project("n"), []keys.Key{user, {PK: "A", SK: "B"}})))
		must(t, expect.ErrOf(table.TransactGet[account](t.Context(), tbl.Project("n"), []keys.Key{user})))
		must(t, expect.ErrOf(table.QueryPage[account](t.Context(), tbl.Project("n"), table.Query{PK: user.PK})))
		must(t, expect.ErrOf(table.QueryPage[account](t.Context(), tbl.Project("n"), table.Query{PK: user.PK, Project: []string{"name"}})))
	},
	"put": func(t *testing.T, tbl *table.Table) {
		must(t, tbl.Do(t.Context(), table.Put(user, account{Name: "Ann", N: 2})))
		must(t, tbl.Do(t.Context(), table.Put(user, nil).If(nIs(2))))
	},
	"create": func(t *testing.T, tbl *table.Table) {
		key := keys.Key{PK: keys.User.PK("u-456"), SK: keys.Profile}
		_ = tbl.Do(t.Context(), table.Create(user, account{Name: "Ann"}))
		must(t, tbl.Do(t.Context(), table.Create(key, nil).If(expression.Name("banned").AttributeNotExists())))
	},
	"update": func(t *testing.T, tbl *table.Table) {
		must(t, tbl.Do(t.Context(), table.Update(user, setN(3).Remove(expression.Name("name"))).If(nIs(1))))
		must(t, tbl.Do(t.Context(), table.Update(user, expression.Add(expression.Name("n"), expression.Value(1)))))
	},
	"patch": func(t *testing.T, tbl *table.Table) {
		must(t, tbl.Do(t.Context(), table.Patch(user, table.Item{"n": num("3"), "a.b": str("x")}, "name", "gone")))
		must(t, tbl.Do(t.Context(), table.Patch(user, nil, "a.b").If(nIs(3))))
	},
	"add": func(t *testing.T, tbl *table.Table) {
		most, least := int64(9), int64(-9)
		add := func(n int64, max *int64) table.Op {
			return table.Add(user, item.Addition{Type: "USER", Terms: []item.Term{
				{Attribute: "n", N: n, Max: max}, {Attribute: "a.b", N: -n, Min: &least, Max: max},
			}})
		}
		must(t, tbl.Do(t.Context(), table.Put(user, table.Item{"entityType": str("USER"), "n": num("1")})))
		must(t, tbl.Do(t.Context(), add(1, nil)))
		must(t, tbl.Transact(t.Context(), add(1, &most), add(2, &most), table.Patch(user, table.Item{"name": str("x")}).If(nIs(2))))
		alone := item.Addition{Type: "USER", Creates: true, Terms: []item.Term{{Attribute: "n", N: 1}}}
		must(t, tbl.Do(t.Context(), table.Add(keys.Key{PK: keys.User.PK("u-789"), SK: keys.Profile}, alone)))
	},
	"guards": func(t *testing.T, tbl *table.Table) {
		var ops []table.Op
		for i, guard := range []func(table.Op) table.Op{
			func(op table.Op) table.Op { return op.IfExists() },
			func(op table.Op) table.Op { return op.IfType("USER") },
			func(op table.Op) table.Op { return op.IfExists().IfType("USER") },
			func(op table.Op) table.Op { return op.IfVersion("version", 0) },
			func(op table.Op) table.Op { return op.IfVersion("version", 7) },
			func(op table.Op) table.Op { return op.IfRevision("revision", "") },
			func(op table.Op) table.Op { return op.IfRevision("revision", "R1") },
			func(op table.Op) table.Op { return op.IfRevision("revision", "").IfExists().IfType("USER") },
			func(op table.Op) table.Op { return op.IfRevision("revision", "R1").IfExists().IfType("USER") },
			func(op table.Op) table.Op { return op.IfVersion("version", 7).If(nIs(1)) },
		} {
			key := keys.Key{PK: "A", SK: keys.SK(rune('a' + i))}
			ops = append(ops, guard(table.Check(key, expression.ConditionBuilder{})))
		}
		_ = tbl.Transact(t.Context(), ops...) // there is no such item
	},
	"delete": func(t *testing.T, tbl *table.Table) {
		must(t, tbl.Do(t.Context(), table.Delete(user).If(nIs(1))))
		must(t, tbl.Do(t.Context(), table.Delete(user)))
	},
	"check": func(t *testing.T, tbl *table.Table) {
		must(t, tbl.Do(t.Context(), table.Check(user, nIs(1))))
	},
	"transact": func(t *testing.T, tbl *table.Table) {
		must(t, tbl.Transact(t.Context(),
			table.Put(keys.Key{PK: "A", SK: "put"}, account{N: 1}),
			table.Create(keys.Key{PK: "A", SK: "create"}, account{N: 2}),
			table.Update(keys.Key{PK: "A", SK: "update"}, setN(3)).If(nIs(3).Not()),
			table.Delete(keys.Key{PK: "A", SK: "delete"}),
			table.Check(user, nIs(1)),
		))
	},
	"transactget": func(t *testing.T, tbl *table.Table) {
		must(t, expect.ErrOf(table.TransactGet[account](t.Context(), tbl, []keys.Key{user, {PK: "A", SK: "B"}})))
	},
	"batchget": func(t *testing.T, tbl *table.Table) {
		must(t, expect.ErrOf(table.BatchGet[account](t.Context(), tbl.Consistent(), []keys.Key{user, {PK: "A", SK: "B"}, user})))
	},
	"batchwrite": func(t *testing.T, tbl *table.Table) {
		must(t, tbl.BatchWrite(t.Context(), table.Put(keys.Key{PK: "A", SK: "B"}, account{N: 5}), table.Delete(user)))
	},
	"query": func(t *testing.T, tbl *table.Table) {
		for _, r := range []keys.Range{
			{}, keys.Tx.All(), keys.Exactly(keys.Profile), {From: "A"}, {To: "Z"}, keys.Tx.Since(now),
		} {
			must(t, expect.ErrOf(table.QueryPage[account](t.Context(), tbl, table.Query{PK: user.PK, Range: r})))
		}
	},
	"queryindex": func(t *testing.T, tbl *table.Table) {
		q := table.Query{
			Index: "GSI1", PK: "GLOBAL", Range: keys.Tx.All(), Descending: true, Limit: 1, Scope: "not sent",
			Filter: nIs(1).And(expression.Name("name").BeginsWith("A")), Project: []string{"n", "name"},
		}
		page := expect.Value(table.QueryPage[account](t.Context(), tbl, q))(t)
		q.After = page.Next
		must(t, expect.ErrOf(table.QueryPage[account](t.Context(), tbl, q)))
	},
	"all": func(t *testing.T, tbl *table.Table) {
		q := table.Query{Index: "LSI1", PK: user.PK, Consistent: true, Limit: 5}
		must(t, expect.ErrOf(table.Collect(table.All[account](t.Context(), tbl, q))))
	},
}

// TestRequests compares what is sent with testdata. Run it with -update to take
// over a change that is wanted.
func TestRequests(t *testing.T) {
	t.Parallel()
	for name, call := range requests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tbl, faults := newTable(t, appCore())
			must(t, tbl.Do(t.Context(), table.Put(user, table.Item{
				"n": num("1"), "name": str("Ann"), "gsi1pk": str("GLOBAL"), "gsi1sk": str("TX#1"),
			})))
			must(t, tbl.Do(t.Context(), table.Put(keys.Key{PK: "B", SK: "B"}, table.Item{
				"n": num("1"), "name": str("Abe"), "gsi1pk": str("GLOBAL"), "gsi1sk": str("TX#2"),
			})))
			skip := len(faults.Requests())
			call(t, tbl)
			expect.Golden(t, name+".json", tabletest.Transcript(faults.Requests()[skip:], strings.NewReplacer(tbl.Schema().Name, "AppCore")))
		})
	}
}
