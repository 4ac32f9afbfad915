package conformance

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/table"
)

func expressionTests() tests {
	return tests{
		"expressions are refused at their limits": expressionLimits,
		"bounds of BETWEEN and types are checked": expressionOperands,
	}
}

// repeated returns a condition of n comparisons, with 2n-1 operators.
func repeated(n int) expression.ConditionBuilder {
	all := make([]expression.ConditionBuilder, n)
	for i := range all {
		all[i] = expression.Name("n").Equal(expression.Value(1))
	}
	if n == 1 {
		return all[0]
	}
	return expression.Or(all[0], all[1], all[2:]...)
}

// removal returns an update that removes n attributes.
func removal(n int) expression.UpdateBuilder {
	update := expression.Remove(expression.Name("a"))
	for i := range n - 1 {
		update = update.Remove(expression.Name(fmt.Sprint("a", i)))
	}
	return update
}

func operands(n int) expression.ConditionBuilder {
	all := make([]expression.OperandBuilder, n)
	for i := range all {
		all[i] = expression.Value(i + 1)
	}
	return expression.Name("n").In(all[0], all[1:]...)
}

func path(elements int) expression.NameBuilder {
	return expression.Name(strings.Repeat("m.", elements-1) + "m")
}

func expressionLimits(t *testing.T, h Harness) {
	tbl, faults := h.withFaults(t, appCore(), nil)
	must(t, tbl.Do(t.Context(), table.Put(user, note{N: 1})))
	most := 700
	for length(t, removal(most)) <= 4096 {
		most++
	}
	for name, tt := range map[string]struct {
		good, bad table.Op
		rule      string
	}{
		"bytes": {
			table.Update(user, removal(most-1)),
			table.Update(user, removal(most)), "bytes, DynamoDB takes 4096",
		},
		"operators": {
			table.Update(user, setN(1)).If(repeated(149).And(expression.Name("missing").AttributeExists().Not())),
			table.Update(user, setN(1)).If(repeated(151)), "operators and functions, DynamoDB takes 300",
		},
		"operands of IN": {
			table.Update(user, setN(1)).If(operands(99)), // which an older engine counts as 100
			table.Update(user, setN(1)).If(operands(101)), "IN has 101 values",
		},
		"elements of a path": {
			table.Update(user, setN(1)).If(path(32).AttributeNotExists()),
			table.Update(user, setN(1)).If(path(33).AttributeNotExists()), "has more than 32 elements",
		},
		"long names": {
			table.Update(user, setN(1)).If(expression.NameNoDotSplit(long(65535)).AttributeNotExists()),
			table.Update(user, setN(1)).If(expression.NameNoDotSplit(long(65536)).AttributeNotExists()), "name of more than 65535 bytes",
		},
		"2 MB": {
			table.Update(user, setN(1)).If(expression.Name("n").In(expression.Value(1), expression.Value(long(100<<10)))),
			table.Update(user, setN(1)).If(expression.Name("n").In(expression.Value(1), expression.Value(long(2<<20)))), "DynamoDB takes 2097152",
		},
		"levels under a path": {
			table.Update(user, expression.Set(expression.Name("m"), expression.Value(nested(31, str("x"))))),
			table.Update(user, expression.Set(expression.Name("m.n[1]"), expression.Value(nested(30, str("x"))))), "more than 32 levels",
		},
	} {
		for how, err := range writes(t, tbl, tt.good, false) {
			if err != nil {
				t.Errorf("%s, %s: %v", name, how, err)
			}
		}
		before := sent(faults)
		for how, err := range writes(t, tbl, tt.bad, false) {
			wantRefusal(t, how, err, table.ErrInvalid, tt.rule)
		}
		if n := sent(faults) - before; n > 0 {
			t.Errorf("%s: %d requests were sent", name, n)
		}
	}
	wantErr(t, expect.ErrOf(table.QueryPage[note](t.Context(), tbl, table.Query{PK: user.PK, Filter: repeated(151)})), table.ErrInvalid)
	names := make([]string, 1000)
	for i := range names {
		names[i] = fmt.Sprint("a", i)
	}
	wantErr(t, expect.ErrOf(table.QueryPage[note](t.Context(), tbl, table.Query{PK: user.PK, Project: names})), table.ErrInvalid)
	must(t, expect.ErrOf(table.QueryPage[note](t.Context(), tbl, table.Query{PK: user.PK, Project: names[:500], Filter: repeated(150)})))
}

func length(t *testing.T, update expression.UpdateBuilder) int {
	t.Helper()
	built := expect.Value(expression.NewBuilder().WithUpdate(update).Build())(t)
	return len(*built.Update())
}

func expressionOperands(t *testing.T, h Harness) {
	tbl, faults := h.withFaults(t, appCore(), nil)
	name := expression.Name("v")
	between := func(low, high any) expression.ConditionBuilder {
		return name.Between(expression.Value(low), expression.Value(high)).Not()
	}
	for _, good := range []expression.ConditionBuilder{
		between("a", "a"), between("a", "b"), between(9, 10), between(-1, 1), between([]byte{1}, []byte{2}),
		name.AttributeType(expression.StringSet).Not(), name.AttributeType(expression.String).Not(),
		expression.Value(5).Between(expression.Value(1), expression.Name("n")).Not(),
	} {
		must(t, tbl.Do(t.Context(), table.Put(user, nil).If(good)))
	}
	before := sent(faults)
	for _, bad := range []expression.ConditionBuilder{
		between("b", "a"), between(10, 9), between("a", 1), between([]byte{2}, []byte{1}),
		name.AttributeType("STRING").Not(), nIs(1).Or(between("z", "a")),
	} {
		wantErr(t, tbl.Do(t.Context(), table.Put(user, nil).If(bad)), table.ErrInvalid)
		wantErr(t, expect.ErrOf(table.QueryPage[note](t.Context(), tbl, table.Query{PK: user.PK, Filter: bad})), table.ErrInvalid)
	}
	if n := sent(faults) - before; n > 0 {
		t.Errorf("%d requests were sent", n)
	}
}
