package repo_test

import (
	"errors"
	"math/big"
	"net/netip"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// A program that joins the errors of its constructors gets that of New, not a panic of what takes
// the repository's table.
func TestTheViewOfNoRepository(t *testing.T) {
	t.Parallel()
	tbl, _ := unsent(t)
	users, err := repo.New(tbl, repo.Entity[User]{})
	expect.Err(t, err, table.ErrInvalid)
	if view := users.View(); view != nil {
		t.Errorf("a view: %v", view)
	}
}

func TestNewListsEveryProblemOfAnEntity(t *testing.T) {
	t.Parallel()
	tbl, _ := unsent(t)
	key := func(User) keys.Key { return keys.Key{} }
	for name, test := range map[string]struct {
		entity repo.Entity[User]
		want   []string
	}{
		"zero": {
			repo.Entity[User]{},
			[]string{"Type: is empty", "Key: is nil"},
		},
		"copy without key": {
			repo.Entity[User]{Type: "USER", Key: key, Copies: []repo.Copy[User]{{}}},
			[]string{"Copies[0].Key: is nil", "Copies: need a Version, or they would drift apart"},
		},
		"indexes": {
			repo.Entity[User]{
				Type: "USER", Key: key,
				Indexes: repo.Indexes[User]{"GSI1": key, "GSI2": nil, "GSI9": key},
				Copies:  []repo.Copy[User]{{Name: "by mail", Key: key, Indexes: repo.Indexes[User]{"GSI1": key}}},
			},
			[]string{
				`Indexes["GSI2"]: is nil`,
				`Indexes: the schema has no index "GSI9"`,
				`Indexes: "GSI1" is on USER and on USER by mail, and a query of it would return the entity twice`,
				"Copies: need a Version, or they would drift apart",
			},
		},
		"version that is the expiry": {
			repo.Entity[User]{Type: "USER", Key: key, Version: "expiresAt"},
			[]string{`Version: attribute "expiresAt" has another use in the schema`},
		},
		"version that is the shape": {
			repo.Entity[User]{Type: "USER", Key: key, Version: "entityShapeFrom"},
			[]string{`Version: attribute "entityShapeFrom" has another use in the schema`},
		},
		"former copies without a version": {
			repo.Entity[User]{Type: "USER", Key: key, FormerCopies: []func(User) keys.Key{key}},
			[]string{"FormerCopies: need a Version"},
		},
		"upgrades without a change": {
			repo.Entity[User]{Type: "USER", Key: key, Version: "version", Upgrades: []repo.Upgrade{
				{}, {Writes: []string{"name"}}, {Removes: []string{"nick"}}, {Writes: []string{"name"}, Removes: []string{"nick"}},
			}},
			[]string{
				"Upgrades[1]: lists attributes and has no Change",
				"Upgrades[2]: lists attributes and has no Change",
				"Upgrades[3]: lists attributes and has no Change",
			},
		},
		"version without a field": {
			repo.Entity[User]{Type: "USER", Key: key, Version: "rev"},
			[]string{`Version: repo_test.User has no string or integer field for attribute "rev"`},
		},
	} {
		_, err := repo.New(tbl, test.entity)
		invalid, ok := errors.AsType[*schema.Error](err)
		if !ok || !errors.Is(err, table.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		expect.Equal(t, name, invalid.Problems, test.want)
	}
	if _, err := repo.New(nil, userEntity); !errors.Is(err, table.ErrInvalid) {
		t.Errorf("nil table: %v", err)
	}
	// A revision behind a pointer would be shared with the values that v is copied to.
	type shared struct {
		Revision *string `dynamodbav:"revision"`
	}
	if _, err := repo.New(tbl, repo.Entity[shared]{Type: "SHARED", Key: func(shared) keys.Key { return keys.Key{} }, Version: "revision"}); !errors.Is(err, table.ErrInvalid) {
		t.Errorf("a revision behind a pointer: %v", err)
	}
	if _, err := repo.New(tbl, repo.Entity[*User]{Type: "USER", Key: func(*User) keys.Key { return keys.Key{} }}); !errors.Is(err, table.ErrInvalid) {
		t.Errorf("an entity of pointers: %v", err)
	}
	if _, err := repo.New(tbl, repo.Entity[string]{Type: "TEXT", Key: func(string) keys.Key { return keys.Key{} }, Version: "v"}); !errors.Is(err, table.ErrInvalid) {
		t.Errorf("a version in a string: %v", err)
	}
}

// typeErr returns the error of New for an entity of a type.
func typeErr[T any](tbl *table.Table) error {
	return repo.Declared(tbl, repo.Entity[T]{Type: "T", Key: func(T) keys.Key { return docKey }})
}

type embedded struct{ Title string }

// An entity is of a type that its items can be read as.
func TestTypesOfEntities(t *testing.T) {
	t.Parallel()
	tbl, _ := unsent(t)
	for name, test := range map[string]struct {
		err error
		ok  bool
	}{
		"map of any":            {typeErr[map[string]any](tbl), true},
		"map of strings":        {typeErr[map[string]string](tbl), true},
		"map of bytes":          {typeErr[map[string][]byte](tbl), false},
		"map of integers":       {typeErr[map[string]int](tbl), false},
		"map of channels":       {typeErr[map[string]chan int](tbl), false},
		"map with integer keys": {typeErr[map[int]any](tbl), false},
		"item":                  {typeErr[table.Item](tbl), false},
		"map of values":         {typeErr[map[string]types.AttributeValue](tbl), false},
		"embedded":              {typeErr[struct{ embedded }](tbl), true},
		"embedded pointer":      {typeErr[struct{ *embedded }](tbl), false},
		"its own decoding":      {typeErr[boxed](tbl), true},
		"nothing of a field":    {typeErr[struct{ N *big.Int }](tbl), false},
		"left out on purpose": {
			typeErr[struct {
				N *big.Int `dynamodbav:"-"`
			}](tbl),
			true,
		},
		"interface with methods": {typeErr[struct{ Why error }](tbl), false},
		"interface":              {typeErr[struct{ Any any }](tbl), true},
		"type as a number": {
			typeErr[struct {
				Type int `dynamodbav:"entityType"`
			}](tbl),
			false,
		},
		"key in another case":        {typeErr[struct{ PK string }](tbl), false},
		"key of an index in another": {typeErr[struct{ GSI1pk string }](tbl), false},
		"expiry in another case":     {typeErr[struct{ ExpiresAt int64 }](tbl), false},
		"shape in another case":      {typeErr[struct{ EntityShape int }](tbl), false},
		"inside another":             {typeErr[struct{ Inner struct{ PK string } }](tbl), true},
		"both": {
			typeErr[struct {
				PK  string
				Key string `dynamodbav:"pk"`
			}](tbl),
			true,
		},
	} {
		if ok := test.err == nil; ok != test.ok || !ok && !errors.Is(test.err, table.ErrInvalid) {
			t.Errorf("%s: %v", name, test.err)
		}
	}
}

// What is in an interface is known when it is written, and checked then.
func TestValuesInInterfacesAreChecked(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema.Table{}, nil)
	type doc struct {
		Revision string `dynamodbav:"revision"`
		Any      any
	}
	r := newRepo(t, tbl, repo.Entity[doc]{Type: "DOC", Version: "revision", Key: func(doc) keys.Key { return docKey }})
	expect.Err(t, r.Create(t.Context(), &doc{Any: []any{big.NewInt(7)}}), table.ErrInvalid)
	d := doc{Any: "text"}
	expect.OK(t, r.Create(t.Context(), &d))
	lost := doc{Revision: d.Revision, Any: map[string]any{"n": netip.IPv6Loopback()}}
	for name, err := range map[string]error{
		"Save":      r.Save(t.Context(), new(lost)),
		"Update":    expect.ErrOf(r.Update(t.Context(), docKey, func(d *doc) error { d.Any = lost.Any; return nil })),
		"UpdateOps": tbl.Transact(t.Context(), r.UpdateOps(d, new(lost))...),
	} {
		if !errors.Is(err, table.ErrInvalid) || !strings.Contains(err.Error(), `attribute "Any[…]"`) {
			t.Errorf("%s: %v", name, err)
		}
	}
	expect.Equal(t, "stored", expect.Value(r.Get(t.Context(), docKey))(t), d)
}

// A version is no key of an index, which would be written over it.
func TestVersionIsNoIndexKey(t *testing.T) {
	t.Parallel()
	tbl, _ := unsent(t)
	for _, declared := range []bool{false, true} {
		e := repo.Entity[map[string]any]{Type: "MAP", Version: spec.Indexes[0].SK, Key: func(map[string]any) keys.Key { return docKey }}
		if declared {
			e.Indexes = repo.Indexes[map[string]any]{spec.Indexes[0].Name: e.Key}
		}
		if err := expect.ErrOf(repo.New(tbl, e)); errors.Is(err, table.ErrInvalid) != declared {
			t.Errorf("declared %v: %v", declared, err)
		}
	}
}

func TestCopiesHaveNamesByDefault(t *testing.T) {
	t.Parallel()
	tbl, _ := unsent(t)
	e := pageEntity()
	e.Copies = append(e.Copies, repo.Copy[page]{Name: "by tag", Key: tagKey}, repo.Copy[page]{Key: tagKey})
	var names []string
	for _, op := range newRepo(t, tbl, e).CreateOps(&page{ID: "1", Tag: "new"}) {
		names = append(names, op.Name())
	}
	expect.Equal(t, "names", names, []string{"PAGE", "PAGE copy 1", "PAGE by tag", "PAGE copy 3"})
}

// Tables have keys of all types.
func TestKeysOfAllTypes(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		schema schema.Table
		key    keys.Key
	}{
		"text":        {schema.Table{}, keys.Key{PK: "D#1", SK: "D"}},
		"number":      {schema.Table{PKType: types.ScalarAttributeTypeN}, keys.Key{PK: "1", SK: "D"}},
		"sort number": {schema.Table{SKType: types.ScalarAttributeTypeN}, keys.Key{PK: "D#1", SK: "7"}},
		"simple":      {schema.Table{SimpleKey: true}, keys.Key{PK: "D#1"}},
		"simple, with a type for the sort key": {
			schema.Table{SimpleKey: true, SKType: types.ScalarAttributeTypeS}, keys.Key{PK: "D#1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := docEntity
			e.Key = func(Doc) keys.Key { return tt.key }
			docs := newRepo(t, tabletest.New(t, tt.schema, nil), e)
			d := Doc{ID: "d-1", Title: "first"}
			expect.OK(t, docs.Create(t.Context(), &d))
			expect.Equal(t, "created", expect.Value(docs.Consistent().Get(t.Context(), tt.key))(t), d)
			d.Title = "second"
			expect.OK(t, docs.TransactPut(t.Context(), &d))
			expect.Equal(t, "put", expect.Value(docs.Consistent().Get(t.Context(), tt.key))(t), d)
			expect.OK(t, docs.Delete(t.Context(), tt.key))
		})
	}
}
