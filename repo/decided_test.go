package repo_test

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	gocmp "github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// complaint has fields under names that indexes can take for their keys.
type complaint struct {
	ID       string `dynamodbav:"id"`
	Customer string `dynamodbav:"customer_id,omitempty"`
	Mail     string `dynamodbav:"mail,omitempty"`
	State    string `dynamodbav:"state,omitempty"`
	Revision string `dynamodbav:"revision"`
}

func complaintKey(c complaint) keys.Key {
	return keys.Key{PK: keys.Prefix("COMPLAINT").PK(c.ID), SK: keys.Metadata}
}

func byCustomer(c complaint) keys.Key {
	return keys.Key{PK: keys.Prefix("CUSTOMER").PK(c.Customer), SK: keys.None.SK(keys.Str(c.ID))}
}

func complaintEntity() repo.Entity[complaint] {
	return repo.Entity[complaint]{Type: "COMPLAINT", Key: complaintKey, Version: "revision"}
}

// New refuses what would be stored otherwise than it is declared, as far as the description
// and a sample show it.
func TestNewRefusesTwoDeciders(t *testing.T) {
	t.Parallel()
	client := tabletest.Client(t)
	mail := func(sk keys.SK) []repo.Copy[complaint] {
		return []repo.Copy[complaint]{{Name: "by mail", Key: func(c complaint) keys.Key {
			if c.Mail == "" {
				return keys.Key{}
			}
			return keys.Key{PK: keys.Prefix("MAIL").PK(c.Mail), SK: sk}
		}}}
	}
	inPartition := []repo.Copy[complaint]{{Name: "open", Key: func(c complaint) keys.Key {
		return keys.Key{PK: complaintKey(c).PK, SK: keys.Prefix("OPEN").SK(keys.Str(c.State))}
	}}}
	byRevision := func(c complaint) keys.Key {
		return keys.Key{PK: keys.Prefix("REVISION").PK(c.Revision), SK: keys.Metadata}
	}
	for name, tt := range map[string]struct {
		index  schema.Index
		entity func(e *repo.Entity[complaint])
		want   string // "" if it is taken
	}{
		"a function and a field for the partition key": {
			schema.Index{PK: "customer_id", SK: "GSI1SK"},
			func(e *repo.Entity[complaint]) { e.Indexes = repo.Indexes[complaint]{"index": byCustomer} },
			`"customer_id" is a key of an index with a function, which would overwrite the field`,
		},
		"a function and a field for the sort key": {
			schema.Index{PK: "GSI1PK", SK: "id"},
			func(e *repo.Entity[complaint]) { e.Indexes = repo.Indexes[complaint]{"index": byCustomer} },
			`"id" is a key of an index with a function`,
		},
		"a function and attributes of its own": {
			schema.Index{PK: "GSI1PK", SK: "GSI1SK"},
			func(e *repo.Entity[complaint]) { e.Indexes = repo.Indexes[complaint]{"index": byCustomer} }, "",
		},
		"a function for the inverted keys": {
			schema.Index{PK: "sk", SK: "pk"},
			func(e *repo.Entity[complaint]) { e.Indexes = repo.Indexes[complaint]{"index": byCustomer} },
			`the keys of "index" are keys of the table`,
		},
		"a function for the table's sort key alone": {
			schema.Index{PK: "sk"},
			func(e *repo.Entity[complaint]) { e.Indexes = repo.Indexes[complaint]{"index": byCustomer} },
			`the keys of "index" are keys of the table`,
		},
		"a key of the revision": {
			schema.Index{PK: "GSI1PK", SK: "GSI1SK"},
			func(e *repo.Entity[complaint]) { e.Key = byRevision },
			`a key function reads attribute "revision"`,
		},
		"an index of the revision": {
			schema.Index{PK: "GSI1PK", SK: "GSI1SK"},
			func(e *repo.Entity[complaint]) { e.Indexes = repo.Indexes[complaint]{"index": byRevision} },
			`a key function reads attribute "revision"`,
		},
		"a claim of the revision": {
			schema.Index{PK: "GSI1PK", SK: "GSI1SK"},
			func(e *repo.Entity[complaint]) {
				e.Claims = func(c complaint) []keys.Key { return []keys.Key{byRevision(c)} }
			},
			`a key function reads attribute "revision"`,
		},
		"a copy under the same sort key in an inverted index": {
			schema.Index{PK: "sk", SK: "pk"},
			func(e *repo.Entity[complaint]) { e.Copies = mail(keys.Metadata) },
			`index "index" has COMPLAINT and COMPLAINT by mail in one partition`,
		},
		"a copy under the same sort key, sorted by a field": {
			schema.Index{PK: "sk", SK: "state"},
			func(e *repo.Entity[complaint]) { e.Copies = mail(keys.Metadata) },
			`index "index" has COMPLAINT and COMPLAINT by mail in one partition`,
		},
		"a copy under another sort key in an inverted index": {
			schema.Index{PK: "sk", SK: "pk"},
			func(e *repo.Entity[complaint]) { e.Copies = mail("MAIL") }, "",
		},
		"a copy in the same partition, and a local index of a field": {
			schema.Index{SK: "state", Local: true},
			func(e *repo.Entity[complaint]) { e.Copies = inPartition },
			`index "index" has COMPLAINT and COMPLAINT open in one partition`,
		},
		"a copy in another partition, and a local index of a field": {
			schema.Index{SK: "state", Local: true},
			func(e *repo.Entity[complaint]) { e.Copies = mail(keys.Metadata) }, "",
		},
	} {
		tt.index.Name = "index"
		tbl := expect.Value(table.New(client, schema.Table{Name: "Complaints", Indexes: []schema.Index{tt.index}}, nil))(t)
		e := complaintEntity()
		tt.entity(&e)
		_, err := repo.New(tbl, e)
		if refused := errors.Is(err, table.ErrInvalid); refused != (tt.want != "") || refused && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}

// attempt is a write that is refused because of what its value has, and one that is not.
type attempt struct {
	refused, taken error
}

// try writes a value that must be refused, unsent, and one that must not.
func try[T any](t *testing.T, spec schema.Table, e repo.Entity[T], bad, good T) attempt {
	t.Helper()
	var faults tabletest.Faults
	tbl := tabletest.NewWith(t, tabletest.Client(t, faults.Install), spec, nil)
	r := newRepo(t, tbl, e)
	before := len(faults.Requests())
	a := attempt{refused: r.Create(t.Context(), &bad)}
	if n := len(faults.Requests()) - before; n > 0 {
		t.Errorf("%d requests for a value that is refused", n)
	}
	if a.taken = r.Create(t.Context(), &good); a.taken != nil {
		return a
	}
	key := e.Key(good)
	writes := len(faults.Requests("PutItem", "UpdateItem", "TransactWriteItems"))
	if e.Version != "" {
		expect.Err(t, expect.ErrOf(r.Update(t.Context(), key, func(v *T) error { *v = bad; return nil })), table.ErrInvalid)
		changed := expect.Value(r.Consistent().Get(t.Context(), key))(t)
		expect.Err(t, tbl.Transact(t.Context(), r.UpdateOps(changed, &bad)...), table.ErrInvalid)
		expect.Equal(t, "refreshed", expect.Value(r.Refresh(t.Context(), key))(t), false)
	}
	expect.Err(t, tbl.Transact(t.Context(), r.PutOps(&bad)...), table.ErrInvalid)
	expect.Equal(t, "writes of values that are refused", len(faults.Requests("PutItem", "UpdateItem", "TransactWriteItems"))-writes, 0)
	return a
}

// What New cannot see is refused when a value is written, before anything is sent.
func TestWritesRefuseTwoDeciders(t *testing.T) {
	t.Parallel()
	twoOwners := schema.Table{Indexes: []schema.Index{{Name: "byOwner", PK: "ownerKey", SK: "order"}, {Name: "byState", PK: "stateKey", SK: "order"}}}
	inOrder := func(prefix keys.Prefix, value func(complaint) string) func(complaint) keys.Key {
		return func(c complaint) keys.Key {
			if value(c) == "" {
				return keys.Key{}
			}
			return keys.Key{PK: prefix.PK(value(c)), SK: keys.None.SK(keys.Str(value(c)))}
		}
	}
	shared := complaintEntity()
	shared.Indexes = repo.Indexes[complaint]{
		"byOwner": inOrder("OWNER", func(c complaint) string { return c.Customer }),
		"byState": inOrder("STATE", func(c complaint) string { return c.State }),
	}
	overloaded := complaintEntity()
	overloaded.Indexes = repo.Indexes[complaint]{"index": func(c complaint) keys.Key {
		return keys.Key{PK: keys.PK(cmp.Or(c.State, string(keys.Metadata))), SK: keys.None.SK(keys.Str(c.ID))}
	}}
	apart := complaintEntity()
	apart.Copies = []repo.Copy[complaint]{{Key: func(c complaint) keys.Key {
		if c.State == "open" { // which a sample is not
			return keys.Key{PK: complaintKey(c).PK, SK: "OPEN"}
		}
		return keys.Key{}
	}}}
	type doc = map[string]string
	docs := repo.Entity[doc]{
		Type: "DOC", Version: "revision", Key: func(d doc) keys.Key { return personKey(d["id"]) },
		Indexes: repo.Indexes[doc]{"byName": func(d doc) keys.Key { return keys.Key{PK: keys.Prefix("NAME").PK(d["name"])} }},
	}
	byName := schema.Table{Indexes: []schema.Index{{Name: "byName", PK: "nameKey"}}}
	circular := docs
	circular.Indexes = repo.Indexes[doc]{"byName": func(d doc) keys.Key { return keys.Key{PK: keys.Prefix("NAME").PK(cmp.Or(d["nameKey"], d["name"]))} }}
	byRevision := docs
	byRevision.Key = func(d doc) keys.Key { return personKey(cmp.Or(d["revision"], d["id"])) }
	type shown struct {
		ID       string `dynamodbav:"id"`
		PK       string `dynamodbav:"pk,omitempty"`
		Kind     string `dynamodbav:"entityType,omitempty"`
		Revision string `dynamodbav:"revision"`
	}
	of := repo.Entity[shown]{Type: "SHOWN", Version: "revision", Key: func(s shown) keys.Key { return personKey(s.ID) }}
	byKind := of
	byKind.Key = func(s shown) keys.Key { return personKey(s.ID + s.Kind) }
	own := func(attributes map[string]string) ownMap {
		of := ownMap{attributes: table.Item{}}
		for name, value := range attributes {
			of.attributes[name] = &types.AttributeValueMemberS{Value: value}
		}
		return of
	}
	id := func(m ownMap) keys.Key {
		s, _ := m.attributes["id"].(*types.AttributeValueMemberS)
		return personKey(s.Value)
	}
	for name, tt := range map[string]attempt{
		"two functions for one attribute":          try(t, twoOwners, shared, complaint{ID: "1", Customer: "c", State: "open"}, complaint{ID: "1", Customer: "c"}),
		"two functions that agree":                 {table.ErrInvalid, try(t, twoOwners, shared, complaint{ID: "1", Customer: "d", State: "c"}, complaint{ID: "1", Customer: "c", State: "c"}).taken},
		"a part that is a key of the table":        try(t, schema.Table{Indexes: []schema.Index{{Name: "index", PK: "sk", SK: "GSI1SK"}}}, overloaded, complaint{ID: "1", State: "open"}, complaint{ID: "1"}),
		"a copy in the partition of a local index": try(t, schema.Table{Indexes: []schema.Index{{Name: "index", SK: "state", Local: true}}}, apart, complaint{ID: "1", State: "open"}, complaint{ID: "1", State: "closed"}),

		"a map with another index key":           try(t, byName, docs, doc{"id": "1", "name": "a", "nameKey": "b"}, doc{"id": "1", "name": "a", "nameKey": "NAME#a"}),
		"a map with another type":                try(t, byName, docs, doc{"id": "1", "name": "a", "entityType": "OTHER"}, doc{"id": "1", "name": "a", "entityType": "DOC"}),
		"a map with another key":                 try(t, byName, docs, doc{"id": "1", "name": "a", "pk": "1"}, doc{"id": "1", "name": "a", "pk": string(personKey("1").PK)}),
		"a map with an expiry that is no number": try(t, schema.Table{TTLAttribute: "ends", Indexes: byName.Indexes}, docs, doc{"id": "1", "name": "a", "ends": "soon"}, doc{"id": "1", "name": "a"}),
		"a field with another type":              try(t, schema.Table{}, of, shown{ID: "1", Kind: "OTHER"}, shown{ID: "1", Kind: "SHOWN"}),
		"a field with another key":               try(t, schema.Table{}, of, shown{ID: "1", PK: "1"}, shown{ID: "1", PK: string(personKey("1").PK)}),
		"attributes of its own, another key":     try(t, schema.Table{}, repo.Entity[ownMap]{Type: "OWN", Key: id}, own(map[string]string{"id": "1", "pk": "1"}), own(map[string]string{"id": "1"})),
	} {
		expect.Err(t, tt.refused, table.ErrInvalid)
		if tt.taken != nil {
			t.Errorf("%s: the other one: %v", name, tt.taken)
		}
	}
	// Nothing but the first write takes the shape of a map.
	expect.Err(t, newRepo(t, tabletest.New(t, byName, nil), docs).Create(t.Context(), &doc{"id": "1", "name": "a", "entityShape": "7"}), table.ErrInvalid)
	// No value is good where a function reads what the repository writes.
	expect.Err(t, newRepo(t, tabletest.New(t, byName, nil), circular).Create(t.Context(), &doc{"id": "1", "name": "a"}), table.ErrInvalid)
	expect.Err(t, newRepo(t, tabletest.New(t, byName, nil), byRevision).Create(t.Context(), &doc{"id": "1", "name": "a"}), table.ErrInvalid)
	expect.Err(t, newRepo(t, tabletest.New(t, schema.Table{}, nil), byKind).Create(t.Context(), &shown{ID: "1"}), table.ErrInvalid)
}

// A map that was read has keys of its items, also those that a change makes stale: they are
// no values of the caller's.
func TestAMapIsWrittenAsItWasRead(t *testing.T) {
	t.Parallel()
	type doc = map[string]string
	tbl := tabletest.New(t, schema.Table{Indexes: []schema.Index{{Name: "byName", PK: "nameKey"}, {Name: "byMail", PK: "mailKey"}}}, nil)
	key := func(prefix keys.Prefix, name string) func(doc) keys.Key {
		return func(d doc) keys.Key { return keys.Key{PK: prefix.PK(d[name])} }
	}
	r := newRepo(t, tbl, repo.Entity[doc]{
		Type: "DOC", Version: "revision", Key: func(d doc) keys.Key { return personKey(d["id"]) },
		Indexes: repo.Indexes[doc]{"byName": key("NAME", "name")},
		Copies: []repo.Copy[doc]{{
			Key:     func(d doc) keys.Key { return emailKey(d["mail"]) },
			Indexes: repo.Indexes[doc]{"byMail": key("BYMAIL", "mail")},
		}},
	})
	expect.OK(t, r.Create(t.Context(), &doc{"id": "1", "name": "a", "mail": "a"}))
	for i, read := range []keys.Key{personKey("1"), emailKey("a"), emailKey("b1"), personKey("1")} {
		name := fmt.Sprintf("b%d", i)
		d := expect.Value(r.Consistent().Get(t.Context(), read))(t)
		old := maps.Clone(d)
		d["name"] = name
		if i == 1 || i == 2 {
			d["mail"] = name
			expect.OK(t, r.Save(t.Context(), &d))
		} else {
			expect.OK(t, tbl.Transact(t.Context(), r.UpdateOps(old, &d)...))
		}
		for index, pk := range map[string]keys.PK{"byName": keys.Prefix("NAME").PK(name), "byMail": keys.Prefix("BYMAIL").PK(d["mail"])} {
			page := expect.Value(r.Query(t.Context(), table.Query{Index: index, PK: pk}))(t)
			expect.Equal(t, "entities in "+index, len(page.Items), 1)
		}
		expect.Equal(t, "refreshed", expect.Value(r.Refresh(t.Context(), personKey("1")))(t), false)
	}
}

// An item with an empty key of an index is not in the index, whatever kind of index it is.
func TestEmptyKeysOfIndexes(t *testing.T) {
	t.Parallel()
	pks := []schema.Attribute{{Name: "state"}}
	for name, index := range map[string]schema.Index{
		"partition key":      {PK: "state"},
		"sort key":           {PK: "id", SK: "state"},
		"local":              {SK: "state", Local: true},
		"several attributes": {PKs: pks, SKs: []schema.Attribute{{Name: "id"}}},
	} {
		type ticket struct {
			ID       string `dynamodbav:"id"`
			State    string `dynamodbav:"state"` // no omitempty
			Revision string `dynamodbav:"revision"`
		}
		index.Name = "index"
		tbl := tabletest.New(t, schema.Table{Indexes: []schema.Index{index}}, nil)
		r := newRepo(t, tbl, repo.Entity[ticket]{Type: "TICKET", Version: "revision", Key: func(v ticket) keys.Key { return personKey(v.ID) }})
		v := ticket{ID: "1"}
		expect.OK(t, r.Create(t.Context(), &v))
		for _, state := range []string{"open", "", "closed", ""} {
			v = expect.Value(r.Update(t.Context(), personKey("1"), func(v *ticket) error { v.State = state; return nil }))(t)
			expect.Equal(t, name+": stored", expect.Value(r.Consistent().Get(t.Context(), personKey("1")))(t), v)
			item := expect.Value(table.Get[table.Item](t.Context(), tbl.Consistent(), personKey("1")))(t)
			_, stored := item["state"]
			expect.Equal(t, name+": in the index with "+state, stored, state != "")
		}
	}
}

// Upgrades can leave a key of an index empty.
func TestUpgradesToAnEmptyKey(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema.Table{Indexes: []schema.Index{{Name: "index", PK: "state"}}}, nil)
	e := complaintEntity()
	v := complaint{ID: "1"}
	expect.OK(t, newRepo(t, tbl, e).Create(t.Context(), &v))
	e.Upgrades = []repo.Upgrade{repo.Default("state", "")}
	r := newRepo(t, tbl, e)
	v.Mail = "a@x"
	expect.OK(t, r.Save(t.Context(), &v))
	expect.Equal(t, "refreshed", expect.Value(r.Refresh(t.Context(), complaintKey(v)))(t), false)
}

// The types of FuzzDeclarations. Their attributes have the names that schemas draw from.
type (
	fuzzPlain struct {
		ID  string     `dynamodbav:"id"`
		A   string     `dynamodbav:"a"`
		B   *string    `dynamodbav:"b"`
		N   int64      `dynamodbav:"n"`
		Set []string   `dynamodbav:"set,omitempty,stringset"`
		At  time.Time  `dynamodbav:"at"`
		Rev string     `dynamodbav:"rev"`
		Any any        `dynamodbav:"any"`
		Ex  *time.Time `dynamodbav:"ex,unixtime,omitempty"`
	}
	fuzzShown struct {
		ID   string `dynamodbav:"id"`
		PK   string `dynamodbav:"pk,omitempty"`
		SK   string `dynamodbav:"sk,omitempty"`
		Kind string `dynamodbav:"kind,omitempty"`
		A    string `dynamodbav:"a,omitempty"`
		X    string `dynamodbav:"x"`
		Rev  int64  `dynamodbav:"rev"`
	}
)

// declarations draws schemas and entities.
type declarations struct {
	*rand.Rand
	t *testing.T
}

func (d declarations) pick(all ...string) string { return all[d.IntN(len(all))] }

// rarely is true one time in n.
func (d declarations) rarely(n int) bool { return d.IntN(n) == 0 }

func (d declarations) text() string { return d.pick("", "", "a", "b", "a#b", "x%", "\x00") }

// schema draws a schema whose keys are attributes that types have, or that nothing has.
func (d declarations) schema(version string) schema.Table {
	spec := schema.Table{TypeAttribute: "kind", TTLAttribute: d.pick("", "ex")}
	name := func() string {
		return d.pick("pk", "sk", "id", "a", "b", "n", "x", "at", "GSI1PK", "GSI1SK", "GSI2PK", "GSI2SK", "rev", "kind")
	}
	kind := func(name string) types.ScalarAttributeType {
		if name == "n" || name == "rev" && version == "number" {
			return types.ScalarAttributeTypeN
		}
		return types.ScalarAttributeTypeS
	}
	for i := range d.IntN(4) {
		x := schema.Index{Name: fmt.Sprintf("index%d", i), PK: name(), SK: d.pick("", name())}
		switch d.IntN(4) {
		case 0:
			x.Local, x.PK = true, ""
		case 1:
			x = schema.Index{Name: x.Name, PKs: []schema.Attribute{{Name: x.PK, Type: kind(x.PK)}}}
			if x.SK != "" {
				x.SKs, x.SK = []schema.Attribute{{Name: x.SK, Type: kind(x.SK)}}, ""
			}
			spec.Indexes = append(spec.Indexes, x)
			continue
		}
		x.PKType, x.SKType = kind(x.PK), kind(x.SK)
		if x.PK == "" {
			x.PKType = ""
		}
		if x.SK == "" {
			x.SKType = ""
		}
		spec.Indexes = append(spec.Indexes, x)
	}
	return spec
}

// attribute returns a scalar attribute of a value as text.
func attribute(v any, name string) string {
	all, stored := v.(table.Item)
	if !stored {
		all, _ = attributevalue.MarshalMap(v)
	}
	switch value := all[name].(type) {
	case *types.AttributeValueMemberS:
		return value.Value
	case *types.AttributeValueMemberN:
		return value.Value
	}
	return ""
}

// key draws a key function.
func key[T any](d declarations, prefix keys.Prefix, always bool) func(T) keys.Key {
	in, by := d.pick("id", "id", "a", "n", "x"), d.pick("", "", "id", "a", "n", "x")
	if d.rarely(20) {
		by = d.pick("rev", "pk", "kind", "GSI1PK")
	}
	if always {
		in = "id"
	}
	return func(v T) keys.Key {
		of := attribute(v, in)
		if of == "" && !always {
			return keys.Key{}
		}
		if by == "" {
			return keys.Key{PK: prefix.PK(of), SK: keys.Metadata}
		}
		return keys.Key{PK: prefix.PK(of), SK: prefix.SK(keys.Str(attribute(v, by)))}
	}
}

func entity[T any](d declarations, spec schema.Table) repo.Entity[T] {
	e := repo.Entity[T]{Type: "E", Key: key[T](d, "MAIN", true), Version: d.pick("rev", "rev", "rev", "", "a"), Indexes: repo.Indexes[T]{}}
	for i := range d.IntN(3) {
		e.Copies = append(e.Copies, repo.Copy[T]{Key: key[T](d, keys.Prefix(fmt.Sprintf("COPY%d", i)), false), Indexes: repo.Indexes[T]{}})
	}
	for _, x := range spec.Indexes {
		on := e.Indexes
		if len(e.Copies) > 0 && d.rarely(2) {
			on = e.Copies[d.IntN(len(e.Copies))].Indexes
		}
		if len(x.PKs) == 0 && d.rarely(2) {
			f := key[T](d, keys.Prefix(d.pick("I", "J")), false)
			if x.SK == "" {
				with := f
				f = func(v T) keys.Key { return keys.Key{PK: with(v).PK} }
			}
			if x.Local {
				with := f
				f = func(v T) keys.Key { return keys.Key{PK: e.Key(v).PK, SK: with(v).SK} }
			}
			on[x.Name] = f
		}
	}
	if e.Version != "" && d.rarely(4) {
		claim := key[T](d, "CLAIM", false)
		e.Claims = func(v T) []keys.Key { return []keys.Key{claim(v)} }
	}
	return e
}

// FuzzDeclarations makes entities over schemas that may decide one attribute twice. Whatever
// New takes is read back as it was written, from the main item and from each copy, is once in
// each index, is as declared, and goes as a whole. What is refused leaves nothing behind.
func FuzzDeclarations(f *testing.F) {
	for seed := range uint64(200) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		d := declarations{rand.New(rand.NewPCG(seed, 0)), t}
		text := func() *string {
			if d.rarely(3) {
				return nil
			}
			s := cmp.Or(d.text(), "b")
			return &s
		}
		switch d.IntN(4) {
		case 0:
			declare(d, "text", func() fuzzPlain {
				v := fuzzPlain{ID: d.text(), A: d.text(), B: text(), N: int64(d.IntN(3)), At: time.Unix(int64(d.IntN(9)), 0).UTC(), Any: []any{nil, "a", 1.5, true}[d.IntN(4)]}
				if d.rarely(2) {
					v.Set = []string{"a", "b"}
				}
				if d.rarely(2) {
					v.Ex = new(time.Now().Add(time.Hour).UTC().Truncate(time.Second))
				}
				return v
			})
		case 1:
			declare(d, "number", func() fuzzShown {
				v := fuzzShown{ID: d.text(), A: d.text(), X: d.text()}
				if d.rarely(4) {
					v.PK, v.Kind = d.pick("MAIN#a", "MAIN#b", "x"), d.pick("", "E", "F")
				}
				return v
			})
		case 2:
			declare(d, "text", func() map[string]string {
				v := map[string]string{"id": d.text(), "a": d.text(), "x": d.text()}
				for range d.IntN(3) {
					v[d.pick("b", "at", "GSI1PK", "GSI2SK", "kind", "pk")] = d.pick("E", "I#a", "MAIN#a", "x")
				}
				return v
			})
		case 3:
			declare(d, "text", func() map[string]any {
				v := map[string]any{"id": d.text(), "a": d.text(), "n": float64(d.IntN(3))}
				for range d.IntN(3) {
					v[d.pick("x", "at", "GSI1PK", "GSI2SK", "kind", "pk")] = d.pick("", "E", "I#a", "MAIN#a", "x")
				}
				return v
			})
		}
	})
}

// declare makes an entity, and holds its writes against its declaration.
func declare[T any](d declarations, version string, value func() T) {
	t := d.t
	spec := d.schema(version)
	e := entity[T](d, spec)
	spec.Name = "Declarations"
	if spec.Validate() != nil {
		return
	}
	tbl := tabletest.New(t, spec, nil)
	r, err := repo.New(tbl, e)
	if err != nil {
		expect.Err(t, err, table.ErrInvalid)
		return
	}
	check := declared[T]{t: t, tbl: tbl, r: r, e: e}
	v := value()
	if err := r.Create(t.Context(), &v); err != nil {
		check.refused(err, 0)
		return
	}
	check.stored(v)
	for range 3 {
		next, stamp := value(), attribute(v, e.Version)
		if e.Version == "" {
			expect.OK(t, r.Delete(t.Context(), e.Key(v)))
			expect.Equal(t, "items left", itemsLeft(t, tbl), 0)
			if err := r.Save(t.Context(), &next); err != nil {
				check.refused(err, 0)
				return
			}
		} else if !check.change(v, &next, stamp) {
			continue
		}
		v = next
		check.stored(v)
	}
	expect.OK(t, r.Delete(t.Context(), e.Key(v)))
	expect.Equal(t, "items left", itemsLeft(t, tbl), 0)
}

type declared[T any] struct {
	t   *testing.T
	tbl *table.Table
	r   *repo.Repo[T]
	e   repo.Entity[T]
}

// change writes another value of the stored entity, by an update or by ops, and reports whether
// it was taken. The key stays.
func (c declared[T]) change(v T, next *T, stamp string) bool {
	key, before := c.e.Key(v), itemsLeft(c.t, c.tbl)
	updated, err := c.r.Update(c.t.Context(), key, func(stored *T) error {
		*next = withStamp(c.t, *next, c.e.Version, stamp)
		*stored = *next
		return nil
	})
	if err != nil {
		c.refused(err, before)
		return false
	}
	*next = updated
	return true
}

// withStamp returns a value with the version attribute of another one.
func withStamp[T any](t *testing.T, v T, name, stamp string) T {
	t.Helper()
	all := expect.Value(attributevalue.MarshalMap(v))(t)
	var value types.AttributeValue = &types.AttributeValueMemberS{Value: stamp}
	if _, number := all[name].(*types.AttributeValueMemberN); number {
		value = &types.AttributeValueMemberN{Value: stamp}
	}
	all[name] = value
	var with T
	expect.OK(t, attributevalue.UnmarshalMap(all, &with))
	return with
}

// refused checks the error of a write that is taken for invalid, and that it changed nothing.
func (c declared[T]) refused(err error, items int) {
	c.t.Helper()
	if !errors.Is(err, table.ErrInvalid) && !errors.Is(err, keys.ErrInvalid) && !errors.Is(err, table.ErrExists) {
		c.t.Errorf("refused with %v", err)
	}
	expect.Equal(c.t, "items after a refusal", itemsLeft(c.t, c.tbl), items)
}

// stored compares everything that is stored with the value and the declaration.
func (c declared[T]) stored(v T) {
	c.t.Helper()
	all := []func(T) keys.Key{c.e.Key}
	indexes := []repo.Indexes[T]{c.e.Indexes}
	for _, of := range c.e.Copies {
		all, indexes = append(all, of.Key), append(indexes, of.Indexes)
	}
	for i, of := range all {
		key := of(v)
		if key == (keys.Key{}) {
			continue
		}
		got, err := c.r.Consistent().Get(c.t.Context(), key)
		if err != nil {
			c.t.Errorf("item %d: %v", i, err)
			continue
		}
		if diff := c.differences(v, got); diff != "" {
			c.t.Errorf("item %d (-want +got):\n%s", i, diff)
		}
		raw := expect.Value(table.Get[table.Item](c.t.Context(), c.tbl.OfType("").Consistent(), key))(c.t)
		for index, of := range indexes[i] {
			want := of(v)
			if got := c.tbl.KeyOf(index, raw); want != (keys.Key{}) && got != want {
				c.t.Errorf("item %d is in %s under %q, want %q", i, index, got, want)
			}
		}
	}
	c.once()
	if c.e.Version != "" {
		changed, err := c.r.Refresh(c.t.Context(), c.e.Key(v))
		if changed || err != nil {
			c.t.Errorf("a refresh changes what was just written: %v, %v", changed, err)
		}
	}
}

// differences compares a value with what was read of it. A read adds what the repository
// decides, where T can have it, and leaves out empty keys of indexes.
func (c declared[T]) differences(v, read T) string {
	spec, own := c.tbl.Schema(), []string{c.e.Version}
	want, got := c.plain(v), c.plain(read)
	keysOfTable := map[string][]string{spec.PK: {}, spec.SK: {}, spec.TypeAttribute: {"E"}}
	for _, of := range append([]func(T) keys.Key{c.e.Key}, c.keysOfCopies()...) {
		key := of(v)
		keysOfTable[spec.PK] = append(keysOfTable[spec.PK], string(key.PK))
		keysOfTable[spec.SK] = append(keysOfTable[spec.SK], string(key.SK))
	}
	for name, all := range keysOfTable {
		if text, given := want[name].(string); given && text != "" && !slices.Contains(all, text) {
			return fmt.Sprintf("%s: %q is not what the repository stores", name, text)
		}
		own = append(own, name)
	}
	for _, x := range spec.Indexes {
		partition, sort := x.Keys()
		for _, a := range slices.Concat(partition, sort) {
			if value, given := want[a.Name]; given && (value == nil || value == "") {
				own = append(own, a.Name)
			}
		}
		for _, indexes := range append([]repo.Indexes[T]{c.e.Indexes}, c.indexesOfCopies()...) {
			if _, given := want[x.PK]; indexes[x.Name] != nil && !given {
				own = append(own, x.PK)
			}
			if _, given := want[x.SK]; indexes[x.Name] != nil && !given {
				own = append(own, x.SK)
			}
		}
	}
	for _, name := range own {
		delete(want, name)
		delete(got, name)
	}
	return gocmp.Diff(want, got)
}

func (c declared[T]) plain(v T) (plain map[string]any) {
	expect.OK(c.t, attributevalue.UnmarshalMap(expect.Value(attributevalue.MarshalMap(v))(c.t), &plain))
	return plain
}

func (c declared[T]) keysOfCopies() (all []func(T) keys.Key) {
	for _, of := range c.e.Copies {
		all = append(all, of.Key)
	}
	return all
}

func (c declared[T]) indexesOfCopies() (all []repo.Indexes[T]) {
	for _, of := range c.e.Copies {
		all = append(all, of.Indexes)
	}
	return all
}

// once checks that no partition of an index has two items of the entity.
func (c declared[T]) once() {
	c.t.Helper()
	spec := c.tbl.Schema()
	seen := map[string]bool{}
	for _, raw := range expect.Value(table.ScanPage[table.Item](c.t.Context(), c.tbl, table.Scan{Limit: 1000}))(c.t).Items {
		if attribute(raw, spec.TypeAttribute) != "E" {
			continue // a claim
		}
		for _, x := range spec.Indexes {
			partition, sort := x.Keys()
			where, in := x.Name, true
			for i, a := range slices.Concat(partition, sort) {
				text := attribute(raw, a.Name)
				in = in && text != ""
				if i < len(partition) {
					where += "\x00" + text
				}
			}
			if in && seen[where] {
				c.t.Errorf("index %+v has the entity twice in one partition: %v", x, *new(T))
			}
			seen[where] = seen[where] || in
		}
	}
}
