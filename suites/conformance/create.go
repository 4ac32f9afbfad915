package conformance

import (
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

func createTests() tests {
	return tests{
		"over nothing succeeds":                       createNew,
		"over an item it exists and stays unchanged":  createExisting,
		"over an expired item it succeeds":            createOverExpired,
		"in a transaction expiry counts the same way": createInTransaction,
		"with a condition of its own":                 createIf,
		"TransactCreate creates all or nothing":       transactPut,
	}
}

func createNew(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	must(t, tbl.Do(t.Context(), table.Create(user, note{ID: "a", N: 1})))
	stored(t, tbl, user, note{ID: "a", N: 1})
	must(t, tbl.Do(t.Context(), table.Create(other, nil)))
	got := expect.Value(table.Get[table.Item](t.Context(), tbl, other))(t)
	equal(t, "attributes of an empty item", len(got), 2)
}

func createExisting(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	must(t, tbl.Do(t.Context(), table.Create(user, note{N: 1})))
	err := tbl.Do(t.Context(), table.Create(user, note{N: 2}).WithName("profile"))
	wantErr(t, err, table.ErrExists)
	wantNot(t, err, table.ErrOutcomeUnknown)
	if _, ok := errors.AsType[*types.ConditionalCheckFailedException](err); !ok {
		t.Errorf("the SDK's error is not reachable from %v", err)
	}
	if e, ok := errors.AsType[*table.Error](err); !ok || e.Op != "Create" || e.Name != "profile" || e.Key != user {
		t.Errorf("error %#v", e)
	}
	// An item that is equal is no less in the way.
	wantErr(t, tbl.Do(t.Context(), table.Create(user, note{N: 1})), table.ErrExists)
	stored(t, tbl, user, note{N: 1})
}

// expiries are the expiry of an item in the way, and whether it is in the way.
var expiries = []struct {
	name  string
	ttl   types.AttributeValue
	alive bool
}{
	{"long ago", num("1"), false},
	{"one second ago", num("1705313099"), false},
	{"this second", num("1705313100"), false},
	{"within the next second", num("1705313100.5"), true},
	{"next second", num("1705313101"), true},
	{"zero", num("0"), true},
	{"less than one", num("0.5"), true},
	{"negative", num("-5"), true},
	{"text", str("1"), true},
	{"a list", &types.AttributeValueMemberL{Value: []types.AttributeValue{num("1")}}, true},
}

func createOverExpired(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	for _, tt := range expiries {
		key := keys.Key{PK: keys.User.PK(tt.name), SK: keys.Profile}
		must(t, tbl.Do(t.Context(), table.Put(key, table.Item{"expiresAt": tt.ttl, "old": str("x")})))
		_, err := table.Get[table.Item](t.Context(), tbl, key)
		if got := err == nil; got != tt.alive {
			t.Errorf("%s: read: %v, want live %v", tt.name, err, tt.alive)
		}
		err = tbl.Do(t.Context(), table.Create(key, note{N: 1}))
		if tt.alive {
			wantErr(t, err, table.ErrExists)
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		got := expect.Value(table.Get[table.Item](t.Context(), tbl, key))(t)
		if got["old"] != nil {
			t.Errorf("%s: attributes of the expired item are left", tt.name)
		}
	}
}

func createInTransaction(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	for _, tt := range expiries {
		key := keys.Key{PK: keys.User.PK(tt.name), SK: keys.Profile}
		must(t, tbl.Do(t.Context(), table.Put(key, table.Item{"expiresAt": tt.ttl})))
		err := tbl.Transact(t.Context(), table.Create(key, note{N: 1}))
		switch {
		case tt.alive:
			wantErr(t, err, table.ErrExists)
		case err != nil:
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

func createIf(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	nobody := keys.Key{PK: keys.User.PK("nobody"), SK: keys.Profile}
	gone := keys.Key{PK: keys.User.PK("gone"), SK: keys.Profile}
	must(t, tbl.Do(t.Context(), table.Put(user, note{N: 1})))
	must(t, tbl.Do(t.Context(), table.Put(gone, note{N: 1, ExpiresAt: 5})))
	create := func(key keys.Key, conditions ...expression.ConditionBuilder) table.Op {
		op := table.Create(key, note{N: 9, ExpiresAt: 7})
		for _, c := range conditions {
			op = op.If(c)
		}
		return op
	}
	unset := expression.Name("id").AttributeNotExists()
	for _, tt := range []struct {
		name string
		op   table.Op
		want error
	}{
		{"over nothing, does not hold", create(nobody, nIs(1)), table.ErrConditionFailed},
		{"over an item, holds", create(user, nIs(1)), table.ErrExists},
		{"over an item, does not hold", create(user, nIs(2)), table.ErrExists},
		{"over an expired item, does not hold", create(gone, nIs(2)), table.ErrConditionFailed},
		{"either of two, one of which does not hold", create(gone, nIs(1), nIs(2)), table.ErrConditionFailed},
		{"an alternative does not undo it", create(user, nIs(1).Or(unset)), table.ErrExists},
		{"over an expired item, both hold", create(gone, nIs(1), unset), nil},
		{"over nothing, holds", create(nobody, unset), nil},
	} {
		for how, run := range map[string]func(table.Op) error{
			"alone":            func(op table.Op) error { return tbl.Do(t.Context(), op) },
			"in a transaction": func(op table.Op) error { return tbl.Transact(t.Context(), op) },
		} {
			if tt.want == nil && how == "alone" {
				continue // It succeeds only once.
			}
			err := run(tt.op)
			if !errors.Is(err, tt.want) {
				t.Errorf("%s, %s: %v, want %v", tt.name, how, err, tt.want)
			}
			if errors.Is(err, table.ErrExists) && errors.Is(err, table.ErrConditionFailed) {
				t.Errorf("%s, %s: %v is both", tt.name, how, err)
			}
		}
	}
}

func transactPut(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	tx1 := table.Create(txKey(1), table.Item{"entityType": str("tx"), "n": num("2")})
	must(t, tbl.Transact(t.Context(), table.Create(user, note{Type: "user", N: 1}), tx1))
	stored(t, tbl, user, note{Type: "user", N: 1})
	stored(t, tbl, txKey(1), note{Type: "tx", N: 2})

	err := tbl.Transact(t.Context(), table.Create(other, note{}), tx1)
	wantErr(t, err, table.ErrExists)
	tx, ok := errors.AsType[*table.TxError](err)
	if !ok || len(tx.Failed) != 1 || tx.Failed[0].Position != 2 || tx.Failed[0].Key != txKey(1) {
		t.Errorf("error %v", err)
	}
	absent(t, tbl, other)
}
