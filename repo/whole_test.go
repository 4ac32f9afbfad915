package repo_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/internal/vectors"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/shard"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// sheet is an entity whose index keys are fields, so that Upsert takes it, too.
type sheet struct {
	ID    string  `dynamodbav:"id"`
	Title string  `dynamodbav:"title"`
	Text  string  `dynamodbav:"text"`
	List  keys.PK `dynamodbav:"listPK"`
	Place keys.SK `dynamodbav:"listSK"`
	Rev   string  `dynamodbav:"rev,omitempty"`
}

// loose is a sheet in a map, and sealed one that makes its attributes itself.
type (
	loose  map[string]any
	sealed struct{ sheet sheet }
)

func (s sealed) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	item, err := attributevalue.MarshalMap(s.sheet)
	return &types.AttributeValueMemberM{Value: item}, err
}

func (s *sealed) UnmarshalDynamoDBAttributeValue(value types.AttributeValue) error {
	s.sheet = sheet{}
	return table.Item(value.(*types.AttributeValueMemberM).Value).Decode(&s.sheet)
}

var (
	sheetKey  = keys.Key{PK: "SHEET#1", SK: "SHEET"}
	oneSheet  = sheet{ID: "1", Title: "one", Text: "long", List: "SHEETS", Place: "1"}
	sheetSpec = schema.Table{Indexes: []schema.Index{
		{Name: "part", PK: "listPK", SK: "listSK", Projection: types.ProjectionTypeInclude, Include: []string{"entityType", "id", "title", "rev"}},
		{Name: "all", PK: "listPK", SK: "listSK"},
	}}
)

// source is where an entity is read: by its key or a query, of a table or a view of it.
type source struct {
	tbl, view *table.Table
	key       keys.Key
	q         table.Query
	index     string // of the shard that has the entity
}

// way is a read of one entity, by the query of a source, by its table or view, or by both.
type way[T any] struct {
	by   by
	read func(context.Context) (T, error)
}

type by int

const (
	query by = 1 << iota
	view
)

// ways returns all reads of an entity that give Ts.
func ways[T any](r *repo.Repo[T], s source) map[string]way[T] {
	ks := []keys.Key{s.key}
	scan := table.Scan{Index: s.q.Index, Project: s.q.Project}
	sequence := func(make func(context.Context) iter.Seq2[T, error]) func(context.Context) (T, error) {
		return func(ctx context.Context) (T, error) { return only(table.Collect(make(ctx))) }
	}
	return map[string]way[T]{
		"Repo.Query": {query, func(ctx context.Context) (T, error) {
			page, err := r.Query(ctx, s.q)
			return only(page.Items, err)
		}},
		"Repo.All": {query, sequence(func(ctx context.Context) iter.Seq2[T, error] { return r.All(ctx, s.q) })},
		"Collect": {query | view, func(ctx context.Context) (T, error) {
			var all []T
			err := repo.Collect(ctx, s.tbl, s.q, r.AppendTo(&all))
			return only(all, err)
		}},
		"Collect of the view": {query | view, func(ctx context.Context) (T, error) {
			var all []T
			err := repo.Collect(ctx, s.view, s.q, r.AppendTo(&all))
			return only(all, err)
		}},
		"Stream": {query | view, func(ctx context.Context) (T, error) {
			v, err := only(table.Collect(repo.Stream(ctx, s.tbl, s.q, r)))
			of, _ := v.(T)
			return of, err
		}},
		"table.Get":         {view, func(ctx context.Context) (T, error) { return table.Get[T](ctx, s.view, s.key) }},
		"table.BatchGet":    {view, func(ctx context.Context) (T, error) { return under(table.BatchGet[T](ctx, s.view, ks)) }},
		"table.TransactGet": {view, func(ctx context.Context) (T, error) { return under(table.TransactGet[T](ctx, s.view, ks)) }},
		"table.Get of a pointer": {view, func(ctx context.Context) (T, error) {
			v, err := table.Get[*T](ctx, s.view, s.key)
			if err != nil {
				return *new(T), err
			}
			return *v, nil
		}},
		"table.QueryPage": {query | view, func(ctx context.Context) (T, error) {
			page, err := table.QueryPage[T](ctx, s.view, s.q)
			return only(page.Items, err)
		}},
		"table.QueryRows": {query | view, func(ctx context.Context) (T, error) { return row(table.QueryRows[T](ctx, s.view, s.q, nil)) }},
		"table.All":       {query | view, sequence(func(ctx context.Context) iter.Seq2[T, error] { return table.All[T](ctx, s.view, s.q) })},
		"table.ScanPage": {query | view, func(ctx context.Context) (T, error) {
			page, err := table.ScanPage[T](ctx, s.view, scan)
			return only(page.Items, err)
		}},
		"table.ScanRows": {query | view, func(ctx context.Context) (T, error) { return row(table.ScanRows[T](ctx, s.view, scan, nil)) }},
		"shard": {view, func(ctx context.Context) (T, error) {
			reader, err := shard.New[T](s.view, shard.Index{Index: s.index, Prefix: "SHEETS", Shards: 1}, nil)
			if err != nil {
				return *new(T), err
			}
			page, err := reader.Page(ctx, shard.Query{})
			return only(page.Items, err)
		}},
	}
}

// wholeWays are the ways that cannot read less.
func wholeWays[T any](r *repo.Repo[T], s source) map[string]way[T] {
	return map[string]way[T]{
		"Repo.Get":        {view, func(ctx context.Context) (T, error) { return r.Get(ctx, s.key) }},
		"Repo.BatchGet":   {view, func(ctx context.Context) (T, error) { return under(r.BatchGet(ctx, []keys.Key{s.key})) }},
		"Repo.Consistent": {view, func(ctx context.Context) (T, error) { return r.Consistent().Get(ctx, s.key) }},
		"Repo.Update": {view, func(ctx context.Context) (T, error) {
			return r.Update(ctx, s.key, func(*T) error { return nil })
		}},
		"Repo.Decode": {view, func(ctx context.Context) (v T, err error) {
			item, err := table.Get[table.Item](ctx, s.tbl, s.key)
			if err == nil {
				v, _, err = r.Decode(item)
			}
			return v, err
		}},
	}
}

// byText is an upgrade that needs an attribute which no projection has.
var byText = repo.Upgrade{Writes: []string{"title"}, Change: func(item table.Item) error {
	if item["text"] == nil {
		return errors.New("the text is missing")
	}
	item["title"] = item["text"]
	return nil
}}

// Less than all of an entity is never read into its own type, whoever asks for it and how, and
// nothing is sent: a write of such a value would remove what was not read. Into another type
// it is.
func TestEntitiesAreNotReadInPart(t *testing.T) {
	t.Parallel()
	t.Run("struct", func(t *testing.T) { t.Parallel(); testNotInPart(t, oneSheet) })
	t.Run("map", func(t *testing.T) {
		t.Parallel()
		testNotInPart(t, loose{"id": "1", "title": "one", "text": "long", "listPK": "SHEETS", "listSK": "1"})
	})
	t.Run("marshaler", func(t *testing.T) { t.Parallel(); testNotInPart(t, sealed{oneSheet}) })
	t.Run("what holds one", func(t *testing.T) {
		t.Parallel()
		testHoldersNotInPart(t)
	})
}

// Types of which a read gives an entity's own type.
type (
	Sheet     sheet // attributevalue sets exported pointers only
	bySheet   struct{ Sheet }
	byPointer struct{ *Sheet }
	deeper    struct {
		byPointer
		More string `dynamodbav:"more"`
	}
	hidden   struct{ sheet }
	bySealed struct {
		sealed `dynamodbav:"any"`
	}
)

func testHoldersNotInPart(t *testing.T) {
	t.Helper()
	tbl := tabletest.New(t, sheetSpec, nil)
	r := newRepo(t, tbl, repo.Entity[Sheet]{Type: "SHEET", Key: func(Sheet) keys.Key { return sheetKey }})
	expect.OK(t, r.Create(t.Context(), new(Sheet(oneSheet))))
	refused := func(view *table.Table, read func(context.Context, *table.Table, table.Query) error) {
		t.Helper()
		requests := 0
		ctx := table.WithObserver(t.Context(), func(context.Context, table.Event) { requests++ })
		err := read(ctx, view, table.Query{PK: sheetKey.PK, Project: []string{"id"}})
		if !errors.Is(err, table.ErrInvalid) || requests > 0 {
			t.Errorf("%v after %d requests", err, requests)
		}
	}
	refused(r.View(), pageOf[bySheet])
	refused(r.View(), pageOf[*byPointer])
	refused(r.View(), pageOf[deeper])
	refused(newRepo(t, tbl, repo.Entity[sheet]{Type: "SHEET", Key: func(sheet) keys.Key { return sheetKey }}).View(), pageOf[hidden])
	refused(newRepo(t, tbl, repo.Entity[sealed]{Type: "SHEET", Key: func(sealed) keys.Key { return sheetKey }}).View(), pageOf[bySealed])
	maps := newRepo(t, tbl, repo.Entity[loose]{Type: "SHEET", Key: func(loose) keys.Key { return sheetKey }})
	refused(maps.View(), pageOf[any])
	refused(maps.View(), pageOf[*any])
	// Nothing was read, so none of the keys remains.
	err := expect.ErrOf(table.BatchGet[Sheet](t.Context(), r.View().Project("id"), []keys.Key{sheetKey}))
	refusal, _ := errors.AsType[*table.Error](err)
	expect.Equal(t, "remaining keys", len(refusal.Remaining), 0)
	// These are read, since they hold no Sheet.
	type line struct {
		byPointer `dynamodbav:"-"`
		ID        string `dynamodbav:"id"`
	}
	expect.Equal(t, "another type", expect.Value(table.Get[line](t.Context(), r.View().Project("id"), sheetKey))(t).ID, "1")
	id := expect.Value(table.Get[any](t.Context(), r.View().Project("id"), sheetKey))(t).(map[string]any)["id"]
	expect.Equal(t, "a map of a struct", id, any("1"))
}

func pageOf[V any](ctx context.Context, view *table.Table, q table.Query) error {
	_, err := table.QueryPage[V](ctx, view, q)
	return err
}

func testNotInPart[T any](t *testing.T, v T) {
	tbl := tabletest.New(t, sheetSpec, nil)
	entity := repo.Entity[T]{Type: "SHEET", Version: "rev", Key: func(T) keys.Key { return sheetKey }}
	expect.OK(t, newRepo(t, tbl, entity).Create(t.Context(), &v))
	projected := table.Query{PK: sheetKey.PK, Project: []string{"id", "title"}}
	whole, indexed := table.Query{PK: sheetKey.PK}, table.Query{Index: "part", PK: "SHEETS"}
	for what, upgrades := range map[string][]repo.Upgrade{"as it is": nil, "upgraded": {byText}} {
		entity.Upgrades = upgrades
		r := newRepo(t, tbl, entity)
		cut := func(of *table.Table) *table.Table { return of.Project("id", "title") }
		for how, tt := range map[string]struct {
			source
			by by
		}{
			"a projection of the query": {source{tbl, r.View(), sheetKey, projected, "all"}, query},
			"a projection of the table": {source{cut(tbl), cut(r.View()), sheetKey, whole, "all"}, view},
			"an index":                  {source{tbl, r.View(), sheetKey, indexed, "part"}, query},
		} {
			for name, way := range ways(r, tt.source) {
				if way.by&tt.by == 0 && (name != "shard" || tt.index != "part") {
					continue // it reads the whole entity
				}
				requests := 0
				_, err := way.read(table.WithObserver(t.Context(), func(context.Context, table.Event) { requests++ }))
				if !errors.Is(err, table.ErrInvalid) || requests > 0 {
					t.Errorf("%s, by %s, %s: %v after %d requests", name, how, what, err, requests)
				}
			}
		}
		type title struct {
			ID    string `dynamodbav:"id"`
			Title string `dynamodbav:"title"`
		}
		want := title{"1", "one"}
		if upgrades != nil {
			want.Title = "long"
		}
		expect.Equal(t, what+": into another type", expect.Value(table.Get[title](t.Context(), cut(r.View()), sheetKey))(t), want)
		item := expect.Value(table.Get[table.Item](t.Context(), cut(r.View()), sheetKey))(t)
		expect.Equal(t, what+": as an item", item["text"], nil)
		if upgrades == nil { // which need what the index does not have
			expect.Equal(t, "of an index", expect.Value(table.QueryPage[title](t.Context(), r.View(), indexed))(t).Items, []title{want})
			expect.Equal(t, "counted", expect.Value(r.Count(t.Context(), indexed))(t).Items, 1)
		}
	}
	deleted := expect.Value(newRepo(t, tbl, repo.Entity[T]{Type: "SHEET", Version: "rev", Key: entity.Key}).DeleteAll(t.Context(), indexed, nil))(t)
	expect.Equal(t, "deleted by an index", deleted.Items, 1)
}

// A projection comes to the end, whether the engine cuts the items or the table does, which
// reads those of upgraded entities as a whole.
func TestAllOfAProjection(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema.Table{}, nil)
	type id struct {
		ID, Tag string
	}
	for _, upgrades := range [][]repo.Upgrade{nil, {repo.Drop("fax")}} {
		e := pageEntity()
		e.Copies, e.Upgrades = nil, upgrades
		pages := newRepo(t, tbl, e)
		var want []id
		for i := range 3 {
			want = append(want, id{ID: fmt.Sprint(i)})
			expect.OK(t, pages.Save(t.Context(), &page{ID: fmt.Sprint(i), Tag: "new"}))
		}
		q := table.Query{PK: "SITE"}
		expect.Equal(t, "ids", expect.Value(table.Collect(table.All[id](t.Context(), pages.View().Project("id"), q)))(t), want)
		expect.Value(pages.DeleteAll(t.Context(), q, nil))(t)
	}
}

// Whatever read has given an entity, and whatever write is given it: nothing of it is lost.
func TestEveryReadWithEveryWrite(t *testing.T) {
	t.Parallel()
	t.Run("struct", func(t *testing.T) { t.Parallel(); testReadsAndWrites(t, sheetSpec, oneSheet) })
	t.Run("map", func(t *testing.T) {
		t.Parallel()
		testReadsAndWrites(t, sheetSpec, loose{"id": "1", "title": "one", "text": "long", "listPK": "SHEETS", "listSK": "1"})
	})
	t.Run("marshaler", func(t *testing.T) { t.Parallel(); testReadsAndWrites(t, sheetSpec, sealed{oneSheet}) })
	t.Run("vector", func(t *testing.T) {
		t.Parallel()
		vectors.Needed(t)
		spec := similar()
		spec.Indexes = sheetSpec.Indexes
		testReadsAndWrites(t, spec, struct {
			sheet
			Tenant    string    `dynamodbav:"tenant"`
			Embedding []float32 `dynamodbav:"embedding"`
		}{oneSheet, "acme", []float32{1, 0}})
	})
}

func testReadsAndWrites[T any](t *testing.T, spec schema.Table, v T) {
	tbl := tabletest.New(t, spec, nil)
	r := newRepo(t, tbl, repo.Entity[T]{Type: "SHEET", Version: "rev", Key: func(T) keys.Key { return sheetKey }})
	expect.OK(t, r.Create(t.Context(), &v))
	stored := func() table.Item {
		item := storedItem(t, tbl, sheetKey)
		delete(item, "rev")
		return item
	}
	want, s := stored(), source{tbl, r.View(), sheetKey, table.Query{PK: sheetKey.PK}, "all"}
	reads := ways(r, s)
	maps.Copy(reads, wholeWays(r, s))
	if len(spec.Vectors) > 0 {
		reads["Repo.Search"] = way[T]{view, func(ctx context.Context) (T, error) {
			matches, _, err := r.Search(ctx, near("acme"))
			m, err := only(matches, err)
			return m.Item, err
		}}
	}
	for read, way := range reads {
		for write, do := range waysToWrite(tbl, r) {
			v, err := way.read(t.Context())
			expect.OK(t, err)
			err = do(t.Context(), &v)
			if err != nil && !errors.Is(err, table.ErrExists) && !errors.Is(err, table.ErrInvalid) {
				t.Errorf("%s, then %s: %v", read, write, err)
			}
			if got := stored(); !reflect.DeepEqual(got, want) {
				t.Fatalf("after %s and %s, stored: %v; before: %v", read, write, got, want)
			}
		}
	}
}

// waysToWrite returns all writes that take a value of a stored entity.
func waysToWrite[T any](tbl *table.Table, r *repo.Repo[T]) map[string]func(context.Context, *T) error {
	set := repo.Patch{Set: map[string]any{"title": "one"}}
	return map[string]func(context.Context, *T) error{
		"Create":      r.Create,
		"CreateOps":   func(ctx context.Context, v *T) error { return tbl.Transact(ctx, r.CreateOps(v)...) },
		"Save":        r.Save,
		"TransactPut": func(ctx context.Context, v *T) error { return r.TransactPut(ctx, v) },
		"PutOps":      func(ctx context.Context, v *T) error { return tbl.Transact(ctx, r.PutOps(v)...) },
		"UpdateOps": func(ctx context.Context, v *T) error {
			old, err := r.Get(ctx, sheetKey)
			return errors.Join(err, tbl.Transact(ctx, r.UpdateOps(old, v)...))
		},
		"DeleteOps and Create": func(ctx context.Context, v *T) error {
			return errors.Join(tbl.Transact(ctx, r.DeleteOps(*v)...), r.Create(ctx, v))
		},
		"Upsert":   func(ctx context.Context, v *T) error { return expect.ErrOf(r.Upsert(ctx, *v, set)) },
		"Patch":    func(ctx context.Context, _ *T) error { return expect.ErrOf(r.Patch(ctx, sheetKey, set)) },
		"PatchOps": func(ctx context.Context, _ *T) error { return tbl.Transact(ctx, r.PatchOps(sheetKey, set)...) },
		"Update": func(ctx context.Context, v *T) error {
			return expect.ErrOf(r.Update(ctx, sheetKey, func(to *T) error { *to = *v; return nil }))
		},
		"UpdateWith": func(ctx context.Context, v *T) error {
			return expect.ErrOf(r.UpdateWith(ctx, sheetKey, func(to *T) ([]table.Op, error) {
				*to = *v
				return []table.Op{table.Delete(keys.Key{PK: "LOG", SK: "LOG"})}, nil
			}))
		},
	}
}

// A copy that another release has stored is without the vector. So no read makes an entity of
// it: a write of that would remove the vector.
func TestCopiesWithoutTheVectorAreNoEntities(t *testing.T) {
	t.Parallel()
	vectors.Needed(t)
	spec := similar()
	spec.Indexes = sheetSpec.Indexes[1:]
	tbl := tabletest.New(t, spec, nil)
	e := productEntity()
	e.FormerCopies = []func(product) keys.Key{product.byTitle}
	for name, r := range map[string]*repo.Repo[product]{"declared": newRepo(t, tbl, e), "forgotten": newRepo(t, tbl, productEntity())} {
		v := product{ID: name, Tenant: "acme", Title: name, Embedding: []float32{1, 0}}
		expect.OK(t, r.Create(t.Context(), &v))
		copied := storedItem(t, tbl, v.key())
		delete(copied, "embedding")
		maps.Copy(copied, table.Item{"listPK": tenant("SHEETS"), "listSK": tenant("1")})
		expect.OK(t, tbl.Do(t.Context(), table.Put(v.byTitle(), copied)))
		s := source{tbl, r.View(), v.byTitle(), table.Query{PK: "TITLE"}, "all"}
		reads := ways(r, s)
		maps.Copy(reads, wholeWays(r, s))
		delete(reads, "Repo.Decode")
		delete(reads, "table.ScanRows") // which finds the product, too
		for read, way := range reads {
			if _, err := way.read(t.Context()); !errors.Is(err, repo.ErrOrphan) {
				t.Errorf("%s, %s: %v", name, read, err)
			}
		}
		type holder struct{ product }
		expect.Err(t, expect.ErrOf(table.Get[holder](t.Context(), r.View(), v.byTitle())), repo.ErrOrphan)
		expect.Equal(t, "whole in another type", expect.Value(table.Get[holder](t.Context(), r.View(), v.key()))(t).product, v)
		inMap := newRepo(t, tbl, repo.Entity[loose]{Type: "PRODUCT", Version: "rev", Key: func(of loose) keys.Key {
			return product{ID: fmt.Sprint(of["id"])}.key()
		}})
		expect.Err(t, expect.ErrOf(table.Get[any](t.Context(), inMap.View(), v.byTitle())), repo.ErrOrphan)
		expect.OK(t, expect.ErrOf(table.Get[any](t.Context(), inMap.View(), v.key())))
		type titles struct {
			Title string `dynamodbav:"title"`
		}
		expect.Equal(t, "into another type", expect.Value(table.Get[titles](t.Context(), r.View(), v.byTitle()))(t).Title, name)
		if name == "declared" {
			decoded, main, err := r.Decode(storedItem(t, tbl, v.byTitle()))
			expect.OK(t, err)
			expect.Equal(t, "decoded", decoded, product{})
			expect.Equal(t, "main", main, false)
			expect.Equal(t, "refreshed", expect.Value(r.Refresh(t.Context(), v.byTitle()))(t), true)
		}
		expect.OK(t, tbl.Do(t.Context(), table.Delete(v.byTitle())))
		expect.Equal(t, "whole", expect.Value(r.Get(t.Context(), v.key()))(t), v)
		expect.OK(t, r.Delete(t.Context(), v.key()))
	}
}

func only[V any](all []V, err error) (v V, _ error) {
	if err == nil && len(all) != 1 {
		err = fmt.Errorf("%d items", len(all))
	}
	if err != nil {
		return v, err
	}
	return all[0], nil
}

func under[T any](found map[keys.Key]T, err error) (T, error) {
	return only(slices.Collect(maps.Values(found)), err)
}

func row[T any](page table.RowPage[T], err error) (v T, _ error) {
	one, err := only(page.Rows, err)
	if err == nil {
		err = one.Err
	}
	return one.Value, err
}
