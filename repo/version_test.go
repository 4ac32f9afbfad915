package repo_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// narrow is an entity whose field holds few versions.
type narrow[V int8 | uint8] struct {
	N       int `dynamodbav:"n"`
	Version V   `dynamodbav:"version"`
}

type numbered = narrow[uint8]

// No write stores a version that the field does not hold, or the greatest number of an
// unsigned field, whose value release 0.1.0-rc.1 would not write.
func TestVersionsEndWithTheField(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema.Table{}, nil)
	e := repo.Entity[numbered]{Type: "NUMBERED", Version: "version", VersionFromOne: true, Key: func(numbered) keys.Key { return docKey }}
	all := newRepo(t, tbl, e)
	e.Upgrades = []repo.Upgrade{repo.Drop("fax")}
	upgraded := newRepo(t, tbl, e)
	add := expression.Add(expression.Name("n"), expression.Value(1))
	for name, write := range map[string]func(v *numbered) error{
		"Put":         func(v *numbered) error { return all.Put(t.Context(), v) },
		"TransactPut": func(v *numbered) error { return all.TransactPut(t.Context(), v) },
		"Update": func(*numbered) error {
			return expect.ErrOf(all.Update(t.Context(), docKey, func(v *numbered) error { v.N++; return nil }))
		},
		"Upsert":  func(v *numbered) error { return expect.ErrOf(all.Upsert(t.Context(), *v, add)) },
		"Refresh": func(*numbered) error { return expect.ErrOf(upgraded.Refresh(t.Context(), docKey)) },
		"RefreshItems": func(*numbered) error {
			return expect.ErrOf(upgraded.RefreshItems(storedItem(t, tbl, docKey)))
		},
	} {
		for version, fits := range map[int]bool{253: true, 254: false} {
			expect.OK(t, tbl.Do(t.Context(), table.Put(docKey, map[string]any{"entityType": "NUMBERED", "n": 1, "version": version})))
			stored := numbered{N: 1, Version: uint8(version)}
			v := stored
			v.N++
			err := write(&v)
			if fits {
				expect.OK(t, err)
				continue
			}
			expect.Err(t, err, table.ErrInvalid)
			expect.Equal(t, name+": the value", v, numbered{N: 2, Version: 254})
			expect.Equal(t, name+": the entity", expect.Value(all.Consistent().Get(t.Context(), docKey))(t), stored)
		}
	}
}

// Upsert takes an entity that has no version as other writes do.
func TestUpsertOfAnEntityWithoutAVersion(t *testing.T) {
	t.Parallel()
	type counted struct {
		N       int   `dynamodbav:"n"`
		Version int64 `dynamodbav:"version"`
	}
	tbl := tabletest.New(t, schema.Table{}, nil)
	e := repo.Entity[counted]{Type: "COUNTED", Version: "version", Key: func(counted) keys.Key { return docKey }}
	drawn := newRepo(t, tbl, e)
	e.VersionFromOne = true
	fromOne := newRepo(t, tbl, e)
	add := expression.Add(expression.Name("n"), expression.Value(1))
	for name, version := range map[string]types.AttributeValue{"missing": nil, "NULL": &types.AttributeValueMemberNULL{Value: true}} {
		for first, r := range map[bool]*repo.Repo[counted]{true: fromOne, false: drawn} {
			item := table.Item{"entityType": &types.AttributeValueMemberS{Value: "COUNTED"}, "n": &types.AttributeValueMemberN{Value: "1"}}
			if version != nil {
				item["version"] = version
			}
			expect.OK(t, tbl.Do(t.Context(), table.Put(docKey, item)))
			v := expect.Value(r.Upsert(t.Context(), counted{}, add))(t)
			if v.N != 2 || (v.Version <= 2) != first {
				t.Errorf("%s, from one %v: %+v", name, first, v)
			}
		}
	}
}

func TestSignedVersionsEndWithTheField(t *testing.T) {
	t.Parallel()
	type small = narrow[int8]
	tbl := tabletest.New(t, schema.Table{}, nil)
	r := newRepo(t, tbl, repo.Entity[small]{Type: "SMALL", Version: "version", VersionFromOne: true, Key: func(small) keys.Key { return docKey }})
	expect.OK(t, tbl.Do(t.Context(), table.Put(docKey, map[string]any{"entityType": "SMALL", "version": 126})))
	v := small{N: 1, Version: 126}
	expect.OK(t, r.Put(t.Context(), &v))
	expect.Equal(t, "the greatest version", v, small{N: 1, Version: 127})
	v.N = 2
	expect.Err(t, r.Put(t.Context(), &v), table.ErrInvalid)
	expect.Equal(t, "the entity", expect.Value(r.Consistent().Get(t.Context(), docKey))(t), small{N: 1, Version: 127})
}

// Versions are integers below 2^63, also where the field holds more.
func TestGreatestVersion(t *testing.T) {
	t.Parallel()
	type wide struct {
		N       int    `dynamodbav:"n"`
		Version uint64 `dynamodbav:"version"`
	}
	tbl := tabletest.New(t, schema.Table{}, nil)
	wides := newRepo(t, tbl, repo.Entity[wide]{Type: "WIDE", Version: "version", Key: func(wide) keys.Key { return docKey }})
	expect.OK(t, tbl.Do(t.Context(), table.Put(docKey, map[string]any{"entityType": "WIDE", "version": int64(1<<63 - 2)})))
	expect.OK(t, expect.ErrOf(wides.Update(t.Context(), docKey, func(w *wide) error { w.N++; return nil })))
	for version, deletes := range map[uint64]bool{1<<63 - 1: true, 1 << 63: false, 1<<64 - 1: false} {
		expect.OK(t, tbl.Do(t.Context(), table.Put(docKey, map[string]any{"entityType": "WIDE", "version": version})))
		expect.Err(t, expect.ErrOf(wides.Upsert(t.Context(), wide{}, expression.Add(expression.Name("n"), expression.Value(1)))), table.ErrInvalid)
		_, err := wides.Update(t.Context(), docKey, func(w *wide) error { w.N++; return nil })
		expect.Err(t, err, table.ErrInvalid)
		if err := wides.Delete(t.Context(), docKey); !deletes {
			expect.Err(t, err, table.ErrInvalid)
		} else {
			expect.OK(t, err)
		}
	}
}

// A version that no int64 holds is refused by name, before anything is written.
func TestVersionsBeyondTheField(t *testing.T) {
	t.Parallel()
	type counted struct {
		N       int   `dynamodbav:"n"`
		Version int64 `dynamodbav:"version"`
	}
	tbl := tabletest.New(t, schema.Table{}, nil)
	r := newRepo(t, tbl, repo.Entity[counted]{Type: "COUNTED", Version: "version", Key: func(counted) keys.Key { return docKey }})
	for name, version := range map[string]any{"2^63": uint64(1 << 63), "2^64": attributevalue.Number("18446744073709551616"), "negative": -7, "a text": "7"} {
		expect.OK(t, tbl.Do(t.Context(), table.Put(docKey, map[string]any{"entityType": "COUNTED", "version": version})))
		item := storedItem(t, tbl, docKey)
		for call, err := range map[string]error{
			"Update":     expect.ErrOf(r.Update(t.Context(), docKey, func(v *counted) error { v.N++; return nil })),
			"Put":        r.Put(t.Context(), &counted{Version: 7}),
			"Delete":     r.Delete(t.Context(), docKey),
			"Upsert":     expect.ErrOf(r.Upsert(t.Context(), counted{}, expression.Add(expression.Name("n"), expression.Value(1)))),
			"Refresh":    expect.ErrOf(r.Refresh(t.Context(), docKey)),
			"RefreshOps": expect.ErrOf(r.RefreshOps(t.Context(), item)),
		} {
			if !errors.Is(err, table.ErrInvalid) || table.Classify(err) != table.Permanent {
				t.Errorf("%s, %s: %v (%v)", name, call, err, table.Classify(err))
			}
		}
		expect.Equal(t, name+": stored", storedItem(t, tbl, docKey)["n"], nil)
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
		"Create":         func(b *boxed) error { return boxes.Create(t.Context(), b) },
		"TransactCreate": func(b *boxed) error { return boxes.TransactCreate(t.Context(), b) },
		"Put":            func(b *boxed) error { return boxes.Put(t.Context(), b) },
		"Upsert": func(b *boxed) error {
			return expect.ErrOf(boxes.Upsert(t.Context(), *b, expression.Set(expression.Name("text"), expression.Value("new"))))
		},
	} {
		b := boxed{&box{text: "first"}, "seal"}
		for range 2 { // Put creates, then changes
			before := *b.box
			refuse(tabletest.Status(http.StatusBadRequest, "AccessDeniedException", "not allowed"))
			if write(&b) == nil {
				t.Errorf("%s succeeds", name)
			}
			expect.Equal(t, name+" leaves the value", *b.box == before, true)
			refuse(nil)
			expect.OK(t, write(&b))
			expect.Equal(t, name+" keeps the seal", b.seal, "seal")
			expect.Equal(t, name+" sets a revision", b.revision != before.revision, name != "Upsert")
			b.text = "second"
			if name != "Put" {
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
	all := newRepo(t, tbl, repo.Entity[numbered]{Type: "NUMBERED", Version: "version", VersionFromOne: true, Key: func(numbered) keys.Key { return docKey }})
	expect.OK(t, tbl.Do(t.Context(), table.Put(docKey, table.Item{"entityType": &types.AttributeValueMemberS{Value: "NUMBERED"}, "version": number(0)})))
	expect.Value(all.Refresh(t.Context(), docKey))(t)
	changed := expect.Value(all.Update(t.Context(), docKey, func(v *numbered) error { v.N = 1; return nil }))(t)
	expect.Equal(t, "version", changed.Version > 0, true)
}
