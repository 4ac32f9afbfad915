package conformance

import (
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

func batchGetTests() tests {
	return tests{
		"250 keys, some missing, some left out twice": batchGetMany,
		"a key given twice is read once":              batchGetTwice,
		"number keys in every size":                   batchGetNumbers,
		"binary keys":                                 batchGetBinary,
	}
}

func batchGetMany(t *testing.T, h Harness) {
	tbl, faults := h.withFaults(t, appCore(), nil)
	seed(t, tbl, 250)
	ks := make([]keys.Key, 250)
	var want []int
	var gone []keys.Key
	for i := range ks {
		// Backwards, so that key order is not the order of storage.
		n := 249 - i
		ks[i] = txKey(n)
		if n%7 == 0 {
			must(t, tbl.Do(t.Context(), table.Delete(ks[i])))
			gone = append(gone, ks[i])
		} else {
			want = append(want, n)
		}
	}
	faults.Next("BatchGetItem", tabletest.Unprocessed(40), tabletest.Unprocessed(100), tabletest.Unprocessed(3),
		tabletest.Unprocessed(30), tabletest.Unprocessed(1))
	got := expect.Value(table.BatchGet[note](t.Context(), tbl, ks))(t)
	found, missing := inOrder(got, ks)
	equal(t, "found", numbers(found), want)
	equal(t, "missing", missing, gone)
	equal(t, "requests", len(faults.Requests("BatchGetItem")), 3+5)
}

func batchGetTwice(t *testing.T, h Harness) {
	tbl, faults := h.withFaults(t, appCore(), nil)
	seed(t, tbl, 3)
	got, err := table.BatchGet[note](t.Context(), tbl,
		[]keys.Key{txKey(1), user, txKey(0), txKey(1), user, txKey(1)})
	must(t, err)
	found, missing := inOrder(got, []keys.Key{txKey(1), user, txKey(0), txKey(1), user, txKey(1)})
	equal(t, "found", numbers(found), []int{1, 0, 1, 1})
	equal(t, "missing", missing, []keys.Key{user, user})
	equal(t, "requests", len(faults.Requests("BatchGetItem")), 1)
}

// batchGetNumbers also shows that a number comes back in the one way to write it
// as a key.
func batchGetNumbers(t *testing.T, h Harness) {
	tbl := h.newTable(t, schema.Table{PKType: types.ScalarAttributeTypeN, SKType: types.ScalarAttributeTypeN})
	var ks []keys.Key
	var ops []table.Op
	for i, n := range []string{
		"0", "1", "-1", "10", "1000000", "100000000000000000000000000000", "-1000000000000000000000",
		"0.1", "-0.5", "0.0000000001", "0.000000000000000000000000000000001", "-12.25",
		"12345678901234567890123456789012345678", "9007199254740993",
	} {
		ks = append(ks, keys.Key{PK: "7", SK: keys.SK(n)}, keys.Key{PK: keys.PK(n), SK: "7"})
		ops = append(ops, table.Put(ks[2*i], note{N: 2 * i}), table.Put(ks[2*i+1], note{N: 2*i + 1}))
	}
	must(t, tbl.BatchWrite(t.Context(), ops...))
	got := expect.Value(table.BatchGet[note](t.Context(), tbl, ks))(t)
	found, missing := inOrder(got, ks)
	equal(t, "found", numbers(found), span(0, len(ks)-1))
	equal(t, "missing", len(missing), 0)
	for i, k := range ks {
		stored(t, tbl, k, note{N: i})
	}
}

func batchGetBinary(t *testing.T, h Harness) {
	tbl := h.newTable(t, schema.Table{PKType: types.ScalarAttributeTypeB, SKType: types.ScalarAttributeTypeB})
	var ks []keys.Key
	var ops []table.Op
	for i, b := range []string{"\x00", "\xff\x00\xff", "text", "a##b"} {
		ks = append(ks, keys.Key{PK: keys.PK(b), SK: keys.SK(b)})
		ops = append(ops, table.Put(ks[i], note{N: i}))
	}
	must(t, tbl.BatchWrite(t.Context(), ops...))
	got := expect.Value(table.BatchGet[note](t.Context(), tbl, ks))(t)
	found, missing := inOrder(got, ks)
	equal(t, "found", numbers(found), span(0, len(ks)-1))
	equal(t, "missing", fmt.Sprint(missing), "[]")
}

func batchWriteTests() tests {
	return tests{
		"60 ops, some left out twice": batchWriteMany,
	}
}

func batchWriteMany(t *testing.T, h Harness) {
	tbl, faults := h.withFaults(t, appCore(), nil)
	seed(t, tbl, 20)
	before := sent(faults)
	var ops []table.Op
	for i := range 60 {
		if i < 20 {
			ops = append(ops, table.Delete(txKey(i)))
		} else {
			ops = append(ops, table.Put(txKey(i), note{N: i}))
		}
	}
	faults.Next("BatchWriteItem", tabletest.Unprocessed(24), tabletest.Unprocessed(25), tabletest.Unprocessed(3),
		tabletest.Unprocessed(10), tabletest.Unprocessed(1))
	must(t, tbl.BatchWrite(t.Context(), ops...))
	equal(t, "requests", sent(faults)-before, 3+5)
	all := expect.Value(table.Collect(table.All[note](t.Context(), tbl, table.Query{PK: user.PK})))(t)
	equal(t, "items", numbers(all), span(20, 59))
}

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
