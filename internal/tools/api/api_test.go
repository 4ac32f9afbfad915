package main

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

const source = `package shop

import "io"

const Max = 1 << 4

const Mode Kind = "open"

const hidden = 1

var ErrClosed, errHidden error

type Kind string

func (Kind) String() string { return "" }

func (*Kind) hidden() {}

type Order struct {
	ID    string ` + "`json:\"id\"`" + `
	Lines []Line
	io.Reader
	secret int
}

type Line struct {
	N      int
	secret int
}

type Store interface {
	io.Closer
	Get(id string) (Order, error)
}

type Sealed interface{ sealed() }

type Number interface{ ~int | ~uint }

type Page[T any] struct{ Items []T }

func (p *Page[T]) Each(f func(T) bool) {}

type Alias = Page[Order]

type none struct{ Exported int }

func (none) Method() {}

func Sum[N Number](a N, more ...N) (total N) { return a }
`

const described = `pkg shop, const Max untyped int = 16
pkg shop, const Mode Kind = "open"
pkg shop, var ErrClosed error
pkg shop, type Alias = Page[Order]
pkg shop, method (Kind) String() string
pkg shop, type Kind string
pkg shop, type Line struct
pkg shop, type Line struct, N int
pkg shop, type Number interface
pkg shop, type Number interface, constraint interface{~int | ~uint}
pkg shop, type Order struct, not comparable
pkg shop, type Order struct, ID string ` + "`json:\"id\"`" + `
pkg shop, type Order struct, Lines []Line
pkg shop, type Order struct, io.Reader
pkg shop, method (*Page[T]) Each(f func(T) bool)
pkg shop, type Page[T any] struct, not comparable
pkg shop, type Page[T any] struct, Items []T
pkg shop, type Sealed interface
pkg shop, type Sealed interface, unexported methods
pkg shop, type Store interface
pkg shop, type Store interface, Close() error
pkg shop, type Store interface, Get(id string) (Order, error)
pkg shop, func Sum[N Number](a N, more ...N) (total N)`

func TestDescribe(t *testing.T) {
	t.Parallel()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "shop.go", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	config := types.Config{Importer: importer.ForCompiler(fset, "source", nil)}
	p, err := config.Check(module+"shop", fset, []*ast.File{file}, nil)
	if err != nil {
		t.Fatal(err)
	}
	sorted := cmpopts.SortSlices(func(a, b string) bool { return a < b })
	if diff := cmp.Diff(strings.Split(described, "\n"), describe(p), sorted); diff != "" {
		t.Errorf("description (-want +got):\n%s", diff)
	}
}

func TestRun(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "go.mod", "module "+module+"sub\n\ngo 1.26.0\n")
	write(t, "a/a.go", "package a\n\nfunc F() {}\n")
	write(t, "a/internal/b/b.go", "package b\n\nfunc G() {}\n")
	write(t, "cmd/main.go", "package main\n\nimport \""+module+"sub/a\"\n\nfunc H() {}\n\nfunc main() { a.F() }\n")
	write(t, listing, "")
	step := func(update bool, want string) error {
		t.Helper()
		var out strings.Builder
		err := run(t.Context(), update, &out)
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("output (-want +got):\n%s", diff)
		}
		return err
	}
	if err := step(false, "+ pkg sub/a, func F()\n"); err == nil || !strings.Contains(err.Error(), "make api-update") {
		t.Errorf("error %v; want one that says what to do", err)
	}
	if err := step(true, "+ pkg sub/a, func F()\n"); err != nil {
		t.Error(err)
	}
	if err := step(false, ""); err != nil {
		t.Errorf("right after the update: %v", err)
	}
	write(t, "a/a.go", "package a\n\nfunc F(...int) {}\n\nfunc Unused() {}\n")
	if err := step(true, "- pkg sub/a, func F()\n+ pkg sub/a, func F(...int)\n+ pkg sub/a, func Unused()\n"); err == nil || !strings.Contains(err.Error(), "\n\tsub/a.Unused\n") {
		t.Errorf("error %v; want one that names what nothing uses", err)
	}
	write(t, "a/a.go", "package a\n\nfunc F() {")
	if err := step(true, ""); err == nil {
		t.Error("a package that does not compile has been listed")
	}
}

// write writes a file below the current directory.
func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}
