package conformance

import (
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/singletable/singletable/table"
)

func updateTests() tests {
	return tests{
		"an update leaves the key alone":              updateOfKey,
		"an update stores no bad index key":           updateOfIndexKey,
		"an update cannot store more than 400 KB":     updateTooLarge,
		"an update that makes an item grow too large": updateOutgrows,
	}
}

func updateOfKey(t *testing.T, h Harness) {
	tbl, faults := h.withFaults(t, appCore(), nil)
	must(t, tbl.Do(t.Context(), table.Put(user, note{N: 1})))
	before := sent(faults)
	pk, sk, value := expression.Name("pk"), expression.Name("sk"), expression.Value("B")
	for name, update := range map[string]expression.UpdateBuilder{
		"SET":                 expression.Set(pk, value),
		"SET of the same":     expression.Set(pk, expression.Value(string(user.PK))),
		"SET of itself":       expression.Set(sk, sk),
		"SET inside":          expression.Set(expression.Name("sk.x"), value),
		"SET of an element":   expression.Set(expression.Name("sk[0]"), value),
		"SET after another":   setN(2).Set(expression.Name("other"), pk).Set(sk, value),
		"SET if it is absent": expression.Set(pk, expression.IfNotExists(pk, value)),
		"REMOVE":              expression.Remove(sk),
		"REMOVE inside":       expression.Remove(expression.Name("pk.x")),
		"ADD":                 expression.Add(sk, expression.Value(1)),
		"DELETE":              expression.Delete(sk, expression.Value(set("a"))),
	} {
		for how, err := range writes(t, tbl, table.Update(user, update), false) {
			if !errors.Is(err, table.ErrInvalid) || !strings.Contains(err.Error(), "is part of the key") {
				t.Errorf("%s, %s: %v", name, how, err)
			}
		}
	}
	if n := sent(faults) - before; n > 0 {
		t.Errorf("%d requests were sent", n)
	}
	stored(t, tbl, user, note{N: 1})
	must(t, tbl.Do(t.Context(), table.Update(user, setN(2).Set(expression.Name("id"), pk))))
	stored(t, tbl, user, note{N: 2, ID: string(user.PK)})
}

func updateOfIndexKey(t *testing.T, h Harness) {
	tbl, faults := h.withFaults(t, appCore(), nil)
	key := expression.Name("gsi1pk")
	for name, tt := range map[string]struct {
		update expression.UpdateBuilder
		rule   string
	}{
		"number":     {expression.Set(key, expression.Value(1)), "must be of type S"},
		"empty":      {expression.Set(key, expression.Value(str(""))), "cannot be empty"},
		"NULL":       {expression.Set(key, expression.Value(nil)), "must be of type S"},
		"long":       {expression.Set(key, expression.Value(long(2049))), "more than 2048 bytes"},
		"a list":     {expression.Set(key, expression.ListAppend(expression.Value([]int{1}), expression.Value([]int{2}))), "must be of type S"},
		"ADD":        {expression.Add(key, expression.Value(1)), "must be of type S"},
		"ADD, a set": {expression.Add(key, expression.Value(set("a"))), "must be of type S"},
		"the second": {setN(1).Set(expression.Name("lsi1sk"), expression.Value(1)), "index LSI1 and must be of type S"},
	} {
		for how, err := range writes(t, tbl, table.Update(user, tt.update), false) {
			if !errors.Is(err, table.ErrInvalid) || !strings.Contains(err.Error(), tt.rule) {
				t.Errorf("%s, %s: %v", name, how, err)
			}
		}
	}
	if n := sent(faults); n > 0 {
		t.Errorf("%d requests were sent", n)
	}
	for name, update := range map[string]expression.UpdateBuilder{
		"SET":               expression.Set(key, expression.Value("A")),
		"SET, longest":      expression.Set(key, expression.Value(long(2048))),
		"SET of another":    expression.Set(key, expression.Name("pk")),
		"SET if absent":     expression.Set(key, expression.IfNotExists(key, expression.Value(1))),
		"REMOVE":            expression.Remove(key),
		"SET of what is in": expression.Set(expression.Name("m"), expression.Value(map[string]any{"gsi1pk": 1})),
	} {
		must(t, tbl.Do(t.Context(), table.Put(user, note{GSI1PK: "A"})))
		if err := tbl.Do(t.Context(), table.Update(user, update)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func updateTooLarge(t *testing.T, h Harness) {
	tbl, faults := h.withFaults(t, appCore(), nil)
	const limit = 400 << 10
	rest := limit - len("pk"+"sk") - len(user.PK) - len(user.SK) - len("v")
	name := expression.Name("v")
	half := expression.Value(long(limit/2 + 1))
	for _, update := range map[string]expression.UpdateBuilder{
		"SET":           expression.Set(name, expression.Value(long(rest+1))),
		"SET of two":    expression.Set(name, half).Set(expression.Name("w"), half),
		"SET inside":    expression.Set(expression.Name("m.v"), expression.Value(long(limit))),
		"list_append":   expression.Set(name, expression.ListAppend(name, expression.Value([]string{long(limit)}))),
		"ADD":           expression.Add(name, expression.Value(set(long(rest), "x"))),
		"SET and value": setN(1).Set(name, expression.Value(map[string]string{"a": long(limit)})),
	} {
		for how, err := range writes(t, tbl, table.Update(user, update), false) {
			wantRefusal(t, how, err, table.ErrTooLarge, "the update stores")
		}
	}
	eleven := make([]table.Op, 11)
	for i := range eleven {
		eleven[i] = table.Update(txKey(i), setString("v", long(390<<10)))
	}
	wantErr(t, tbl.Transact(t.Context(), eleven...), table.ErrTooLarge)
	if n := sent(faults); n > 0 {
		t.Errorf("%d requests were sent", n)
	}
	// The engine may count more than what is stored, but not we.
	for _, update := range []expression.UpdateBuilder{
		expression.Set(name, expression.Value(long(rest))),
		expression.Set(name, expression.IfNotExists(name, expression.Value(long(rest+1)))),
		expression.Delete(expression.Name("tags"), expression.Value(set(long(limit)))),
	} {
		before := sent(faults)
		err := tbl.Do(t.Context(), table.Update(user, update))
		if sent(faults) == before || err != nil && !errors.Is(err, table.ErrTooLarge) {
			t.Errorf("%v after %d requests", err, sent(faults)-before)
		}
	}
}

func updateOutgrows(t *testing.T, h Harness) {
	tbl, faults := h.withFaults(t, appCore(), nil)
	must(t, tbl.Do(t.Context(), table.Put(user, note{ID: long(300 << 10)})))
	op := table.Update(user, setString("v", long(200<<10)))
	before := sent(faults)
	for how, err := range writes(t, tbl, op, false) {
		if !errors.Is(err, table.ErrTooLarge) || table.Classify(err) != table.Permanent {
			t.Errorf("%s: %v (%v)", how, err, table.Classify(err))
		}
		failed, ok := table.FailedOp(err, "second")
		if !ok || !errors.Is(failed, table.ErrTooLarge) {
			t.Errorf("%s: the op is not named: %v", how, err)
		}
	}
	if n := sent(faults) - before; n != 2 {
		t.Errorf("%d requests were sent, want 2", n)
	}
	stored(t, tbl, user, note{ID: long(300 << 10)})
}
