package probes_test

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

const (
	emptyKey   = "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: pk"
	otherKey   = "The provided key element does not match the schema"
	emptyIndex = "One or more parameter values are not valid. A value specified for a secondary index key is not supported."
	otherIndex = "One or more parameter values were invalid: Type mismatch for Index Key lsi1sk Expected: S Actual: N IndexName: gsi2"
	fixedKey   = "One or more parameter values were invalid: Cannot update attribute pk. This attribute is part of the key"
)

// byKey are the calls that a key can be in.
var byKey = []struct {
	name string
	call func(keys.Key) call
}{
	{"put", func(k keys.Key) call { return do(table.Put(k, nil)) }},
	{"update", func(k keys.Key) call { return do(table.Update(k, expression.Set(name("v"), with(s("x"))))) }},
	{"patch", func(k keys.Key) call { return do(table.Patch(k, table.Item{"v": s("x")})) }},
	{"delete", func(k keys.Key) call { return do(table.Delete(k)) }},
	{"get", getKey},
	{"batch-get", func(k keys.Key) call { return batchGetKey(k) }},
	{"batch-put", func(k keys.Key) call { return batch(table.Put(k, nil)) }},
	{"batch-delete", func(k keys.Key) call { return batch(table.Delete(k)) }},
	{"transact-put", func(k keys.Key) call { return transact(table.Put(k, nil), second) }},
	{"transact-update", func(k keys.Key) call {
		return transact(table.Update(k, expression.Set(name("v"), with(s("x")))), second)
	}},
	{"transact-delete", func(k keys.Key) call { return transact(table.Delete(k), second) }},
	{"transact-check", func(k keys.Key) call { return transact(table.Check(k, name("v").AttributeExists()), second) }},
	{"transact-get", func(k keys.Key) call { return transactGet(k, second.Key()) }},
}

func batch(ops ...table.Op) call {
	return func(ctx context.Context, t *table.Table) error { return t.BatchWrite(ctx, ops...) }
}

func transactGet(ks ...keys.Key) call {
	return func(ctx context.Context, t *table.Table) error {
		_, err := table.TransactGet[table.Item](ctx, t, ks)
		return err
	}
}

func keyValues() []claims {
	empty := claims{source: nubo + "tests/tier3/limits/emptyValues.test.ts", date: "2026-05-14"}
	length := claims{source: nubo + "tests/tier3/limits/keyLength.test.ts", date: "2026-07-01"}
	binaryEmpty := claims{source: parity + "tests/tier3/error-messages/transactWriteItems.test.ts", date: "2026-07-01", table: binary}
	for _, c := range byKey {
		for id, k := range map[string]keys.Key{
			"empty partition key": {SK: "S"}, "empty sort key": {PK: "P"},
		} {
			empty.probes = append(empty.probes, probe{id + "/" + c.name, c.call(k), refuses(emptyKey), unsent(table.ErrInvalid)})
		}
		length.probes = append(length.probes,
			probe{"partition key of 2,048 bytes/" + c.name, c.call(keys.Key{PK: keys.PK(strings.Repeat("x", 2048)), SK: "S"}), accepted(c.name), sends("xxx")},
			probe{"partition key of 2,049 bytes/" + c.name, c.call(keys.Key{PK: keys.PK(strings.Repeat("x", 2049)), SK: "S"}), refuses(""), unsent(table.ErrInvalid)},
		)
		binaryEmpty.probes = append(binaryEmpty.probes, probe{"empty binary key/" + c.name, c.call(keys.Key{SK: "S"}), refuses(emptyKey), unsent(table.ErrInvalid)})
	}
	fixed := claims{source: parity + "tests/tier3/error-messages/updateItem.test.ts", date: "2026-10-09"}
	for _, attribute := range []string{"pk", "sk"} {
		fixed.probes = append(fixed.probes,
			probe{"update of " + attribute, do(table.Update(key, expression.Set(name(attribute), with(s("x"))))), refuses(fixedKey), unsent(table.ErrInvalid)},
			probe{"removal of " + attribute, do(table.Update(key, expression.Remove(name(attribute)))), refuses(fixedKey), unsent(table.ErrInvalid)},
			probe{"patch of " + attribute, do(table.Patch(key, table.Item{attribute: s("x")})), refuses(fixedKey), unsent(table.ErrInvalid)},
		)
	}
	indexed := claims{source: fork + "tests/tier3/error-messages/indexKeyValues.test.ts", date: "2026-06-23"}
	for id, c := range map[string]struct {
		attribute string
		v         value
		message   string
	}{
		"number as index key": {"lsi1sk", n("5"), otherIndex}, "list as index key": {"lsi1sk", l(s("x")), otherIndex},
		"empty index key": {"lsi1sk", s(""), emptyIndex}, "empty binary index key": {"bidx", b(""), emptyIndex},
	} {
		attributes := table.Item{c.attribute: c.v}
		for way, call := range map[string]call{
			"put":             do(table.Put(key, attributes)),
			"patch":           do(table.Patch(key, attributes)),
			"update":          do(table.Update(key, expression.Set(name(c.attribute), with(c.v)))),
			"batch":           batch(table.Put(key, attributes)),
			"transact-put":    transact(table.Put(key, attributes), second),
			"transact-update": transact(table.Update(key, expression.Set(name(c.attribute), with(c.v))), second),
		} {
			indexed.probes = append(indexed.probes, probe{id + "/" + way, call, refuses(c.message), unsent(table.ErrInvalid)})
		}
	}
	// The live table has other keys than the schema says: the program's fault, and no reason
	// to drop a message.
	other := claims{source: parity + "tests/tier3/error-messages/transactWriteItems.test.ts", date: "2026-06-23"}
	for _, c := range byKey {
		want := returns(table.Unclassified)
		aws := refuses(otherKey)
		if strings.HasPrefix(c.name, "transact") {
			aws = cancels(reason{Code: "ValidationError", Message: otherKey}, reason{Code: "None"})
		}
		other.probes = append(other.probes, probe{"key of another type/" + c.name, c.call(key), aws, want})
	}
	return []claims{empty, length, binaryEmpty, fixed, indexed, other}
}

// accepted is the response to a call that byKey names.
func accepted(call string) response {
	switch call {
	case "get": // nothing is stored
		return response{body: `{"Item":{"pk":{"S":"P"},"sk":{"S":"S"}}}`}
	case "batch-get":
		return response{body: `{"Responses":{},"UnprocessedKeys":{}}`}
	case "transact-get":
		return response{body: `{"Responses":[{},{}]}`}
	}
	return accepts
}
