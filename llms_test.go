package singletable_test

import (
	"fmt"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/internal/expect"
)

// writing keeps the tests, which are parallel, from writing the file at once.
var writing sync.Mutex

// inLLMs compares a part of llms.txt, the index of the documentation for tools, with text.
func inLLMs(t *testing.T, name, text string) {
	t.Helper()
	writing.Lock()
	defer writing.Unlock()
	file := string(expect.Value(os.ReadFile("llms.txt"))(t))
	begin, end := "<!-- "+name+" -->\n\n", "\n<!-- /"+name+" -->\n"
	before, rest, found := strings.Cut(file, begin)
	part, after, ended := strings.Cut(rest, end)
	switch {
	case !found || !ended:
		t.Errorf("llms.txt has no part %q", name)
	case part == text:
	case *expect.Update:
		expect.OK(t, os.WriteFile("llms.txt", []byte(before+begin+text+end+after), 0o644))
	default:
		t.Errorf("llms.txt is stale; go test -run TestTheIndex . -update writes it (-file +made):\n%s", cmp.Diff(part, text))
	}
}

// row is a link to a page, and what is on it.
var row = regexp.MustCompile(`(?m)^- \[([^\]]+)\]\(([^)]+)\): (.+)$`)

// The index for people, docs/README.md, has each page once, and the one for tools has
// what it has.
func TestTheIndexHasAllPages(t *testing.T) {
	t.Parallel()
	var listed []string
	var b strings.Builder
	for _, m := range row.FindAllStringSubmatch(string(expect.Value(os.ReadFile("docs/README.md"))(t)), -1) {
		listed = append(listed, m[2])
		fmt.Fprintf(&b, "- [%s](%s): %s\n", m[1], path.Join("docs", m[2]), m[3])
	}
	slices.Sort(listed)
	pages := expect.Value(filepath.Glob("docs/*.md"))(t)
	for i, page := range pages {
		pages[i] = filepath.Base(page)
	}
	pages = append([]string{"../SECURITY.md", "../cmd/singletable/README.md"}, pages...)
	expect.Equal(t, "pages in docs/README.md", listed, slices.DeleteFunc(pages, func(page string) bool { return page == "README.md" }))
	inLLMs(t, "documentation", b.String())
}

func TestTheIndexHasAllPackages(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	expect.OK(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		dir := filepath.ToSlash(path)
		if name := d.Name(); name == "internal" || name == "examples" || name == "suites" || name == "testdata" || name == ".git" {
			return fs.SkipDir
		}
		if synopsis := synopsisOf(t, path); synopsis != "" && dir != "." {
			fmt.Fprintf(&b, "- [%s](%s/%s): %s\n", dir, pkgsite, dir, synopsis)
		}
		return nil
	}))
	inLLMs(t, "packages", b.String())
}

func TestTheIndexHasAllExamples(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for _, path := range expect.Value(filepath.Glob("examples/*"))(t) {
		dir := filepath.Base(path)
		if synopsis := synopsisOf(t, path); synopsis != "" {
			fmt.Fprintf(&b, "- [%s](examples/%s): %s\n", dir, dir, synopsis)
		}
	}
	inLLMs(t, "examples", b.String())
}

var reference = regexp.MustCompile(`\[([\w.]+)\]`)

// synopsisOf returns the first sentence of a package's documentation; "" without one.
func synopsisOf(t *testing.T, dir string) string {
	t.Helper()
	for _, file := range expect.Value(filepath.Glob(filepath.Join(dir, "*.go")))(t) {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed := expect.Value(parser.ParseFile(token.NewFileSet(), file, nil, parser.PackageClauseOnly|parser.ParseComments))(t)
		if parsed.Doc != nil {
			return reference.ReplaceAllString(new(doc.Package).Synopsis(parsed.Doc.Text()), "$1")
		}
	}
	return ""
}
