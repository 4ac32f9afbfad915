// Package repotest keeps what a program stores in files, and fails a test when the program no
// longer fits what its earlier releases have stored. It needs no table with items, and no engine
// except for the samples of [Model].
package repotest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/singletable/singletable/repo"
)

// Golden compares the stored forms of a program's entities with a file, and fails the test if they
// differ. With update it writes the file, which is committed; take it from a flag of the test:
//
//	var update = flag.Bool("update", false, "update the golden files")
//
//	func TestStoredForms(t *testing.T) {
//		repotest.Golden(t, "testdata/stored.json", *update, users.Form(), orders.Form())
//	}
//
// A change that stored items do not fit fails with update too, and the failure says which upgrade
// to write: an attribute that is gone, or whose field holds less, an entity that is gone, another
// Version or key, fewer or other upgrades, and for entities of other programs another constant or
// unique value. If an entity is stored nowhere yet, delete it in the file, and update. Other
// changes, such as an attribute that is new, need the update only.
//
// It also fails where an entity counts in an attribute that another one of the forms has not in
// its Counted, since a Save of that sets the number back.
//
// Keys are compared by the samples of [repo.Form]: a key that no sample shows can change unseen,
// and so can what an upgrade makes of an attribute.
func Golden(tb testing.TB, path string, update bool, forms ...repo.Form) {
	tb.Helper()
	text, err := os.ReadFile(path)
	var former []repo.Form
	if err == nil {
		err = json.Unmarshal(text, &former)
	}
	if err != nil && (!update || !errors.Is(err, fs.ErrNotExist)) {
		tb.Fatalf("%v: the test makes the file with update", err)
	}
	forms = slices.SortedFunc(slices.Values(forms), func(a, b repo.Form) int { return cmp.Compare(a.Type, b.Type) })
	var made bytes.Buffer
	encoder := json.NewEncoder(&made)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(forms); err != nil {
		tb.Fatal(err)
	}
	c := compareForms(former, forms)
	for _, problem := range c.breaking {
		tb.Errorf("%s: %s", path, problem)
	}
	switch {
	case len(c.breaking) > 0, bytes.Equal(text, made.Bytes()):
	case !update:
		tb.Errorf("%s: what is stored has changed, and earlier releases' items fit. Run the test with update, and commit the file.", path)
		for _, change := range c.compatible {
			tb.Errorf("%s: %s", path, change)
		}
	default:
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, made.Bytes(), 0o644)); err != nil {
			tb.Fatal(err)
		}
	}
}

// comparison lists changes: those that stored items do not fit, and others.
type comparison struct{ breaking, compatible []string }

func (c *comparison) breaks(format string, args ...any) {
	c.breaking = append(c.breaking, fmt.Sprintf(format, args...))
}

func (c *comparison) fits(format string, args ...any) {
	c.compatible = append(c.compatible, fmt.Sprintf(format, args...))
}

func compareForms(former, forms []repo.Form) *comparison {
	c := &comparison{}
	of := func(all []repo.Form, kind string) (repo.Form, bool) {
		i := slices.IndexFunc(all, func(f repo.Form) bool { return f.Type == kind })
		if i < 0 {
			return repo.Form{}, false
		}
		return all[i], true
	}
	for _, is := range forms {
		c.shown(is)
		c.counted(is, forms)
		if was, known := of(former, is.Type); known {
			c.entity(was, is)
		} else {
			c.fits("%s is new", is.Type)
		}
	}
	for _, was := range former {
		if _, kept := of(forms, was.Type); !kept {
			c.breaks("%s is gone, and its items are not: keep its Type if you renamed it. If it has no items any more, delete it in the file.", was.Type)
		}
	}
	return c
}
