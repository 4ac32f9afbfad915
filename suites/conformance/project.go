package conformance

import (
	"testing"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

func projectTests() tests {
	return tests{
		"reads by key give what is asked for": projectItems,
	}
}

func projectItems(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	must(t, tbl.Do(t.Context(), table.Put(user, note{Type: "N", ID: "1", N: 5, GSI1PK: "A", GSI1SK: "B"})))
	must(t, tbl.Do(t.Context(), table.Put(other, note{Type: "N", ID: "2", N: 6, ExpiresAt: now.Unix() - 1})))
	part, want := tbl.Project("n").OfType("N"), note{Type: "N", N: 5}
	equal(t, "Get", expect.Value(table.Get[note](t.Context(), part, user))(t), want)
	wantErr(t, expect.ErrOf(table.Get[note](t.Context(), part, other)), table.ErrNotFound)
	wantErr(t, expect.ErrOf(table.Get[note](t.Context(), part.OfType("M"), user)), table.ErrWrongType)
	equal(t, "BatchGet", expect.Value(table.BatchGet[note](t.Context(), part, []keys.Key{user, other}))(t), map[keys.Key]note{user: want})
	equal(t, "TransactGet", expect.Value(table.TransactGet[note](t.Context(), part, []keys.Key{user, other}))(t), map[keys.Key]note{user: want})
	q := table.Query{PK: user.PK}
	equal(t, "QueryPage", expect.Value(table.QueryPage[note](t.Context(), part, q))(t).Items, []note{want})
	q.Project = []string{"id"}
	equal(t, "a query's own", expect.Value(table.QueryPage[note](t.Context(), part, q))(t).Items, []note{{Type: "N", ID: "1"}})
	equal(t, "Count", expect.Value(part.Count(t.Context(), table.Query{PK: user.PK}))(t).Items, 1)
	scanned := expect.Value(table.ScanPage[note](t.Context(), part, table.Scan{}))(t)
	equal(t, "ScanPage", scanned.Items, []note{want})
	whole := expect.Value(table.Get[note](t.Context(), part.Project(), user))(t)
	equal(t, "whole again", whole, note{Type: "N", ID: "1", N: 5, GSI1PK: "A", GSI1SK: "B"})
}
