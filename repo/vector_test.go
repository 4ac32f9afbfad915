package repo_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/internal/vectors"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// product has a vector. Another release gives it a copy by its title.
type product struct {
	ID        string    `dynamodbav:"id"`
	Tenant    string    `dynamodbav:"tenant"`
	Category  string    `dynamodbav:"category"`
	Title     string    `dynamodbav:"title"`
	Embedding []float32 `dynamodbav:"embedding"`
	Expires   int64     `dynamodbav:"expiresAt,omitempty"`
	Rev       string    `dynamodbav:"rev"`
}

func (p product) key() keys.Key { return keys.Key{PK: "PRODUCT", SK: keys.SK(p.ID)} }

func (p product) byTitle() keys.Key {
	if p.Title == "" {
		return keys.Key{}
	}
	return keys.Key{PK: "TITLE", SK: keys.SK(p.Title)}
}

func similar(change ...func(*schema.VectorIndex)) schema.Table {
	x := schema.VectorIndex{
		Name: "similar", Attribute: "embedding", Dimensions: 2, Partition: schema.Attribute{Name: "tenant"}, Filters: []schema.Attribute{{Name: "category"}},
	}
	for _, c := range change {
		c(&x)
	}
	return schema.Table{TTLAttribute: "expiresAt", Vectors: []schema.VectorIndex{x}}
}

func productEntity() repo.Entity[product] {
	return repo.Entity[product]{Type: "PRODUCT", Version: "rev", Key: product.key}
}

func newProducts(t *testing.T) (*table.Table, *repo.Repo[product]) {
	t.Helper()
	tbl := tabletest.New(t, similar(), nil)
	return tbl, newRepo(t, tbl, productEntity())
}

func near(tenant string) table.Search {
	return table.Search{Index: "similar", Near: []float32{1, 0}, Partition: tenant}
}

// found returns the ids of the products that a search of a tenant finds, the nearest first.
func found(t *testing.T, r *repo.Repo[product], s table.Search) (ids string) {
	t.Helper()
	matches, stats, err := r.Search(t.Context(), s)
	expect.OK(t, err)
	expect.Equal(t, "items", stats.Items, len(matches))
	for _, m := range matches {
		expect.Equal(t, "key", m.Key, m.Item.key())
		ids += m.Item.ID
	}
	return ids
}

func vectorOf(numbers ...string) types.AttributeValue {
	v := &types.AttributeValueMemberL{}
	for _, n := range numbers {
		v.Value = append(v.Value, &types.AttributeValueMemberN{Value: n})
	}
	return v
}

func inTransaction(tbl *table.Table, ops []table.Op) error {
	return tbl.Transact(context.Background(), ops...)
}

func tenant(name string) types.AttributeValue { return &types.AttributeValueMemberS{Value: name} }

// newWays and changes are all writes of a value: a new one, and a changed one that was old.
func newWays(tbl *table.Table, r *repo.Repo[product]) map[string]func(context.Context, *product) error {
	return map[string]func(context.Context, *product) error{
		"Create": r.Create, "Save": r.Save,
		"TransactPut": func(ctx context.Context, v *product) error { return r.TransactPut(ctx, v) },
		"CreateOps":   func(_ context.Context, v *product) error { return inTransaction(tbl, r.CreateOps(v)) },
	}
}

func changes(tbl *table.Table, r *repo.Repo[product]) map[string]func(ctx context.Context, old product, v *product) error {
	return map[string]func(context.Context, product, *product) error{
		"Save":        func(ctx context.Context, _ product, v *product) error { return r.Save(ctx, v) },
		"TransactPut": func(ctx context.Context, _ product, v *product) error { return r.TransactPut(ctx, v) },
		"UpdateOps":   func(_ context.Context, old product, v *product) error { return inTransaction(tbl, r.UpdateOps(old, v)) },
		"Update": func(ctx context.Context, old product, v *product) error {
			return expect.ErrOf(r.Update(ctx, old.key(), func(p *product) error { *p = *v; return nil }))
		},
		"UpdateWith": func(ctx context.Context, old product, v *product) error {
			return expect.ErrOf(r.UpdateWith(ctx, old.key(), func(p *product) ([]table.Op, error) {
				*p = *v
				return []table.Op{table.Put(keys.Key{PK: "LOG", SK: keys.SK(v.Rev)}, nil)}, nil
			}))
		},
	}
}

// TestWritesKeepVectors writes by every way, and shows by a search and by a read that the
// vector is neither lost nor where no search finds it.
func TestWritesKeepVectors(t *testing.T) {
	t.Parallel()
	vectors.Needed(t)
	tbl, r := newProducts(t)
	ctx, n := t.Context(), 0
	fresh := func() product {
		n++
		id := fmt.Sprint("p", n)
		return product{ID: id, Tenant: "tenant of " + id, Category: "shoes", Title: "title of " + id, Embedding: []float32{0, 1}}
	}
	// is checks what is stored of v, if it was written, or of old.
	is := func(what string, v product) {
		t.Helper()
		got := expect.Value(r.Consistent().Get(ctx, v.key()))(t)
		expect.Equal(t, what+": vector", got.Embedding, v.Embedding)
		want := ""
		if v.Embedding != nil {
			want = v.ID
		}
		if v.Tenant != "" {
			expect.Equal(t, what+": found", found(t, r, near(v.Tenant)), want)
		}
	}
	for way, write := range newWays(tbl, r) {
		v := fresh()
		expect.OK(t, write(ctx, &v))
		is(way, v)
		v = fresh()
		v.Embedding = []float32{} // as if there was none
		expect.OK(t, write(ctx, &v))
		v.Embedding = nil
		is(way+" without", v)
		v = fresh()
		v.Tenant = ""
		expect.Err(t, write(ctx, &v), table.ErrInvalid)
		expect.Err(t, expect.ErrOf(r.Get(ctx, v.key())), table.ErrNotFound)
	}
	for change, do := range map[string]struct {
		change  func(*product)
		refused bool
	}{
		"vector":                  {func(p *product) { p.Embedding = []float32{1, 0} }, false},
		"title":                   {func(p *product) { p.Title += "!" }, false},
		"no title":                {func(p *product) { p.Title = "" }, false},
		"category":                {func(p *product) { p.Category = "" }, false},
		"tenant":                  {func(p *product) { p.Tenant += "!" }, false},
		"vector and tenant":       {func(p *product) { p.Tenant, p.Embedding = p.Tenant+"!", []float32{1, 0} }, false},
		"no vector":               {func(p *product) { p.Embedding = nil }, false},
		"an empty vector":         {func(p *product) { p.Embedding = []float32{} }, false},
		"neither":                 {func(p *product) { p.Tenant, p.Embedding = "", nil }, false},
		"no tenant":               {func(p *product) { p.Tenant = "" }, true},
		"vector without tenant":   {func(p *product) { p.Tenant, p.Embedding = "", []float32{1, 0} }, true},
		"other dimensions":        {func(p *product) { p.Embedding = []float32{1} }, true},
		"an element that is none": {func(p *product) { p.Embedding = []float32{1, float32(math.NaN())} }, true},
	} {
		for way, write := range changes(tbl, r) {
			old := fresh()
			expect.OK(t, r.Create(ctx, &old))
			v := old
			do.change(&v)
			switch err := write(ctx, old, &v); {
			case do.refused:
				expect.Err(t, err, table.ErrInvalid)
				is(change+" by "+way, old)
			case err != nil:
				t.Errorf("%s by %s: %v", change, way, err)
			default:
				if len(v.Embedding) == 0 {
					v.Embedding = nil
				}
				is(change+" by "+way, v)
				if v.Tenant != old.Tenant {
					expect.Equal(t, change+" by "+way+": found by the old tenant", found(t, r, near(old.Tenant)), "")
				}
			}
		}
	}
	// An entity without a vector may lose its partition, and get both back.
	v := fresh()
	v.Embedding = nil
	expect.OK(t, r.Create(ctx, &v))
	for _, change := range []func(*product){
		func(p *product) { p.Tenant = "" }, func(p *product) { p.Tenant, p.Embedding = "again", []float32{1, 0} },
	} {
		v = expect.Value(r.Update(ctx, v.key(), func(p *product) error { change(p); return nil }))(t)
		is("no vector", v)
	}
	expect.OK(t, r.Delete(ctx, v.key()))
	expect.Equal(t, "found after a deletion", found(t, r, near("again")), "")
	expect.Value(r.DeleteAll(ctx, table.Query{PK: "PRODUCT"}, nil))(t)
	expect.Equal(t, "found after all deletions", found(t, r, near("tenant of p1")), "")
}

// A search gives whole entities in its order, and compares each again with what it has read.
// What the index has and the table no longer does is left out, and counted.
func TestSearchComparesWithWhatItReads(t *testing.T) {
	t.Parallel()
	vectors.Needed(t)
	tbl, r := newProducts(t)
	ctx := t.Context()
	all := map[string]product{}
	for id, vector := range map[string][]float32{"1": {1, 0}, "2": {2, 1}, "3": {1, 1}} {
		v := product{ID: id, Tenant: "acme", Category: "shoes", Title: "long", Embedding: vector}
		expect.OK(t, r.Create(ctx, &v))
		all[id] = v
	}
	set := func(name string, value any) table.Op {
		return table.Update(all["2"].key(), expression.Set(expression.Name(name), expression.Value(value)))
	}
	former := storedItem(t, tbl, all["2"].key())
	by := near("acme")
	by.Filter = map[string]string{"category": "shoes"}
	for what, op := range map[string]table.Op{
		"nothing":        table.Put(all["2"].key(), former),
		"tenant":         set("tenant", "other"),
		"no tenant":      table.Put(all["2"].key(), table.Item{"entityType": tenant("PRODUCT"), "id": tenant("2"), "category": tenant("shoes")}),
		"category":       set("category", "boots"),
		"type":           set("entityType", "OTHER"),
		"expiry":         set("expiresAt", 1),
		"deletion":       table.Delete(all["2"].key()),
		"another entity": set("id", "4"), // so the item is under a key that is not its own
	} {
		expect.OK(t, tbl.Do(ctx, table.Put(all["2"].key(), former)))
		changing := table.WithObserver(ctx, func(_ context.Context, e table.Event) {
			if e.Operation == "SearchVectors" {
				expect.OK(t, tbl.Do(t.Context(), op))
			}
		})
		matches, stats, err := r.Search(changing, by)
		expect.OK(t, err)
		want := []product{all["1"], all["2"], all["3"]}
		if what != "nothing" {
			want = slices.Delete(want, 1, 2)
		}
		var got []product
		for _, m := range matches {
			expect.Equal(t, "key", m.Key, m.Item.key())
			expect.Equal(t, "score", math.Round(1e4*m.Score), math.Round(1e4*score("COSINE", m.Item.Embedding, by.Near)))
			got = append(got, m.Item)
		}
		expect.Equal(t, "found by a change of "+what, got, want)
		expect.Equal(t, "items", stats.Items, len(want))
		expect.Equal(t, "scanned", stats.Scanned, 3)
		expect.Equal(t, "requests", stats.Requests, 2)
	}
}

// A search that does not read all that it has found is an error.
func TestSearchesThatEndIncomplete(t *testing.T) {
	t.Parallel()
	vectors.Needed(t)
	tbl, r := newProducts(t)
	for i := range 3 {
		expect.OK(t, r.Create(t.Context(), &product{ID: fmt.Sprint(i), Tenant: "acme", Embedding: []float32{1, 0}}))
	}
	var faults tabletest.Faults
	faulty := newRepo(t, expect.Value(table.New(tabletest.Client(t, faults.Install), tbl.Schema(), &table.Options{MaxAttempts: 2}))(t), productEntity())
	faults.Next("BatchGetItem", tabletest.Unprocessed(2))
	expect.Equal(t, "found by two reads", len(found(t, faulty, near("acme"))), 3)
	faults.Always("BatchGetItem", tabletest.Unprocessed(1))
	matches, _, err := faulty.Search(t.Context(), near("acme"))
	expect.Err(t, err, table.ErrThrottled)
	expect.Equal(t, "matches", len(matches), 0)
	e, _ := errors.AsType[*table.Error](err)
	expect.Equal(t, "operation", e.Op, "Search")
	expect.Equal(t, "remaining", len(e.Remaining), 1)
}

// A copy that another release has stored with the vector is found by no search. Less than an
// entity is searched into another type.
func TestSearchesOfCopiesAndOfLess(t *testing.T) {
	t.Parallel()
	vectors.Needed(t)
	tbl, r := newProducts(t)
	ctx := t.Context()
	v := product{ID: "1", Tenant: "acme", Title: "one", Embedding: []float32{1, 0}}
	expect.OK(t, r.Create(ctx, &v))
	expect.OK(t, tbl.Do(ctx, table.Put(v.byTitle(), storedItem(t, tbl, v.key()))))
	expect.Equal(t, "found", found(t, r, near("acme")), "1")
	s := near("acme")
	s.Project = []string{"title"}
	_, _, err := r.Search(ctx, s)
	expect.Err(t, err, table.ErrInvalid)
	listed, stats, err := table.SearchVectors[shared](ctx, r.View(), s)
	expect.OK(t, err)
	expect.Equal(t, "title", listed[0].Item.Title, "one")
	expect.Equal(t, "in the index", stats.Scanned, 2)
	for _, s := range []table.Search{s, near("acme")} {
		_, stats, err = table.SearchVectors[product](ctx, r.View(), s)
		expect.Err(t, err, table.ErrInvalid)
		expect.Equal(t, "requests", stats.Requests, 0)
		if !strings.Contains(err.Error(), "invalid search: Index: ") || !strings.Contains(err.Error(), "Repo.Search") {
			t.Errorf("a search says %v", err)
		}
	}
	_, _, err = r.Consistent().Search(ctx, near("acme"))
	expect.Err(t, err, table.ErrInvalid)
}

type (
	numbers []float32
	// shared are the fields of the entities below, and attributes one of a type of its own.
	shared struct {
		ID     string `dynamodbav:"id"`
		Tenant string `dynamodbav:"tenant"`
		Title  string `dynamodbav:"title"`
		Rev    string `dynamodbav:"rev"`
	}
	withVector[V any] struct {
		shared
		Embedding V `dynamodbav:"embedding"`
	}
	attributes map[string]any
)

func (v withVector[V]) key() keys.Key { return product{ID: v.ID}.key() }

var fields = shared{ID: "1", Tenant: "acme"}

// keepsVector writes an entity of a kind, whose vector is found until it is empty.
func keepsVector[T any](spec schema.Table, e repo.Entity[T], v T, touch, empty func(*T)) func(*testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		tbl := tabletest.New(t, spec, nil)
		e.Type, e.Version = "PRODUCT", "rev"
		r, key := newRepo(t, tbl, e), e.Key(v)
		s := near("acme")
		switch spec.Vectors[0].Partition.Name {
		case "entityType":
			s.Partition = e.Type
		case "pk":
			s.Partition = string(key.PK)
		case "":
			s.Partition = ""
		}
		finds := func(what string, want ...keys.Key) {
			t.Helper()
			matches, _, err := r.Search(t.Context(), s)
			expect.OK(t, err)
			var got []keys.Key
			for _, m := range matches {
				got = append(got, m.Key)
			}
			expect.Equal(t, what, got, want)
		}
		expect.OK(t, r.Create(t.Context(), &v))
		finds("created", key)
		update := func(change func(*T)) {
			v = expect.Value(r.Update(t.Context(), key, func(v *T) error { change(v); return nil }))(t)
		}
		update(touch)
		finds("updated", key)
		expect.OK(t, tbl.Transact(t.Context(), r.UpdateOps(v, &v)...))
		finds("put", key)
		update(empty)
		finds("emptied")
		if _, has := storedItem(t, tbl, key)["embedding"]; has {
			t.Error("the empty vector is stored")
		}
	}
}

func TestKindsOfVectors(t *testing.T) {
	t.Parallel()
	vectors.Needed(t)
	type v32 = withVector[[]float32]
	e := repo.Entity[v32]{Key: v32.key}
	by := func(attribute string) func(*schema.VectorIndex) {
		return func(x *schema.VectorIndex) { x.Partition.Name, x.Filters = attribute, nil }
	}
	byKey := similar(by("gsi1pk"))
	byKey.Indexes = []schema.Index{{Name: "GSI1", PK: "gsi1pk", SK: "gsi1sk"}}
	indexed := e
	indexed.Indexes = repo.Indexes[v32]{"GSI1": func(v v32) keys.Key { return keys.Key{PK: keys.PK(v.Tenant), SK: keys.SK(v.ID)} }}
	keysOnly := similar(by("tenant"), func(x *schema.VectorIndex) {
		x.Projection, x.Filters = types.ProjectionTypeKeysOnly, []schema.Attribute{{Name: "entityType"}, {Name: "expiresAt", Type: "N"}}
	})
	include := similar(by("tenant"), func(x *schema.VectorIndex) {
		x.Projection, x.Include = types.ProjectionTypeInclude, []string{"entityType", "expiresAt", "id"}
	})
	for name, tt := range map[string]struct {
		spec schema.Table
		e    repo.Entity[v32]
	}{
		"field": {similar(), e}, "table key": {similar(by("pk")), e}, "index key": {byKey, indexed}, "type": {similar(by("entityType")), e},
		"no partition": {similar(by("")), e}, "KEYS_ONLY": {keysOnly, e}, "INCLUDE": {include, e},
	} {
		t.Run(name, keepsVector(tt.spec, tt.e, v32{fields, []float32{1, 0}}, func(v *v32) { v.Title = "new" }, func(v *v32) { v.Embedding = nil }))
	}
	t.Run("float64", ofKind([]float64{1, 0}, []float64{}))
	t.Run("named slice", ofKind(numbers{1, 0}, numbers{}))
	t.Run("pointer", ofKind(&numbers{1, 0}, nil))
	id := func(v attributes) string { s, _ := v["id"].(string); return s }
	t.Run("map", keepsVector(similar(), repo.Entity[attributes]{
		Key: func(v attributes) keys.Key { return product{ID: id(v)}.key() },
	}, attributes{"id": "1", "tenant": "acme", "embedding": []float32{1, 0}}, func(v *attributes) { (*v)["title"] = "new" }, func(v *attributes) { (*v)["embedding"] = []float32{} }))
}

// ofKind is keepsVector of a field of that type.
func ofKind[V any](v, empty V) func(*testing.T) {
	return keepsVector(similar(), repo.Entity[withVector[V]]{Key: withVector[V].key}, withVector[V]{fields, v},
		func(v *withVector[V]) { v.Title = "new" }, func(v *withVector[V]) { v.Embedding = empty })
}

// named gives a schema a name, and withCopy an entity a copy.
func named(spec schema.Table) schema.Table { spec.Name = "Products"; return spec }

func withCopy[T any](e repo.Entity[T], key func(T) keys.Key) repo.Entity[T] {
	e.Copies = []repo.Copy[T]{{Key: key}}
	return e
}

// entityProblems are why an entity of that type cannot be in the index of a schema.
func entityProblems[T any](t *testing.T, spec schema.Table) []string {
	t.Helper()
	err := repo.Declared(expect.Value(table.New(tabletest.Client(t), named(spec), nil))(t), repo.Entity[T]{Type: "PRODUCT", Key: func(T) keys.Key { return keys.Key{} }})
	if err == nil {
		return nil
	}
	expect.Err(t, err, table.ErrInvalid)
	invalid, _ := errors.AsType[*schema.Error](err)
	return invalid.Problems
}

// A stored attribute of a vector index would be read into a field whose name differs in case
// only, and the next write would store it under that name, out of the index.
func TestFieldsAreSpelledAsVectorIndexesAre(t *testing.T) {
	t.Parallel()
	for attribute, problems := range map[string][]string{
		"embedding": entityProblems[struct{ Embedding []float32 }](t, similar()),
		"tenant": entityProblems[struct {
			Other string `dynamodbav:"TENANT"`
		}](t, similar()),
		"category": entityProblems[struct{ Category string }](t, similar()),
	} {
		if len(problems) != 1 || !strings.Contains(problems[0], fmt.Sprintf("differs from attribute %q of the schema", attribute)) {
			t.Errorf("%s: %q", attribute, problems)
		}
	}
	expect.Equal(t, "both", entityProblems[struct {
		Category string `dynamodbav:"category"`
		Other    string `dynamodbav:"Category"`
	}](t, similar()), nil)
}

func TestVectorsOfEntitiesAreValidated(t *testing.T) {
	t.Parallel()
	const at = `vector index "similar": `
	include := similar(func(x *schema.VectorIndex) { x.Projection, x.Include = types.ProjectionTypeInclude, []string{"title"} })
	expect.Equal(t, "whole", entityProblems[product](t, similar()), nil)
	expect.Equal(t, "other entity", entityProblems[shared](t, include), nil)
	expect.Equal(t, "projection", entityProblems[product](t, include), []string{
		at + `does not hold attribute "entityType", by which a search tells what it finds`,
		at + `does not hold attribute "expiresAt", by which a search tells what it finds`,
	})
	expect.Equal(t, "vector", entityProblems[withVector[string]](t, similar()), []string{at + `attribute "embedding": a string is not stored as a list of numbers`})
	expect.Equal(t, "set", entityProblems[struct {
		Tenant    string    `dynamodbav:"tenant"`
		Embedding []float32 `dynamodbav:"embedding,numberset"`
	}](t, similar()), []string{at + `attribute "embedding": a []float32 is not stored as a list of numbers`})
	expect.Equal(t, "partition", entityProblems[struct {
		Embedding []float32 `dynamodbav:"embedding"`
	}](t, similar())[0][:len(at)+12], at+"struct { Emb")
	for name, err := range map[string]error{
		"struct": repo.Declared(expect.Value(table.New(tabletest.Client(t), named(similar()), nil))(t), withCopy(productEntity(), product.byTitle)),
		"map": repo.Declared(expect.Value(table.New(tabletest.Client(t), named(similar()), nil))(t), withCopy(repo.Entity[attributes]{
			Type: "PRODUCT", Version: "rev", Key: func(attributes) keys.Key { return keys.Key{PK: "A", SK: "B"} },
		}, func(attributes) keys.Key { return keys.Key{PK: "C", SK: "D"} })),
	} {
		expect.Err(t, err, table.ErrInvalid)
		invalid, _ := errors.AsType[*schema.Error](err)
		if len(invalid.Problems) != 1 || !strings.HasPrefix(invalid.Problems[0], "Copies: a repo_test.") {
			t.Errorf("copies of a %s: %q", name, invalid.Problems)
		}
	}
	expect.Equal(t, "types", entityProblems[struct {
		Tenant    int       `dynamodbav:"tenant"`
		Category  []string  `dynamodbav:"category"`
		Embedding []float32 `dynamodbav:"embedding"`
	}](t, similar()), []string{
		at + `attribute "tenant": a int is not of type S, which the index has`,
		at + `attribute "category": a []string is not of type S, which the index has`,
	})
}

// Searches that would miss items are refused: of another entity's index, and by attributes
// that T does not have, or of upgrades. What the index lacks is read from the table.
func TestSearchesOfEntities(t *testing.T) {
	t.Parallel()
	vectors.Needed(t)
	spec := similar()
	spec.Vectors = append(spec.Vectors, spec.Vectors[0])
	spec.Vectors[1].Name, spec.Vectors[1].Projection, spec.Vectors[1].Include = "part", types.ProjectionTypeInclude, []string{"entityType", "expiresAt"}
	tbl := tabletest.New(t, spec, nil)
	ctx := t.Context()
	part := near("acme")
	part.Index = "part"
	with := func(upgrade repo.Upgrade) *repo.Repo[product] {
		e := productEntity()
		e.Upgrades = []repo.Upgrade{upgrade}
		return newRepo(t, tbl, e)
	}
	upgraded := func(item table.Item) error { item["title"] = item["id"]; return nil }
	v := product{ID: "1", Tenant: "acme", Embedding: []float32{1, 0}}
	expect.OK(t, newRepo(t, tbl, productEntity()).Create(ctx, &v))
	titled := with(repo.Upgrade{Writes: []string{"title"}, Change: upgraded})
	embedded := with(repo.Upgrade{Writes: []string{"embedding"}, Change: func(item table.Item) error { item["embedding"] = vectorOf("0", "1"); return nil }})
	matches, _, err := titled.Search(ctx, near("acme"))
	expect.OK(t, err)
	expect.Equal(t, "upgraded", matches[0].Item.Title, "1")
	expect.OK(t, titled.Save(ctx, &matches[0].Item))
	search := func(r *repo.Repo[product], s table.Search) error {
		_, _, err := r.Search(ctx, s)
		return err
	}
	expect.OK(t, search(titled, part)) // the entities are read from the table
	expect.OK(t, search(embedded, near("acme")))
	unknown := near("acme")
	unknown.Project = []string{"nothing"}
	expect.Err(t, search(titled, unknown), table.ErrInvalid)
	// What an upgrade writes is not stored yet, so nothing can be found by it.
	for _, name := range []string{"category", "tenant"} {
		s := near("acme")
		if name == "category" {
			s.Filter = map[string]string{name: "boots"}
		}
		err := search(with(repo.Upgrade{Writes: []string{name}, Change: func(table.Item) error { return nil }}), s)
		expect.Err(t, err, table.ErrInvalid)
		expect.Equal(t, "error", strings.Contains(err.Error(), "is of an upgrade"), true)
	}
	unversioned := productEntity()
	unversioned.Version = ""
	expect.OK(t, search(newRepo(t, tbl, unversioned), near("acme")))
	_, _, err = newRepo(t, tbl, repo.Entity[shared]{Type: "OTHER", Key: func(v shared) keys.Key { return product{ID: v.ID}.key() }}).Search(ctx, near("acme"))
	expect.Err(t, err, table.ErrInvalid)

	// An upgrade can make the vector: the next write stores it with the partition.
	expect.Equal(t, "refreshed", expect.Value(embedded.Refresh(ctx, v.key()))(t), true)
	expect.OK(t, storedItem(t, tbl, v.key()).Decode(&v))
	expect.Equal(t, "stored", v.Embedding, []float32{0, 1})
}

// A release whose T has no vector stores none in the copies that it makes.
func TestCopiesOfAReleaseWithoutTheVector(t *testing.T) {
	t.Parallel()
	vectors.Needed(t)
	type plain struct {
		ID     string `dynamodbav:"id"`
		Tenant string `dynamodbav:"tenant"`
		Title  string `dynamodbav:"title"`
		Rev    string `dynamodbav:"rev"`
	}
	tbl, r := newProducts(t)
	ctx := t.Context()
	old := newRepo(t, tbl, repo.Entity[plain]{
		Type: "PRODUCT", Version: "rev", Key: func(p plain) keys.Key { return product{ID: p.ID}.key() },
		Copies: []repo.Copy[plain]{{Key: func(p plain) keys.Key { return product{Title: p.Title}.byTitle() }}},
	})
	v := product{ID: "1", Tenant: "acme", Title: "tea", Embedding: []float32{1, 0}}
	expect.OK(t, r.Create(ctx, &v))
	for title, write := range map[string]func() error{
		"moved": func() error {
			return expect.ErrOf(old.Update(ctx, v.key(), func(p *plain) error { p.Title = "moved"; return nil }))
		},
		"missing": func() error {
			expect.OK(t, expect.ErrOf(old.Update(ctx, v.key(), func(p *plain) error { p.Title = "missing"; return nil })))
			expect.OK(t, tbl.Do(ctx, table.Delete(product{Title: "missing"}.byTitle())))
			return expect.ErrOf(old.Refresh(ctx, v.key()))
		},
	} {
		expect.OK(t, write())
		expect.Equal(t, title, storedItem(t, tbl, product{Title: title}.byTitle())["embedding"], nil)
		expect.Equal(t, "found", found(t, r, near("acme")), "1")
		matches, _, err := table.SearchVectors[table.Item](ctx, tbl, near("acme"))
		expect.OK(t, err)
		expect.Equal(t, "items in the index", len(matches), 1)
	}
}

// An entity without a vector may have the attributes of the index, and leave them empty.
func TestOtherEntitiesOfATableWithVectors(t *testing.T) {
	t.Parallel()
	vectors.Needed(t)
	tbl := tabletest.New(t, similar(), nil)
	r := newRepo(t, tbl, repo.Entity[shared]{
		Type: "NOTE", Version: "rev", Key: func(v shared) keys.Key { return product{ID: v.ID}.key() },
		Copies: []repo.Copy[shared]{{Key: func(v shared) keys.Key { return product{Title: v.Title}.byTitle() }}},
	})
	v := shared{ID: "1", Title: "one"}
	for _, tenant := range []string{"", "acme", ""} {
		v.Tenant = tenant
		expect.OK(t, r.Save(t.Context(), &v))
		expect.Equal(t, "stored", expect.Value(r.Get(t.Context(), product{ID: "1"}.key()))(t), v)
	}
	expect.OK(t, r.Delete(t.Context(), product{ID: "1"}.key()))

	u := newRepo(t, tbl, repo.Entity[withVector[numbers]]{Type: "PRODUCT", Version: "rev", Key: withVector[numbers].key})
	w := withVector[numbers]{shared: fields}
	set := repo.Patch{Set: map[string]any{"embedding": []float32{1, 0}}}
	expect.Err(t, expect.ErrOf(u.Upsert(t.Context(), w, set)), table.ErrInvalid)
	set.Set["tenant"] = "acme"
	expect.Value(u.Upsert(t.Context(), w, set))(t)
	matches, _, err := u.Search(t.Context(), near("acme"))
	expect.OK(t, err)
	expect.Equal(t, "found after Upsert", len(matches), 1)
}

// TestSearchModel makes random writes, and compares random searches with the items that the
// table has then: every live product of the tenant that is nearer than the last of the Top
// nearest items is found, and nothing else is.
func TestSearchModel(t *testing.T) {
	t.Parallel()
	vectors.Needed(t)
	const seed = 1
	rnd := rand.New(rand.NewPCG(seed, 0))
	spec := similar()
	for _, distance := range []types.VectorDistanceFunction{"EUCLIDEAN", "DOT_PRODUCT"} {
		x := spec.Vectors[0]
		x.Name, x.Distance = string(distance), distance
		spec.Vectors = append(spec.Vectors, x)
	}
	tbl := tabletest.New(t, spec, nil)
	r, ctx := newRepo(t, tbl, productEntity()), t.Context()
	pick := func(of ...string) string { return of[rnd.IntN(len(of))] }
	vector := func() []float32 { return []float32{float32(1 + rnd.IntN(4)), float32(rnd.IntN(7) - 3)} } // with ties
	random := func() product {
		p := product{ID: fmt.Sprint(rnd.IntN(60)), Tenant: pick("a", "b", "c"), Category: pick("", "x", "y"), Embedding: vector()}
		p.Title = pick("", "t"+p.ID)
		if rnd.IntN(5) == 0 {
			p.Expires = time.Now().Unix() + int64(rnd.IntN(2)*7200) - 3600
		}
		if rnd.IntN(6) == 0 {
			p.Embedding = nil
		}
		return p
	}
	for range 300 {
		p := random()
		var err error
		switch rnd.IntN(6) {
		case 0, 1, 2:
			err = r.Create(ctx, &p)
		case 3:
			_, err = r.Update(ctx, p.key(), func(old *product) error { p.Rev = old.Rev; *old = p; return nil })
		case 4:
			err = r.Delete(ctx, p.key())
		case 5: // a copy of an older release, and another entity
			p.Title = "t" + p.ID
			err = tbl.Do(ctx, table.Put(p.byTitle(), table.Item{
				"entityType": &types.AttributeValueMemberS{Value: "PRODUCT"}, "id": &types.AttributeValueMemberS{Value: p.ID},
				"embedding": vectorOf("1", "1"), "tenant": tenant(p.Tenant),
			}))
			expect.OK(t, tbl.Do(ctx, table.Put(keys.Key{PK: "REVIEW", SK: keys.SK(p.ID)}, withVector[[]float32]{shared{Tenant: p.Tenant}, vector()})))
		}
		if err != nil && !errors.Is(err, table.ErrExists) && !errors.Is(err, table.ErrNotFound) {
			t.Fatal(err)
		}
	}

	type stored struct {
		PK    string `dynamodbav:"pk"`
		Type  string `dynamodbav:"entityType"`
		score float64
		product
	}
	raw := tbl.Schema()
	page := expect.Value(table.ScanPage[stored](ctx, expect.Value(table.New(tabletest.Client(t), raw, nil))(t).IncludingExpired(), table.Scan{Limit: 1000}))(t)
	total, dropped := 0, 0
	for range 200 {
		x := raw.Vectors[rnd.IntN(3)]
		s := table.Search{Index: x.Name, Near: vector(), Top: 1 + rnd.IntN(30), Partition: pick("a", "b", "c", "nobody")}
		if rnd.IntN(2) == 0 {
			s.Filter = map[string]string{"category": pick("x", "y")}
		}
		var in []stored // the index, nearest first
		for _, v := range page.Items {
			if category, filtered := s.Filter["category"]; v.Embedding != nil && v.Tenant == s.Partition && (!filtered || v.Category == category) {
				v.score = score(x.Distance, v.Embedding, s.Near)
				in = append(in, v)
			}
		}
		nearer := func(a, b float64) bool {
			return x.Distance == "DOT_PRODUCT" && a > b+1e-5 || x.Distance != "DOT_PRODUCT" && a < b-1e-5
		}
		slices.SortFunc(in, func(a, b stored) int {
			return map[bool]int{nearer(a.score, b.score): -1, nearer(b.score, a.score): 1}[true]
		})
		matches, stats, err := r.Search(ctx, s)
		expect.OK(t, err)
		expect.Equal(t, "scanned", stats.Scanned, min(s.Top, len(in)))
		scores := map[string]float64{}
		for i, m := range matches {
			scores[m.Item.ID] = m.Score
			if i > 0 && nearer(m.Score, matches[i-1].Score) {
				t.Errorf("%+v: %v comes before %v", s, matches[i-1], m)
			}
		}
		expect.Equal(t, "matches of one product", len(scores), len(matches))
		for i, v := range in {
			is, found := scores[v.ID]
			found = found && v.PK == "PRODUCT"
			live := v.PK == "PRODUCT" && (v.Expires == 0 || v.Expires > time.Now().Unix())
			last := in[min(s.Top, len(in))-1].score
			if found && (!live || nearer(last, v.score) || math.Abs(is-v.score) > 1e-5) || !found && live && nearer(v.score, last) {
				t.Errorf("%+v: item %d, %+v: found %v with %v", s, i, v, found, is)
			}
			if found {
				delete(scores, v.ID)
			}
		}
		expect.Equal(t, "matches that are not in the index", len(scores), 0)
		total, dropped = total+len(matches), dropped+stats.Scanned-len(matches)
	}
	if total < 300 || dropped < 100 {
		t.Errorf("the model is weak: %d matches, %d dropped", total, dropped)
	}
}

// score is what DynamoDB says of two vectors.
func score(by types.VectorDistanceFunction, a, b []float32) float64 {
	var dot, aa, bb float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		dot, aa, bb = dot+x*y, aa+x*x, bb+y*y
	}
	switch by {
	case types.VectorDistanceFunctionCosine:
		return 1 - dot/math.Sqrt(aa*bb)
	case types.VectorDistanceFunctionEuclidean:
		return math.Sqrt(max(aa-2*dot+bb, 0))
	}
	return dot
}

// A main item that moves by a field takes its vector along, with the partition.
func TestVectorsMoveWithTheirMainKey(t *testing.T) {
	t.Parallel()
	vectors.Needed(t)
	tbl, r := newProducts(t)
	type moving struct {
		product
		Format int `dynamodbav:"format,omitempty"`
	}
	movedKey := keys.Key{PK: "NEW", SK: "1"}
	moved := newRepo(t, tbl, repo.Entity[moving]{Type: "PRODUCT", Version: "rev", Key: func(m moving) keys.Key {
		if m.Format == 0 {
			return m.key()
		}
		return keys.Key{PK: "NEW", SK: keys.SK(m.ID)}
	}})
	v := product{ID: "1", Tenant: "acme", Embedding: []float32{1, 0}}
	expect.OK(t, r.Create(t.Context(), &v))
	expect.Value(moved.Update(t.Context(), v.key(), func(m *moving) error { m.Format = 1; return nil }))(t)
	matches, _, err := moved.Search(t.Context(), near("acme"))
	expect.OK(t, err)
	expect.Equal(t, "matches", len(matches), 1)
	expect.Equal(t, "key", matches[0].Key, movedKey)
	expect.Equal(t, "vector", matches[0].Item.Embedding, v.Embedding)
	expect.Equal(t, "items left", itemsLeft(t, tbl), 1)
}
