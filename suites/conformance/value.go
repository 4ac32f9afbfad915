package conformance

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

func valueTests() tests {
	return tests{
		"values are refused as the engine would":     valuesRefused,
		"index keys are refused as the engine would": indexKeysRefused,
	}
}

// attributeCase is a value for an attribute.
type attributeCase struct {
	name  string
	value types.AttributeValue
	// at is the path below the attribute to what is refused, without names, and rule part of
	// the message. Without a rule the value is accepted.
	at, rule string
	// lenient engines accept the value though AWS's documentation says that it
	// is refused, or the other way round.
	lenient bool
}

func set(elements ...string) types.AttributeValue {
	return &types.AttributeValueMemberSS{Value: elements}
}

func numberSet(elements ...string) types.AttributeValue {
	return &types.AttributeValueMemberNS{Value: elements}
}

func binarySet(elements ...string) types.AttributeValue {
	s := &types.AttributeValueMemberBS{Value: [][]byte{}}
	for _, e := range elements {
		s.Value = append(s.Value, []byte(e))
	}
	return s
}

func list(elements ...types.AttributeValue) types.AttributeValue {
	return &types.AttributeValueMemberL{Value: elements}
}

func mapping(name string, element types.AttributeValue) types.AttributeValue {
	return &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{name: element}}
}

// nested returns a value in n maps and lists.
func nested(n int, inner types.AttributeValue) types.AttributeValue {
	for i := range n {
		if i%2 == 0 {
			inner = mapping("n", inner)
		} else {
			inner = list(inner)
		}
	}
	return inner
}

func attributeCases() []attributeCase {
	const (
		number, range38           = "is not a decimal number", "more than 38 digits"
		empty, duplicate, nesting = "is an empty set", "is a set with duplicates", "more than 32 levels"
	)
	cases := []attributeCase{
		{name: "empty string", value: str("")},
		{name: "empty binary", value: &types.AttributeValueMemberB{Value: []byte{}}},
		{name: "empty string in a set", value: set("", "a")},
		{name: "empty binary in a set", value: binarySet("", "a")},
		{name: "empty list", value: list()},
		{name: "empty map", value: &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{}}},
		{name: "NULL", value: &types.AttributeValueMemberNULL{Value: true}},
		{name: "NULL of false", value: &types.AttributeValueMemberNULL{}, rule: "is a NULL with the value false"},
		{name: "NULL of false in a list", value: list(&types.AttributeValueMemberNULL{}), at: "[0]", rule: "is a NULL"},
		{name: "string set", value: set("a", "b", "A")},
		{name: "strings that look alike", value: set("\u00e9", "e\u0301")},
		{name: "empty string set", value: set(), rule: empty},
		{name: "empty number set", value: numberSet(), rule: empty},
		{name: "empty binary set", value: binarySet(), rule: empty},
		{name: "empty set in a map", value: mapping("tags", set()), at: "[…]", rule: empty},
		{name: "string twice", value: set("a", "b", "a"), rule: duplicate},
		{name: "binary twice", value: binarySet("a", "b", "a"), rule: duplicate},
		{name: "number twice", value: numberSet("1", "2", "1.0"), rule: duplicate},
		{name: "number twice, with an exponent", value: numberSet("10", "1E1"), rule: duplicate},
		{name: "zero twice", value: numberSet("0", "-0.0"), rule: duplicate},
		{name: "number twice, deep", value: list(str("a"), mapping("p", numberSet("0.5", ".5"))), at: "[1][…]", rule: duplicate},
		{name: "many numbers, one twice", value: numberSet(append(manyNumbers(40), "7e0")...), rule: duplicate},
		{name: "many strings, one twice", value: set(append(manyNumbers(40), "7")...), rule: duplicate},
		{name: "many numbers", value: numberSet(manyNumbers(40)...)},
		{name: "number in a set that is none", value: numberSet("1", "one"), at: "[1]", rule: number},
		{name: "31 levels around a value", value: nested(31, str("x"))},
		{name: "31 levels around a set", value: nested(31, set("x"))},
		{name: "31 levels around an empty list", value: nested(31, list()), lenient: true},
		{name: "32 levels around a value", value: nested(32, str("x")), at: strings.Repeat("[0][…]", 16), rule: nesting},
		{name: "40 levels around a value", value: nested(40, str("x")), at: strings.Repeat("[0][…]", 16), rule: nesting},
		{name: "long name", value: mapping(long(65535), num("1"))},
		{name: "longer name", value: mapping(long(65536), num("1")), at: "[…]", rule: "name of more than 65535 bytes", lenient: true},
		{name: "no name", value: mapping("", num("1")), at: "[…]", rule: "has an empty name", lenient: true},
	}
	for _, n := range []string{
		"0", "-0", "+3", ".5", "5.", "-.5", "01", "0.0", "1e5", "1E+5", "1e-5", "1e05", "0e125", "0e-130",
		"1e125", "-9.9999999999999999999999999999999999999e125", "1e-130", "12e-131", "0.1e-129",
		strings.Repeat("9", 38), strings.Repeat("9", 38) + strings.Repeat("0", 88), "1" + strings.Repeat("0", 125), "1." + strings.Repeat("0", 50),
		"0." + strings.Repeat("0", 129) + "1", strings.Repeat("0", 500), strings.Repeat("0", 500) + "1", "1.2345678901234567890123456789012345678e-130",
	} {
		cases = append(cases, attributeCase{name: "number " + n, value: num(n)})
	}
	for _, n := range []string{
		"", "NaN", "+Inf", "Infinity", "-Infinity", "abc", "-", "+", ".", "e5", "1e", "1e+", "0x1", "1_000", "1,5", "1.2.3", "--1", "+-1", " 1", "1 ", "1d5", "1e5.0",
	} {
		cases = append(cases, attributeCase{name: "number " + n, value: num(n), rule: number})
	}
	for _, n := range []string{
		"1e126", "0e126", "0e-131", "1e200", "-1e126", "1e-131", "0.1e-130", strings.Repeat("9", 39), strings.Repeat("9", 38) + "e89", "1" + strings.Repeat("0", 37) + ".1", "1e2147483647",
	} {
		cases = append(cases, attributeCase{name: "number " + n, value: num(n), rule: range38, lenient: n == "1e2147483647" || n[0] == '0' && n[1] == 'e'})
	}
	for _, n := range []string{"1e99999999999", "-1e-99999999999", "1e9223372036854775808"} {
		cases = append(cases, attributeCase{name: "number " + n, value: num(n), rule: number, lenient: true})
	}
	return cases
}

func manyNumbers(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprint(i)
	}
	return all
}

// refuses reports whether the engine refuses an item, asked by the SDK alone.
func refuses(t *testing.T, client *dynamodb.Client, tbl *table.Table, item table.Item) bool {
	t.Helper()
	item["pk"], item["sk"] = str("A"), str("direct")
	_, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(tbl.Schema().Name), Item: item})
	if api, ok := errors.AsType[smithy.APIError](err); err != nil && (!ok || api.ErrorCode() != "ValidationException") {
		t.Fatal(err)
	}
	return err != nil
}

// writes are the ways to run an op: alone, and as the second of several.
func writes(t *testing.T, tbl *table.Table, op table.Op, batch bool) map[string]error {
	first := table.Put(keys.Key{PK: "A", SK: "first"}, nil)
	all := map[string]error{
		"alone":            tbl.Do(t.Context(), op.WithName("second")),
		"in a transaction": tbl.Transact(t.Context(), first, op.WithName("second")),
	}
	if batch {
		all["in a batch"] = tbl.BatchWrite(t.Context(), first, op.WithName("second"))
	}
	return all
}

// wantRefusal checks a refusal of the op that is the second of several.
func wantRefusal(t *testing.T, how string, err, kind error, parts ...string) {
	t.Helper()
	if !errors.Is(err, kind) || table.Classify(err) != table.Permanent {
		t.Errorf("%s: %v, want %v", how, err, kind)
		return
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%s: %q is not in %v", how, part, err)
		}
	}
	op, ok := table.FailedOp(err, "")
	if index := map[bool]int{true: 0, false: 2}[how == "alone"]; !ok || op.OpNumber != index || op.Name != "second" {
		t.Errorf("%s: the op is not named: %v", how, err)
	}
}

func valuesRefused(t *testing.T, h Harness) {
	client := h.Client(t)
	tbl, faults := h.withFaults(t, appCore(), nil)
	requests := func() int { return sent(faults) + len(faults.Requests("Scan")) }
	for _, tt := range attributeCases() {
		refused := tt.rule != ""
		if engine := refuses(t, client, tbl, table.Item{"v": tt.value}); !tt.lenient && engine != refused {
			t.Errorf("%.60s: the engine refuses it: %v", tt.name, engine)
		}
		if !refused && tt.lenient {
			continue
		}
		name, value := expression.Name("v"), expression.Value(tt.value)
		either := expression.Name("none").AttributeNotExists().Or(name.Equal(value))
		ops := map[string]table.Op{
			"Put":       table.Put(user, table.Item{"v": tt.value}),
			"Update":    table.Update(user, expression.Set(name, value)),
			"DELETE":    table.Update(user, expression.Delete(name, value)),
			"condition": table.Update(user, setN(1)).If(either),
			"Check":     table.Check(user, either),
		}
		if _, number := tt.value.(*types.AttributeValueMemberN); number {
			ops = map[string]table.Op{"Put": ops["Put"]} // which takes as many requests as there are numbers
		}
		if !refused {
			delete(ops, "DELETE") // for sets only
		}
		before := requests()
		at := fmt.Sprintf("%.250s", fmt.Sprintf("%q", "v"+tt.at))
		for what, op := range ops {
			for how, err := range writes(t, tbl, op, what == "Put") {
				switch {
				case refused:
					wantRefusal(t, how, err, table.ErrInvalid, strings.TrimSuffix(at, `"`), tt.rule)
				case err != nil:
					t.Errorf("%s of %.60s, %s: %v", what, tt.name, how, err)
				}
			}
		}
		_, page := table.QueryPage[note](t.Context(), tbl, table.Query{PK: user.PK, Filter: either})
		_, scan := table.ScanPage[note](t.Context(), tbl, table.Scan{Filter: either})
		for _, err := range []error{page, scan} {
			if refused {
				wantErr(t, err, table.ErrInvalid)
			} else {
				must(t, err)
			}
		}
		if n := requests() - before; refused && n > 0 {
			t.Errorf("%.60s: %d requests were sent", tt.name, n)
		}
	}
}

func indexKeysRefused(t *testing.T, h Harness) {
	client := h.Client(t)
	spec := appCore()
	spec.Indexes = append(spec.Indexes, schema.Index{
		Name: "GSI2", PK: "number", PKType: types.ScalarAttributeTypeN, SK: "binary", SKType: types.ScalarAttributeTypeB,
	})
	tbl, faults := h.withFaults(t, spec, nil)
	binary := func(n int) types.AttributeValue { return &types.AttributeValueMemberB{Value: make([]byte, n)} }
	for _, tt := range []struct {
		name, attribute string
		value           types.AttributeValue
		rule            string
		lenient         bool
	}{
		{"string", "gsi1pk", str("A"), "", false},
		{"longest partition key", "gsi1pk", str(long(keys.MaxPK)), "", false},
		{"longest sort key", "gsi1sk", str(long(keys.MaxSK)), "", false},
		{"longest local sort key", "lsi1sk", str(long(keys.MaxSK)), "", false},
		{"longest binary sort key", "binary", binary(keys.MaxSK), "", false},
		{"any number", "number", num("-1.50"), "", false},
		{"number for a string", "gsi1pk", num("1"), "index GSI1 and must be of type S", false},
		{"NULL", "gsi1sk", &types.AttributeValueMemberNULL{Value: true}, "must be of type S", false},
		{"string for a number", "number", str("1"), "must be of type N", false},
		{"string for a binary", "binary", str("1"), "must be of type B", false},
		{"set", "gsi1pk", set("a"), "must be of type S", false},
		{"map", "gsi1pk", mapping("a", num("1")), "must be of type S", false},
		{"empty string", "gsi1pk", str(""), "cannot be empty", false},
		{"empty local sort key", "lsi1sk", str(""), "cannot be empty", false},
		{"empty binary", "binary", binary(0), "cannot be empty", false},
		{"long partition key", "gsi1pk", str(long(keys.MaxPK + 1)), "more than 2048 bytes", true},
		{"long sort key", "gsi1sk", str(long(keys.MaxSK + 1)), "more than 1024 bytes", true},
		{"long binary sort key", "binary", binary(keys.MaxSK + 1), "more than 1024 bytes", true},
	} {
		item := table.Item{tt.attribute: tt.value}
		if engine := refuses(t, client, tbl, item); engine != (tt.rule != "") && !tt.lenient {
			t.Errorf("%s: the engine refuses it: %v", tt.name, engine)
		}
		before := sent(faults)
		for how, err := range writes(t, tbl, table.Put(user, item), true) {
			if tt.rule == "" {
				must(t, err)
				continue
			}
			wantRefusal(t, how, err, table.ErrInvalid, fmt.Sprintf("attribute %q", tt.attribute), tt.rule)
		}
		if n := sent(faults) - before; tt.rule != "" && n > 0 {
			t.Errorf("%s: %d requests were sent", tt.name, n)
		}
	}
}
