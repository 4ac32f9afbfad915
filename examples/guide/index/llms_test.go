package index_test

import (
	"fmt"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/generated"
)

//go:generate go test . -run ^TestTheIndex -update

// row is a link to a page, and what is on it.
var row = regexp.MustCompile(`(?m)^\| \[([^\]]+)\]\(([^)]+)\) \| (.+) \|$`)

// The index for people, docs/README.md, has each page once, and the one for tools has
// what it has.
func TestTheIndexHasAllPages(t *testing.T) {
	t.Parallel()
	var listed []string
	var b strings.Builder
	for _, m := range row.FindAllStringSubmatch(string(check.Must(os.ReadFile(filepath.Join(root, "docs/README.md")))(t)), -1) {
		listed = append(listed, m[2])
		fmt.Fprintf(&b, "- [%s](docs/%s): %s\n", m[1], m[2], m[3])
	}
	slices.Sort(listed)
	pages := check.Must(filepath.Glob(filepath.Join(root, "docs/*.md")))(t)
	for i, page := range pages {
		pages[i] = filepath.Base(page)
	}
	check.Equal(t, "pages in docs/README.md", listed, slices.DeleteFunc(pages, func(page string) bool { return page == "README.md" }))
	generated.Part(t, filepath.Join(root, "llms.txt"), "documentation", b.String())
}

func TestTheIndexHasAllPackages(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	check.OK(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		dir := filepath.ToSlash(check.Must(filepath.Rel(root, path))(t))
		if name := d.Name(); name == "internal" || name == "examples" || name == "testdata" || name == ".git" {
			return fs.SkipDir
		}
		if synopsis := synopsisOf(t, path); synopsis != "" && dir != "." {
			fmt.Fprintf(&b, "- [%s](%s/%s): %s\n", dir, packages, dir, synopsis)
		}
		return nil
	}))
	generated.Part(t, filepath.Join(root, "llms.txt"), "packages", b.String())
}

func TestTheIndexHasAllExamples(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for _, path := range check.Must(filepath.Glob(filepath.Join(root, "examples/*")))(t) {
		dir := filepath.Base(path)
		if synopsis := synopsisOf(t, path); synopsis != "" {
			fmt.Fprintf(&b, "- [%s](examples/%s): %s\n", dir, dir, synopsis)
		}
	}
	generated.Part(t, filepath.Join(root, "llms.txt"), "examples", b.String())
}

var reference = regexp.MustCompile(`\[([\w.]+)\]`)

// synopsisOf returns the first sentence of a package's documentation; "" without one.
func synopsisOf(t *testing.T, dir string) string {
	t.Helper()
	for _, file := range check.Must(filepath.Glob(filepath.Join(dir, "*.go")))(t) {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed := check.Must(parser.ParseFile(token.NewFileSet(), file, nil, parser.PackageClauseOnly|parser.ParseComments))(t)
		if parsed.Doc != nil {
			return reference.ReplaceAllString(new(doc.Package).Synopsis(parsed.Doc.Text()), "$1")
		}
	}
	return ""
}
