package singletable_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/backfill"
	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/lease"
	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/shard"
	"github.com/singletable/singletable/stream"
	"github.com/singletable/singletable/stream/streamtest"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tablemodel"
	"github.com/singletable/singletable/table/tabletest"
)

// memo is an entity of the table whose views are tried.
type memo struct {
	ID       string `dynamodbav:"id"`
	Text     string `dynamodbav:"text"`
	Revision string `dynamodbav:"revision"`
}

var memoEntity = repo.Entity[memo]{
	Type: "MEMO", Version: "revision",
	Key:      func(m memo) keys.Key { return memoKey(m.ID) },
	Indexes:  repo.Indexes[memo]{"GSI1": func(m memo) keys.Key { return memoIndex.Key(m.ID, keys.SK(m.ID)) }},
	Upgrades: []repo.Upgrade{repo.Rename("body", "text")},
}

var memoIndex = shard.Index{Index: "GSI1", Prefix: "MEMOS", Shards: 1}

func memoKey(id string) keys.Key {
	return keys.Key{PK: "MEMOS", SK: keys.Prefix("MEMO").SK(keys.Str(id))}
}

// first is a memo as it is read again, whatever its revision is.
var first = memo{ID: "1", Text: "first"}

// viewed is a table and a view of it, of which an exported function is given one.
type viewed struct {
	client *dynamodb.Client
	// ahead is how much the clock of both is ahead of the real time.
	ahead       *atomic.Int64
	whole, view *table.Table
	// memos is a repository of the table.
	memos *repo.Repo[memo]
}

// views are all ways to a view of a table, and a table of other options.
var views = map[string]func(t *testing.T, v *viewed) *table.Table{
	"Consistent":        func(_ *testing.T, v *viewed) *table.Table { return v.whole.Consistent() },
	"Project":           func(_ *testing.T, v *viewed) *table.Table { return v.whole.Project("id", "revision") },
	"Project of nobody": func(_ *testing.T, v *viewed) *table.Table { return v.whole.Project("other") },
	"IncludingExpired":  func(_ *testing.T, v *viewed) *table.Table { return v.whole.IncludingExpired() },
	"Reading":           func(_ *testing.T, v *viewed) *table.Table { return v.memos.View() },
	"Reading, Project":  func(_ *testing.T, v *viewed) *table.Table { return v.memos.View().Project("id") },
	"OfType":            func(_ *testing.T, v *viewed) *table.Table { return v.whole.OfType("OTHER") },
	"Options": func(t *testing.T, v *viewed) *table.Table {
		codec := paginate.Insecure()
		return expect.Value(table.New(v.client, v.whole.Schema(), &table.Options{
			Now: v.whole.Now, Cursors: codec, Observe: func(context.Context, table.Event) {}, MaxRounds: 1,
		}))(t)
	},
}

// takers try what takes a table. They are named as internal/tools/api lists them.
var takers = map[string]func(t *testing.T, v *viewed, name string){
	"backfill.Job.Table":         tryJob,
	"backfill.Job.Source":        trySource,
	"backfill.SetAside":          trySetAside,
	"backfill.Forget":            trySetAside,
	"backfill.Transfer.Table":    tryTransfer,
	"idempotency.New":            tryStore,
	"lease.New":                  tryLease,
	"repo.New":                   tryRepo,
	"repo.Collect":               tryCollect,
	"repo.Stream":                tryCollect,
	"shard.New":                  tryShards,
	"stream.New":                 tryRouter,
	"stream.Reader.Table":        tryReader,
	"stream/streamtest.Transact": tryRouter,
	"stream/streamtest.Expire":   tryRouter,
	"table/tablemodel.Scan":      tryScan,
}

// Whatever takes a table either reads by its view, as its documentation says, or does what
// it does with the table itself. Nothing is silently less.
func TestViewsOfATable(t *testing.T) {
	t.Parallel()
	expect.Equal(t, "what takes a table", slices.Sorted(maps.Keys(takers)), takersOfATable(t))
	for _, method := range methodsToViews() {
		if views[method] == nil {
			t.Errorf("no view is made by Table.%s", method)
		}
	}
	for taker, try := range takers {
		for name, view := range views {
			t.Run(taker+"/"+name, func(t *testing.T) {
				t.Parallel()
				try(t, newViewed(t, view), name)
			})
		}
	}
}

func newViewed(t *testing.T, view func(*testing.T, *viewed) *table.Table) *viewed {
	t.Helper()
	v := &viewed{client: tabletest.Client(t), ahead: &atomic.Int64{}}
	now := func() time.Time { return time.Now().Add(time.Duration(v.ahead.Load())) }
	v.whole = tabletest.NewWith(t, v.client, schema.Table{
		Name: "views", TTLAttribute: "ttl", Shape: "shape", Stream: types.StreamViewTypeNewAndOldImages,
		Indexes: []schema.Index{{Name: "GSI1", PK: "gsi1pk", SK: "gsi1sk"}},
	}, &table.Options{Now: now})
	v.memos = expect.Value(repo.New(v.whole, memoEntity))(t)
	v.view = view(t, v)
	return v
}

// methodsToViews returns the names of the methods of a table that make another one.
func methodsToViews() (names []string) {
	of := reflect.TypeFor[*table.Table]()
	for m := range of.Methods() {
		if m.Type.NumOut() == 1 && m.Type.Out(0) == of {
			names = append(names, m.Name)
		}
	}
	return names
}

// takersOfATable returns the exported functions and fields of the library's packages that
// take a table. In package table, a view is what the reads are about.
func takersOfATable(t *testing.T) (names []string) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{"cmd", "docs", "examples", "internal", "suites", "testdata", ".git"}, d.Name()):
			return fs.SkipDir
		case filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err == nil {
			names = append(names, takersIn(file, filepath.ToSlash(filepath.Dir(path)))...)
		}
		return err
	})
	expect.OK(t, err)
	slices.Sort(names)
	return slices.Compact(names)
}

func takersIn(file *ast.File, pkg string) (names []string) {
	takes := func(fields *ast.FieldList) (named []string) {
		for _, f := range fields.List {
			star, _ := f.Type.(*ast.StarExpr)
			if star == nil {
				continue
			}
			of, _ := star.X.(*ast.SelectorExpr)
			if of == nil || fmt.Sprint(of.X, of.Sel) != "table Table" {
				continue
			}
			for _, name := range f.Names {
				named = append(named, name.Name)
			}
		}
		return named
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil && d.Name.IsExported() && len(takes(d.Type.Params)) > 0 {
				names = append(names, pkg+"."+d.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				of, _ := spec.(*ast.TypeSpec)
				if of == nil || !of.Name.IsExported() {
					continue
				}
				if s, ok := of.Type.(*ast.StructType); ok {
					for _, field := range takes(s.Fields) {
						if ast.IsExported(field) {
							names = append(names, pkg+"."+of.Name.Name+"."+field)
						}
					}
				}
			}
		}
	}
	return names
}

// storeIncomplete stores a memo as a release without shapes and indexes has, and an item of
// another type.
func (v *viewed) storeIncomplete(t *testing.T) {
	t.Helper()
	expect.OK(t, v.whole.BatchWrite(t.Context(),
		table.Put(memoKey("1"), map[string]string{"entityType": "MEMO", "id": "1", "body": "first", "revision": "r"}),
		table.Put(keys.Key{PK: "OTHERS", SK: "1"}, map[string]string{"entityType": "OTHER"})))
}

func (v *viewed) indexed(t *testing.T) int {
	t.Helper()
	return expect.Value(v.whole.Count(t.Context(), table.Query{Index: "GSI1", PK: "MEMOS"}))(t).Items
}

func (v *viewed) job(source *table.Table) backfill.Job {
	return backfill.Job{Name: "views", Table: v.view, Segments: 2, Source: source}
}

func tryJob(t *testing.T, v *viewed, _ string) {
	v.storeIncomplete(t)
	j := v.job(nil)
	j.Entities = []backfill.Entity{v.memos}
	for _, want := range []int64{1, 1} { // the second one finds the progress of the first
		report := expect.Value(j.Run(t.Context()))(t)
		expect.Equal(t, "changed", report.Changed, want)
		expect.Equal(t, "segments", report.SegmentsDone, 2)
	}
	expect.Equal(t, "indexed", v.indexed(t), 1)
	if report := expect.Value(j.DryRun(t.Context()))(t); !report.Complete() {
		t.Errorf("after the job: %v", report)
	}
}

func trySource(t *testing.T, v *viewed, _ string) {
	v.storeIncomplete(t)
	target := tabletest.New(t, v.whole.Schema(), nil)
	j := v.job(v.view)
	j.Table = target
	j.Map = func(_ context.Context, item table.Item) ([]table.Op, error) {
		return []table.Op{table.Create(v.whole.KeyOf("", item), item)}, nil
	}
	report := expect.Value(j.Run(t.Context()))(t)
	expect.Equal(t, "changed", report.Changed, 2)
	for _, key := range []keys.Key{memoKey("1"), {PK: "OTHERS", SK: "1"}} {
		want := expect.Value(table.Get[table.Item](t.Context(), v.whole, key))(t)
		expect.Equal(t, "item", expect.Value(table.Get[table.Item](t.Context(), target, key))(t).Size(), want.Size())
	}
}

func trySetAside(t *testing.T, v *viewed, _ string) {
	expect.OK(t, v.whole.Do(t.Context(), table.Put(memoKey("1"), map[string]any{"entityType": "MEMO", "body": 1})))
	j := v.job(nil)
	j.Table, j.Entities = v.whole, []backfill.Entity{v.memos}
	expect.Equal(t, "set aside", expect.Value(j.Run(t.Context()))(t).SetAside, 1)
	aside := func(of *table.Table) (found []string) {
		for a, err := range backfill.SetAside(t.Context(), of, j.Name) {
			expect.OK(t, err)
			found = append(found, fmt.Sprint(a.Key, a.Type, a.Reason))
		}
		slices.Sort(found)
		return found
	}
	expect.Equal(t, "set aside", aside(v.view), aside(v.whole))
	expect.OK(t, backfill.Forget(t.Context(), v.view, j.Name))
	expect.Equal(t, "set aside", aside(v.whole), nil)
	expect.Equal(t, "items", expect.Value(table.ScanPage[table.Item](t.Context(), v.whole, table.Scan{}))(t).Stats.Items, 1)
}

func tryTransfer(t *testing.T, v *viewed, _ string) {
	line := `{"Item":{"pk":{"S":"MEMOS"},"sk":{"S":"MEMO#1"},"entityType":{"S":"MEMO"},"id":{"S":"1"},"body":{"S":"first"},"revision":{"S":"r"}}}`
	transfer := backfill.Transfer{Table: v.view, Entities: []backfill.Entity{v.memos}}
	var out, aside bytes.Buffer
	report := expect.Value(transfer.Run(strings.NewReader(line), &out, &aside))(t)
	expect.Equal(t, "entities", report.Entities, 1)
	if !strings.Contains(out.String(), `"text":{"S":"first"}`) || !strings.Contains(out.String(), "gsi1pk") {
		t.Errorf("the new item: %s", out.String())
	}
}

// tryStore repeats requests whose results are a snapshot and, of the type that the view
// reads, a reference.
func tryStore(t *testing.T, v *viewed, view string) {
	store := expect.Value(idempotency.New(v.view, nil))(t)
	key, typ := keys.Key{PK: "RESULT", SK: "1"}, "OTHER"
	if strings.HasPrefix(view, "Reading") {
		key, typ = memoKey("1"), "MEMO"
	}
	result := map[string]string{"id": "1", "text": "first", "entityType": typ, "revision": "r"}
	for i, plan := range []idempotency.Plan[map[string]string]{
		idempotency.Snapshot(result), idempotency.Reference(result, key, table.Put(key, result)),
	} {
		for _, replayed := range []bool{false, true} {
			r := idempotency.Request{Key: fmt.Sprint(i), Payload: idempotency.Text("p")}
			got := expect.Value(idempotency.Do(t.Context(), store, r, func(context.Context) (idempotency.Plan[map[string]string], error) {
				return plan, nil
			}))(t)
			expect.Equal(t, "replayed", got.Replayed, replayed)
			expect.Equal(t, "text", got.Value["text"], "first")
			expect.Equal(t, "expires", expect.Value(store.Lookup(t.Context(), r))(t).ExpiresAt.IsZero(), false)
		}
	}
}

// tryLease takes the lease of a holder that has died.
func tryLease(t *testing.T, v *viewed, _ string) {
	key := keys.Key{PK: "REPORT", SK: "LEASE"}
	for number := range int64(2) {
		lock := expect.Value(lease.New(v.view, key, nil))(t)
		held := expect.Value(lock.Acquire(t.Context()))(t)
		expect.Equal(t, "number", held.Number(), number+1)
		expect.Err(t, expect.ErrOf(lock.Acquire(t.Context())), lease.ErrHeld)
		expect.OK(t, held.Renew(t.Context()))
		v.ahead.Add(int64(2 * time.Minute))
	}
}

func tryRepo(t *testing.T, v *viewed, _ string) {
	v.storeIncomplete(t)
	memos := expect.Value(repo.New(v.view, memoEntity))(t)
	for range 2 {
		_, err := memos.Update(t.Context(), memoKey("1"), func(m *memo) error {
			expect.Equal(t, "text", m.Text, first.Text)
			return nil
		})
		expect.OK(t, err)
		got := expect.Value(memos.Get(t.Context(), memoKey("1")))(t)
		expect.Equal(t, "memo", memo{ID: got.ID, Text: got.Text}, first)
	}
	if _, err := memos.Get(t.Context(), keys.Key{PK: "OTHERS", SK: "1"}); !errors.Is(err, table.ErrWrongType) {
		t.Errorf("an item of another type: %v", err)
	}
}

// tryCollect reads with an upgrade whatever the view is, and refuses to read in part.
func tryCollect(t *testing.T, v *viewed, view string) {
	v.storeIncomplete(t)
	var collected []memo
	err := repo.Collect(t.Context(), v.view, table.Query{PK: "MEMOS"}, v.memos.AppendTo(&collected))
	streamed, failed := table.Collect(repo.Stream(t.Context(), v.view, table.Query{PK: "MEMOS"}, v.memos))
	if strings.Contains(view, "Project") {
		expect.Err(t, err, table.ErrInvalid)
		expect.Err(t, failed, table.ErrInvalid)
		return
	}
	expect.OK(t, errors.Join(err, failed))
	for _, m := range streamed {
		collected = append(collected, m.(memo))
	}
	for i := range collected {
		collected[i].Revision = ""
	}
	expect.Equal(t, "memos", collected, []memo{first, first})
}

// tryShards reads by the view, of whatever it gives. That of a repository gives no part of a
// memo.
func tryShards(t *testing.T, v *viewed, view string) {
	m := first
	expect.OK(t, v.memos.Create(t.Context(), &m))
	reader := expect.Value(shard.New[memo](v.view, memoIndex, nil))(t)
	page, err := reader.Page(t.Context(), shard.Query{})
	for refused, want := range map[string]error{
		"Consistent": table.ErrInvalid, "OfType": table.ErrWrongType, "Reading, Project": table.ErrInvalid,
	} {
		if view == refused {
			expect.Err(t, err, want)
			return
		}
	}
	expect.OK(t, err)
	want := memo{ID: "1", Text: "first"}
	switch view {
	case "Project":
		want.Text = ""
	case "Project of nobody":
		want = memo{}
	}
	page.Items[0].Revision = ""
	expect.Equal(t, "memos", page.Items, []memo{want})
}

// handler appends the changes of memos to seen.
func (v *viewed) router(t *testing.T, of *table.Table, seen func(string)) *stream.Router {
	t.Helper()
	return expect.Value(stream.New(of, nil, stream.IgnoreOther(), stream.On(v.memos, func(_ context.Context, c stream.Change[memo]) error {
		text := string(c.Kind)
		for _, m := range []*memo{c.Old, c.New} {
			if m != nil {
				text += " " + m.Text
			}
		}
		seen(text)
		return nil
	})))(t)
}

func tryRouter(t *testing.T, v *viewed, _ string) {
	var seen []string
	router := v.router(t, v.view, func(text string) { seen = append(seen, text) })
	m := first
	event := expect.Value(streamtest.Transact(t.Context(), v.client, v.view, v.memos.CreateOps(&m)...))(t)
	expect.OK(t, expect.Value(router.Handle(t.Context(), event))(t).Err)
	event = expect.Value(streamtest.Expire(t.Context(), v.client, v.view, memoKey("1")))(t)
	expect.OK(t, expect.Value(router.Handle(t.Context(), event))(t).Err)
	expect.Equal(t, "changes", seen, []string{"insert first", "expire first"})
}

// tryReader reads a stream twice: the second time continues where the first has stopped.
func tryReader(t *testing.T, v *viewed, _ string) {
	var seen []string
	for i, id := range []string{"1", "2"} {
		m := memo{ID: id, Text: id}
		expect.OK(t, v.memos.Create(t.Context(), &m))
		ctx, cancel := context.WithCancel(t.Context())
		reader := stream.Reader{
			Name: "views", Client: streamtest.Client(v.client), Table: v.view, Interval: time.Millisecond,
			Router: v.router(t, v.whole, func(text string) { seen = append(seen, text) }),
			Progress: func(p stream.Progress) {
				expect.OK(t, p.Err)
				if len(seen) > i {
					cancel()
				}
			},
		}
		expect.Err(t, reader.Run(ctx), context.Canceled)
	}
	expect.Equal(t, "changes", seen, []string{"insert 1", "insert 2"})
}

func tryScan(t *testing.T, v *viewed, view string) {
	v.storeIncomplete(t)
	items, err := tablemodel.Scan(t.Context(), v.view, 0)
	if view == "OfType" || strings.HasPrefix(view, "Reading") {
		expect.Err(t, err, table.ErrWrongType)
		return
	}
	expect.OK(t, err)
	whole := expect.Value(tablemodel.Scan(t.Context(), v.whole, 0))(t)
	expect.Equal(t, "items", len(items), 2)
	parts := strings.Contains(view, "Project")
	expect.Equal(t, "parts", items[0].Size()+items[1].Size() < whole[0].Size()+whole[1].Size(), parts)
}
