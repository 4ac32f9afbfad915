package repotest_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
)

// visit has keys of a number and a time.
type visit struct {
	ID       string    `dynamodbav:"visitId"`
	Name     string    `dynamodbav:"name"`
	At       time.Time `dynamodbav:"at"`
	Seat     int       `dynamodbav:"seat"`
	Revision string    `dynamodbav:"revision"`
}

func visits(change func(e *repo.Entity[visit])) repo.Entity[visit] {
	e := repo.Entity[visit]{Type: "VISIT", Version: "revision", Key: func(v visit) keys.Key { return noteKey(v.ID) }}
	change(&e)
	return e
}

// keyOf is a function with a key of its parts.
func keyOf(prefix string, parts func(v visit) []keys.Segment) func(visit) keys.Key {
	return func(v visit) keys.Key {
		return keys.Key{PK: "VISITS", SK: keys.Prefix(prefix).SK(parts(v)...)}
	}
}

func byName(v visit) []keys.Segment { return []keys.Segment{keys.Str(v.Name)} }

// changed returns why Golden refuses that one form becomes another, or "".
func changed(t *testing.T, was, is repo.Form) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "stored.json")
	expect.Equal(t, "first", failures(t, path, true, was), "")
	why := failures(t, path, true, is)
	if why == "" {
		expect.Equal(t, "after the update", failures(t, path, false, is), "")
	}
	return why
}

func TestAnAttributeMoreChangesNoKey(t *testing.T) {
	t.Parallel()
	type more struct {
		Colour string `dynamodbav:"colour"` // in front of the others
		visit
	}
	parts := func(v visit) []keys.Segment { return []keys.Segment{keys.Int(v.Seat, 4), keys.Time(v.At)} }
	was := visits(func(e *repo.Entity[visit]) { e.Key = keyOf("AT", parts) })
	is := repo.Entity[more]{Type: "VISIT", Version: "revision", Key: func(v more) keys.Key { return was.Key(v.visit) }}
	expect.Equal(t, "refused", changed(t, form(t, was), form(t, is)), "")
}

func TestKeysOfSamples(t *testing.T) {
	t.Parallel()
	key := func(prefix string, parts func(v visit) []keys.Segment) func(e *repo.Entity[visit]) {
		return func(e *repo.Entity[visit]) { e.Key = keyOf(prefix, parts) }
	}
	spare := func(prefix string) func(e *repo.Entity[visit]) {
		return func(e *repo.Entity[visit]) {
			e.Key = func(v visit) keys.Key {
				if v.Name == "spare" {
					return keyOf(prefix, byName)(v)
				}
				return noteKey(v.ID)
			}
		}
	}
	narrow := func(v visit) []keys.Segment { return []keys.Segment{keys.Int(v.Seat, 1)} }
	for name, tt := range map[string]struct {
		was, is func(e *repo.Entity[visit])
		samples []visit
		fails   string
	}{
		"lower case": {key("N", byName), key("N", func(v visit) []keys.Segment { return []keys.Segment{keys.Str(strings.ToLower(v.Name))} }), nil, "the key of a sample was"},
		"seconds": {
			key("N", func(v visit) []keys.Segment { return []keys.Segment{keys.Time(v.At)} }),
			key("N", func(v visit) []keys.Segment { return []keys.Segment{keys.Time(v.At.Truncate(time.Second))} }), nil, "the key of a sample was",
		},
		"no escapes": {key("N", byName), func(e *repo.Entity[visit]) {
			e.Key = func(v visit) keys.Key { return keys.Key{PK: "VISITS", SK: keys.SK("N#" + v.Name)} }
		}, nil, "the key of a sample was"},
		"the second sample": {spare("A"), spare("B"), []visit{{ID: "1"}, {ID: "1", Name: "spare"}}, "the key of a sample was"},
		"no sample":         {key("N", narrow), key("N", narrow), nil, "a function of Key makes no key of any sample"},
		"one sample":        {key("N", narrow), key("N", narrow), []visit{{Seat: 1}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "stored.json")
			got := failures(t, path, true, form(t, visits(tt.was), tt.samples...))
			if got == "" {
				got = failures(t, path, true, form(t, visits(tt.is), tt.samples...))
			}
			if (got == "") != (tt.fails == "") || !strings.Contains(got, tt.fails) {
				t.Errorf("%q is not in: %s", tt.fails, got)
			}
		})
	}
}

func TestTheMainItemMovesToTheKeyOfACopy(t *testing.T) {
	t.Parallel()
	byID, named := func(v visit) keys.Key { return noteKey(v.ID) }, keyOf("N", byName)
	with := func(key, copied, former func(visit) keys.Key) repo.Form {
		return form(t, visits(func(e *repo.Entity[visit]) {
			e.Key = key
			if copied != nil {
				e.Copies = []repo.Copy[visit]{{Key: copied}}
			}
			if former != nil {
				e.FormerCopies = []func(visit) keys.Key{former}
			}
		}))
	}
	// The releases of docs/change-your-table.md#key-format-changed.
	expect.Equal(t, "the copy is added", changed(t, with(byID, nil, nil), with(byID, named, nil)), "")
	expect.Equal(t, "the copy is the main item", changed(t, with(byID, named, nil), with(named, byID, nil)), "")
	expect.Equal(t, "the former key goes", changed(t, with(named, byID, nil), with(named, nil, byID)), "")
	for name, is := range map[string]repo.Form{"without its former key": with(named, nil, nil), "to another key": with(keyOf("M", byName), byID, nil)} {
		if got := changed(t, with(byID, named, nil), is); !strings.Contains(got, "the key of a sample was") {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestUpgradesAreAppended(t *testing.T) {
	t.Parallel()
	first, second := repo.Convert("name", "name", func(s string) (string, error) { return s + "!", nil }), repo.Default("seat", 1)
	with := func(oldest int, upgrades ...repo.Upgrade) repo.Form {
		return form(t, visits(func(e *repo.Entity[visit]) { e.Upgrades, e.OldestShape = upgrades, oldest }))
	}
	for name, tt := range map[string]struct {
		was, is repo.Form
		fits    bool
	}{
		"appended":              {with(0, first), with(0, first, second), true},
		"in front":              {with(0, first), with(0, second, first), false},
		"replaced":              {with(0, first), with(0, second), false},
		"deleted when all have": {with(0, first, second), with(1, second), true},
		"deleted and appended":  {with(0, first), with(1, second), true},
		"another one deleted":   {with(0, first, second), with(1, first), false},
		"one again":             {with(1, second), with(0, first, second), true},
	} {
		got := changed(t, tt.was, tt.is)
		if (got == "") != tt.fits || !tt.fits && !strings.Contains(got, "an upgrade of attribute") {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestWhatOtherProgramsKnowStays(t *testing.T) {
	t.Parallel()
	with := func(constant, kind string, unique func(visit) keys.Key) repo.Form {
		return form(t, visits(func(e *repo.Entity[visit]) {
			e.Version, e.Shared = "", &repo.Shared[visit]{Constants: map[string]string{"__v": constant}, UniqueType: kind}
			if unique != nil {
				e.Shared.Unique = func(v visit) []keys.Key { return []keys.Key{unique(v)} }
			}
		}))
	}
	was := with("1", "_Unique", keyOf("U", byName))
	claims := form(t, visits(func(e *repo.Entity[visit]) {
		e.Claims = func(v visit) []keys.Key { return []keys.Key{keyOf("U", byName)(v)} }
	}))
	for name, tt := range map[string]struct {
		is    repo.Form
		fails string
	}{
		"the same":      {was, ""},
		"taken over":    {claims, ""},
		"a constant":    {with("2", "_Unique", keyOf("U", byName)), "constant __v"},
		"a unique key":  {with("1", "_Unique", keyOf("V", byName)), "Unique was"},
		"no unique key": {with("1", "", nil), "Unique was"},
		"a unique type": {with("1", "_Other", keyOf("U", byName)), "UniqueType was"},
	} {
		got := changed(t, was, tt.is)
		if (got == "") != (tt.fails == "") || !strings.Contains(got, tt.fails) {
			t.Errorf("%s: %q is not in: %s", name, tt.fails, got)
		}
	}
}
