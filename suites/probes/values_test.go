package probes_test

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

type (
	value = types.AttributeValue
	call  = func(ctx context.Context, t *table.Table) error
)

func s(text string) value      { return &types.AttributeValueMemberS{Value: text} }
func n(number string) value    { return &types.AttributeValueMemberN{Value: number} }
func b(bytes string) value     { return &types.AttributeValueMemberB{Value: []byte(bytes)} }
func ss(texts ...string) value { return &types.AttributeValueMemberSS{Value: texts} }
func ns(numbers ...string) value {
	return &types.AttributeValueMemberNS{Value: numbers}
}

func bs(blobs ...string) value {
	set := &types.AttributeValueMemberBS{Value: [][]byte{}}
	for _, blob := range blobs {
		set.Value = append(set.Value, []byte(blob))
	}
	return set
}
func l(elements ...value) value { return &types.AttributeValueMemberL{Value: elements} }

func m(name string, element value) value {
	return &types.AttributeValueMemberM{Value: table.Item{name: element}}
}

// deep is a value of so many maps around a string.
func deep(levels int) value {
	v := s("x")
	for range levels {
		v = m("k", v)
	}
	return v
}

var key = keys.Key{PK: "P", SK: "S"}

// with is an expression value that is as it is.
func with(v value) expression.ValueBuilder { return expression.Value(v) }

func name(path string) expression.NameBuilder { return expression.Name(path) }

// The ways of a value into a request.

func do(op table.Op) call {
	return func(ctx context.Context, t *table.Table) error { return t.Do(ctx, op) }
}

func put(v value) call { return do(table.Put(key, table.Item{"v": v})) }

func set(v value) call { return do(table.Update(key, expression.Set(name("v"), with(v)))) }

func patch(v value) call { return do(table.Patch(key, table.Item{"v": v})) }

func condition(v value) call {
	return do(table.Put(key, nil).If(name("pk").AttributeNotExists().Or(name("v").Equal(with(v)))))
}

func deleteIf(v value) call { return do(table.Delete(key).If(name("v").Equal(with(v)))) }

func filter(v value) call {
	return func(ctx context.Context, t *table.Table) error {
		_, err := table.QueryPage[table.Item](ctx, t, table.Query{PK: "P", Filter: name("v").Equal(with(v))})
		return err
	}
}

func batchPut(v value) call {
	return func(ctx context.Context, t *table.Table) error {
		return t.BatchWrite(ctx, table.Put(key, table.Item{"v": v}))
	}
}

func transact(ops ...table.Op) call {
	return func(ctx context.Context, t *table.Table) error { return t.Transact(ctx, ops...) }
}

// second is an op that makes a call a transaction.
var second = table.Put(keys.Key{PK: "P", SK: "second"}, nil)

func transactPut(v value) call { return transact(table.Put(key, table.Item{"v": v}), second) }

func transactSet(v value) call {
	return transact(table.Update(key, expression.Set(name("v"), with(v))), second)
}

func transactCheck(v value) call {
	return transact(table.Check(key, name("v").Equal(with(v))), second)
}

// ways are the places of a request in which a value can be.
var ways = []struct {
	name string
	call func(value) call
}{
	{"put", put},
	{"set", set},
	{"patch", patch},
	{"condition", condition},
	{"delete", deleteIf},
	{"filter", filter},
	{"batch", batchPut},
	{"transact-put", transactPut},
	{"transact-set", transactSet},
	{"transact-check", transactCheck},
}

// Messages of DynamoDB about values, as of October 2026. Newer Regions put "1 validation
// error detected: " before them.
const (
	overflow   = "Number overflow. Attempting to store a number with magnitude larger than supported range"
	underflow  = "Number underflow. Attempting to store a number with magnitude smaller than supported range"
	notNumeric = "The parameter cannot be converted to a numeric value"
	precision  = "Attempting to store more than 38 significant digits in a Number"
	levels     = "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit"
)

// everywhere is a probe for each place of a request.
func everywhere(id string, v value, message string) (probes []probe) {
	for _, way := range ways {
		probes = append(probes, probe{id + "/" + way.name, way.call(v), refuses(message), unsent(table.ErrInvalid)})
	}
	return probes
}

func numbers() []claims {
	format := claims{source: fork + "tests/tier1/putItem/numberFormat.test.ts", date: "2026-06-26"}
	for _, literal := range []string{"+5", "+1.5", "+0", "-0", "+0.0", "+1e2", "1e+2", "1.5E+3", "+.5", ".5", "5.", "1.", "1.e5", "00042", "+1e-2", "1.23E10"} {
		format.probes = append(format.probes, probe{"number " + literal, put(n(literal)), accepts, sends(`"v":{"N":"` + literal + `"}`)})
	}
	for _, literal := range []string{
		"+e2", "e2", "+1+2", "1+2", "+1.2.3", "1.2.3", "++5", "+-5", "-+5", "+", "-", "1e", "1e+", ".", "1.2e3.4", "0x5", "NaN", "Infinity", "1_000", " 5", "5 ", "1 5",
	} {
		format.probes = append(format.probes, probe{"no number " + literal, put(n(literal)), refuses(notNumeric), unsent(table.ErrInvalid)})
	}
	const nines = "9.9999999999999999999999999999999999999"
	exact := claims{source: nubo + "tests/tier3/limits/numberPrecision.test.ts", date: "2026-06"}
	for _, literal := range []string{
		"12345678901234567890123456789012345678", nines + "E+125", "-" + nines + "E+125", "1E-130", "1.5E2", "0.00000000000000000000000000000000000001", "1.0", "3.1400",
	} {
		exact.probes = append(exact.probes, probe{"number " + literal, put(n(literal)), accepts, sends(`"v":{"N":"` + literal + `"}`)})
	}
	for literal, message := range map[string]string{
		"123456789012345678901234567890123456789": precision, "1E+126": overflow, "-1E+126": overflow, "1E-131": underflow,
	} {
		exact.probes = append(exact.probes, probe{"no number " + literal, put(n(literal)), refuses(message), unsent(table.ErrInvalid)})
	}
	exact.probes = append(exact.probes, probe{"set of extreme numbers", put(ns(nines+"E+125", "-"+nines+"E+125", "1E-130", "0")), accepts, sends(`"NS"`)},
		// Only DynamoDB computes.
		probe{
			"a sum overflows", do(table.Update(key, expression.Set(name("v"), with(n("9.9e125")).Plus(with(n("9.9e125")))))),
			refuses(overflow), returns(table.Permanent),
		})
	exponent := claims{source: parity + "tests/tier3/limits/numberExponent.test.ts", date: "2026-10", probes: []probe{
		{"number 0e125", put(n("0e125")), accepts, sends(`"0e125"`)},
		{"number 1e-130", put(n("1e-130")), accepts, sends(`"1e-130"`)},
		{"number key +5", do(table.Put(keys.Key{PK: "1", SK: "5"}, nil)), accepts, sends(`"sk":{"N":"5"}`)},
	}, table: numeric}
	exponent.probes[0].call, exponent.probes[1].call = numericPut("0e125"), numericPut("1e-130")
	for literal, message := range map[string]string{
		"1e99999999999": overflow, "1e-99999999999": underflow, "1e2147483648": overflow, "1e9223372036854775808": notNumeric, "0e126": overflow, "0e-131": underflow,
	} {
		exponent.probes = append(exponent.probes, probe{"no number " + literal, numericPut(literal), refuses(message), unsent(table.ErrInvalid)})
	}
	const huge = "1e99999999999"
	for id, c := range map[string]call{
		"get":    getKey(keys.Key{PK: huge, SK: "1"}),
		"delete": do(table.Delete(keys.Key{PK: huge, SK: "1"})),
		"update": do(table.Update(keys.Key{PK: huge, SK: "1"}, expression.Set(name("v"), with(s("x"))))),
		"batch":  batchGetKey(keys.Key{PK: huge, SK: "1"}),
		"query":  queryRange(keys.Exactly(huge)),
	} {
		exponent.probes = append(exponent.probes, probe{"number key " + huge + "/" + id, c, refuses(overflow), unsent(table.ErrInvalid)})
	}
	layers := claims{source: parity + "tests/tier3/error-messages/valueLayers.test.ts", date: "2026-10-09"}
	for literal, message := range map[string]string{"abc": notNumeric + ": abc", "": notNumeric + ": ", "1e126": overflow, "1e2147483647": overflow} {
		layers.probes = append(layers.probes, everywhere("value "+literal, n(literal), message)...)
		layers.probes = append(layers.probes, everywhere("set with "+literal, ns("1", literal), message)...)
		layers.probes = append(layers.probes, everywhere("nested "+literal, m("x", l(n(literal))), message)...)
	}
	return []claims{format, exact, exponent, layers}
}

func numericPut(literal string) call {
	return do(table.Put(keys.Key{PK: "1", SK: "1"}, table.Item{"v": n(literal)}))
}

func getKey(key keys.Key) call {
	return func(ctx context.Context, t *table.Table) error {
		_, err := table.Get[table.Item](ctx, t, key)
		return err
	}
}

func batchGetKey(ks ...keys.Key) call {
	return func(ctx context.Context, t *table.Table) error {
		_, err := table.BatchGet[table.Item](ctx, t, ks)
		return err
	}
}

func queryRange(r keys.Range) call {
	return func(ctx context.Context, t *table.Table) error {
		_, err := table.QueryPage[table.Item](ctx, t, table.Query{PK: "1", Range: r})
		return err
	}
}

func sets() []claims {
	empty := claims{source: nubo + "tests/tier3/limits/emptyValues.test.ts", date: "2026-05-14", probes: []probe{
		{"empty string", put(s("")), accepts, sends(`"v":{"S":""}`)},
		{"empty binary", put(b("")), accepts, sends(`"v":{"B":""}`)},
		{"empty string in a list", put(l(s(""), s("hello"))), accepts, sends(`[{"S":""},{"S":"hello"}]`)},
		{"set with an empty string", put(ss("", "a")), accepts, sends(`"SS":["","a"]`)},
		{"set with empty bytes", put(bs("")), accepts, sends(`"BS":[""]`)},
	}}
	for id, v := range map[string]value{
		"empty SS": ss(), "empty NS": ns(), "empty BS": bs(), "empty SS in a map": m("x", ss()), "empty SS in a list": l(ss()),
	} {
		empty.probes = append(empty.probes, everywhere(id, v, "One or more parameter values were invalid: An string set  may not be empty")...)
	}
	changed := claims{source: parity + "tests/tier1/updateItem/basic.test.ts", date: "2026-10-09", probes: []probe{
		{"add an empty string", do(table.Update(key, expression.Add(name("v"), with(ss(""))))), accepts, sends("ADD v {'SS':['']}")},
		{"delete an empty string", do(table.Update(key, expression.Delete(name("v"), with(ss(""))))), accepts, sends("DELETE v {'SS':['']}")},
	}}
	refused := claims{source: parity + "tests/tier3/error-messages/putItem.test.ts", date: "2026-10-09", probes: []probe{
		{"NULL that is false", put(&types.AttributeValueMemberNULL{Value: false}), refuses("One or more parameter values were invalid: Null attribute value types must have the value of true"), unsent(table.ErrInvalid)},
		{"number set with an empty string", put(ns("")), refuses(notNumeric), unsent(table.ErrInvalid)},
	}}
	twice := claims{source: parity + "tests/tier3/error-messages/valueLayers.test.ts", date: "2026-10-09"}
	for id, v := range map[string]value{
		"SS b, a, b": ss("b", "a", "b"), "BS with two zeros": bs("\xff", "\x00", "\x00"), "NS 2, 1, 2": ns("2", "1", "2"), "NS 1, 1.0": ns("1", "1.0"),
		"SS of two empty": ss("", ""), "BS of two empty": bs("", ""),
	} {
		twice.probes = append(twice.probes, everywhere(id, v, "One or more parameter values were invalid: Input collection contains duplicates.")...)
	}
	nesting := claims{source: parity + "tests/tier3/limits/nestingDepth.test.ts", date: "2026-10-08", probes: []probe{
		{"31 maps", put(deep(31)), accepts, sends(`"x"`)},
		{"31 maps in a batch", batchPut(deep(31)), accepts, sends(`"x"`)},
		{"31 maps in a transaction", transactPut(deep(31)), accepts, sends(`"x"`)},
		{"31 maps in a condition", condition(deep(31)), fails("ConditionalCheckFailedException", "The conditional request failed"), returns(table.Permanent, table.ErrConditionFailed)},
	}}
	// eu-south-2 and me-central-1 take 32 maps in the condition of an update, and 30 Regions
	// in a transaction's. That cannot be of use: no stored value is equal to one.
	nesting.probes = append(nesting.probes, everywhere("32 maps", deep(32), levels)...)
	return []claims{empty, changed, refused, twice, nesting}
}

func sizes() []claims {
	const most = 400 << 10
	tooLarge := refuses("Item size has exceeded the maximum allowed size")
	over := unsent(table.ErrTooLarge)
	text := func(bytes int) value { return s(strings.Repeat("x", bytes)) }
	at := most - len("pkPskSv")
	many := func(each string, count int) value {
		elements := make([]value, count)
		for i := range elements {
			elements[i] = n(each)
		}
		return l(elements...)
	}
	c := claims{source: parity + "tests/tier3/limits/itemSizeBySurface.test.ts", date: "2026-10-09", probes: []probe{
		{"409,600 bytes", put(text(at)), accepts, sends(`"v"`)},
		{"409,601 bytes", put(text(at + 1)), tooLarge, over},
		{"409,600 bytes in a batch", batchPut(text(at)), accepts, sends(`"v"`)},
		{"409,601 bytes in a batch", batchPut(text(at + 1)), tooLarge, over},
		{"409,600 bytes in a transaction", transactPut(text(at)), accepts, sends(`"v"`)},
		{"409,601 bytes in a transaction", transactPut(text(at + 1)), tooLarge, over},
		{"410,000 bytes three maps deep", put(m("a", m("b", m("c", text(410000))))), tooLarge, over},
		{"410,000 bytes of binary", put(b(strings.Repeat("x", 410000))), tooLarge, over},
		{"350,000 bytes of binary", put(b(strings.Repeat("x", 350000))), accepts, sends(`"v"`)},
		{"21,000 numbers of 38 digits", put(many(strings.Repeat("9", 38), 21000)), tooLarge, over},
		{"15,000 numbers of 38 digits", put(many(strings.Repeat("9", 38), 15000)), accepts, sends(`"v"`)},
	}}
	// What an update writes is charged before its condition is checked, in all Regions but
	// eu-south-2 and me-central-1, which look at the finished item, as transactions do. So the
	// library cannot refuse it.
	outgrown := refuses("Item size to update has exceeded the maximum allowed size")
	c.probes = append(c.probes,
		probe{"an update outgrows the item", set(text(at - 10)), outgrown, returns(table.Permanent, table.ErrTooLarge)},
		probe{"a patch outgrows the item", patch(text(at - 10)), outgrown, returns(table.Permanent, table.ErrTooLarge)},
		probe{
			"an update outgrows the item in a transaction", transactSet(text(at - 10)),
			cancels(reason{Code: "ValidationError", Message: outgrown.message}, reason{Code: "None"}), returns(table.Permanent, table.ErrTooLarge),
		},
		probe{"an update close to the limit, in eu-south-2", set(text(at - 10)), accepts, sends("SET v = 'xxx")},
		probe{"an update of 409,601 bytes", set(text(at + 1)), outgrown, over},
	)
	transactions := claims{source: nubo + "tests/tier3/limits/transactionLimits.test.ts", date: "2026-05-14"}
	large := func(count, bytes int) call {
		var ops []table.Op
		for i := range count {
			ops = append(ops, table.Put(keys.Key{PK: "P", SK: keys.SK(rune('a' + i))}, table.Item{"v": text(bytes)}))
		}
		return transact(ops...)
	}
	transactions.probes = []probe{
		{"a transaction of 3.5 million bytes", large(10, 350000), accepts, sends(`"v"`)},
		{"a transaction of 4.2 million bytes", large(12, 350000), refuses("Transaction request size exceeded the supported limit"), over},
	}
	return []claims{c, transactions}
}

// numberSizes are how many bytes a number takes: it was the byte that kept an item of 409,600
// bytes within the limit. From tests/tier3/limits/numberByteSize.test.ts, 2026-08-18.
var numberSizes = map[string]int{
	"0": 1, "1": 2, "12": 2, "123": 3, "1234": 3, "12345678901234567890123456789012345678": 20, "0042": 2, "100": 2, "1010": 3, "0.0000001": 2,
	"1E125": 2, "1E-100": 2, "1.5": 3, "15": 2, "1.2": 3, "1.200": 3, "1.234": 4, "3.14159": 5, "123456": 4, "100.5": 4, "0.15": 2, "-42": 3, "-0": 1,
}

var payments = schema.Table{
	Name: "payments",
	Indexes: []schema.Index{
		{Name: "gsi1", PK: "gsi1pk", SK: "gsi1sk", Projection: types.ProjectionTypeInclude, Include: []string{"entityType", "data"}},
		{Name: "gsi2", PK: "gsi2pk", SK: "lsi1sk"},
		{Name: "lsi1", SK: "lsi1sk", Local: true},
		{Name: "bin", PK: "bidx", PKType: types.ScalarAttributeTypeB},
	},
}

var (
	numeric = schema.Table{Name: "numeric", PKType: types.ScalarAttributeTypeN, SKType: types.ScalarAttributeTypeN}
	binary  = schema.Table{Name: "binary", PKType: types.ScalarAttributeTypeB, SKType: types.ScalarAttributeTypeB}
)
