package probes_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

var failed = fails("ConditionalCheckFailedException", "The conditional request failed")

// storedIn is that response with the stored item, as ReturnValuesOnConditionCheckFailure
// asks for it.
func storedIn(item string) response {
	r := failed
	r.body = item
	return r
}

func conditions() []claims {
	is := func(path string, v value) expression.ConditionBuilder { return name(path).Equal(with(v)) }
	if_ := func(c expression.ConditionBuilder) call { return do(table.Put(key, nil).If(c)) }
	refused := returns(table.Permanent, table.ErrConditionFailed)
	plain := claims{source: fork + "tests/tier1/putItem/conditions.test.ts", date: "2026-07-01", probes: []probe{
		{"attribute_not_exists", if_(name("pk").AttributeNotExists()), accepts, sends("attribute_not_exists (pk)")},
		{"attribute_not_exists fails", if_(name("pk").AttributeNotExists()), failed, refused},
		{"attribute_exists", if_(name("status").AttributeExists()), accepts, sends("attribute_exists (status)")},
		{"greater", if_(name("c").GreaterThan(with(n("3")))), accepts, sends("c > 3")},
		{"greater fails", if_(name("c").GreaterThan(with(n("100")))), failed, refused},
		{"not equal", if_(name("status").NotEqual(with(s("x")))), accepts, sends("status <> 'x'")},
		{"not equal or less", if_(name("status").NotEqual(with(s("x"))).Or(name("u").LessThan(with(n("1"))))), accepts, sends("(status <> 'x') OR (u < 1)")},
		{"equal fails", if_(is("status", s("x"))), failed, refused},
		{"create over an item", do(table.Create(key, nil)), storedIn(`{"pk":{"S":"P"},"sk":{"S":"S"},"val":{"S":"first"}}`), returns(table.Permanent, table.ErrExists)},
		{"BETWEEN 10 AND 1", if_(name("n").Between(with(n("10")), with(n("1")))), refuses(""), unsent(table.ErrInvalid)},
	}}
	functions := claims{source: nubo + "tests/tier1/putItem/expressions.test.ts", date: "2026-05-14", probes: []probe{
		{"size", if_(name("name").Size().LessThan(with(n("10")))), accepts, sends("size (name) < 10")},
		{"contains", if_(name("name").Contains("updated")), accepts, sends("contains (name, 'updated')")},
		{"attribute_type", if_(name("s").AttributeType(expression.String)), accepts, sends("attribute_type (s, 'S')")},
		{"NOT", if_(name("pk").AttributeExists().Not()), accepts, sends("NOT (attribute_exists (pk))")},
		{"AND", if_(is("a", s("x")).And(is("b", n("1")))), accepts, sends("(a = 'x') AND (b = 1)")},
		{"OR", if_(is("a", s("x")).Or(is("b", n("1")))), accepts, sends("(a = 'x') OR (b = 1)")},
		{"path", if_(is("map.nested", s("x"))), accepts, sends("map.nested = 'x'")},
		{"attribute_exists of a path", if_(name("map.nested").AttributeExists()), accepts, sends("attribute_exists (map.nested)")},
		{"attribute_not_exists of a path", if_(name("map.missing").AttributeNotExists()), accepts, sends("attribute_not_exists (map.missing)")},
		{"reserved word", if_(is("status", s("x"))), accepts, sends("status = 'x'")},
		{"AND within AND", if_(is("a", s("x")).And(is("b", n("1")).And(is("c", n("2"))))), accepts, sends("(a = 'x') AND ((b = 1) AND (c = 2))")},
	}}
	updates := claims{source: nubo + "tests/tier1/updateItem/conditions.test.ts", date: "2026-05-14"}
	missing := `{}`
	stored := `{"pk":{"S":"P"},"sk":{"S":"S"},"status":{"S":"locked"}}`
	touched := expression.Set(name("data"), with(s("x")))
	for id, c := range map[string]struct {
		op    table.Op
		is    response
		sends string
	}{
		"an update":                        {table.Update(key, touched).If(is("status", s("active"))), failed, "status = 'active'"},
		"an update with the item":          {table.Update(key, touched).If(is("status", s("active"))), storedIn(stored), "status = 'active'"},
		"an update if missing":             {table.Update(key, touched).If(name("locked").AttributeNotExists()), failed, "attribute_not_exists (locked)"},
		"a count if the item is there":     {table.Update(key, expression.Add(name("hits"), with(n("1")))).If(name("pk").AttributeExists()), failed, "attribute_exists (pk)"},
		"a comparison over a missing item": {table.Update(key, touched).If(name("score").GreaterThan(with(n("0")))), storedIn(missing), "score > 0"},
		"a patch":                          {table.Patch(key, table.Item{"data": s("x")}).If(is("status", s("active"))), failed, "status = 'active'"},
		"a deletion":                       {table.Delete(key).If(is("status", s("pending"))), failed, "status = 'pending'"},
	} {
		updates.probes = append(updates.probes,
			probe{id + " holds", do(c.op), accepts, sends(c.sends)},
			probe{id + " fails", do(c.op), c.is, refused},
		)
	}
	updates.probes = append(updates.probes,
		probe{"an update of a missing item with IfExists", do(table.Update(key, touched).IfExists()), failed, returns(table.Permanent, table.ErrNotFound)},
		probe{"an upsert", do(table.Update(key, touched).If(name("pk").AttributeNotExists())), accepts, sends("attribute_not_exists (pk)")},
		probe{"all of the new item", returning(table.Update(key, touched)), response{body: `{"Attributes":{"pk":{"S":"P"},"sk":{"S":"S"},"data":{"S":"x"}}}`}, sends(`"ReturnValues":"ALL_NEW"`)},
		probe{"the deleted item", returning(table.Delete(key)), response{body: `{"Attributes":{"pk":{"S":"P"},"sk":{"S":"S"}}}`}, sends(`"ReturnValues":"ALL_OLD"`)},
		probe{"no deleted item", returning(table.Delete(key)), accepts, returns(table.Permanent, table.ErrNotFound)},
	)
	return []claims{plain, functions, updates}
}

func returning(op table.Op) call {
	return func(ctx context.Context, t *table.Table) error {
		_, err := table.DoReturning[table.Item](ctx, t, op)
		return err
	}
}

func updates() []claims {
	is := claims{source: parity + "tests/tier1/updateItem/basic.test.ts", date: "2026-10-09"}
	empty := expression.Value(l())
	for text, u := range map[string]expression.UpdateBuilder{
		"SET d = 'x'":                               expression.Set(name("d"), with(s("x"))),
		"SET c = c + 5":                             expression.Set(name("c"), name("c").Plus(with(n("5")))),
		"SET c = c - 3":                             expression.Set(name("c"), name("c").Minus(with(n("3")))),
		"SET a = if_not_exists(a, 'd')":             expression.Set(name("a"), name("a").IfNotExists(with(s("d")))),
		"SET bk = if_not_exists(bk, mv)":            expression.Set(name("bk"), name("bk").IfNotExists(name("mv"))),
		"SET v = list_append(v, {'L':[{'S':'c'}]})": expression.Set(name("v"), name("v").ListAppend(with(l(s("c"))))),
		"SET v = list_append({'L':[{'S':'a'}]}, v)": expression.Set(name("v"), expression.ListAppend(with(l(s("a"))), name("v"))),
		"SET v = list_append(if_not_exists(v, {'L':[]}), {'L':[{'S':'x'}]})": expression.Set(name("v"), expression.ListAppend(name("v").IfNotExists(empty), with(l(s("x"))))),
		"SET v = if_not_exists(v, 0) - 3":                                    expression.Set(name("v"), expression.Minus(name("v").IfNotExists(with(n("0"))), with(n("3")))),
		"SET a = 'NEW', b = a":                                               expression.Set(name("a"), with(s("NEW"))).Set(name("b"), name("a")),
		"REMOVE d":                                                           expression.Remove(name("d")),
		"REMOVE map.gone":                                                    expression.Remove(name("map.gone")),
		"ADD c 3":                                                            expression.Add(name("c"), with(n("3"))),
		"ADD tags {'SS':['c','d']}":                                          expression.Add(name("tags"), with(ss("c", "d"))),
		"DELETE tags {'SS':['a','b']}":                                       expression.Delete(name("tags"), with(ss("a", "b"))),
		"SET tags = {'SS':['']}":                                             expression.Set(name("tags"), with(ss(""))),
	} {
		is.probes = append(is.probes, probe{text, do(table.Update(key, u)), accepts, sends(`"` + text + `"`)})
	}
	paths := claims{source: parity + "tests/tier1/updateItem/paths.test.ts", date: "2026-10-09"}
	for text, u := range map[string]expression.UpdateBuilder{
		"SET map.nested = 'x'":   expression.Set(name("map.nested"), with(s("x"))),
		"SET a.b.c = 'x'":        expression.Set(name("a.b.c"), with(s("x"))),
		"SET l[5] = 'x'":         expression.Set(name("l[5]"), with(s("x"))),
		"SET l[0] = 'x'":         expression.Set(name("l[0]"), with(s("x"))),
		"SET m.c = m.c + 5":      expression.Set(name("m.c"), name("m.c").Plus(with(n("5")))),
		"REMOVE m.n":             expression.Remove(name("m.n")),
		"REMOVE l[1]":            expression.Remove(name("l[1]")),
		"SET parent.child = 'x'": expression.Set(name("parent.child"), with(s("x"))),
	} {
		paths.probes = append(paths.probes, probe{text, do(table.Update(key, u)), accepts, sends(`"` + text + `"`)})
	}
	invalid := refuses("The document path provided in the update expression is invalid for update")
	deep := expression.Set(name("top.missing.leaf"), with(s("x")))
	paths.probes = append(paths.probes,
		probe{"a path below a missing map", do(table.Update(key, deep)), invalid, returns(table.Permanent)},
		probe{
			"a path below a missing map in a transaction", transact(table.Update(key, deep), second),
			cancels(reason{Code: "ValidationError", Message: invalid.message}, reason{Code: "None"}), returns(table.Permanent),
		},
	)
	return []claims{is, paths}
}

func query(q table.Query) call {
	return func(ctx context.Context, t *table.Table) error {
		_, err := table.QueryPage[table.Item](ctx, t, q)
		return err
	}
}

func scan(q table.Scan) call {
	return func(ctx context.Context, t *table.Table) error {
		_, err := table.ScanPage[table.Item](ctx, t, q)
		return err
	}
}

func count(q table.Query) call {
	return func(ctx context.Context, t *table.Table) error {
		_, err := t.Count(ctx, q)
		return err
	}
}

// none is the response to a query that finds nothing.
var none = response{body: `{"Items":[],"Count":0,"ScannedCount":0}`}

func queries() []claims {
	ranges := claims{source: fork + "tests/tier1/query/basic.test.ts", date: "2026-08-12", probes: []probe{
		{"a partition", query(table.Query{PK: "P"}), none, sends(`"KeyConditionExpression":"pk = 'P'"`)},
		{"begins_with", query(table.Query{PK: "P", Range: keys.Range{Prefix: "b"}}), none, sends("pk = 'P' AND begins_with(sk, 'b')")},
		{"BETWEEN", query(table.Query{PK: "P", Range: keys.Range{From: "beta", To: "delta"}}), none, sends("pk = 'P' AND sk BETWEEN 'beta' AND 'delta'")},
		{"at most", query(table.Query{PK: "P", Range: keys.Range{To: "c"}}), none, sends("pk = 'P' AND sk <= 'c'")},
		{"at least", query(table.Query{PK: "P", Range: keys.Range{From: "delta"}}), none, sends("pk = 'P' AND sk >= 'delta'")},
		{"one sort key", query(table.Query{PK: "P", Range: keys.Exactly("a")}), none, sends("pk = 'P' AND sk = 'a'")},
		{"descending", query(table.Query{PK: "P", Descending: true}), none, sends(`"ScanIndexForward":false`)},
		{"a range from last to first", query(table.Query{PK: "P", Range: keys.Range{From: "z", To: "a"}}), refuses(""), want{unsent: true}},
	}}
	selects := claims{source: fork + "tests/tier1/scan/select.test.ts", date: "2026-06-23", probes: []probe{
		{"count", count(table.Query{PK: "P"}), response{body: `{"Count":2,"ScannedCount":3}`}, sends(`"Select":"COUNT"`)},
		{"count with a filter", count(table.Query{PK: "P", Filter: name("a").Equal(with(s("x")))}), response{body: `{"Count":2,"ScannedCount":3}`}, sends(`"FilterExpression":"(a = 'x')"`)},
	}}
	filters := claims{source: nubo + "tests/tier1/query/expressions.test.ts", date: "2026-05-14"}
	for text, c := range map[string]expression.ConditionBuilder{
		"size (name) > 3":                           name("name").Size().GreaterThan(with(n("3"))),
		"contains (name, 'lic')":                    name("name").Contains("lic"),
		"contains (tags, 'admin')":                  name("tags").Contains("admin"),
		"attribute_type (name, 'S')":                name("name").AttributeType(expression.String),
		"begins_with (name, 'car')":                 name("name").BeginsWith("car"),
		"name IN ('alice', 'carol')":                name("name").In(with(s("alice")), with(s("carol"))),
		"NOT (contains (tags, 'admin'))":            name("tags").Contains("admin").Not(),
		"(name = 'a') AND (age = 3)":                name("name").Equal(with(s("a"))).And(name("age").Equal(with(n("3")))),
		"(name = 'a') OR (name = 'b')":              name("name").Equal(with(s("a"))).Or(name("name").Equal(with(s("b")))),
		"age BETWEEN 26 AND 34":                     name("age").Between(with(n("26")), with(n("34"))),
		"map.nested = 'deep'":                       name("map.nested").Equal(with(s("deep"))),
		"list[0] = 'first'":                         name("list[0]").Equal(with(s("first"))),
		"size (bin) > 3":                            name("bin").Size().GreaterThan(with(n("3"))),
		"attribute_exists (name)":                   name("name").AttributeExists(),
		"name <> 'a'":                               name("name").NotEqual(with(s("a"))),
		"tags = {'SS':['b','a']}":                   name("tags").Equal(with(ss("b", "a"))),
		"bin > {'B':'AwQ='}":                        name("bin").GreaterThan(with(b("\x03\x04"))),
		"bin BETWEEN {'B':'AQI='} AND {'B':'AwQ='}": name("bin").Between(with(b("\x01\x02")), with(b("\x03\x04"))),
	} {
		filters.probes = append(filters.probes,
			probe{"query where " + text, query(table.Query{PK: "P", Filter: c}), none, sends(`"FilterExpression":"` + text + `"`)},
			probe{"scan where " + text, scan(table.Scan{Filter: c}), none, sends(`"FilterExpression":"` + text + `"`)},
		)
	}
	filters.probes = append(filters.probes,
		probe{"begins_with of a number", query(table.Query{PK: "P", Filter: name("n").BeginsWith("1")}), none, sends("begins_with")})
	segments := claims{source: fork + "tests/tier3/error-messages/scan.test.ts", date: "2026-09-29", probes: []probe{
		{"segment 3 of 4", scan(table.Scan{Segment: 3, Segments: 4}), none, sends(`"Segment":3`)},
		{"segment 5 of 5", scan(table.Scan{Segment: 5, Segments: 5}), refuses("The Segment parameter is zero-based and must be less than parameter TotalSegments: Segment: 5 is not less than TotalSegments: 5"), unsent(table.ErrInvalid)},
		{"segment without segments", scan(table.Scan{Segment: 1}), refuses("The TotalSegments parameter is required but was not present in the request when Segment parameter is present"), unsent(table.ErrInvalid)},
		{"segment -1", scan(table.Scan{Segment: -1, Segments: 5}), refuses("1 validation error detected: Value '-1' at 'segment' failed to satisfy constraint: Member must have value greater than or equal to 0"), unsent(table.ErrInvalid)},
	}}
	indexes := claims{source: parity + "tests/tier3/error-messages/indexReads.test.ts", date: "2026-09-02", probes: []probe{
		{"consistent query of a global index", query(table.Query{Index: "gsi1", PK: "P", Consistent: true}), refuses("Consistent reads are not supported on global secondary indexes"), unsent(table.ErrInvalid)},
		{"consistent scan of a global index", scan(table.Scan{Index: "gsi1", Consistent: true}), refuses("Consistent reads are not supported on global secondary indexes"), unsent(table.ErrInvalid)},
		{"consistent query of a local index", query(table.Query{Index: "lsi1", PK: "P", Consistent: true}), none, sends(`"ConsistentRead":true`)},
		{"consistent scan of a local index", scan(table.Scan{Index: "lsi1", Consistent: true}), none, sends(`"ConsistentRead":true`)},
		{"begins_with in a local index", query(table.Query{Index: "lsi1", PK: "P", Range: keys.Range{Prefix: "b"}}), none, sends("pk = 'P' AND begins_with(lsi1sk, 'b')")},
		{"a partition of a global index", query(table.Query{Index: "gsi1", PK: "P", Range: keys.Exactly("a")}), none, sends("gsi1pk = 'P' AND gsi1sk = 'a'")},
	}}
	unknown := claims{source: nubo + "tests/tier3/validation-ordering/index.test.ts", date: "2026-05-26", probes: []probe{
		{"query of an index that the schema lacks", query(table.Query{Index: "missing", PK: "P"}), refuses("The table does not have the specified index: missing"), unsent(table.ErrInvalid)},
		{"query of an index that the table lacks", query(table.Query{Index: "gsi1", PK: "P"}), refuses("The table does not have the specified index: gsi1"), returns(table.Unclassified)},
		{"scan of an index that the table lacks", scan(table.Scan{Index: "gsi1"}), refuses("The table does not have the specified index: gsi1"), returns(table.Unclassified)},
	}}
	backfilling := claims{source: "aws-cloudformation/cloudformation-coverage-roadmap issue 1075", date: "2022-02-10", probes: []probe{
		{"query of an index that is being filled", query(table.Query{Index: "gsi1", PK: "P"}), refuses("Cannot read from backfilling global secondary index: gsi1"), returns(table.Transient)},
		{"scan of an index that is being filled", scan(table.Scan{Index: "gsi1"}), refuses("Cannot read from backfilling global secondary index: gsi1"), returns(table.Transient)},
	}}
	return []claims{ranges, selects, filters, segments, indexes, unknown, backfilling, expressionSizes()}
}

// expressionSizes are expressions at 4,096 bytes. The library sends placeholders, of which
// the text of an expression consists.
func expressionSizes() claims {
	c := claims{source: parity + "tests/tier3/limits/expressionSize.test.ts", date: "2026-09-12"}
	update := func(clauses int) expression.UpdateBuilder {
		var u expression.UpdateBuilder
		for i := range clauses {
			u = u.Set(name(fmt.Sprintf("a%d", i)), with(n("1")))
		}
		return u
	}
	condition := func(terms int) expression.ConditionBuilder {
		c := name("a").AttributeNotExists()
		for i := range terms {
			c = c.And(name(fmt.Sprintf("a%d", i)).AttributeNotExists())
		}
		return c
	}
	for id, of := range map[string]func(int) call{
		"update":          func(terms int) call { return do(table.Update(key, update(terms))) },
		"condition":       func(terms int) call { return do(table.Put(key, nil).If(condition(terms))) },
		"filter":          func(terms int) call { return query(table.Query{PK: "P", Filter: condition(terms)}) },
		"scan":            func(terms int) call { return scan(table.Scan{Filter: condition(terms)}) },
		"transact":        func(terms int) call { return transact(table.Put(key, nil).If(condition(terms)), second) },
		"transact-update": func(terms int) call { return transact(table.Update(key, update(terms)), second) },
		"second of two":   func(terms int) call { return transact(second, table.Put(key, nil).If(condition(terms))) },
	} {
		is := accepts
		if id == "filter" || id == "scan" {
			is = none
		}
		c.probes = append(c.probes,
			probe{"an expression of 2,000 bytes/" + id, of(50), is, sends("a49")},
			probe{"an expression of 8,000 bytes/" + id, of(400), refuses("Expression size has exceeded the maximum allowed size"), unsent(table.ErrInvalid)},
		)
	}
	long := strings.Repeat("n", 250)
	var project []string
	for i := range 30 {
		project = append(project, fmt.Sprintf("%s%d", long, i))
	}
	c.probes = append(c.probes, probe{"30 long names, which count as placeholders", query(table.Query{PK: "P", Project: project}), none, sends(long + "29")})
	return c
}

// operands are expressions that no stored item can make valid. The messages are those that
// emulators have recorded of AWS, and that DynamoDB Local has.
func operands() []claims {
	refused := claims{source: "architect/dynalite test/updateItem.js, test/scan.js; DynamoDB Local, OperatorValidator", date: "2026-09"}
	one, text, truth := with(n("1")), with(s("x")), with(&types.AttributeValueMemberBOOL{Value: true})
	const (
		overlap  = "Invalid UpdateExpression: Two document paths overlap with each other; must remove or rewrite one of these paths;"
		mistyped = "Incorrect operand type for operator or function;"
		repeated = "The first operand must be distinct from the remaining operands for this operator or function;"
		scalars  = "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed:"
	)
	add := func(id, message string, c call) {
		refused.probes = append(refused.probes, probe{id, c, refuses(message), unsent(table.ErrInvalid)})
	}
	for id, u := range map[string]expression.UpdateBuilder{
		"a, a":            expression.Set(name("a"), one).Set(name("a"), one),
		"a, a.b":          expression.Set(name("a"), one).Set(name("a.b"), one),
		"a.b, a":          expression.Set(name("a.b"), one).Remove(name("a")),
		"a.b, a[0]":       expression.Set(name("a.b"), one).Set(name("a[0]"), one),
		"a[1], a[01]":     expression.Set(name("a[1]"), one).Remove(name("a[01]")),
		"remove a, add a": expression.Remove(name("a")).Add(name("a"), one),
	} {
		add("update of "+id, overlap, do(table.Update(key, u)))
		add("update of "+id+" in a transaction", overlap, transact(table.Update(key, u), second))
	}
	for id, u := range map[string]expression.UpdateBuilder{
		"ADD text":              expression.Add(name("a"), text),
		"ADD list":              expression.Add(name("a"), expression.Value([]string{"x"})),
		"second ADD text":       expression.Add(name("a"), one).Add(name("b"), text),
		"DELETE number":         expression.Delete(name("a"), one),
		"plus text":             expression.Set(name("a"), name("b").Plus(text)),
		"text minus":            expression.Set(name("a"), expression.Minus(text, name("b"))),
		"list_append text":      expression.Set(name("a"), name("a").ListAppend(text)),
		"list_append to a set":  expression.Set(name("a"), expression.ListAppend(with(ss("x")), name("a"))),
		"a[2147483648]":         expression.Set(name("a[2147483648]"), one),
		"part of an index key":  expression.Set(name("gsi1pk.x"), text),
		"from a part of a key":  expression.Set(name("f"), name("pk.x")),
		"sum as text index key": expression.Set(name("gsi1pk"), name("x").Plus(one)),
		"set from an index key": expression.Delete(name("gsi1pk"), with(ss("1"))),
		"list as an index key":  expression.Set(name("gsi1pk"), name("x").ListAppend(with(l(s("x"))))),
	} {
		add("update "+id, mistyped, do(table.Update(key, u)))
	}
	for id, c := range map[string]expression.ConditionBuilder{
		"a < true":          name("a").LessThan(truth),
		"a >= a map":        name("a").GreaterThanEqual(with(m("x", s("x")))),
		"size(a) < true":    name("a").Size().LessThan(truth),
		"a BETWEEN true":    name("a").Between(truth, truth),
		"a = a":             name("a").Equal(name("a")),
		"a.b[0] <> a.b[0]":  name("a.b[0]").NotEqual(name("a.b[0]")),
		"a < a":             name("a").LessThan(name("a")),
		"a IN (b, a)":       name("a").In(name("b"), name("a")),
		"b BETWEEN a AND b": name("b").Between(name("a"), name("b")),
		"part of a key":     name("sk.a").AttributeExists(),
		"index key [0]":     name("gsi1sk[0]").Equal(one),
	} {
		message := repeated
		if strings.Contains(id, "key") {
			message = scalars
		}
		add("condition "+id, message, do(table.Delete(key).If(c)))
		add("check "+id, message, transact(table.Check(key, c), second))
		add("filter "+id, message, query(table.Query{PK: "P", Filter: c}))
	}
	accepted := claims{source: "architect/dynalite test/updateItem.js, test/scan.js", date: "2026-09", probes: []probe{
		{"a.b and a.c", do(table.Update(key, expression.Set(name("a.b"), one).Set(name("a.c"), one))), accepts, sends("SET a.b = 1, a.c = 1")},
		{"ab and a", do(table.Update(key, expression.Set(name("ab"), one).Set(name("a"), one))), accepts, sends("SET ab = 1, a = 1")},
		{"a[1] and a[10]", do(table.Update(key, expression.Set(name("a[1]"), one).Set(name("a[10]"), one))), accepts, sends("SET a[1] = 1, a[10] = 1")},
		{"a = a + a", do(table.Update(key, expression.Set(name("a"), name("a").Plus(name("a"))))), accepts, sends("SET a = a + a")},
		{"1 = 1", do(table.Delete(key).If(expression.Equal(one, one))), accepts, sends("1 = 1")},
		{"a = true", do(table.Delete(key).If(name("a").Equal(truth))), accepts, sends("a = {'BOOL':true}")},
		{"a = b", do(table.Delete(key).If(name("a").Equal(name("b")))), accepts, sends("a = b")},
		{"text for an index key", do(table.Update(key, expression.Set(name("gsi1pk"), name("gsi1pk").IfNotExists(text)))), accepts, sends("if_not_exists(gsi1pk, 'x')")},
	}}
	// What the stored item decides. The texts are those of the page of TransactWriteItems.
	stored := claims{source: "TransactWriteItems, Amazon DynamoDB API Reference", date: "2026-11"}
	for _, message := range []string{
		"An operand in the update expression has an incorrect data type", "Type mismatch for attribute to update",
		"The provided expression refers to an attribute that does not exist in the item",
		"The update expression attempted to update the secondary index key beyond allowed size limits",
		"The update expression attempted to update the secondary index key to unsupported type",
		"Nesting Levels have exceeded supported limits", "Number overflow. Attempting to store a number with magnitude larger than supported range",
	} {
		count := table.Update(key, expression.Add(name("n"), one))
		stored.probes = append(stored.probes,
			probe{message, do(count), refuses(message), returns(table.Permanent)},
			probe{message + ", in a transaction", transact(count, second), cancels(reason{Code: "ValidationError", Message: message}, reason{Code: "None"}), returns(table.Permanent)},
		)
	}
	return []claims{refused, accepted, stored}
}
