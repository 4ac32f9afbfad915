package singletable_test

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	_ "github.com/singletable/singletable/backfill"
	_ "github.com/singletable/singletable/hedge"
	_ "github.com/singletable/singletable/idempotency"
	_ "github.com/singletable/singletable/keys"
	_ "github.com/singletable/singletable/lease"
	_ "github.com/singletable/singletable/paginate"
	_ "github.com/singletable/singletable/repo"
	_ "github.com/singletable/singletable/shard"
	_ "github.com/singletable/singletable/stream"
	_ "github.com/singletable/singletable/table"
	_ "github.com/singletable/singletable/table/tablemodel"
	_ "github.com/singletable/singletable/table/telemetry"
)

const module = "github.com/singletable/singletable"

// library are the packages that run in a service. The others are for tests.
var library = []string{"./backfill", "./hedge", "./idempotency", "./keys", "./lease", "./paginate", "./repo", "./schema", "./shard", "./stream", "./table", "./table/telemetry"}

// atStart is the number of goroutines after all packages were initialized.
var atStart int

func TestMain(m *testing.M) {
	atStart = runtime.NumGoroutine()
	os.Exit(m.Run())
}

// golang runs the go command and returns what it printed.
func golang(t *testing.T, args ...string) []byte {
	t.Helper()
	out, err := exec.Command("go", args...).Output()
	if err != nil {
		t.Fatalf("go %s: %v", strings.Join(args, " "), err)
	}
	return out
}

// TestDirectDependencies fails when go.mod takes in another module: that is a
// decision, to be made here as well.
func TestDirectDependencies(t *testing.T) {
	t.Parallel()
	var mod struct {
		Require []struct {
			Path     string
			Indirect bool
		}
		Replace []any
	}
	if err := json.Unmarshal(golang(t, "mod", "edit", "-json"), &mod); err != nil {
		t.Fatal(err)
	}
	var direct []string
	for _, r := range mod.Require {
		if !r.Indirect {
			direct = append(direct, r.Path)
		}
		if !strings.HasPrefix(r.Path, "github.com/aws/") && r.Path != "github.com/google/go-cmp" {
			t.Errorf("%s is neither the AWS SDK nor go-cmp", r.Path)
		}
	}
	if diff := cmp.Diff([]string{
		"github.com/aws/aws-sdk-go-v2",
		"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue",
		"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression",
		"github.com/aws/aws-sdk-go-v2/service/dynamodb",
		"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams",
		"github.com/aws/smithy-go",
		"github.com/google/go-cmp",
	}, direct); diff != "" {
		t.Errorf("direct dependencies (-want +got):\n%s", diff)
	}
	if len(mod.Replace) > 0 {
		t.Errorf("go.mod replaces modules, which those who depend on it do not see: %v", mod.Replace)
	}
}

// listed is a package as go list prints it.
type listed struct {
	ImportPath string
	Dir        string
	Standard   bool
	Imports    []string
	GoFiles    []string
	Module     *struct{ Path string }
}

// dependencies returns the library's packages and everything they depend on.
func dependencies(t *testing.T) []listed {
	t.Helper()
	args := append([]string{"list", "-deps", "-json=ImportPath,Dir,Standard,Imports,GoFiles,Module"}, library...)
	decoder := json.NewDecoder(bytes.NewReader(golang(t, args...)))
	var all []listed
	for decoder.More() {
		var p listed
		if err := decoder.Decode(&p); err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}

// TestLibraryImports shows that a service which imports the library gets the AWS
// SDK with it and no other module, and nothing that could start a program; and
// that the library's own packages reach neither for files, the environment, the
// command line nor for what goes round the type system.
func TestLibraryImports(t *testing.T) {
	t.Parallel()
	nowhere := []string{"os/exec", "plugin", "testing", "net/http/httptest", "net/http/pprof", "expvar", module + "/table/tabletest"}
	notHere := []string{"C", "embed", "flag", "log", "net/http", "os", "os/signal", "syscall", "unsafe"}
	all := dependencies(t)
	own := 0
	for _, p := range all {
		if slices.Contains(nowhere, p.ImportPath) {
			t.Errorf("the library depends on %s", p.ImportPath)
		}
		if p.Standard {
			continue
		}
		if p.Module.Path != module && !strings.HasPrefix(p.Module.Path, "github.com/aws/") {
			t.Errorf("the library depends on %s of %s", p.ImportPath, p.Module.Path)
		}
		if p.Module.Path != module {
			continue
		}
		own++
		for _, path := range p.Imports {
			// They stand between the SDK and HTTP.
			between := path == "net/http" && slices.Contains([]string{module + "/hedge", module + "/internal/pool", module + "/internal/replay"}, p.ImportPath)
			if slices.Contains(notHere, path) && !between {
				t.Errorf("%s imports %s", p.ImportPath, path)
			}
		}
	}
	if own < len(library) {
		t.Errorf("%d packages were looked at", own)
	}
}

// TestPictureOfPackages compares the arrows in CONTRIBUTING.md with the imports of the
// library's packages: each import is a way along arrows, and no arrow is left out or
// repeats a way.
func TestPictureOfPackages(t *testing.T) {
	t.Parallel()
	type pair struct{ from, to string }
	imports := map[pair]bool{}
	decoder := json.NewDecoder(bytes.NewReader(golang(t, "list", "-json=ImportPath,Imports", "./...")))
	drawn := func(path string) (string, bool) {
		name := strings.TrimPrefix(path, module+"/")
		return name, name != path && !strings.HasPrefix(name, "internal/")
	}
	for decoder.More() {
		var p listed
		if err := decoder.Decode(&p); err != nil {
			t.Fatal(err)
		}
		from, ok := drawn(p.ImportPath)
		for _, path := range p.Imports {
			if to, also := drawn(path); ok && also {
				imports[pair{from, to}] = true
			}
		}
	}
	text, err := os.ReadFile("CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	_, picture, _ := strings.Cut(string(text), "flowchart TD\n")
	picture, _, _ = strings.Cut(picture, "```")
	arrows := map[pair]bool{}
	titles := map[string]string{}
	for line := range strings.Lines(picture) {
		from, to, _ := strings.Cut(strings.TrimSpace(line), " --> ")
		if id, title, ok := strings.Cut(from, `["`); ok {
			titles[id] = strings.TrimSuffix(title, `"]`)
			from = id
		}
		if title := titles[from]; title != "" {
			from = title
		}
		for _, to := range strings.Split(to, " & ") {
			if title := titles[to]; title != "" {
				to = title
			}
			arrows[pair{from, to}] = true
		}
	}
	// A way of two arrows or more makes an arrow between its ends needless.
	want := maps.Clone(imports)
	for grown := true; grown; {
		grown = false
		for a := range imports {
			for b := range imports {
				if a.to != b.from {
					continue
				}
				delete(want, pair{a.from, b.to})
				if !imports[pair{a.from, b.to}] {
					imports[pair{a.from, b.to}], grown = true, true
				}
			}
		}
	}
	for p := range want {
		if !arrows[p] {
			t.Errorf("the picture has no arrow from %s to %s", p.from, p.to)
		}
	}
	for p := range arrows {
		if !want[p] {
			t.Errorf("the arrow from %s to %s is no import, or one that others lead to", p.from, p.to)
		}
	}
}

// TestImportingStartsNothing shows that importing the library has no effect: no
// package has an init function or imports one for its effect alone, and no
// goroutine runs once all are initialized.
func TestImportingStartsNothing(t *testing.T) {
	t.Parallel()
	if atStart != 1 {
		t.Errorf("%d goroutines ran before the first test", atStart)
	}
	files := 0
	for _, p := range dependencies(t) {
		if p.Standard || p.Module.Path != module {
			continue
		}
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			files++
			for _, spec := range file.Imports {
				if spec.Name != nil && spec.Name.Name == "_" {
					t.Errorf("%s imports %s for its effect", name, spec.Path.Value)
				}
			}
			for _, decl := range file.Decls {
				if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
					t.Errorf("%s has an init function", name)
				}
			}
		}
	}
	if files < 40 {
		t.Errorf("%d files were looked at", files)
	}
}

// TestImportingCostsNothing shows that no package builds a table or compiles a
// regular expression before it is used: on Lambda that is a cold start.
func TestImportingCostsNothing(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(os.Args[0], "-test.run", "^$")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	trace, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, trace)
	}
	packages, bytes := 0, 0
	for _, m := range regexp.MustCompile(`(?m)^init (`+module+`/\S+) .* (\d+) bytes`).FindAllSubmatch(trace, -1) {
		n, err := strconv.Atoi(string(m[2]))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(string(m[1]), "/tabletest") {
			continue // it is for tests
		}
		packages++
		if bytes += n; n > 2048 {
			t.Errorf("%s allocates %d bytes when it is imported", m[1], n)
		}
	}
	if packages == 0 {
		t.Errorf("the trace has none of the library's packages:\n%s", trace)
	}
	t.Logf("%d packages allocate %d bytes", packages, bytes)
}

// TestToolsArePinned shows that the tools of the Makefile and of the gate have exact
// versions. The actions of all workflows, including the one that users copy, are named by
// commit, each by the same one.
func TestToolsArePinned(t *testing.T) {
	t.Parallel()
	versions := map[string]string{}
	for _, tt := range []struct {
		files        string
		uses, pinned *regexp.Regexp
		atLeast      int
	}{
		{"Makefile", regexp.MustCompile(`go run (\S+\.\S+/\S+)`), regexp.MustCompile(`@v[0-9]+\.[0-9]+\.[0-9]+$`), 2},
		{".ci/*", regexp.MustCompile(`go run (\S+\.\S+/[^\s}]+)`), regexp.MustCompile(`@v[0-9]+\.[0-9]+\.[0-9]+$`), 1},
		{".github/workflows/*.yml", regexp.MustCompile(`uses: (\S+)`), regexp.MustCompile(`@[0-9a-f]{40}$`), 2},
		{"examples/*/.github/workflows/*.yml", regexp.MustCompile(`uses: (\S+)`), regexp.MustCompile(`@[0-9a-f]{40}$`), 3},
	} {
		names, err := filepath.Glob(tt.files)
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, use := range tt.uses.FindAllSubmatch(text, -1) {
				found++
				if path := string(use[1]); !strings.HasPrefix(path, "./") && !tt.pinned.MatchString(path) {
					t.Errorf("%s: %s is not pinned", name, path)
				}
				tool, version, _ := strings.Cut(string(use[1]), "@")
				if versions[tool] == "" {
					versions[tool] = version
				}
				if versions[tool] != version {
					t.Errorf("%s: %s is pinned to %s, and elsewhere to %s", name, tool, version, versions[tool])
				}
			}
		}
		if found < tt.atLeast {
			t.Errorf("%s: %d tools were found", tt.files, found)
		}
	}
}
