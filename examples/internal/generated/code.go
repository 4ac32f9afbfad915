package generated

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var quote = regexp.MustCompile(`(?ms)^<!-- code (\S+) ([^\n]+) -->\n(.*?)^<!-- /code -->\n`)

// Code compares the code that a Markdown file quotes with the Go files it is
// from. A quotation names a file, by its path from root, and declarations of it:
//
//	<!-- code ours/bookings.go Booking Bookings.Create -->
//	<!-- /code -->
//
// A declaration is shown as it stands there, without its comment. A name of a
// group of constants or variables shows the group. It returns how many quotations
// there are.
func Code(tb testing.TB, path, root string) int {
	tb.Helper()
	writing.Lock()
	defer writing.Unlock()
	file, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	count := 0
	made := quote.ReplaceAllStringFunc(string(file), func(part string) string {
		count++
		q := quote.FindStringSubmatch(part)
		code, err := declarations(filepath.Join(root, q[1]), strings.Fields(q[2]))
		if err != nil {
			tb.Fatalf("%s: %v", path, err)
		}
		return fmt.Sprintf("<!-- code %s %s -->\n\n```go\n%s\n```\n\n<!-- /code -->\n", q[1], q[2], code)
	})
	if begun := strings.Count(string(file), "<!-- code "); begun != count {
		tb.Fatalf("%s: %d quotations begin and %d are whole", path, begun, count)
	}
	if made == string(file) {
		return count
	}
	if !*Update {
		tb.Errorf("%s: it quotes code that has changed; make docs updates it (-file +made):\n%s", path, cmp.Diff(string(file), made))
		return count
	}
	if err := os.WriteFile(path, []byte(made), 0o644); err != nil {
		tb.Fatal(err)
	}
	return count
}

// declarations returns the source text of declarations of a Go file, in the order
// of their names.
func declarations(path string, names []string) (string, error) {
	source, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, path, source, parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	declared := map[string]ast.Node{}
	for _, d := range parsed.Decls {
		for _, name := range declares(d) {
			declared[name] = d
		}
	}
	var texts []string
	for _, name := range names {
		d, ok := declared[name]
		if !ok {
			return "", fmt.Errorf("%s declares no %s", path, name)
		}
		texts = append(texts, string(source[files.Position(d.Pos()).Offset:files.Position(d.End()).Offset]))
	}
	return strings.Join(texts, "\n\n"), nil
}

// declares returns the names that a declaration declares.
func declares(d ast.Decl) []string {
	var names []string
	switch d := d.(type) {
	case *ast.FuncDecl:
		name := d.Name.Name
		if d.Recv != nil {
			receiver := d.Recv.List[0].Type
			if star, ok := receiver.(*ast.StarExpr); ok {
				receiver = star.X
			}
			name = fmt.Sprintf("%s.%s", receiver, name)
		}
		names = append(names, name)
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				names = append(names, s.Name.Name)
			case *ast.ValueSpec:
				for _, n := range s.Names {
					names = append(names, n.Name)
				}
			}
		}
	}
	return names
}
