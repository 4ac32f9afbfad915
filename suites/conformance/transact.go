package conformance

import (
	"context"
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

func transactTests() tests {
	return tests{
		"all kinds of op in one":                         transactKinds,
		"a failed condition leaves nothing and is named": transactFails,
		"every failed op is named":                       transactFailsTwice,
		"as many ops as there may be":                    transactMost,
		"an item of the largest size":                    transactLarge,
	}
}

func transactKinds(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	must(t, tbl.Do(t.Context(), table.Put(txKey(4), note{N: 4})))
	must(t, tbl.Do(t.Context(), table.Put(txKey(5), note{N: 5})))
	must(t, tbl.Transact(t.Context(),
		table.Put(txKey(1), note{N: 1}),
		table.Create(txKey(2), note{N: 2}),
		table.Update(txKey(3), addN(3)),
		table.Delete(txKey(4)).If(nIs(4)),
		table.Check(txKey(5), nIs(5)),
	))
	all := expect.Value(table.Collect(table.All[note](t.Context(), tbl, table.Query{PK: user.PK, Consistent: true})))(t)
	equal(t, "items", numbers(all), []int{1, 2, 3, 5})
}

func transactFails(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	must(t, tbl.Do(t.Context(), table.Put(txKey(2), note{ID: "old", N: 7})))
	err := tbl.Transact(t.Context(),
		table.Create(txKey(1), note{N: 1}).WithName("record"),
		table.Update(txKey(2), addN(1)).If(nIs(8)).WithName("balance"),
		table.Put(txKey(3), note{N: 3}).WithName("log"),
	)
	wantErr(t, err, table.ErrConditionFailed)
	wantNot(t, err, table.ErrExists, table.ErrConflict, table.ErrOutcomeUnknown)
	equal(t, "class", table.Classify(err), table.Permanent)
	absent(t, tbl, txKey(1))
	absent(t, tbl, txKey(3))
	stored(t, tbl, txKey(2), note{ID: "old", N: 7})

	e, ok := errors.AsType[*table.Error](err)
	if !ok || e.Op != "Transact" || e.Table != tbl.Schema().Name {
		t.Errorf("error %#v", e)
	}
	tx, ok := errors.AsType[*table.TxError](err)
	if !ok || len(tx.Failed) != 1 {
		t.Fatalf("error %v", err)
	}
	failed := tx.Failed[0]
	if failed.Op != "Update" || failed.OpNumber != 2 || failed.Name != "balance" || failed.Key != txKey(2) ||
		!errors.Is(failed, table.ErrConditionFailed) {
		t.Errorf("failed op %+v", failed)
	}
	want := note{ID: "old", N: 7}
	if h.Rewritten {
		want = note{}
	}
	var old note
	must(t, failed.Stored.Decode(&old))
	equal(t, "old item", old, want)
	if _, ok := errors.AsType[*types.TransactionCanceledException](err); !ok {
		t.Errorf("the SDK's error is not reachable from %v", err)
	}
}

func transactFailsTwice(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	must(t, tbl.Do(t.Context(), table.Put(txKey(3), note{N: 7})))
	err := tbl.Transact(t.Context(),
		table.Check(txKey(1), nIs(1)).WithName("first"),
		table.Put(txKey(2), note{}),
		table.Create(txKey(3), note{}).WithName("third"),
	)
	wantErr(t, err, table.ErrConditionFailed, table.ErrExists)
	tx, ok := errors.AsType[*table.TxError](err)
	if !ok || len(tx.Failed) != 2 || tx.Failed[0].Name != "first" || tx.Failed[1].Name != "third" {
		t.Fatalf("error %v", err)
	}
	if errors.Is(tx.Failed[0], table.ErrExists) || errors.Is(tx.Failed[1], table.ErrConditionFailed) {
		t.Errorf("causes are mixed up: %v", err)
	}
	if tx.Failed[0].Stored != nil || (tx.Failed[1].Stored == nil) != h.Rewritten {
		t.Errorf("old items %v, %v", tx.Failed[0].Stored, tx.Failed[1].Stored)
	}
}

func transactMost(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	const n = 100
	ops, ks := make([]table.Op, n), make([]keys.Key, n)
	for i := range ops {
		ks[i] = txKey(i)
		ops[i] = table.Create(ks[i], note{N: i})
	}
	must(t, tbl.Transact(t.Context(), ops...))
	got := expect.Value(table.TransactGet[note](t.Context(), tbl, ks))(t)
	found, missing := inOrder(got, ks)
	equal(t, "found", numbers(found), span(0, n-1))
	equal(t, "missing", len(missing), 0)
}

func transactLarge(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	// 400 KB less the key's two attributes and the name of the third. AWS:
	// "Constraints in Amazon DynamoDB", Amazon DynamoDB Developer Guide.
	text := long(400<<10 - len("pk") - len(user.PK) - len("sk") - len(user.SK) - len("s"))
	op, larger := table.Put(user, map[string]string{"s": text}), table.Put(user, map[string]string{"s": text + "x"})
	for _, run := range []func(context.Context, ...table.Op) error{
		tbl.Transact, tbl.BatchWrite, func(ctx context.Context, ops ...table.Op) error { return tbl.Do(ctx, ops[0]) },
	} {
		must(t, run(t.Context(), op))
		wantErr(t, run(t.Context(), larger), table.ErrTooLarge)
	}
}
