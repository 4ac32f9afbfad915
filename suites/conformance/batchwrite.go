package conformance

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

func batchWriteTests() tests {
	return tests{
		"60 ops, some left out twice":                 batchWriteMany,
		"what stays left out is throttled":            batchWriteThrottled,
		"a failed request names the keys that remain": batchWriteFailed,
		"no ops, no request":                          batchWriteNone,
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

func batchWriteThrottled(t *testing.T, h Harness) {
	opts := options()
	opts.MaxAttempts = 3
	tbl, faults := h.withFaults(t, appCore(), opts)
	must(t, tbl.Do(t.Context(), table.Put(txKey(3), note{N: 3})))
	faults.Always("BatchWriteItem", tabletest.Unprocessed(2))
	err := tbl.BatchWrite(t.Context(),
		table.Put(txKey(0), note{}), table.Put(txKey(1), note{}), table.Put(txKey(2), note{}), table.Delete(txKey(3)))
	wantErr(t, err, table.ErrThrottled)
	wantNot(t, err, table.ErrOutcomeUnknown)
	b, ok := errors.AsType[*table.Error](err)
	if !ok {
		t.Fatalf("error %v", err)
	}
	equal(t, "remaining", b.Remaining, []keys.Key{txKey(2), txKey(3)})
	stored(t, tbl, txKey(1), note{})
	absent(t, tbl, txKey(2))
	stored(t, tbl, txKey(3), note{N: 3})
}

func batchWriteFailed(t *testing.T, h Harness) {
	tbl, faults := h.withFaults(t, appCore(), nil)
	faults.Always("BatchWriteItem", tabletest.Match(
		// The request with the first key fails, others are executed.
		func(r tabletest.Request) bool { return strings.Contains(string(r.Body), string(txKey(0).SK)) },
		tabletest.Status(http.StatusBadRequest, "AccessDeniedException", "Injected."),
	))
	ops, ks := make([]table.Op, 60), make([]keys.Key, 60)
	for i := range ops {
		ks[i] = txKey(i)
		ops[i] = table.Put(ks[i], note{N: i})
	}
	err := tbl.BatchWrite(t.Context(), ops...)
	b, ok := errors.AsType[*table.Error](err)
	if !ok || errors.Is(err, table.ErrOutcomeUnknown) {
		t.Fatalf("error %v", err)
	}
	all := expect.Value(table.Collect(table.All[note](t.Context(), tbl, table.Query{PK: user.PK})))(t)
	if !slices.Contains(b.Remaining, txKey(0)) || len(all)+len(b.Remaining) != len(ks) {
		t.Errorf("%d written, remaining %v", len(all), b.Remaining)
	}
	for _, v := range all {
		if slices.Contains(b.Remaining, txKey(v.N)) {
			t.Errorf("item %d is written and remains", v.N)
		}
	}
}

func batchWriteNone(t *testing.T, h Harness) {
	tbl, faults := h.withFaults(t, appCore(), nil)
	must(t, tbl.BatchWrite(t.Context()))
	equal(t, "requests", sent(faults), 0)
}
