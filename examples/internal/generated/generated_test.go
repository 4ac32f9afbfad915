package generated_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/generated"
)

// watched is a test that takes note of its failure.
type watched struct {
	testing.TB
	failed bool
}

func (w *watched) Helper()               {}
func (w *watched) Errorf(string, ...any) { w.failed = true }
func (w *watched) Fatalf(string, ...any) { w.failed = true; panic(w) }

func fails(t *testing.T, file, name, text string) bool {
	t.Helper()
	path := filepath.Join(t.TempDir(), "README.md")
	check.OK(t, os.WriteFile(path, []byte(file), 0o644))
	return failing(t, func(tb testing.TB) { generated.Part(tb, path, name, text) })
}

func TestAPartIsComparedWithTheFile(t *testing.T) {
	t.Parallel()
	const file = "before\n<!-- a: how -->\n\none\n\n<!-- /a -->\n<!-- b -->\n\ntwo\n\n<!-- /b -->\nafter\n"
	for _, tc := range []struct {
		name, file, part, text string
		fails                  bool
	}{
		{"the same", file, "a", "one\n", false},
		{"without a how", file, "b", "two", false},
		{"stale", file, "a", "two", true},
		{"no such part", file, "c", "one", true},
		{"twice", file + file, "a", "one", true},
		{"no end", "<!-- a -->\n\none\n", "a", "one", true},
	} {
		if got := fails(t, tc.file, tc.part, tc.text); got != tc.fails {
			t.Errorf("%s: failed is %t, want %t", tc.name, got, tc.fails)
		}
	}
}

func TestAQuotedTextIsOnThePage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	page, file := filepath.Join(dir, "page.md"), filepath.Join(dir, "line.json")
	check.OK(t, os.WriteFile(page, []byte("`one` and `three`"), 0o644), os.WriteFile(file, []byte("one two"), 0o644))
	for _, tc := range []struct {
		name, says, text string
		fails            bool
	}{
		{"in both", "one", "one two", false},
		{"not on the page", "two", "one two", true},
		{"not in the text", "three", "one two", true},
		{"another file", "one", "one", true},
	} {
		if got := failing(t, func(tb testing.TB) { generated.Quoted(tb, page, tc.says, file, tc.text) }); got != tc.fails {
			t.Errorf("%s: failed is %t, want %t", tc.name, got, tc.fails)
		}
	}
}

func TestQuotedCodeIsComparedWithItsFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const source = "package p\n\n// T is a type.\ntype T struct{}\n\n// M does nothing.\nfunc (t *T) M() {\n\t// Nothing.\n}\n\nconst (\n\ta = 1\n\tb = 2\n)\n"
	check.OK(t, os.WriteFile(filepath.Join(dir, "p.go"), []byte(source), 0o644))
	for _, tc := range []struct {
		name, names, code string
		fails             bool
	}{
		{"a type", "T", "type T struct{}", false},
		{"a method and a group", "T.M b", "func (t *T) M() {\n\t// Nothing.\n}\n\nconst (\n\ta = 1\n\tb = 2\n)", false},
		{"stale", "T", "type T int", true},
		{"no such declaration", "U", "type U int", true},
	} {
		path := filepath.Join(dir, tc.name+".md")
		text := "before\n<!-- code p.go " + tc.names + " -->\n\n```go\n" + tc.code + "\n```\n\n<!-- /code -->\nafter\n"
		check.OK(t, os.WriteFile(path, []byte(text), 0o644))
		if got := failing(t, func(tb testing.TB) { generated.Code(tb, path, dir) }); got != tc.fails {
			t.Errorf("%s: failed is %t, want %t", tc.name, got, tc.fails)
		}
	}
}

// failing reports whether a check fails its test.
func failing(t *testing.T, check func(testing.TB)) bool {
	t.Helper()
	w := &watched{TB: t}
	func() {
		defer func() {
			if r := recover(); r != nil && r != w {
				panic(r)
			}
		}()
		check(w)
	}()
	return w.failed
}
