package table_test

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// verbsOf returns an op of every kind; the first two store the item.
func verbsOf(key keys.Key, item table.Item, attribute, value string) []table.Op {
	return []table.Op{
		table.Put(key, item),
		table.Create(key, item),
		table.Update(key, expression.Set(expression.Name(attribute), expression.Value(value))),
		table.Delete(key),
		table.Check(key, expression.Name(attribute).AttributeNotExists()),
	}
}

// FuzzOp runs arbitrary writes alone, in a transaction and in a batch. What
// cannot be right is refused before it is sent, and what was written is read
// back.
func FuzzOp(f *testing.F) {
	nasty := expect.Nasty()
	for i, text := range nasty {
		next := nasty[(i+1)%len(nasty)]
		f.Add(byte(i), "USER#u-1", "PROFILE", text, next, 1, int64(i))
		f.Add(byte(i)|0xF0, text, next, "name", text, 1, int64(-i))
		f.Add(byte(0), "A", text, text, text, 1, int64(0))
	}
	f.Add(byte(0), "A", "A", "name", strings.Repeat("x", 400), 1<<10-1, int64(0)) // a little less than an item can have
	f.Add(byte(8), "A", "A", "name", strings.Repeat("x", 400), 1<<10, int64(0))
	f.Add(byte(1), "A", "A", "pk", "x", 1, int64(0))
	spec := appCore()
	spec.Name = tabletest.New(f, spec, options()).Schema().Name
	f.Fuzz(func(t *testing.T, how byte, pk, sk, attribute, value string, times int, version int64) {
		tbl, faults := onEngine(t, spec)
		key := keys.Key{PK: keys.PK(pk), SK: keys.SK(sk)}
		value = strings.Repeat(value, min(max(times, 1), 1+500_000/max(len(value), 1)))
		item := table.Item{attribute: str(value)}
		ops := verbsOf(key, item, attribute, value)
		verb := int(how&7) % len(ops)
		op := ops[verb].WithName("op")
		if how&0x40 != 0 {
			op = op.If(expression.Name(attribute).AttributeNotExists())
		}
		if how&0x80 != 0 {
			op = op.IfVersion(attribute, version)
		}
		var err error
		switch how >> 3 & 3 {
		case 0, 1:
			err = tbl.Do(t.Context(), op)
		case 2:
			err = tbl.Transact(t.Context(), op, table.Put(user, nil))
		default:
			err = tbl.BatchWrite(t.Context(), op)
		}
		wellFormed(t, "write", err, pk, sk)
		sent := len(onItems(faults))
		switch {
		case isRefusal(err):
			if sent > 0 {
				t.Errorf("%d requests before %v", sent, err)
			}
		case err != nil && sent == 0:
			t.Errorf("nothing was sent: %v", err)
		case errors.Is(err, table.ErrOutcomeUnknown):
			t.Errorf("with an engine that responds: %v", err)
		case err == nil && verb < 2 && attribute != "pk" && attribute != "sk" && attribute != "expiresAt":
			got := expect.Value(table.Get[table.Item](t.Context(), tbl.Consistent(), key))(t)
			// The SDK sends what is no UTF-8 as U+FFFD.
			s, _ := got[attribute].(*types.AttributeValueMemberS)
			if utf8.ValidString(attribute+value) && (s == nil || s.Value != value) {
				t.Errorf("%q: %.100q was written, %v is read", attribute, value, got)
			}
		}
		if size := item.Size() + len("pk"+"sk"+pk+sk); size > 400<<10 && verb < 2 && attribute != "pk" && attribute != "sk" && !isRefusal(err) {
			t.Errorf("an item of %d bytes is not refused: %v", size, err)
		}
	})
}

// keySchemas are tables whose keys are of every type.
func keySchemas() []schema.Table {
	const n, b = types.ScalarAttributeTypeN, types.ScalarAttributeTypeB
	index := []schema.Index{{Name: "mixed", PK: "ipk", PKType: n, SK: "isk", SKType: b}, {Name: "plain", PK: "x"}}
	return []schema.Table{
		{PKType: n, SKType: n, Indexes: index},
		{PKType: b, SKType: n, Indexes: index},
		{PKType: n, SKType: b, Indexes: index},
		{Indexes: index},
		{SimpleKey: true, Indexes: index},
	}
}

// FuzzKey uses arbitrary keys of every type. A key is refused before it is sent,
// or names one item, that every function finds.
func FuzzKey(f *testing.F) {
	for i, text := range expect.Nasty() {
		f.Add(byte(i), text, "1")
		f.Add(byte(1), text, "1")
		f.Add(byte(i), "1", text)
		f.Add(byte(i), text, text)
	}
	for _, number := range []string{
		"0", "-0", "1", "-1", "0.1", "-12.5", "01", "1.0", "12345678901234567890123456789012345678",
		"123456789012345678901234567890123456789", "0." + strings.Repeat("0", 129) + "1", "0." + strings.Repeat("0", 130) + "1",
		"1" + strings.Repeat("0", 125), "1" + strings.Repeat("0", 126), "1" + strings.Repeat("0", 37) + ".1",
	} {
		f.Add(byte(0), number, "1")
		f.Add(byte(1), "1", number)
	}
	schemas := keySchemas()
	for i := range schemas {
		schemas[i].Name = "any"
		schemas[i].Name = tabletest.New(f, schemas[i], options()).Schema().Name
	}
	f.Fuzz(func(t *testing.T, kind byte, pk, sk string) {
		tbl, faults := onEngine(t, schemas[int(kind)%len(schemas)])
		k := keys.Key{PK: keys.PK(pk), SK: keys.SK(sk)}
		for _, index := range []string{"mixed", "plain", "missing"} {
			item, err := tbl.IndexKey(index, k)
			switch {
			case k == keys.Key{} && index != "missing":
				if item != nil || err != nil {
					t.Errorf("the zero key in %s: %v, %v", index, item, err)
				}
			case (item == nil) == (err == nil):
				t.Errorf("%q in %s: %v, %v", k, index, item, err)
			case err != nil && !errors.Is(err, keys.ErrInvalid) && !errors.Is(err, table.ErrInvalid):
				t.Errorf("%q in %s: %v", k, index, err)
			}
		}
		err := tbl.Do(t.Context(), table.Put(k, nil))
		wellFormed(t, "Put", err, pk, sk)
		if err != nil {
			if sent := len(onItems(faults)); !errors.Is(err, keys.ErrInvalid) || sent > 0 {
				t.Errorf("%q: %v after %d requests", k, err, sent)
			}
			return
		}
		found, err := table.BatchGet[table.Item](t.Context(), tbl.Consistent(), []keys.Key{k})
		if err != nil || len(found) != 1 || found[k] == nil {
			t.Errorf("%q: found %v, %v", k, found, err)
		}
		page, err := table.QueryPage[table.Item](t.Context(), tbl, table.Query{PK: k.PK})
		if err != nil || len(page.Items) != 1 {
			t.Errorf("%q: %v, %v", k, page.Items, err)
		}
		must(t, tbl.Do(t.Context(), table.Delete(k)))
	})
}
