package repo_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

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

// list shares memory with a copy of itself.
type list struct {
	ID       string            `dynamodbav:"id"`
	Tags     []string          `dynamodbav:"tags"`
	Labels   map[string]string `dynamodbav:"labels"`
	Title    *string           `dynamodbav:"title"`
	Revision string            `dynamodbav:"revision"`
}

// UpdateOps write all that v has: a change in place is one of old, too.
func TestUpdateOpsWriteWhatValuesShare(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema.Table{}, nil)
	copyKey := func(l list) keys.Key { return keys.Key{PK: "COPY", SK: keys.SK(l.ID)} }
	lists := newRepo(t, tbl, repo.Entity[list]{
		Type: "LIST", Version: "revision", Key: func(list) keys.Key { return docKey }, Copies: []repo.Copy[list]{{Key: copyKey}},
	})
	l := list{ID: "1", Tags: []string{"a"}, Labels: map[string]string{"x": "1"}, Title: new("old")}
	expect.OK(t, lists.Create(t.Context(), &l))
	old := l
	l.Tags[0], l.Labels["x"], *l.Title = "b", "2", "new"
	expect.OK(t, tbl.Transact(t.Context(), lists.UpdateOps(old, &l)...))
	for _, key := range []keys.Key{docKey, copyKey(l)} {
		expect.Equal(t, "stored", expect.Value(lists.Consistent().Get(t.Context(), key))(t), l)
	}
}

// What ops would have to read for is refused, unsent.
func TestOpsMoveNothing(t *testing.T) {
	t.Parallel()
	tbl, _ := unsent(t)
	e := personEntity()
	e.Copies = []repo.Copy[person]{{Key: func(p person) keys.Key {
		if p.Email == "" {
			return keys.Key{}
		}
		return emailKey(p.Email)
	}}}
	people := newRepo(t, tbl, e)
	p, few := person{ID: "1", Email: "a@x", Rev: "1"}, person{ID: "1", Rev: "1"}
	wide := func(n int) *map[string]any {
		all := map[string]any{"id": 1}
		for i := range n {
			all[fmt.Sprintf("a%03d", i)] = i
		}
		return &all
	}
	numbers := newRepo(t, tbl, repo.Entity[map[string]any]{Type: "MAP", Version: "revision", Key: func(map[string]any) keys.Key { return docKey }})
	was := map[string]any{"revision": "1"}
	e.Claims = func(p person) []keys.Key { return []keys.Key{docKey} }
	claiming := newRepo(t, tbl, e)
	for name, tt := range map[string]struct {
		ops  []table.Op
		want string
	}{
		"another main key":    {people.UpdateOps(p, &person{ID: "2", Email: "a@x"}), "key of PERSON changes"},
		"another copy":        {people.UpdateOps(p, &person{ID: "1", Email: "b@x"}), "key of PERSON copy 1 changes"},
		"a further copy":      {people.UpdateOps(few, &person{ID: "1", Email: "b@x"}), "key of PERSON copy 1 changes"},
		"a copy left out":     {claiming.UpdateOps(p, &few), "what other releases have claimed must be read"},
		"too many attributes": {numbers.UpdateOps(was, wide(300)), "too many attributes"},
		"with the version":    {numbers.UpdateOps(was, wide(270)), "too many attributes"},
		"PutOps":              {people.PutOps(&p), "use CreateOps for a new entity, and UpdateOps for a stored one"},
	} {
		err := tbl.Transact(t.Context(), tt.ops...)
		expect.Err(t, err, table.ErrInvalid)
		if !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// unshown is an entity whose expiry T does not show.
type unshown struct {
	ID       string   `dynamodbav:"id"`
	Names    []string `dynamodbav:"names"`
	Mail     string   `dynamodbav:"mail"`
	Revision string   `dynamodbav:"revision"`
}

// What is not read is not known, and never taken not to be there: ops expect it.
func TestOpsExpectWhatTheValueDoesNotShow(t *testing.T) {
	t.Parallel()
	former := func(u unshown) keys.Key { return keys.Key{PK: keys.Prefix("FORMER").PK(u.Mail), SK: keys.Metadata} }
	name := func(name string) keys.Key { return keys.Key{PK: keys.Prefix("NAME").PK(name), SK: keys.Metadata} }
	for what, tt := range map[string]struct {
		before func(*table.Table, unshown) error
		ops    func(*repo.Repo[unshown], unshown) []table.Op
		want   error
	}{
		"a claim": {
			nil,
			func(r *repo.Repo[unshown], u unshown) []table.Op {
				return r.UpdateOps(u, &unshown{ID: u.ID, Names: []string{"b"}, Mail: u.Mail})
			}, nil,
		},
		"a claim of an entity that expires": {
			func(tbl *table.Table, u unshown) error {
				return tbl.Do(t.Context(), table.Patch(personKey(u.ID), table.Item{"expiresAt": number(4_000_000_000)}))
			},
			func(r *repo.Repo[unshown], u unshown) []table.Op {
				return r.UpdateOps(u, &unshown{ID: u.ID, Names: []string{"b"}, Mail: u.Mail})
			}, table.ErrStale,
		},
		"a claim that another entity has": {
			func(tbl *table.Table, _ unshown) error {
				return tbl.Do(t.Context(), table.Patch(name("a"), table.Item{"ownerPK": &types.AttributeValueMemberS{Value: "PERSON#2"}}))
			},
			func(r *repo.Repo[unshown], u unshown) []table.Op { return r.DeleteOps(u) }, table.ErrStale,
		},
		"a former copy": {
			func(tbl *table.Table, u unshown) error {
				return tbl.Do(t.Context(), table.Put(former(u), table.Item{"entityType": &types.AttributeValueMemberS{Value: "PERSON"}, "id": &types.AttributeValueMemberS{Value: u.ID}}))
			},
			func(r *repo.Repo[unshown], u unshown) []table.Op { return r.DeleteOps(u) }, table.ErrStale,
		},
		"a former copy of the key that changes": {
			func(tbl *table.Table, u unshown) error {
				return tbl.Do(t.Context(), table.Put(former(u), table.Item{"entityType": &types.AttributeValueMemberS{Value: "PERSON"}, "id": &types.AttributeValueMemberS{Value: u.ID}}))
			},
			func(r *repo.Repo[unshown], u unshown) []table.Op {
				return r.UpdateOps(u, &unshown{ID: u.ID, Mail: "b@x"})
			}, table.ErrStale,
		},
		"no former copy": {nil, func(r *repo.Repo[unshown], u unshown) []table.Op { return r.DeleteOps(u) }, nil},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			tbl := tabletest.New(t, schema.Table{TTLAttribute: "expiresAt"}, nil)
			r := newRepo(t, tbl, repo.Entity[unshown]{
				Type: "PERSON", Version: "revision", Key: func(u unshown) keys.Key { return personKey(u.ID) },
				FormerCopies: []func(unshown) keys.Key{former},
				Claims: func(u unshown) (all []keys.Key) {
					for _, n := range u.Names {
						all = append(all, name(n))
					}
					return all
				},
			})
			u := unshown{ID: "1", Names: []string{"a"}, Mail: "a@x"}
			expect.OK(t, r.Create(t.Context(), &u))
			if tt.before != nil {
				expect.OK(t, tt.before(tbl, u))
			}
			before := itemsLeft(t, tbl)
			err := tbl.Transact(t.Context(), tt.ops(r, u)...)
			if tt.want == nil {
				expect.OK(t, err)
				return
			}
			expect.Err(t, err, tt.want)
			expect.Equal(t, "items", itemsLeft(t, tbl), before)
		})
	}
}

// counted is an entity with an integer version, which does not say whose a copy is.
type counted struct {
	ID      string    `dynamodbav:"id"`
	Email   string    `dynamodbav:"email"`
	Age     int       `dynamodbav:"age"`
	Left    string    `dynamodbav:"left,omitempty"`
	Home    address   `dynamodbav:"home"`
	Roles   []string  `dynamodbav:"roles,stringset,omitempty"`
	Extra   any       `dynamodbav:"extra"`
	Visits  []address `dynamodbav:"visits"`
	Version int64     `dynamodbav:"version"`
}

type address struct {
	City string `dynamodbav:"city"`
	Zip  string `dynamodbav:"zip"`
}

func newCounted(t *testing.T, tbl *table.Table) (*repo.Repo[counted], counted) {
	t.Helper()
	people := newRepo(t, tbl, repo.Entity[counted]{
		Type: "PERSON", Version: "version", Key: func(c counted) keys.Key { return personKey(c.ID) },
		Copies: []repo.Copy[counted]{{Key: func(c counted) keys.Key { return emailKey(c.Email) }}},
	})
	ana := table.Item{
		"entityType": &types.AttributeValueMemberS{Value: "PERSON"}, "version": number(7),
		"id": &types.AttributeValueMemberS{Value: "1"}, "email": &types.AttributeValueMemberS{Value: "a@x"},
		"roles": &types.AttributeValueMemberSS{Value: []string{"reader", "writer"}},
		// As an earlier release, or another program, has stored what the value shows otherwise.
		"age": &types.AttributeValueMemberNULL{Value: true}, "left": &types.AttributeValueMemberS{Value: ""},
		// As a later release has.
		"home": &types.AttributeValueMemberM{Value: table.Item{
			"city": &types.AttributeValueMemberS{Value: "Lima"}, "country": &types.AttributeValueMemberS{Value: "PE"},
		}},
		"visits": &types.AttributeValueMemberL{Value: []types.AttributeValue{&types.AttributeValueMemberM{Value: table.Item{"day": number(1)}}}},
		"isbn":   &types.AttributeValueMemberS{Value: "1"},
		// What attributevalue writes otherwise than it is read.
		"extra": &types.AttributeValueMemberSS{Value: []string{"a", "b"}},
	}
	for _, key := range []keys.Key{personKey("1"), emailKey("a@x")} {
		expect.OK(t, tbl.Do(t.Context(), table.Put(key, ana)))
	}
	return people, expect.Value(people.Consistent().Get(t.Context(), personKey("1")))(t)
}

// Two entities can have the same version. So the ops of one expect its copy to have all that
// its value shows, and read nothing.
func TestOpsOfCountedEntitiesLeaveOthersCopies(t *testing.T) {
	t.Parallel()
	str := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	home := func(city string) types.AttributeValue {
		return &types.AttributeValueMemberM{Value: table.Item{"city": str(city)}}
	}
	for what, differs := range map[string]table.Item{
		"nothing": {}, "id": {"id": str("2")}, "zero": {"age": number(1)}, "left out": {"left": str("x")},
		"member": {"home": home("Cusco")}, "set": {"roles": &types.AttributeValueMemberSS{Value: []string{"reader"}}},
		"version": {"version": number(8)}, "type": {"entityType": str("OTHER")},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			var faults tabletest.Faults
			tbl := tabletest.NewWith(t, tabletest.Client(t, faults.Install), schema.Table{}, nil)
			people, ana := newCounted(t, tbl)
			if len(differs) > 0 {
				expect.OK(t, tbl.Do(t.Context(), table.Patch(emailKey("a@x"), differs)))
			}
			theirs := storedItem(t, tbl, emailKey("a@x"))
			before := len(faults.Requests())
			next := ana
			next.Home.City = "Quito"
			var want error
			switch what {
			case "nothing":
			case "type":
				want = table.ErrWrongType
			default:
				want = table.ErrStale
			}
			err := tbl.Transact(t.Context(), people.UpdateOps(ana, &next)...)
			if want == nil {
				expect.OK(t, err)
				expect.OK(t, tbl.Transact(t.Context(), people.DeleteOps(next)...))
				expect.Equal(t, "requests", len(faults.Requests())-before, 2)
				expect.Equal(t, "items left", itemsLeft(t, tbl), 0)
				return
			}
			expect.Err(t, err, want)
			expect.Err(t, tbl.Transact(t.Context(), people.DeleteOps(ana)...), want)
			expect.Equal(t, "requests", len(faults.Requests())-before, 2)
			if !maps.EqualFunc(storedItem(t, tbl, emailKey("a@x")), theirs, item.Equal) {
				t.Error("the copy has changed")
			}
			expect.Equal(t, "version", expect.Value(people.Consistent().Get(t.Context(), personKey("1")))(t).Version, 7)
		})
	}
}

// What another program has stored with other digits does not tell whose a copy is.
func TestOpsOfCountedEntitiesTakeOtherForms(t *testing.T) {
	t.Parallel()
	type event struct {
		ID      string         `dynamodbav:"id"`
		At      time.Time      `dynamodbav:"at"`
		Rate    float64        `dynamodbav:"rate"`
		Free    map[string]any `dynamodbav:"free"`
		Version int64          `dynamodbav:"version"`
	}
	tbl := tabletest.New(t, schema.Table{}, nil)
	r := newRepo(t, tbl, repo.Entity[event]{
		Type: "EVENT", Version: "version", Key: func(e event) keys.Key { return personKey(e.ID) },
		Copies: []repo.Copy[event]{{Key: func(e event) keys.Key { return emailKey(e.ID) }}},
	})
	long := &types.AttributeValueMemberN{Value: "12345678901234567890123"}
	for _, key := range []keys.Key{personKey("1"), emailKey("1")} {
		expect.OK(t, tbl.Do(t.Context(), table.Put(key, table.Item{
			"entityType": &types.AttributeValueMemberS{Value: "EVENT"}, "version": number(1), "id": &types.AttributeValueMemberS{Value: "1"},
			"at": &types.AttributeValueMemberS{Value: "2024-01-02T03:04:05.000Z"}, "rate": long,
			"free": &types.AttributeValueMemberM{Value: table.Item{"account": long}},
		})))
	}
	v := expect.Value(r.Get(t.Context(), personKey("1")))(t)
	expect.OK(t, tbl.Transact(t.Context(), r.DeleteOps(v)...))
	expect.Equal(t, "items left", itemsLeft(t, tbl), 0)
}

// A condition compares 140 attributes at most, members of maps included. Lists tell nothing.
func TestOpsOfCountedEntitiesWithManyAttributes(t *testing.T) {
	t.Parallel()
	type wide struct {
		Scores  map[string]int `dynamodbav:"scores"`
		Names   []string       `dynamodbav:"names"`
		Version int64          `dynamodbav:"version"`
	}
	tbl := tabletest.New(t, schema.Table{}, nil)
	r := newRepo(t, tbl, repo.Entity[wide]{
		Type: "WIDE", Version: "version", Key: func(wide) keys.Key { return docKey },
		Copies: []repo.Copy[wide]{{Key: func(wide) keys.Key { return emailKey("a") }}},
	})
	for n, want := range map[int]error{0: table.ErrInvalid, 140: nil, 141: table.ErrTooLarge} {
		v := wide{Scores: map[string]int{}, Names: []string{"a"}, Version: 7}
		for i := range n {
			v.Scores[fmt.Sprintf("s%d", i)] = i + 1
		}
		for _, key := range []keys.Key{docKey, emailKey("a")} {
			stored := expect.Value(attributevalue.MarshalMap(v))(t)
			stored["entityType"] = &types.AttributeValueMemberS{Value: "WIDE"}
			expect.OK(t, tbl.Do(t.Context(), table.Put(key, table.Item(stored))))
		}
		err := tbl.Transact(t.Context(), r.DeleteOps(v)...)
		if want == nil {
			expect.OK(t, err)
			continue
		}
		expect.Err(t, err, want)
		expect.Equal(t, "items left", itemsLeft(t, tbl), 2)
	}
}

// The next version makes an update of a copy too long, which is then read, and keeps the rest.
func TestTooLongWithTheNextVersion(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema.Table{}, nil)
	r := newRepo(t, tbl, repo.Entity[map[string]string]{
		Type: "MAP", Version: "revision", Key: func(map[string]string) keys.Key { return docKey },
		Copies: []repo.Copy[map[string]string]{{Key: func(map[string]string) keys.Key { return emailKey("a") }}},
	})
	v := map[string]string{"stays": "1"}
	for i := range 272 {
		v[fmt.Sprintf("a%03d", i)] = "x"
	}
	expect.OK(t, r.Create(t.Context(), &v))
	expect.Value(r.Update(t.Context(), docKey, func(v *map[string]string) error {
		for name := range *v {
			if strings.HasPrefix(name, "a") {
				(*v)[name] = "y"
			}
		}
		return nil
	}))(t)
	for _, key := range []keys.Key{docKey, emailKey("a")} {
		stored := storedItem(t, tbl, key)
		expect.Equal(t, "what stays and what changes", [2]string{item.Text(stored["stays"]), item.Text(stored["a271"])}, [2]string{"1", "y"})
	}
}

// An attribute of a map that has not changed is not written, as it may have been read otherwise
// than it is stored.
func TestUpdateOpsOfAMapLeaveWhatIsUnchanged(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema.Table{}, nil)
	r := newRepo(t, tbl, repo.Entity[map[string]any]{Type: "MAP", Version: "revision", Key: func(map[string]any) keys.Key { return docKey }})
	set := &types.AttributeValueMemberSS{Value: []string{"a", "b"}}
	expect.OK(t, tbl.Do(t.Context(), table.Put(docKey, table.Item{
		"entityType": &types.AttributeValueMemberS{Value: "MAP"}, "revision": &types.AttributeValueMemberS{Value: "1"},
		"set": set, "gone": number(1),
	})))
	old := expect.Value(r.Get(t.Context(), docKey))(t)
	v := maps.Clone(old)
	v["title"] = "new"
	delete(v, "gone")
	expect.OK(t, tbl.Transact(t.Context(), r.UpdateOps(old, &v)...))
	stored := storedItem(t, tbl, docKey)
	expect.Equal(t, "set as it was", item.EqualUnordered(stored["set"], set), true)
	expect.Equal(t, "title", item.Text(stored["title"]), "new")
	expect.Equal(t, "gone", stored["gone"], nil)
}

// TransactPut stores values as Save does: what has not changed is not written, and checked.
func TestTransactPutOfWhatHasNotChanged(t *testing.T) {
	t.Parallel()
	var faults tabletest.Faults
	tbl := tabletest.NewWith(t, tabletest.Client(t, faults.Install), schema.Table{}, nil)
	people := newRepo(t, tbl, personEntity())
	ana, eva, leo := person{ID: "1", Email: "a@x"}, person{ID: "2", Email: "e@x"}, person{ID: "3", Email: "l@x"}
	expect.OK(t, people.TransactPut(t.Context(), &ana, &eva))
	written := func(put ...*person) (requests int) {
		t.Helper()
		before := len(faults.Requests("TransactWriteItems", "PutItem", "UpdateItem"))
		expect.OK(t, people.TransactPut(t.Context(), put...))
		return len(faults.Requests("TransactWriteItems", "PutItem", "UpdateItem")) - before
	}
	expect.Equal(t, "writes without a change", written(&ana, &eva), 0)

	// A copy is missing, and another one is taken.
	expect.OK(t, tbl.Do(t.Context(), table.Delete(emailKey("e@x"))))
	same, rev := ana, eva.Rev
	ana.Name, eva.Name, eva.Email = "Ana", "Eva", "e2@x"
	leo.Email = "u@x"
	expect.OK(t, people.Create(t.Context(), &person{ID: "4", Email: "u@x"}))
	expect.Err(t, people.TransactPut(t.Context(), &ana, &eva, &leo), table.ErrExists)
	expect.Equal(t, "revisions of what is not written", [3]string{ana.Rev, eva.Rev, leo.Rev}, [3]string{same.Rev, rev, ""})
	leo.Email = "l@x"
	written(&ana, &eva, &leo)
	for _, p := range []person{ana, eva, leo} {
		for _, key := range []keys.Key{personKey(p.ID), emailKey(p.Email)} {
			expect.Equal(t, "stored", expect.Value(people.Consistent().Get(t.Context(), key))(t), p)
		}
	}
	expect.OK(t, tbl.Do(t.Context(), table.Delete(emailKey("a@x"))))
	ana.Name = "Anna"
	expect.Equal(t, "writes over a missing copy", written(&ana, &eva), 2)
	expect.Equal(t, "the copy", expect.Value(people.Consistent().Get(t.Context(), emailKey("a@x")))(t), ana)

	// Another program changes the unchanged value between the reads and the write.
	faults.Next("TransactWriteItems", func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		expect.Value(people.Update(context.WithoutCancel(t.Context()), personKey("2"), func(p *person) error { p.Name = "other"; return nil }))(t)
		return next.RoundTrip(r)
	})
	before := ana
	ana.Name = "lost"
	expect.Err(t, people.TransactPut(t.Context(), &ana, &eva), table.ErrStale)
	expect.Equal(t, "stored", expect.Value(people.Consistent().Get(t.Context(), personKey("1")))(t), before)
}
