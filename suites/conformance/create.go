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
		"over an expired item it succeeds": createOverExpired,
		"with a condition of its own":      createIf,
	}
}

// expiries are the expiry of an item in the way, and whether it is in the way.
var expiries = []struct {
	name  string
	ttl   types.AttributeValue
	alive bool
}{
	{"long ago", num("1"), false},
	{"one second ago", num("4103690699"), false},
	{"this second", num("4103690700"), false},
	{"within the next second", num("4103690700.5"), true},
	{"next second", num("4103690701"), true},
	{"zero", num("0"), true},
	{"less than one", num("0.5"), true},
	{"negative", num("-5"), true},
	{"text", str("1"), true},
	{"a list", &types.AttributeValueMemberL{Value: []types.AttributeValue{num("1")}}, true},
}

func createOverExpired(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	for how, run := range runs(t, tbl) {
		for _, tt := range expiries {
			key := keys.Key{PK: keys.User.PK(tt.name), SK: keys.SK(how)}
			must(t, tbl.Do(t.Context(), table.Put(key, table.Item{"expiresAt": tt.ttl, "old": str("x")})))
			_, err := table.Get[table.Item](t.Context(), tbl, key)
			if got := err == nil; got != tt.alive {
				t.Errorf("%s: read: %v, want live %v", tt.name, err, tt.alive)
			}
			err = run(table.Create(key, note{N: 1}))
			if tt.alive {
				wantErr(t, err, table.ErrExists)
				continue
			}
			if err != nil {
				t.Errorf("%s, %s: %v", tt.name, how, err)
				continue
			}
			got := expect.Value(table.Get[table.Item](t.Context(), tbl, key))(t)
			if got["old"] != nil {
				t.Errorf("%s, %s: attributes of the expired item are left", tt.name, how)
			}
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
		for how, run := range runs(t, tbl) {
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
