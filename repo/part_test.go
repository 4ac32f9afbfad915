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
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/shard"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// sheet is an entity with a version of any kind. Its index keys are fields, so that
// Upsert takes it, too.
type sheet[V any] struct {
	ID    string  `dynamodbav:"id"`
	Title string  `dynamodbav:"title"`
	Text  string  `dynamodbav:"text"`
	Pages int     `dynamodbav:"pages"`
	List  keys.PK `dynamodbav:"listPK"`
	Place keys.SK `dynamodbav:"listSK"`
	Rev   V       `dynamodbav:"rev,omitempty"`
}

func (s *sheet[V]) fields() (id, title, text string) { return s.ID, s.Title, s.Text }

// loose is a sheet in a map, and sealed one that makes its attributes itself.
type loose map[string]any

func (l *loose) fields() (id, title, text string) {
	text, _ = (*l)["text"].(string)
	return (*l)["id"].(string), (*l)["title"].(string), text
}

type sealed struct{ sheet sheet[uint64] }

func (s *sealed) fields() (id, title, text string) { return s.sheet.fields() }

func (s sealed) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	item, err := attributevalue.MarshalMap(s.sheet)
	return &types.AttributeValueMemberM{Value: item}, err
}

func (s *sealed) UnmarshalDynamoDBAttributeValue(value types.AttributeValue) error {
	s.sheet = sheet[uint64]{}
	return table.Item(value.(*types.AttributeValueMemberM).Value).Decode(&s.sheet)
}

var (
	sheetKey   = keys.Key{PK: "SHEET#1", SK: "SHEET"}
	sheetIndex = shard.Index{Index: "part", Prefix: "SHEETS", Shards: 1}
	// cut are the attributes that are read of a sheet.
	cut = []string{"id", "title", "rev"}
)

// A value that was read in part cannot be written, whichever way it was read: what was
// not read would be taken for empty and removed.
func TestPartsOfItemsAreNotWritten(t *testing.T) {
	t.Parallel()
	t.Run("revision", func(t *testing.T) { t.Parallel(); testParts[sheet[string]](t, "R", "r-1", false) })
	t.Run("int64", func(t *testing.T) { t.Parallel(); testParts[sheet[int64]](t, "I", 7, false) })
	t.Run("uint64", func(t *testing.T) { t.Parallel(); testParts[sheet[uint64]](t, "U", 7, false) })
	t.Run("int8", func(t *testing.T) { t.Parallel(); testParts[sheet[int8]](t, "N", 7, true) })
	t.Run("uint8", func(t *testing.T) { t.Parallel(); testParts[sheet[uint8]](t, "B", 7, true) })
	t.Run("map", func(t *testing.T) { t.Parallel(); testParts[loose](t, "M", "r-1", false) })
	t.Run("marshaler", func(t *testing.T) { t.Parallel(); testParts[sealed](t, "S", 7, false) })
}

// A part has a stamp that no item has, whatever it is read into. Without a Version there
// is none.
func TestStampsOfParts(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema.Table{}, nil)
	expect.OK(t, tbl.Do(t.Context(), table.Put(sheetKey, map[string]any{"entityType": "SHEET", "id": "1", "text": "long"})))
	revision, signed := &types.AttributeValueMemberS{Value: "part of an item"}, &types.AttributeValueMemberN{Value: "-1"}
	for _, tt := range []struct {
		view *table.Table
		want types.AttributeValue
	}{
		{viewOf[sheet[string]](t, tbl, "rev", false), revision},
		{viewOf[loose](t, tbl, "rev", false), revision},
		{viewOf[loose](t, tbl, "", false), nil},
		{viewOf[sheet[int64]](t, tbl, "rev", false), signed},
		{viewOf[sheet[int8]](t, tbl, "rev", true), signed},
		{viewOf[sheet[uint64]](t, tbl, "rev", false), &types.AttributeValueMemberN{Value: "18446744073709551615"}},
		{viewOf[sheet[uint8]](t, tbl, "rev", true), &types.AttributeValueMemberN{Value: "255"}},
	} {
		if got := storedItem(t, tt.view.Project("id"), sheetKey)["rev"]; !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%+v, want %+v", got, tt.want)
		}
	}
	type listed struct {
		sheet[string]
		Rank int
	}
	got := expect.Value(table.Get[listed](t.Context(), viewOf[sheet[string]](t, tbl, "rev", false).Project("id"), sheetKey))(t)
	expect.Equal(t, "a value with more fields", got.Rev, "part of an item")
}

func viewOf[T any](t *testing.T, tbl *table.Table, version string, fromOne bool) *table.Table {
	return newRepo(t, tbl, repo.Entity[T]{Type: "SHEET", Version: version, VersionFromOne: fromOne, Key: func(T) keys.Key { return sheetKey }}).View()
}

type withFields[T any] interface {
	*T
	fields() (id, title, text string)
}

// testParts reads a stored sheet in every way that gives a part, and has every write
// refuse it.
func testParts[T any, P withFields[T]](t *testing.T, name string, version any, fromOne bool) {
	entity := repo.Entity[T]{Type: name, Version: "rev", VersionFromOne: fromOne, Key: func(T) keys.Key { return sheetKey }}
	// The upgrade needs an attribute that no projection has.
	titled := repo.Upgrade{Writes: []string{"title"}, Change: func(item table.Item) error {
		if item["text"] == nil {
			return errors.New("the text is missing")
		}
		item["title"] = item["text"]
		return nil
	}}
	for what, upgrades := range map[string][]repo.Upgrade{"as it is": nil, "upgraded": {titled}} {
		for stored, rev := range map[string]any{"with a version": version, "without": nil, "with NULL": (*string)(nil)} {
			t.Run(what+" "+stored, func(t *testing.T) {
				t.Parallel()
				tbl := tabletest.New(t, schema.Table{Indexes: []schema.Index{
					{Name: "part", PK: "listPK", SK: "listSK", Projection: types.ProjectionTypeInclude, Include: append([]string{"entityType"}, cut...)},
					{Name: "bare", PK: "listPK", SK: "listSK", Projection: types.ProjectionTypeInclude, Include: []string{"entityType", "id", "title"}},
					{Name: "all", PK: "listPK", SK: "listSK"},
				}}, nil)
				item := map[string]any{"entityType": name, "id": "1", "title": "one", "text": "long", "pages": 9, "listPK": "SHEETS", "listSK": "1"}
				if upgrades != nil {
					delete(item, "title")
				}
				if rev != nil {
					item["rev"] = rev
				}
				expect.OK(t, tbl.Do(t.Context(), table.Put(sheetKey, item)))
				before := storedItem(t, tbl, sheetKey)
				entity := entity
				entity.Upgrades = upgrades
				sheets := newRepo(t, tbl, entity)
				want := "one"
				if upgrades != nil {
					want = "long"
				}
				for way, read := range waysToRead(tbl, sheets) {
					part, err := read(t.Context())
					if _, indexed := partialWays[way]; indexed && upgrades != nil {
						expect.Err(t, err, table.ErrInvalid)
						continue
					}
					if err != nil {
						t.Errorf("%s: %v", way, err)
						continue
					}
					if id, title, text := P(&part).fields(); id != "1" || title != want || text != "" {
						t.Errorf("%s gives %+v", way, part)
					}
					for write, do := range waysToWrite(tbl, sheets) {
						part := part
						err := do(t.Context(), &part)
						if !errors.Is(err, table.ErrStale) || table.Classify(err) != table.Permanent {
							t.Errorf("%s, then %s: %v (%v)", way, write, err, table.Classify(err))
						}
					}
					if t.Failed() {
						break
					}
				}
				if after := storedItem(t, tbl, sheetKey); !reflect.DeepEqual(before, after) {
					t.Errorf("stored: %v; before: %v", after, before)
				}
				// A whole index gives whole values.
				if page := expect.Value(sheets.Query(t.Context(), table.Query{Index: "all", PK: "SHEETS"}))(t); upgrades == nil {
					expect.OK(t, sheets.Put(t.Context(), &page.Items[0]))
				}
			})
		}
	}
}

// partialWays read an index that does not hold whole items, which upgrades need.
var partialWays = map[string]bool{
	"Query of an index": true, "All of an index": true, "Query of an index without the version": true,
	"Collect of an index": true, "shard.New": true, "shard.New of items": true,
}

type reading[T any] = func(context.Context) (T, error)

// waysToRead returns all ways that give a part of an item.
func waysToRead[T any](tbl *table.Table, sheets *repo.Repo[T]) map[string]reading[T] {
	q, projected := table.Query{PK: sheetKey.PK}, table.Query{PK: sheetKey.PK, Project: cut}
	indexed, bare := table.Query{Index: "part", PK: "SHEETS"}, table.Query{Index: "bare", PK: "SHEETS"}
	cutRepo, cutTable, view := sheets.Project(cut...), tbl.Project(cut...), sheets.View().Project(cut...)
	ks := []keys.Key{sheetKey}
	pages := func(r *repo.Repo[T], q table.Query) reading[T] {
		return func(ctx context.Context) (T, error) {
			page, err := r.Query(ctx, q)
			return only(page.Items, err)
		}
	}
	all := func(seq iter.Seq2[T, error]) reading[T] {
		return func(context.Context) (T, error) { return only(table.Collect(seq)) }
	}
	collected := func(tbl *table.Table, q table.Query, r *repo.Repo[T]) reading[T] {
		return func(ctx context.Context) (T, error) {
			var all []T
			err := repo.Collect(ctx, tbl, q, r.AppendTo(&all))
			return only(all, err)
		}
	}
	streamed := func(tbl *table.Table, q table.Query) reading[T] {
		return func(ctx context.Context) (T, error) {
			all, err := table.Collect(repo.Stream(ctx, tbl, q, sheets))
			v, err := only(all, err)
			part, _ := v.(T)
			return part, err
		}
	}
	sharded := func(ctx context.Context) (T, error) {
		r, err := shard.New[T](sheets.View(), sheetIndex, nil)
		if err != nil {
			return *new(T), err
		}
		page, err := r.Page(ctx, shard.Query{})
		return only(page.Items, err)
	}
	return map[string]reading[T]{
		"Get":                                   func(ctx context.Context) (T, error) { return cutRepo.Get(ctx, sheetKey) },
		"consistent Get":                        func(ctx context.Context) (T, error) { return cutRepo.Consistent().Get(ctx, sheetKey) },
		"GetMany":                               func(ctx context.Context) (T, error) { return under(cutRepo.GetMany(ctx, ks)) },
		"Query of a view":                       pages(cutRepo, q),
		"Query with a projection":               pages(sheets, projected),
		"Query of an index":                     pages(sheets, indexed),
		"Query of an index without the version": pages(sheets, bare),
		"All of a view":                         all(cutRepo.All(context.Background(), q)),
		"All with a projection":                 all(sheets.All(context.Background(), projected)),
		"All of an index":                       all(sheets.All(context.Background(), indexed)),
		"Collect with a projection":             collected(tbl, projected, sheets),
		"Collect of a projected table":          collected(cutTable, q, sheets),
		"Collect of a view":                     collected(view, q, sheets),
		"Collect of a view with a projection":   collected(sheets.View(), projected, sheets),
		"Collect of an index":                   collected(tbl, indexed, sheets),
		"Stream with a projection":              streamed(tbl, projected),
		"Stream of a projected table":           streamed(cutTable, q),
		"table.Get of the view":                 func(ctx context.Context) (T, error) { return table.Get[T](ctx, view, sheetKey) },
		"table.Get of the view of a projection": func(ctx context.Context) (T, error) { return table.Get[T](ctx, cutRepo.View(), sheetKey) },
		"table.BatchGet of the view":            func(ctx context.Context) (T, error) { return under(table.BatchGet[T](ctx, view, ks)) },
		"table.TransactGet of the view":         func(ctx context.Context) (T, error) { return under(table.TransactGet[T](ctx, view, ks)) },
		"table.QueryPage of the view": func(ctx context.Context) (T, error) {
			page, err := table.QueryPage[T](ctx, view, q)
			return only(page.Items, err)
		},
		"table.QueryRows of the view": func(ctx context.Context) (T, error) {
			page, err := table.QueryRows[T](ctx, view, q, nil)
			return row(page, err)
		},
		"table.ScanRows of the view": func(ctx context.Context) (T, error) {
			page, err := table.ScanRows[T](ctx, view, table.Scan{}, nil)
			return row(page, err)
		},
		"table.ScanPage of the view": func(ctx context.Context) (T, error) {
			page, err := table.ScanPage[T](ctx, sheets.View(), table.Scan{Project: cut})
			return only(page.Items, err)
		},
		"table.All of the view":                 all(table.All[T](context.Background(), view, q)),
		"Decode of an item that the view gives": func(ctx context.Context) (T, error) { return decoded(ctx, sheets, view) },
		"shard.New":                             sharded,
	}
}

// waysToWrite returns all writes that take a value.
func waysToWrite[T any](tbl *table.Table, sheets *repo.Repo[T]) map[string]func(context.Context, *T) error {
	add := expression.Add(expression.Name("pages"), expression.Value(1))
	return map[string]func(context.Context, *T) error{
		"Create":         sheets.Create,
		"TransactCreate": func(ctx context.Context, v *T) error { return sheets.TransactCreate(ctx, v) },
		"CreateOps":      func(ctx context.Context, v *T) error { return tbl.Transact(ctx, sheets.CreateOps(v)...) },
		"Put":            sheets.Put,
		"TransactPut":    func(ctx context.Context, v *T) error { return sheets.TransactPut(ctx, v) },
		"PutOps":         func(ctx context.Context, v *T) error { return tbl.Transact(ctx, sheets.PutOps(v)...) },
		"UpdateOps of it": func(ctx context.Context, v *T) error {
			whole, err := sheets.Get(ctx, sheetKey)
			return errors.Join(err, tbl.Transact(ctx, sheets.UpdateOps(*v, &whole)...))
		},
		"UpdateOps to it": func(ctx context.Context, v *T) error {
			whole, err := sheets.Get(ctx, sheetKey)
			return errors.Join(err, tbl.Transact(ctx, sheets.UpdateOps(whole, v)...))
		},
		"DeleteOps": func(ctx context.Context, v *T) error { return tbl.Transact(ctx, sheets.DeleteOps(*v)...) },
		"Upsert":    func(ctx context.Context, v *T) error { return expect.ErrOf(sheets.Upsert(ctx, *v, add)) },
		"Update": func(ctx context.Context, v *T) error {
			return expect.ErrOf(sheets.Update(ctx, sheetKey, func(to *T) error { *to = *v; return nil }))
		},
		"UpdateWith": func(ctx context.Context, v *T) error {
			return expect.ErrOf(sheets.UpdateWith(ctx, sheetKey, func(*T) ([]table.Op, error) { return sheets.PutOps(v), nil }))
		},
		"Put in Retry": func(ctx context.Context, v *T) error {
			runs := 0
			err := tbl.Retry(ctx, func(ctx context.Context) error { runs++; return sheets.Put(ctx, v) })
			if runs > 1 {
				return fmt.Errorf("%d runs: %w", runs, err)
			}
			return err
		},
	}
}

// decoded reads an item of a view, has what takes items refuse it, and decodes it.
func decoded[T any](ctx context.Context, sheets *repo.Repo[T], view *table.Table) (v T, err error) {
	item, err := table.Get[table.Item](ctx, view, sheetKey)
	if err != nil {
		return v, err
	}
	for name, err := range map[string]error{
		"RefreshOps":   expect.ErrOf(sheets.RefreshOps(ctx, item)),
		"RefreshItems": expect.ErrOf(sheets.RefreshItems(item)),
	} {
		if !errors.Is(err, table.ErrStale) {
			return v, fmt.Errorf("%s: %w", name, err)
		}
	}
	v, _, err = sheets.Decode(item)
	return v, err
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
