package conformance

import (
	"testing"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

func transactGetTests() tests {
	return tests{
		"items come by key, without the missing ones": transactGetOrder,
		"another type's item is named":                transactGetWrongType,
		"no keys, no request":                         transactGetNone,
	}
}

func transactGetOrder(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	seed(t, tbl, 5)
	must(t, tbl.Do(t.Context(), table.Put(user, note{N: 9, ExpiresAt: 5})))
	got := expect.Value(table.TransactGet[note](t.Context(), tbl, []keys.Key{txKey(4), other, txKey(0), user, txKey(2)}))(t)
	found, missing := inOrder(got, []keys.Key{txKey(4), other, txKey(0), user, txKey(2)})
	equal(t, "found", numbers(found), []int{4, 0, 2})
	equal(t, "missing", missing, []keys.Key{other, user})
}

func transactGetWrongType(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	seed(t, tbl, 2)
	must(t, tbl.Do(t.Context(), table.Put(user, note{Type: "user"})))
	got, err := table.TransactGet[note](t.Context(), tbl.OfType("tx"), []keys.Key{txKey(0), user, txKey(1)})
	wantErr(t, err, table.ErrWrongType)
	if e, ok := table.FailedOp(err, ""); !ok || e.Position != 2 || e.Key != user || e.Op != "Get" {
		t.Errorf("error %v", err)
	}
	equal(t, "items beside the error", len(got), 0)
}

func transactGetNone(t *testing.T, h Harness) {
	tbl, faults := h.withFaults(t, appCore(), nil)
	got := expect.Value(table.TransactGet[note](t.Context(), tbl, nil))(t)
	equal(t, "items", len(got), 0)
	equal(t, "requests", sent(faults), 0)
}
