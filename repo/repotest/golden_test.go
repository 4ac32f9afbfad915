package repotest_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/repo/repotest"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

type address struct {
	City string `dynamodbav:"city"`
}

type note struct {
	ID       string          `dynamodbav:"noteId"`
	Title    string          `dynamodbav:"title"`
	Seats    int             `dynamodbav:"seats"`
	Made     time.Time       `dynamodbav:"made"`
	Ends     table.UnixMilli `dynamodbav:"ends"`
	Home     address         `dynamodbav:"home"`
	Lines    []address       `dynamodbav:"lines"`
	Tags     []string        `dynamodbav:"tags,stringset"`
	Revision string          `dynamodbav:"revision"`
}

func noteKey(id string) keys.Key { return keys.Key{PK: keys.Prefix("NOTE").PK(id), SK: keys.Metadata} }

func titleKey(title string) keys.Key {
	return keys.Key{PK: keys.Prefix("TITLE").PK(title), SK: keys.Metadata}
}

func noteEntity() repo.Entity[note] {
	return repo.Entity[note]{
		Type: "NOTE", Version: "revision",
		Key:    func(n note) keys.Key { return noteKey(n.ID) },
		Copies: []repo.Copy[note]{{Name: "by title", Key: func(n note) keys.Key { return titleKey(n.Title) }}},
		Indexes: repo.Indexes[note]{"GSI1": func(n note) keys.Key {
			return keys.Key{PK: "MADE", SK: keys.None.SK(keys.Time(n.Made), keys.Int(n.Seats, 4))}
		}},
		Claims: func(n note) []keys.Key {
			return []keys.Key{{PK: keys.Prefix("CITY").PK(n.Home.City), SK: keys.Metadata}}
		},
		Counters: []repo.Counter[note]{{Name: "notes", Owner: "TAG", Attribute: "notes", Key: func(n note) keys.Key { return keys.Key{PK: "TAG", SK: "TAG"} }, Alone: true}},
	}
}

var spec = schema.Table{Name: "Notes", Indexes: []schema.Index{{Name: "GSI1", PK: "GSI1PK", SK: "GSI1SK"}}}

func form[T any](t *testing.T, entity repo.Entity[T], samples ...T) repo.Form {
	t.Helper()
	return expect.Value(repo.New(tabletest.New(t, spec, nil), entity))(t).Form(samples...)
}

// recorded is a test that takes note of its failures.
type recorded struct {
	testing.TB
	failures []string
}

func (r *recorded) Helper() {}
func (r *recorded) Errorf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

// failures are those of a comparison with the file at path.
func failures(t *testing.T, path string, update bool, forms ...repo.Form) string {
	t.Helper()
	r := &recorded{TB: t}
	repotest.Golden(r, path, update, forms...)
	return strings.ReplaceAll(strings.Join(r.failures, "\n"), path+": ", "")
}

func TestTheFileHasTheStoredForm(t *testing.T) {
	t.Parallel()
	repotest.Golden(t, "testdata/stored.json", *expect.Update, form(t, noteEntity()), form(t, repo.Entity[map[string]string]{
		Type: "ANY", Key: func(of map[string]string) keys.Key { return noteKey(of["id"]) },
	}, map[string]string{"id": "n-1"}))
}

// renamed is a note whose title is a name.
type renamed struct {
	ID       string `dynamodbav:"noteId"`
	Name     string `dynamodbav:"name"`
	Revision string `dynamodbav:"revision"`
}

func TestARenameNeedsAnUpgrade(t *testing.T) {
	t.Parallel()
	type titled struct {
		ID       string `dynamodbav:"noteId"`
		Title    string `dynamodbav:"title"`
		Revision string `dynamodbav:"revision"`
	}
	path := filepath.Join(t.TempDir(), "testdata", "stored.json")
	first := repo.Entity[titled]{Type: "NOTE", Version: "revision", Key: func(n titled) keys.Key { return noteKey(n.ID) }}
	expect.Equal(t, "no file", failures(t, path, true, form(t, first)), "")
	second := repo.Entity[renamed]{Type: "NOTE", Version: "revision", Key: func(n renamed) keys.Key { return noteKey(n.ID) }}
	for _, update := range []bool{false, true} {
		expect.Equal(t, "without an upgrade", strings.Split(failures(t, path, update, form(t, second)), "\n")[0],
			`NOTE: attribute title is gone, and name is new: add to Upgrades: repo.Rename("title", "name"), or repo.Drop("title") if they have nothing in common. docs/change-your-table.md#attribute-renamed has a way in which both releases work.`)
	}
	expect.Equal(t, "the file after an update that failed", failures(t, path, false, form(t, first)), "")

	second.Upgrades = []repo.Upgrade{repo.Rename("title", "name")}
	if got := failures(t, path, false, form(t, second)); !strings.Contains(got, "Run the test with update") || strings.Contains(got, "add to Upgrades") {
		t.Errorf("with an upgrade: %s", got)
	}
	expect.Equal(t, "update", failures(t, path, true, form(t, second)), "")
	expect.Equal(t, "after the update", failures(t, path, false, form(t, second)), "")
	second.Upgrades, second.OldestShape = nil, 1
	expect.Equal(t, "after a backfill", failures(t, path, true, form(t, second)), "")
}

// A counter and the entity that has its number are described apart.
func TestOwnersNeedCounted(t *testing.T) {
	t.Parallel()
	note := form(t, noteEntity()) // counts notes of TAG
	tag := repo.Form{Type: "TAG", Attributes: map[string]string{"notes": "N int64"}}
	path := filepath.Join(t.TempDir(), "stored.json")
	if got := failures(t, path, true, note, tag); !strings.Contains(got, `NOTE: counter "notes" adds to attribute notes of TAG, whose Counted has no notes`) {
		t.Errorf("not said: %s", got)
	}
	tag.Counted = []string{"notes"}
	expect.Equal(t, "with Counted", failures(t, path, true, note, tag), "")
}

func TestChangesNeedUpgrades(t *testing.T) {
	t.Parallel()
	was := form(t, noteEntity())
	was.Counted = []string{"seats"}
	each := func(change func(k *repo.FormKeys)) func(f *repo.Form) {
		return func(f *repo.Form) {
			for i := range f.Keys {
				change(&f.Keys[i])
			}
		}
	}
	for name, tc := range map[string]struct {
		change func(f *repo.Form)
		fails  string // with update; without, if fits is set
		fits   bool
	}{
		"gone":               {func(f *repo.Form) { delete(f.Attributes, "seats") }, `add to Upgrades: repo.Drop("seats")`, false},
		"another type":       {func(f *repo.Form) { f.Attributes["seats"] = "S" }, `attribute seats is S now, and was N int64: add to Upgrades: repo.Convert("seats", "seats", …)`, false},
		"another unit":       {func(f *repo.Form) { f.Attributes["ends"] = "N seconds" }, "attribute ends is N seconds now, and was N milliseconds", false},
		"in a map":           {func(f *repo.Form) { delete(f.Attributes, "home.city") }, `home.city was S and is gone in attribute home: add to Upgrades: repo.Convert("home", "home", …)`, false},
		"in a list":          {func(f *repo.Form) { f.Attributes["lines[].city"] = "N" }, `lines[].city was S and is N in attribute lines`, false},
		"upgraded":           {func(f *repo.Form) { f.Attributes["seats"], f.Shape, f.Upgraded["seats"] = "S", 1, 1 }, "attribute seats is changed by an upgrade", true},
		"upgraded in a map":  {func(f *repo.Form) { f.Attributes["home.city"], f.Shape, f.Upgraded["home"] = "N", 1, 1 }, "attribute home.city is changed", true},
		"upgraded before":    {func(f *repo.Form) { f.Attributes["seats"], f.Upgraded["seats"] = "S", 0 }, "add to Upgrades", false},
		"new":                {func(f *repo.Form) { f.Attributes["nick"] = "S" }, `attribute nick is new: earlier items are read with its zero value; if that is wrong, add to Upgrades: repo.Default("nick", …)`, true},
		"entity gone":        {func(f *repo.Form) { f.Type = "MEMO" }, "NOTE is gone, and its items are not", false},
		"fewer shapes":       {func(f *repo.Form) { f.Shape = -1 }, "keep all Upgrades", false},
		"no upgrade is left": {func(f *repo.Form) { f.Shape, f.OldestShape = 1, 1 }, "OldestShape 1 refuses the items of shape 0", false},
		"another version":    {func(f *repo.Form) { f.Version = "noteId" }, `Version was "revision S" and is "noteId S"`, false},
		"version of a type":  {func(f *repo.Form) { f.Attributes["revision"] = "N" }, `Version was "revision S" and is "revision N"`, false},
		"key":                {each(func(k *repo.FormKeys) { k.Key = "N" }), "the key of a sample was", false},
		"copy gone":          {each(func(k *repo.FormKeys) { k.Copies = nil }), "FormerCopies, and backfill", false},
		"copy deleted":       {each(func(k *repo.FormKeys) { k.FormerCopies, k.Copies = []string{k.Copies["by title"]}, nil }), "backfill", true},
		"index":              {each(func(k *repo.FormKeys) { k.Indexes = nil }), "backfill", true},
		"claims":             {each(func(k *repo.FormKeys) { k.Claims = nil }), "all releases that write the entity need the same", false},
		"counters":           {each(func(k *repo.FormKeys) { k.Counters = nil }), `counter "notes" was notes of TAG at TAG / TAG and is gone`, true},
		"a counter's name":   {each(func(k *repo.FormKeys) { k.Counters = map[string]string{"lines": k.Counters["notes"]} }), `counter "notes" is named "lines" now`, false},
		"a sample less":      {func(f *repo.Form) { f.Keys = f.Keys[:1] }, "the keys of 3 samples are in the file, and Form has 1", false},
		"a sample more":      {func(f *repo.Form) { f.Keys = append(f.Keys, repo.FormKeys{Key: "N"}) }, "earlier releases' items fit", true},
		"not counted":        {func(f *repo.Form) { f.Counted = nil }, "attribute seats is not in Counted", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "stored.json")
			expect.Equal(t, "first", failures(t, path, true, was), "")
			is := was
			is.Attributes, is.Upgraded, is.Keys = maps.Clone(was.Attributes), maps.Clone(was.Upgraded), slices.Clone(was.Keys)
			tc.change(&is)
			if got := failures(t, path, !tc.fits, is); !strings.Contains(got, tc.fails) {
				t.Errorf("%q is not in:\n%s", tc.fails, got)
			}
			if got := failures(t, path, true, is); (got == "") != tc.fits {
				t.Errorf("with update: %s", got)
			}
		})
	}
}
