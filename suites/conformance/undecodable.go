package conformance

import (
	"errors"
	"strings"
	"testing"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
)

func undecodableTests() tests {
	return tests{
		"an item of a page is named by its whole key": undecodableNamed,
	}
}

// undecodableNamed reads a partition in which one item has text for a number,
// and one is of another type.
func undecodableNamed(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	index := keys.Key{PK: "G", SK: "secret-index"}
	bad := keys.Key{PK: user.PK, SK: "secret-item"}
	must(t, tbl.BatchWrite(t.Context(), table.Put(txKey(1), note{Type: "tx", N: 1, GSI1PK: "G", GSI1SK: "1"})))
	for what, stored := range map[string]table.Item{
		"undecodable":  {"entityType": str("tx"), "n": str("x"), "gsi1pk": str("G"), "gsi1sk": str(string(index.SK))},
		"another type": {"entityType": str("user"), "n": num("1"), "gsi1pk": str("G"), "gsi1sk": str(string(index.SK))},
	} {
		must(t, tbl.Do(t.Context(), table.Put(bad, stored)))
		txs := tbl.OfType("tx")
		member := newRepo(t, tbl, repo.Entity[note]{Type: "tx", Key: func(n note) keys.Key { return txKey(n.N) }})
		for _, name := range []string{"", "GSI1"} {
			q, want := table.Query{Index: name, PK: user.PK}, table.Error{Index: name, Key: bad}
			if name != "" {
				q.PK, want.IndexKey = "G", index
			}
			var into []note
			for call, err := range map[string]error{
				"QueryPage": expect.ErrOf(table.QueryPage[note](t.Context(), txs, q)),
				"All":       expect.ErrOf(table.Collect(table.All[note](t.Context(), txs, q))),
				"ScanPage":  expect.ErrOf(table.ScanPage[note](t.Context(), txs, table.Scan{Index: name})),
				"Collect":   repo.Collect(t.Context(), tbl, q, member.AppendTo(&into)),
				"Stream":    expect.ErrOf(table.Collect(repo.Stream(t.Context(), tbl, q, member))),
			} {
				e, ok := errors.AsType[*table.Error](err)
				if !ok {
					t.Fatalf("%s, %s: %v", what, call, err)
				}
				got := table.Error{Index: e.Index, Key: e.Key, IndexKey: e.IndexKey}
				equal(t, what+", "+call, got, want)
				unprinted(t, err)
				if wrong := errors.Is(err, table.ErrWrongType); wrong != (what == "another type") {
					t.Errorf("%s, %s: %v", what, call, err)
				}
			}
		}
		for call, read := range map[string]error{
			"BatchGet":    expect.ErrOf(table.BatchGet[note](t.Context(), txs, []keys.Key{txKey(1), bad})),
			"TransactGet": expect.ErrOf(table.TransactGet[note](t.Context(), txs, []keys.Key{txKey(1), bad})),
		} {
			op, ok := table.FailedOp(read, "")
			if !ok || op.Key != bad || op.Position != 2 {
				t.Errorf("%s, %s: %#v", what, call, read)
			}
			unprinted(t, read)
		}
	}
}

// unprinted checks that no key is in the text of an error, and that it is one
// line.
func unprinted(t *testing.T, err error) {
	t.Helper()
	if text := err.Error(); strings.Contains(text, "secret") || strings.Contains(text, "u-123") || strings.Contains(text, "\n") {
		t.Errorf("%q", text)
	}
}
