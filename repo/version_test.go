package repo_test

import (
	"errors"
	"math"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// serial is an entity whose field holds versions of a type.
type serial[V int8 | uint8 | int32 | int64 | uint64] struct {
	N       int `dynamodbav:"n"`
	Version V   `dynamodbav:"version"`
}

type numbered = serial[int64]

func serialEntity[V int8 | uint8 | int32 | int64 | uint64]() repo.Entity[serial[V]] {
	return repo.Entity[serial[V]]{Type: "NUMBERED", Version: "version", Key: func(serial[V]) keys.Key { return docKey }}
}

// A field that would end the counting early is refused. An int64 reads the versions that
// 0.1.0-rc.1 has stored of such a field, and goes on from the last one that it held.
func TestNarrowVersions(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema.Table{}, nil)
	for name, tt := range map[string]struct {
		err error
		ok  bool
	}{
		"int8":   {repo.Declared(tbl, serialEntity[int8]()), false},
		"uint8":  {repo.Declared(tbl, serialEntity[uint8]()), false},
		"int32":  {repo.Declared(tbl, serialEntity[int32]()), false},
		"int64":  {repo.Declared(tbl, serialEntity[int64]()), true},
		"uint64": {repo.Declared(tbl, serialEntity[uint64]()), true},
	} {
		if tt.ok != (tt.err == nil) || !tt.ok && !errors.Is(tt.err, table.ErrInvalid) {
			t.Errorf("%s: %v", name, tt.err)
		}
	}
	r := newRepo(t, tbl, serialEntity[int64]())
	expect.OK(t, tbl.Do(t.Context(), table.Put(docKey, map[string]any{"entityType": "NUMBERED", "n": 1, "version": 254})))
	for _, want := range []int64{255, 256} {
		v := expect.Value(r.Update(t.Context(), docKey, func(v *numbered) error { v.N++; return nil }))(t)
		expect.Equal(t, "version", v.Version, want)
	}
}

// Entities go on from versions that 0.1.0-rc.1 has begun at random, or another program at any
// number, also if two of them have the same one.
func TestVersionsThatBeganAtRandom(t *testing.T) {
	t.Parallel()
	type person = versionedPerson
	tbl := tabletest.New(t, schema.Table{}, nil)
	r := newRepo(t, tbl, versionedPeople())
	for write, change := range map[string]func(p person) error{
		"Update": func(p person) error {
			return expect.ErrOf(r.Update(t.Context(), personKey(p.ID), func(p *person) error { p.Name = "new"; return nil }))
		},
		"Save":      func(p person) error { p.Name = "new"; return r.Save(t.Context(), &p) },
		"UpdateOps": func(p person) error { v := p; v.Name = "new"; return tbl.Transact(t.Context(), r.UpdateOps(p, &v)...) },
		"DeleteOps": func(p person) error { return tbl.Transact(t.Context(), r.DeleteOps(p)...) },
		"Delete":    func(p person) error { return r.Delete(t.Context(), emailKey(p.Email)) },
	} {
		for name, began := range map[string]int64{"any": 1<<52 - 1, "one below 2^32": 1<<32 - 1, "a small one": 7} {
			for _, id := range []string{"a", "b"} {
				p := map[string]any{"entityType": "PERSON", "id": id, "email": id + "@x", "name": "old", "version": began}
				expect.OK(t, tbl.Do(t.Context(), table.Put(personKey(id), p)))
				expect.OK(t, tbl.Do(t.Context(), table.Put(emailKey(id+"@x"), p)))
			}
			expect.OK(t, change(expect.Value(r.Get(t.Context(), personKey("a")))(t)))
			for _, key := range []keys.Key{personKey("a"), emailKey("a@x")} {
				have, err := r.Consistent().Get(t.Context(), key)
				if write == "Delete" || write == "DeleteOps" {
					expect.Err(t, err, table.ErrNotFound)
					continue
				}
				expect.OK(t, err)
				expect.Equal(t, write+" over "+name, have, person{ID: "a", Email: "a@x", Name: "new", Version: began + 1})
			}
			for _, key := range []keys.Key{personKey("b"), emailKey("b@x")} {
				have := expect.Value(r.Consistent().Get(t.Context(), key))(t)
				expect.Equal(t, "the other one", have, person{ID: "b", Email: "b@x", Name: "old", Version: began})
			}
		}
	}
}

// Upsert takes an entity that has no version as other writes do.
func TestUpsertOfAnEntityWithoutAVersion(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema.Table{}, nil)
	r := newRepo(t, tbl, serialEntity[int64]())
	add := repo.Patch{Add: map[string]any{"n": 1}}
	for name, version := range map[string]types.AttributeValue{"missing": nil, "NULL": &types.AttributeValueMemberNULL{Value: true}} {
		item := table.Item{"entityType": &types.AttributeValueMemberS{Value: "NUMBERED"}, "n": number(1)}
		if version != nil {
			item["version"] = version
		}
		expect.OK(t, tbl.Do(t.Context(), table.Put(docKey, item)))
		v := expect.Value(r.Upsert(t.Context(), numbered{}, add))(t)
		if v.N != 2 || v.Version < 1 || v.Version > 2 { // a refresh in between counts
			t.Errorf("%s: %+v", name, v)
		}
	}
}

// No write follows the greatest version, or one that is none: it is refused by name, and
// nothing is written. The one before the greatest is followed.
func TestVersionsThatNoWriteFollows(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema.Table{}, nil)
	signed, unsigned := newRepo(t, tbl, serialEntity[int64]()), newRepo(t, tbl, serialEntity[uint64]())
	for name, version := range map[string]any{
		"2^63-1": int64(math.MaxInt64), "2^63": uint64(1 << 63), "2^64-1": uint64(math.MaxUint64),
		"2^64": attributevalue.Number("18446744073709551616"), "negative": -7, "a text": "7",
	} {
		expect.OK(t, tbl.Do(t.Context(), table.Put(docKey, map[string]any{"entityType": "NUMBERED", "n": 1, "version": version})))
		before := storedItem(t, tbl, docKey)
		refusesWrites(t, name+", signed", tbl, signed, before)
		refusesWrites(t, name+", unsigned", tbl, unsigned, before)
	}
	expect.OK(t, tbl.Do(t.Context(), table.Put(docKey, map[string]any{"entityType": "NUMBERED", "version": int64(math.MaxInt64 - 1)})))
	v := expect.Value(signed.Update(t.Context(), docKey, func(v *numbered) error { v.N++; return nil }))(t)
	expect.Equal(t, "updated", v, numbered{N: 1, Version: math.MaxInt64})
}

// refusesWrites has each write refuse a stored item.
func refusesWrites[V int64 | uint64](t *testing.T, name string, tbl *table.Table, r *repo.Repo[serial[V]], before table.Item) {
	t.Helper()
	change := func(v *serial[V]) error { v.N++; return nil }
	writes := map[string]error{
		"Update":       expect.ErrOf(r.Update(t.Context(), docKey, change)),
		"Save":         r.Save(t.Context(), &serial[V]{Version: 7}),
		"Delete":       r.Delete(t.Context(), docKey),
		"Upsert":       expect.ErrOf(r.Upsert(t.Context(), serial[V]{}, repo.Patch{Add: map[string]any{"n": 1}})),
		"Refresh":      expect.ErrOf(r.Refresh(t.Context(), docKey)),
		"RefreshOps":   expect.ErrOf(r.RefreshOps(t.Context(), before)),
		"RefreshItems": expect.ErrOf(r.RefreshItems(before)),
	}
	if v, err := r.Get(t.Context(), docKey); err == nil { // the field holds it
		old := v
		v.N++
		writes["Save of what was read"] = r.Save(t.Context(), &v)
		writes["TransactPut"] = r.TransactPut(t.Context(), &v)
		writes["DeleteOps"] = tbl.Transact(t.Context(), r.DeleteOps(old)...)
		writes["UpdateOps"] = tbl.Transact(t.Context(), r.UpdateOps(old, &v)...)
	}
	for call, err := range writes {
		if !errors.Is(err, table.ErrInvalid) || table.Classify(err) != table.Permanent {
			t.Errorf("%s, %s: %v (%v)", name, call, err, table.Classify(err))
		}
	}
	if !item.SameItem(before, storedItem(t, tbl, docKey)) {
		t.Errorf("%s: the item has changed", name)
	}
}

// boxed is an entity that makes its attributes of what it points to. The seal is not
// stored.
type boxed struct {
	*box
	seal string
}

type box struct{ text, revision string }

func (b boxed) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return &types.AttributeValueMemberM{Value: table.Item{
		"text":     &types.AttributeValueMemberS{Value: b.text},
		"revision": &types.AttributeValueMemberS{Value: b.revision},
	}}, nil
}

func (b *boxed) UnmarshalDynamoDBAttributeValue(value types.AttributeValue) error {
	if b.box == nil {
		b.box = new(box)
	}
	for name, value := range value.(*types.AttributeValueMemberM).Value {
		s, _ := value.(*types.AttributeValueMemberS)
		switch {
		case s == nil:
		case name == "text":
			b.text = s.Value
		case name == "revision":
			b.revision = s.Value
		}
	}
	return nil
}

// A write that fails leaves all of the value as it was, also what it points to. One that
// succeeds leaves what is not stored.
func TestFailedWritesLeaveTheValue(t *testing.T) {
	t.Parallel()
	var faults tabletest.Faults
	tbl := tabletest.NewWith(t, tabletest.Client(t, faults.Install), schema.Table{}, nil)
	boxes := newRepo(t, tbl, repo.Entity[boxed]{Type: "BOX", Version: "revision", Key: func(boxed) keys.Key { return docKey }})
	refuse := func(response tabletest.Fault) {
		for _, op := range []string{"PutItem", "UpdateItem", "TransactWriteItems"} {
			faults.Always(op, response)
		}
	}
	for name, write := range map[string]func(*boxed) error{
		"Create":      func(b *boxed) error { return boxes.Create(t.Context(), b) },
		"TransactPut": func(b *boxed) error { return boxes.TransactPut(t.Context(), b) },
		"Save":        func(b *boxed) error { return boxes.Save(t.Context(), b) },
	} {
		b := boxed{&box{text: "first"}, "seal"}
		for range 2 { // Save and TransactPut create, then change
			before := *b.box
			refuse(tabletest.Status(http.StatusBadRequest, "AccessDeniedException", "not allowed"))
			if write(&b) == nil {
				t.Errorf("%s succeeds", name)
			}
			expect.Equal(t, name+" leaves the value", *b.box == before, true)
			refuse(nil)
			expect.OK(t, write(&b))
			expect.Equal(t, name+" keeps the seal", b.seal, "seal")
			expect.Equal(t, name+" sets a revision", b.revision != before.revision, true)
			b.text = "second"
			if name != "Save" && name != "TransactPut" {
				expect.OK(t, boxes.Delete(t.Context(), docKey))
			}
		}
		expect.OK(t, boxes.Delete(t.Context(), docKey))
	}
}

// A map or a struct without a field for it could hide a version of another type.
func TestVersionOfAnotherTypeInAMap(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema.Table{}, nil)
	key := keys.Key{PK: "MAP", SK: "MAP"}
	maps := newRepo(t, tbl, repo.Entity[map[string]any]{Type: "MAP", Version: "rev", Key: func(map[string]any) keys.Key { return key }})
	expect.OK(t, tbl.Do(t.Context(), table.Put(key, map[string]any{"entityType": "MAP", "rev": 7})))
	_, err := maps.Update(t.Context(), key, func(m *map[string]any) error {
		(*m)["id"] = "1"
		return nil
	})
	expect.Err(t, err, table.ErrInvalid)
}

// Other programs begin with a version of zero.
func TestAVersionOfZeroIsTakenOver(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema.Table{}, nil)
	all := newRepo(t, tbl, serialEntity[int64]())
	expect.OK(t, tbl.Do(t.Context(), table.Put(docKey, table.Item{"entityType": &types.AttributeValueMemberS{Value: "NUMBERED"}, "version": number(0)})))
	expect.Value(all.Refresh(t.Context(), docKey))(t)
	changed := expect.Value(all.Update(t.Context(), docKey, func(v *numbered) error { v.N = 1; return nil }))(t)
	expect.Equal(t, "version", changed.Version > 0, true)
}
