package repo_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// docWith is docEntity with upgrades.
func docWith(oldest int, upgrades ...repo.Upgrade) repo.Entity[Doc] {
	e := docEntity
	e.OldestShape, e.Upgrades = oldest, upgrades
	return e
}

func storedItem(tb testing.TB, tbl *table.Table, key keys.Key) table.Item {
	tb.Helper()
	return expect.Value(table.Get[table.Item](tb.Context(), tbl.Consistent(), key))(tb)
}

func number(n int) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: fmt.Sprint(n)}
}

// shapes returns an item's shape and the oldest one whose programs it admits.
func shapes(item table.Item) (both [2]string) {
	for i, name := range []string{"entityShape", "entityShapeFrom"} {
		if n, ok := item[name].(*types.AttributeValueMemberN); ok {
			both[i] = n.Value
		}
	}
	return both
}

func compatible(u repo.Upgrade) repo.Upgrade {
	u.Compatible = true
	return u
}

// A program of the former shape that is admitted can store a dropped attribute again.
func TestUpdateRemovesADroppedAttributeAgain(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema.Table{}, nil)
	docs := newRepo(t, tbl, docWith(0, compatible(repo.Drop("fax"))))
	expect.OK(t, docs.Create(t.Context(), &Doc{ID: "d-1"}))
	expect.OK(t, tbl.Do(t.Context(), table.Patch(docKey, table.Item{"fax": number(1)})))
	expect.Value(docs.Update(t.Context(), docKey, func(d *Doc) error { d.Pages++; return nil }))(t)
	if _, has := storedItem(t, tbl, docKey)["fax"]; has {
		t.Error("the dropped attribute is still there")
	}
}

// An item that a view has upgraded is not upgraded again, whatever it is given to. It
// admits the programs that the current shape admits.
func TestViewUpgradesOnce(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema.Table{}, nil)
	double := repo.Convert("pages", "pages", func(n int) (int, error) { return 2 * n, nil })
	former := newRepo(t, tbl, docWith(0, repo.Default("author", "none")))
	d := Doc{ID: "d-1", Pages: 5}
	expect.OK(t, former.Create(t.Context(), &d))
	docs := newRepo(t, tbl, docWith(0, repo.Default("author", "none"), double))
	d.Pages = 10

	var collected []Doc
	q := table.Query{PK: docKey.PK}
	expect.OK(t, repo.Collect(t.Context(), docs.View(), q, docs.AppendTo(&collected)))
	expect.Equal(t, "Collect", collected, []Doc{d})
	for v, err := range repo.Stream(t.Context(), docs.View(), q, docs) {
		expect.OK(t, err)
		expect.Equal(t, "Stream", v, any(d))
	}
	item := storedItem(t, docs.View(), docKey)
	expect.Equal(t, "shapes", shapes(item), [2]string{"2", ""})
	decoded, _, err := docs.Decode(item)
	expect.OK(t, err)
	expect.Equal(t, "Decode", decoded, d)
	var refreshed Doc
	expect.OK(t, expect.Value(docs.RefreshItems(item))(t)[0].Decode(&refreshed))
	expect.Equal(t, "RefreshItems", refreshed, d)

	// The stored item is still of the former shape, and writes know that.
	expect.Equal(t, "changed", expect.Value(docs.Refresh(t.Context(), docKey))(t), true)
	expect.Equal(t, "refreshed", expect.Value(docs.Get(t.Context(), docKey))(t).Pages, 10)

	expect.OK(t, tbl.Do(t.Context(), table.Put(docKey, item)))
	expect.Equal(t, "put as it was read", expect.Value(docs.Get(t.Context(), docKey))(t), d)
}

// A repository of a projected table reads and writes items as a whole.
func TestRepositoryOfAProjection(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema.Table{}, nil)
	docs := newRepo(t, tbl.Project("id", "author"), docWith(0))
	d := Doc{ID: "d-1", Author: "Ann", Pages: 3}
	expect.OK(t, docs.Create(t.Context(), &d))
	expect.Equal(t, "read", expect.Value(docs.Get(t.Context(), docKey))(t), d)
	d.Pages = 0
	expect.OK(t, docs.Save(t.Context(), &d))
	expect.Equal(t, "written", expect.Value(docs.Get(t.Context(), docKey))(t), d)
}

// An upgrade does not write the expiry: conditions and counts know the stored one only.
func TestUpgradesDoNotWriteTheExpiry(t *testing.T) {
	t.Parallel()
	type session struct {
		ID, Rev   string
		Until     string
		ExpiresAt int64 `dynamodbav:"expiresAt"`
	}
	tbl := tabletest.New(t, schema.Table{TTLAttribute: "expiresAt"}, nil)
	for name, refused := range map[string]struct {
		upgrade repo.Upgrade
		want    bool
	}{
		"Convert": {repo.Convert("until", "expiresAt", func(string) (int64, error) { return 1, nil }), true},
		"Default": {repo.Default("expiresAt", 1), true},
		"none":    {repo.Upgrade{}, false},
	} {
		err := expect.ErrOf(repo.New(tbl, repo.Entity[session]{
			Type: "SESSION", Version: "Rev", Key: func(s session) keys.Key { return keys.Key{PK: keys.PK(s.ID), SK: "S"} },
			Upgrades: []repo.Upgrade{refused.upgrade},
		}))
		if errors.Is(err, table.ErrInvalid) != refused.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// An upgrade without attributes raises the shape all the same.
func TestUpgradeWithoutAttributes(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema.Table{}, nil)
	expect.OK(t, newRepo(t, tbl, docEntity).Create(t.Context(), &Doc{ID: "d-1"}))
	docs := newRepo(t, tbl, docWith(0, repo.Upgrade{}))
	for _, want := range []bool{true, false} {
		expect.Equal(t, "changed", expect.Value(docs.Refresh(t.Context(), docKey))(t), want)
		expect.Equal(t, "shapes", shapes(storedItem(t, tbl, docKey)), [2]string{"1", ""})
	}
}

// Upgrades begin with OldestShape, and an item may say that its shape is 0.
func TestUpgradesFromTheOldestShape(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema.Table{}, nil)
	expect.OK(t, newRepo(t, tbl, docEntity).Create(t.Context(), &Doc{ID: "d-1"}))
	set := func(name string) repo.Upgrade {
		return repo.Upgrade{Writes: []string{name}, Change: func(item table.Item) error {
			item[name] = &types.AttributeValueMemberS{Value: name}
			return nil
		}}
	}
	for oldest := range 4 {
		expect.OK(t, tbl.Do(t.Context(), table.Patch(docKey, table.Item{"entityShape": number(oldest)})))
		docs := newRepo(t, tbl, docWith(oldest, set("title"), set("author")))
		d := expect.Value(docs.Get(t.Context(), docKey))(t)
		expect.Equal(t, "upgraded", [2]string{d.Title, d.Author}, [2]string{"title", "author"})
	}
}

// A write by UpdateOps and by Save of a shape that admits no other takes back that older
// programs were admitted.
func TestWritesOfAnIncompatibleShapeAdmitNoOlder(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(*table.Table, *repo.Repo[Doc], *Doc) error{
		"UpdateOps": func(tbl *table.Table, docs *repo.Repo[Doc], d *Doc) error {
			return tbl.Transact(t.Context(), docs.UpdateOps(*d, d)...)
		},
		"Save": func(_ *table.Table, docs *repo.Repo[Doc], d *Doc) error { return docs.Save(t.Context(), d) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tbl := tabletest.New(t, schema.Table{}, nil)
			admits := repo.Default("title", "none")
			d := Doc{ID: "d-1"}
			expect.OK(t, newRepo(t, tbl, docWith(0, admits)).Create(t.Context(), &d))
			expect.Equal(t, "shapes before", shapes(storedItem(t, tbl, docKey)), [2]string{"1", "0"})
			docs := newRepo(t, tbl, docWith(0, admits, repo.Drop("fax")))
			d = expect.Value(docs.Get(t.Context(), docKey))(t)
			d.Pages++
			expect.OK(t, write(tbl, docs, &d))
			expect.Equal(t, "shapes", shapes(storedItem(t, tbl, docKey)), [2]string{"2", ""})
		})
	}
}

// A map can hold the shape that it was read with, and storing it does not lower that.
func TestCreateKeepsTheShapeOfAMap(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema.Table{}, nil)
	key := keys.Key{PK: "MAP", SK: "MAP"}
	maps := newRepo(t, tbl, repo.Entity[map[string]any]{
		Type: "MAP", Version: "rev", Key: func(map[string]any) keys.Key { return key }, Upgrades: []repo.Upgrade{repo.Drop("fax")},
	})
	expect.OK(t, maps.Create(t.Context(), &map[string]any{"entityShape": 5, "entityShapeFrom": 1}))
	expect.Equal(t, "shapes", shapes(storedItem(t, tbl, key)), [2]string{"5", "1"})
}

// Upsert gives up if the item is neither there nor as it expects, time after time.
func TestUpsertIsBounded(t *testing.T) {
	t.Parallel()
	var faults tabletest.Faults
	tbl := tabletest.NewWith(t, tabletest.Client(t, faults.Install), schema.Table{}, nil)
	docs := newRepo(t, tbl, docWith(0, repo.Drop("fax")))
	more := repo.Patch{Add: map[string]any{"pages": 1}}
	refused := tabletest.Status(http.StatusBadRequest, "ConditionalCheckFailedException", "The conditional request failed")
	for _, stored := range []bool{false, true} {
		if stored {
			expect.OK(t, docs.Create(t.Context(), &Doc{ID: "d-1"}))
		}
		faults.Always("UpdateItem", refused)
		before := len(faults.Requests("UpdateItem"))
		if _, err := docs.Upsert(t.Context(), Doc{ID: "d-1"}, more); err == nil {
			t.Error("the upsert succeeds")
		}
		expect.Equal(t, fmt.Sprintf("updates, stored %v", stored), len(faults.Requests("UpdateItem"))-before, 4)
		faults.Always("UpdateItem", nil)
		expect.OK(t, docs.Delete(t.Context(), docKey))
	}
}

// The copies of an entity that it leaves out are no items.
func TestRefreshItemsLeavesOutCopies(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema.Table{}, nil)
	e := pageEntity()
	e.Copies[0].Key = func(p page) keys.Key {
		if p.Tag == "" {
			return keys.Key{}
		}
		return tagKey(p)
	}
	pages := newRepo(t, tbl, e)
	for tag, want := range map[string]int{"": 1, "new": 2} {
		p := page{ID: "1" + tag, Tag: tag}
		expect.OK(t, pages.Create(t.Context(), &p))
		items := expect.Value(pages.RefreshItems(storedItem(t, tbl, pageKey(p))))(t)
		expect.Equal(t, "items with tag "+tag, len(items), want)
	}
}

// An entity without a version has nothing to refresh.
func TestRefreshWithoutAVersion(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema.Table{}, nil)
	e := docEntity
	e.Version = ""
	docs := newRepo(t, tbl, e)
	expect.OK(t, docs.Create(t.Context(), &Doc{ID: "d-1"}))
	expect.Equal(t, "changed", expect.Value(docs.Refresh(t.Context(), docKey))(t), false)
}

// An item without a version is guarded by its attributes, 140 at most.
func TestRefreshGuardsManyAttributes(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema.Table{}, nil)
	key := keys.Key{PK: "MAP", SK: "MAP"}
	maps := newRepo(t, tbl, repo.Entity[map[string]any]{Type: "MAP", Version: "rev", Key: func(map[string]any) keys.Key { return key }})
	item := map[string]any{"entityType": "MAP"}
	for i := range 141 {
		if i == 140 {
			expect.OK(t, tbl.Do(t.Context(), table.Put(key, item)))
			expect.OK(t, tbl.Transact(t.Context(), expect.Value(maps.RefreshOps(t.Context(), storedItem(t, tbl, key)))(t)...))
		}
		item[fmt.Sprintf("attribute%d", i)] = i
	}
	expect.OK(t, tbl.Do(t.Context(), table.Put(key, item)))
	_, err := maps.RefreshOps(t.Context(), storedItem(t, tbl, key))
	expect.Err(t, err, table.ErrTooLarge)
}

// An item whose shape attribute is no number is of no known shape.
func TestAShapeThatIsNoNumber(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema.Table{}, nil)
	docs := newRepo(t, tbl, docWith(0, repo.Drop("fax")))
	d := Doc{ID: "d-1"}
	expect.OK(t, docs.Create(t.Context(), &d))
	for _, shape := range []types.AttributeValue{&types.AttributeValueMemberS{Value: "1"}, number(-1)} {
		item := storedItem(t, tbl, docKey)
		item["entityShape"] = shape
		expect.Err(t, expect.ErrOf(docs.RefreshOps(t.Context(), item)), repo.ErrUpgrade)
	}
}
