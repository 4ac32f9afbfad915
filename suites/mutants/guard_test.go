package main

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const root = "../.."

// TestEachGuardCanBeRemoved does not run their tests: a change of the code may have left a
// marker behind that does not fit.
func TestEachGuardCanBeRemoved(t *testing.T) {
	t.Parallel()
	all, err := guards(root)
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string][]string{}
	for _, g := range all {
		if without, err := g.remove(read(t, g.file)); err != nil {
			t.Error(err)
		} else if _, err := parser.ParseFile(token.NewFileSet(), g.at(), without, parser.SkipObjectResolution); err != nil {
			t.Errorf("without %q: %v", g.name, err)
		}
		name, _, _ := strings.Cut(g.run, "/")
		if tests[g.pkg] == nil {
			tests[g.pkg] = testsOf(t, g.pkg)
		}
		if !slices.ContainsFunc(tests[g.pkg], regexp.MustCompile(name).MatchString) {
			t.Errorf("%s: %s has no test %s", g.at(), g.pkg, name)
		}
	}
}

var testName = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Example)\w*)\(`)

// testsOf returns the names of the tests of a package.
func testsOf(t *testing.T, pkg string) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pkg), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range testName.FindAllStringSubmatch(string(source), -1) {
			names = append(names, m[1])
		}
	}
	return names
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestRemove has the ways to remove a guard.
func TestRemove(t *testing.T) {
	t.Parallel()
	const above, below = "package p\n\nfunc f() {\n\tswitch {\n\tcase z:\n", "\n\t}\n}\n"
	for _, tt := range []struct{ line, change, want string }{
		{"if a || b {\n}", "", "if false && (a || b) {\n}"},
		{"if a := f(); a {\n}", "", "if a := f(); false && (a) {\n}"},
		{"case a:", "", "case false && (a):"},
		{"case a, b:", "", "error"},
		{"default:", "", "error"},
		{"a = f(\n1)", "", ""},
		{"defer f()", "", ""},
		{"for {\n}", "", "error"},
		{"", "", "error"},
		{"return a + c", " | a => b", "return b + c"},
		{"return a + c", " | + c =>", "return a "},
		{"return a + a", " | a => b", "error"},
		{"return c", " | a => b", "error"},
		{"f(\n1)", " | => if b { f() }", "if b { f() }"},
		{"", " | => b()", "error"},
	} {
		markers := marker + "other | Test\n" + marker + "name | Test" + tt.change + "\n"
		source := above + markers + tt.line + below
		all, err := guardsIn("p/p.go", source)
		if err != nil {
			t.Fatal(err)
		}
		got, want := "error", tt.want
		if without, err := all[1].remove(source); err == nil {
			got, want = without, above+markers+tt.want+below
		}
		if got != want {
			t.Errorf("%s%s: got %s, want %s", tt.line, tt.change, got, want)
		}
	}
}

func TestMarkers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		comment string
		want    guard
	}{
		{"//mutants:guard a, b: c | TestA/b|c", guard{name: "a, b: c", run: "TestA/b|c", pkg: "./p"}},
		{"//mutants:guard a | TestA ./q | b || c => d", guard{name: "a", run: "TestA", pkg: "./q", old: "b || c", new: "d"}},
		{"//mutants:guard a | TestA | b =>", guard{name: "a", run: "TestA", pkg: "./p", old: "b"}},
		{"// It is no marker, but prose about mutants:guard.", guard{}},
	} {
		got, err := guardsIn("p/p.go", "package p\n\n"+tt.comment+"\nvar a int\n")
		var want []guard
		if tt.want != (guard{}) {
			tt.want.file, tt.want.line = "p/p.go", 4
			want = []guard{tt.want}
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(guard{})); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", tt.comment, err, diff)
		}
	}
	for _, comment := range []string{
		"//mutants:guard",
		"//mutants:guard a",
		"//mutants:guard  | TestA",
		"//mutants:guard a | ",
		"//mutants:guard a | TestA ./q ./r",
		"//mutants:guard a | TestA | b",
		"//mutants:guard a | TestA | =>",
		"//mutants:guard a | TestA | b => b",
		"//mutants:gaurd a | TestA",
		"// mutants:guard a | TestA",
		"/*mutants:guard a | TestA*/",
		"const b = 1 //mutants:guard a | TestA",
	} {
		if got, err := guardsIn("p/p.go", "package p\n\n"+comment+"\nvar a int\n"); err == nil || !strings.HasPrefix(err.Error(), "p/p.go:3: ") {
			t.Errorf("%s: got %v and the error %v", comment, got, err)
		}
	}
}

func TestGuardsOfOneName(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"a.go", "b.go"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("package p\n\n//mutants:guard a | TestA\nvar a int\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := guards(dir); err == nil || !strings.Contains(err.Error(), "a.go:4") || !strings.Contains(err.Error(), "b.go:4") {
		t.Error(err)
	}
}
