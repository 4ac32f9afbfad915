package conformance

import (
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

func versionTests() tests {
	return tests{
		"decides whether a write is carried out": versionDecides,
		"goes together with conditions":          versionAndIf,
	}
}

func setVersion(v int) expression.UpdateBuilder {
	return expression.Set(name("version"), expression.Value(v))
}

func versionDecides(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	for _, tt := range []struct {
		name   string
		stored table.Item
		want   int64
		ok     bool
	}{
		{"nothing, 0", nil, 0, true},
		{"nothing, 1", nil, 1, false},
		{"no attribute, 0", table.Item{"n": num("1")}, 0, true},
		{"no attribute, 1", table.Item{"n": num("1")}, 1, false},
		{"0, 0", table.Item{"version": num("0")}, 0, true},
		{"3, 3", table.Item{"version": num("3")}, 3, true},
		{"3, 0", table.Item{"version": num("3")}, 0, false},
		{"3, 2", table.Item{"version": num("3")}, 2, false},
		{"expired 3, 0", table.Item{"version": num("3"), "expiresAt": num("5")}, 0, true},
		{"expired 3, 3", table.Item{"version": num("3"), "expiresAt": num("5")}, 3, false},
		{"expired 3, 2", table.Item{"version": num("3"), "expiresAt": num("5")}, 2, false},
		{"text, 0", table.Item{"version": str("x")}, 0, false},
		{"null, 0", table.Item{"version": &types.AttributeValueMemberNULL{Value: true}}, 0, true},
		{"null, 1", table.Item{"version": &types.AttributeValueMemberNULL{Value: true}}, 1, false},
	} {
		for how, run := range runs(t, tbl) {
			key := keys.Key{PK: keys.User.PK(tt.name), SK: keys.SK(how)}
			for verb, op := range map[string]table.Op{
				"Put": table.Put(key, note{N: 9}), "Update": table.Update(key, setVersion(9)), "Delete": table.Delete(key),
			} {
				must(t, tbl.Do(t.Context(), table.Delete(key)))
				if tt.stored != nil {
					must(t, tbl.Do(t.Context(), table.Put(key, tt.stored)))
				}
				err := run(op.IfVersion("version", tt.want))
				if tt.ok != (err == nil) || err != nil && !errors.Is(err, table.ErrStale) {
					t.Errorf("%s, %s, %s: %v", tt.name, verb, how, err)
				}
				wantNot(t, err, table.ErrExists, table.ErrOutcomeUnknown)
			}
		}
	}
}

func versionAndIf(t *testing.T, h Harness) {
	tbl := h.newTable(t, appCore())
	must(t, tbl.Do(t.Context(), table.Put(user, table.Item{"version": num("3"), "n": num("1")})))
	wantErr(t, tbl.Do(t.Context(), table.Update(user, setVersion(4)).IfVersion("version", 2).If(nIs(1))), table.ErrStale)
	err := tbl.Do(t.Context(), table.Update(user, setVersion(4)).If(nIs(2)).IfVersion("version", 3))
	wantErr(t, err, table.ErrConditionFailed)
	wantNot(t, err, table.ErrConflict)
	// What is alternative in the condition does not undo the version.
	either := nIs(1).Or(nIs(2))
	wantErr(t, tbl.Do(t.Context(), table.Delete(user).If(either).IfVersion("version", 0)), table.ErrStale)
	must(t, tbl.Do(t.Context(), table.Update(user, setVersion(4)).If(either).IfVersion("version", 3)))
	wantErr(t, tbl.Do(t.Context(), table.Check(user, nIs(1)).IfVersion("version", 3)), table.ErrStale)
	must(t, tbl.Do(t.Context(), table.Check(user, nIs(1)).IfVersion("version", 4)))
}
