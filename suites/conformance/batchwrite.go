package conformance

import (
	"testing"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

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
