package singletable_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/singletable/singletable/internal/expect"
)

// TestFilesUseWhatComesBefore reads package table in the order of files that its doc.go
// names: each file uses only what an earlier one declares.
func TestFilesUseWhatComesBefore(t *testing.T) {
	t.Parallel()
	const folder = "table"
	doc := string(expect.Value(os.ReadFile(filepath.Join(folder, "doc.go")))(t))
	_, list, _ := strings.Cut(doc, "# Reading the code\n")
	order := regexp.MustCompile(`\w+\.go`).FindAllString(list, -1)

	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range expect.Value(filepath.Glob(filepath.Join(folder, "*.go")))(t) {
		base := filepath.Base(name)
		if strings.HasSuffix(base, "_test.go") {
			continue
		}
		files = append(files, expect.Value(parser.ParseFile(fset, name, nil, 0))(t))
		if base != "doc.go" && !slices.Contains(order, base) {
			t.Errorf("doc.go does not name %s", base)
		}
	}
	place := func(p token.Pos) int { return slices.Index(order, filepath.Base(fset.Position(p).Filename)) }
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: importer.ForCompiler(fset, "gc", compiled(t, "./"+folder))}
	self := expect.Value(config.Check(module+"/"+folder, fset, files, info))(t)
	found := map[string]bool{}
	for name, object := range info.Uses {
		_, method := object.(*types.Func)
		if object.Pkg() == self && (method || object.Parent() == self.Scope()) && place(object.Pos()) > place(name.Pos()) {
			found[fmt.Sprintf("%s uses %s of %s", order[place(name.Pos())], object.Name(), order[place(object.Pos())])] = true
		}
	}
	for use := range found {
		t.Error(use)
	}
}

// compiled returns what opens the compiled packages that a package imports.
func compiled(t *testing.T, pkg string) importer.Lookup {
	t.Helper()
	files := map[string]string{}
	for d := json.NewDecoder(bytes.NewReader(golang(t, "list", "-export", "-deps", "-json=ImportPath,Export", pkg))); d.More(); {
		var p struct{ ImportPath, Export string }
		expect.OK(t, d.Decode(&p))
		files[p.ImportPath] = p.Export
	}
	return func(path string) (io.ReadCloser, error) { return os.Open(files[path]) }
}
