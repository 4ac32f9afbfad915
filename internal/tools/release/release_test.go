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
)

// root is the repository's directory, from that of the tests.
const root = "../../.."

func TestCheckNames(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		files []string
		want  string // part of the error, if there is one
	}{
		"ordinary":                     {files: []string{"go.mod", ".github/workflows/ci.yml", "a/testdata/fuzz/FuzzX/zero byte", "a/go.mod", "a/é.go"}},
		"Windows device, extension":    {[]string{"a/Aux.txt"}, `"Aux" disallowed`},
		"Windows console":              {[]string{"a/CONOUT$.txt"}, "reserved"},
		"character":                    {[]string{"a/b:c"}, "invalid char ':'"},
		"trailing space":               {[]string{"a /b"}, "space"},
		"long":                         {[]string{strings.Repeat("a/", 100) + "b"}, "201 bytes"},
		"nested module":                {[]string{"go.mod", "a/go.mod", "a/nul"}, `"nul" disallowed`},
		"case across a nested module":  {[]string{"a/go.mod", "a/b.go", "A/c.go"}, "collision"},
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
	fsys := fstest.MapFS{"a": &fstest.MapFile{Mode: fs.ModeSymlink, Data: []byte("b")}}
	wantError(t, checkNames(fsys, []string{"a"}), "symbolic link")
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
	// versioning still names the release before.
	versioning = "| module | tag |\n|---|---|\n| lib | `v0.0.9` |\n| tool | `cmd/tool/v0.0.9` |\n\ngit push origin v0.0.9 cmd/tool/v0.0.9\n"
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
	"suites/soak/go.mod":      "module github.com/example/lib/suites/soak\n\ngo 1.26.0\n",
	"go.work":                 "go 1.26.0\n\nuse (\n\t.\n\t./cmd/tool\n\t./suites/soak\n\t./internal/bench\n)\n",
	"VERSIONING.md":           versioning,
}

// TestProve releases the repository, and refuses to release it with one mistake.
func TestProve(t *testing.T) {
	t.Parallel()
	replace := strings.NewReplacer
	for name, tt := range map[string]struct {
		change map[string]string // files; those without content are missing
		want   string
	}{
		"no mistake": {},
		"release candidate": {map[string]string{
			"cmd/tool/go.mod": replace("v0.1.0", "v0.1.0-rc.1").Replace(toolMod),
			"VERSIONING.md":   replace("v0.0.9", "v0.1.0-rc.0").Replace(versioning),
		}, ""},
		"name":                         {map[string]string{"a/testdata/nul": "x"}, `"nul" disallowed`},
		"name in an unreleased module": {map[string]string{"internal/bench/aux.go": "package bench\n"}, `"aux" disallowed`},
		"replace": {
			map[string]string{"cmd/tool/go.mod": toolMod + "\nreplace github.com/example/lib => ../..\n"},
			"cmd/tool/go.mod has replace",
		},
		"exclude":    {map[string]string{"go.mod": libraryMod + "\nexclude github.com/google/go-cmp v0.6.0\n"}, "./go.mod has replace or exclude"},
		"no release": {map[string]string{"cmd/tool/go.mod": replace("v0.1.0", "v0.0.0").Replace(toolMod)}, "no release"},
		"no version": {map[string]string{"cmd/tool/go.mod": "", "cmd/tool/go.sum": "", "cmd/tool/main.go": "", "go.work": "go 1.26.0\n\nuse (\n\t.\n\t./suites/soak\n\t./internal/bench\n)\n"}, "none names its next version"},
		"two versions": {
			map[string]string{
				"c/go.mod": "module github.com/example/lib/c\n\ngo 1.26.0\n\nrequire github.com/example/lib v0.2.0\n",
				"c/c.go":   "package c\n\nimport _ \"github.com/example/lib\"\n",
			},
			"v0.1.0, v0.2.0",
		},
		"path of a module":       {map[string]string{"cmd/tool/go.mod": replace("cmd/tool", "tool").Replace(toolMod)}, "want github.com/example/lib/cmd/tool"},
		"no workspace":           {map[string]string{"go.work": "go 1.26.0\n\nuse (\n\t.\n\t./cmd/tool\n\t./suites/soak\n)\n"}, "go.work does not use ./internal/bench"},
		"no row":                 {map[string]string{"VERSIONING.md": replace("| tool | `cmd/tool/v0.0.9` |\n", "").Replace(versioning)}, "no row for cmd/tool/v0.1.0"},
		"tag that is not pushed": {map[string]string{"VERSIONING.md": replace("git push origin v0.0.9 cmd", "git push origin cmd").Replace(versioning)}, `does not have "git push origin v0.1.0 cmd/tool/v0.1.0"`},
		"missing sum":            {map[string]string{"cmd/tool/go.sum": toolSum[strings.Index(toolSum, "\n")+1:]}, "+github.com/google/go-cmp v0.7.0 h1:"},
		"wrong sum":              {map[string]string{"cmd/tool/go.sum": replace("wk8382", "wk8383").Replace(toolSum)}, "checksum mismatch"},
		"missing requirement":    {map[string]string{"cmd/tool/go.mod": replace("\tgithub.com/google/go-cmp v0.7.0\n", "").Replace(toolMod)}, "+\tgithub.com/google/go-cmp v0.7.0\n"},
		"needless requirement": {
			map[string]string{"go.mod": libraryMod + "\nrequire github.com/google/go-cmp v0.7.0\n"},
			"-require github.com/google/go-cmp v0.7.0\n",
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
			log := func(format string, _ ...any) { steps = append(steps, format) }
			wantError(t, prove(t.Context(), checkout, []string{"hello"}, nil, log), tt.want)
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
