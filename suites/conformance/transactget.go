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
