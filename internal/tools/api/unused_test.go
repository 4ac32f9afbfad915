package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// library exports names that say who uses them.
const library = `package a

import "fmt"

type Options struct{ ByExample, ByNobody int }

type Result struct{ Positional string }

type OnlyReturned struct{ Deep *Embedded }

type Embedded struct{ Named }

type Named struct{ Promoted int }

type Generic[T any] struct{ Field T }

func (Generic[T]) Method() {}

type Limit interface{ ~int }

type Closer interface{ Close() error }

type Error struct{ Err error; Reason string }

func (*Error) Error() string { return "" }
func (e *Error) Unwrap() error { return e.Err }
func (Error) Format(f fmt.State, verb rune) {}
func (Error) String(width int) string { return "" }

const ByCommand, ByTest, ByExampleProgramsTest = 1, 2, 3

var ByOwnPackage = 4

func Own() int { return ByOwnPackage }

func ByExample(*Options) *OnlyReturned { return nil }
func ByExampleWithoutOutput() {}
func BySibling[T Limit](Generic[T], Closer) {}
`

func TestUnused(t *testing.T) {
	t.Chdir(t.TempDir())
	const a = `import "` + module + `sub/a"` + "\n\n"
	write(t, "go.mod", "module "+module+"sub\n\ngo 1.26.0\n")
	write(t, "a/a.go", library)
	write(t, "a/fixture_test.go", "package a_test\n\n"+a+"func fixture() *a.Options { return nil }\n")
	write(t, "a/example_test.go", "package a_test\n\n"+a+`
func Example() {
	fixture()
	println(a.ByExample(&a.Options{ByExample: 1}).Deep.Promoted)
	// Output:
}

func Example_silent() { a.ByExampleWithoutOutput() }

func TestByTest() { println(a.ByTest) }
`)
	write(t, "b/b.go", "package b\n\n"+a+"func init() { g := a.Generic[int]{Field: 1}; g.Method(); a.BySibling(g, nil) }\n")
	write(t, "internal/c/c.go", "package c\n\n"+a+"func init() { a.Own() }\n")
	write(t, "cmd/main.go", "package main\n\n"+a+"func main() { println(a.ByCommand); _ = a.Result{\"p\"} }\n")
	write(t, "examples/e/e_test.go", "package e\n\n"+a+"func TestE() { println(a.ByExampleProgramsTest) }\n")

	r, err := load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got, err := unused(r)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"sub/a.ByExampleWithoutOutput", "sub/a.ByOwnPackage", "sub/a.ByTest",
		"sub/a.Error", "sub/a.Error.Reason", "sub/a.Error.String", "sub/a.Options.ByNobody", "sub/a.Own",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("unused (-want +got):\n%s", diff)
	}
}
