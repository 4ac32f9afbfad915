package main

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// root is the repository's directory, from that of the tests.
const root = "../../.."

// TestTrackedFiles applies the rules of module zips and of Windows to every file
// of the repository as it is staged.
func TestTrackedFiles(t *testing.T) {
	t.Parallel()
	paths, err := tracked(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) < 500 {
		t.Errorf("%d files are tracked", len(paths))
	}
	if err := checkNames(os.DirFS(root), paths); err != nil {
		t.Error(err)
	}
}

func TestModules(t *testing.T) {
	t.Parallel()
	paths, err := tracked(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	fsys := os.DirFS(root)
	all, err := modules(fsys, paths)
	if err != nil {
		t.Fatal(err)
	}
	if err := checkWorkspace(fsys, all); err != nil {
		t.Error(err)
	}
	if _, err := nextVersion(all); err != nil {
		t.Error(err)
	}
	// Each tag has a row in the table of VERSIONING.md and is in the command
	// that pushes them.
	page, err := os.ReadFile(filepath.Join(root, "VERSIONING.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "## Modules and tags")
	var tags []string
	for _, m := range all {
		if m.released() {
			tags = append(tags, m.tag("v0.4.0"))
			if !strings.Contains(text, "| `"+m.tag("v0.4.0")+"` |") {
				t.Errorf("VERSIONING.md has no row for %s", m.tag("v0.4.0"))
			}
		}
	}
	if push := "git push origin " + strings.Join(tags, " "); !strings.Contains(text, push) {
		t.Errorf("VERSIONING.md does not have %q", push)
	}
}

func TestCheckNames(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		files []string
		want  string // part of the error, if there is one
	}{
		"ordinary":                     {files: []string{"go.mod", ".github/workflows/ci.yml", "a/testdata/fuzz/FuzzX/zero byte", "a/go.mod", "a/é.go"}},
		"Windows device":               {[]string{"testdata/fuzz/FuzzX/nul"}, `"nul" disallowed`},
		"Windows device, extension":    {[]string{"a/Aux.txt"}, `"Aux" disallowed`},
		"Windows device, directory":    {[]string{"con/a.go"}, `"con" disallowed`},
		"Windows console":              {[]string{"a/CONOUT$.txt"}, "reserved"},
		"character":                    {[]string{"a/b:c"}, "invalid char ':'"},
		"quote":                        {[]string{`a/"b`}, "invalid char"},
		"control character":            {[]string{"a/b\x01"}, "invalid char"},
		"trailing dot":                 {[]string{"a/b."}, "trailing dot"},
		"trailing space":               {[]string{"a /b"}, "space"},
		"long":                         {[]string{strings.Repeat("a/", 100) + "b"}, "201 bytes"},
		"nested module":                {[]string{"go.mod", "a/go.mod", "a/nul"}, `"nul" disallowed`},
		"case of a file":               {[]string{"a/b.go", "a/B.go"}, "collision"},
		"case of a directory":          {[]string{"A/b.go", "a/c.go"}, "collision"},
		"case across a nested module":  {[]string{"a/go.mod", "a/b.go", "A/c.go"}, "collision"},
		"case of go.mod":               {[]string{"Go.mod"}, "lowercase"},
		"vendored":                     {[]string{"vendor/example.com/a/a.go"}, "vendor"},
		"inserted by another software": {[]string{".hg_archival.txt"}, "hg archive"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fsys := fstest.MapFS{}
			for _, p := range tt.files {
				fsys[p] = &fstest.MapFile{}
			}
			wantError(t, checkNames(fsys, tt.files), tt.want)
		})
	}
	t.Run("symbolic link", func(t *testing.T) {
		t.Parallel()
		fsys := fstest.MapFS{"a": &fstest.MapFile{Mode: fs.ModeSymlink, Data: []byte("b")}}
		wantError(t, checkNames(fsys, []string{"a"}), "symbolic link")
	})
}

func wantError(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("error %v", err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Errorf("error %v, want %q in it", err, want)
	}
}

const (
	libraryMod = "module github.com/example/lib\n\ngo 1.26.0\n"
	toolMod    = `module github.com/example/lib/cmd/tool

go 1.26.0

require (
	github.com/example/lib v0.1.0
	github.com/google/go-cmp v0.7.0
)
`
	toolMain = `package main

import (
	"os"

	"github.com/google/go-cmp/cmp"

	"github.com/example/lib/a"
)

func main() {
	if !cmp.Equal(os.Args[1:], []string{a.Argument}) {
		os.Exit(1)
	}
}
`
	toolSum = `github.com/google/go-cmp v0.7.0 h1:wk8382ETsv4JYUZwIsn6YpYiWiBsYLSJiTsyBybVuN8=
github.com/google/go-cmp v0.7.0/go.mod h1:pXiqmnSA92OHEEa9HXL2W4E7lf9JzCmGVUdgjX3N/iU=
`
	benchMod = `module github.com/example/lib/internal/bench

go 1.26.0

require github.com/example/lib v0.0.0

replace github.com/example/lib => ../..
`
)

// repository is one that can be released: a library, a command that is a module of
// its own, and a module that is not released.
var repository = map[string]string{
	"go.mod":                  libraryMod,
	"lib.go":                  "package lib\n",
	"a/a.go":                  "package a\n\nconst Argument = \"hello\"\n",
	"internal/b/b.go":         "package b\n",
	"suites/main.go":          "package main\n\nfunc main() { panic(`no command`) }\n",
	"cmd/tool/go.mod":         toolMod,
	"cmd/tool/go.sum":         toolSum,
	"cmd/tool/main.go":        toolMain,
	"internal/bench/go.mod":   benchMod,
	"internal/bench/bench.go": "package bench\n\nimport _ \"github.com/example/lib\"\n",
	"go.work":                 "go 1.26.0\n\nuse (\n\t.\n\t./cmd/tool\n\t./internal/bench\n)\n",
}

// TestProve releases the repository, and refuses to release it with one mistake.
func TestProve(t *testing.T) {
	t.Parallel()
	replace := strings.NewReplacer
	for name, tt := range map[string]struct {
		change map[string]string // files; those without content are missing
		want   string
	}{
		"no mistake":                   {},
		"name":                         {map[string]string{"a/testdata/nul": "x"}, `"nul" disallowed`},
		"name in an unreleased module": {map[string]string{"internal/bench/aux.go": "package bench\n"}, `"aux" disallowed`},
		"replace": {
			map[string]string{"cmd/tool/go.mod": toolMod + "\nreplace github.com/example/lib => ../..\n"},
			"cmd/tool/go.mod has replace",
		},
		"exclude":    {map[string]string{"go.mod": libraryMod + "\nexclude github.com/google/go-cmp v0.6.0\n"}, "./go.mod has replace or exclude"},
		"no release": {map[string]string{"cmd/tool/go.mod": replace("v0.1.0", "v0.0.0").Replace(toolMod)}, "no release"},
		"no version": {map[string]string{"cmd/tool/go.mod": "", "cmd/tool/go.sum": "", "cmd/tool/main.go": "", "go.work": "go 1.26.0\n\nuse (\n\t.\n\t./internal/bench\n)\n"}, "none names its next version"},
		"two versions": {
			map[string]string{
				"c/go.mod": "module github.com/example/lib/c\n\ngo 1.26.0\n\nrequire github.com/example/lib v0.2.0\n",
				"c/c.go":   "package c\n\nimport _ \"github.com/example/lib\"\n",
			},
			"v0.1.0, v0.2.0",
		},
		"path of a module":    {map[string]string{"cmd/tool/go.mod": replace("cmd/tool", "tool").Replace(toolMod)}, "want github.com/example/lib/cmd/tool"},
		"no workspace":        {map[string]string{"go.work": "go 1.26.0\n\nuse (\n\t.\n\t./cmd/tool\n)\n"}, "go.work does not use ./internal/bench"},
		"missing sum":         {map[string]string{"cmd/tool/go.sum": toolSum[strings.Index(toolSum, "\n")+1:]}, `go.sum lacks "github.com/google/go-cmp v0.7.0 h1:`},
		"wrong sum":           {map[string]string{"cmd/tool/go.sum": replace("wk8382", "wk8383").Replace(toolSum)}, "checksum mismatch"},
		"missing requirement": {map[string]string{"cmd/tool/go.mod": replace("\tgithub.com/google/go-cmp v0.7.0\n", "").Replace(toolMod)}, `go.mod lacks "\tgithub.com/google/go-cmp v0.7.0"`},
		"needless requirement": {
			map[string]string{"go.mod": libraryMod + "\nrequire github.com/google/go-cmp v0.7.0\n"},
			`go.mod has "require github.com/google/go-cmp v0.7.0"`,
		},
		"internal package of another module": {
			map[string]string{"cmd/tool/b_test.go": "package main\n\nimport _ \"github.com/example/lib/internal/b\"\n"},
			"imports github.com/example/lib/internal/b of another module",
		},
		"package that does not build": {map[string]string{"a/b.go": "package a\n\nvar x int = \"\"\n"}, "a/b.go:3"},
		"command that fails":          {map[string]string{"a/a.go": "package a\n\nconst Argument = \"bye\"\n"}, "tool hello: exit status 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			files := maps.Clone(repository)
			maps.Copy(files, tt.change)
			for p, text := range files {
				if text != "" {
					write(t, filepath.Join(dir, filepath.FromSlash(p)), text)
				}
			}
			git := func(dir string, args ...string) {
				if _, err := output(t.Context(), dir, nil, "git", args...); err != nil {
					t.Fatal(err)
				}
			}
			git(dir, "init", "--quiet")
			git(dir, "add", ".")
			git(dir, "-c", "user.name=Ana", "-c", "user.email=ana@example.com", "commit", "--quiet", "--message=All")
			// A CI system has a commit without history and without a branch.
			checkout := filepath.Join(t.TempDir(), "checkout")
			git(dir, "clone", "--quiet", "--no-local", "--depth=1", fileURL(dir), checkout)
			git(checkout, "checkout", "--quiet", "--detach")
			var steps []string
			r := release{
				dir: checkout, command: []string{"hello"},
				log: func(format string, _ ...any) { steps = append(steps, format) },
			}
			wantError(t, r.prove(t.Context()), tt.want)
			if tt.want == "" && len(steps) < 10 {
				t.Errorf("%d steps", len(steps))
			}
		})
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// TestReleasedModules pins which modules of the repository get tags.
func TestReleasedModules(t *testing.T) {
	t.Parallel()
	got := map[string]bool{}
	for _, dir := range []string{".", "cmd/singletable", "table/telemetry/oteltable", "examples", "examples/shop", "suites/soak", "a/internal/b"} {
		got[dir] = mod{dir: dir}.released()
	}
	want := map[string]bool{
		".": true, "cmd/singletable": true, "table/telemetry/oteltable": true,
		"examples": false, "examples/shop": false, "suites/soak": false, "a/internal/b": false,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("released (-want +got):\n%s", diff)
	}
}
