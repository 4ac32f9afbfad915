package generated_test

import (
	"os"
	"path/filepath"
	"testing"

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
	if err := os.WriteFile(path, []byte(file), 0o644); err != nil {
		t.Fatal(err)
	}
	w := &watched{TB: t}
	func() {
		defer func() {
			if r := recover(); r != nil && r != w {
				panic(r)
			}
		}()
		generated.Part(w, path, name, text)
	}()
	return w.failed
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
