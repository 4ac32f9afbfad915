package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"strings"
)

// marker begins the comment above the line of a guard. README.md explains the rest.
const marker = "//mutants:guard "

// guard is what a marker says of the line below.
type guard struct {
	// name says what the line guards.
	name string
	// file is relative to the root of the repository, with slashes. line begins at 1.
	file string
	line int
	// run and pkg are the tests that fail without the guard.
	run, pkg string
	// old is replaced by new in the line, if the marker says so. If old is empty, new
	// replaces the statement.
	old, new string
}

// guards returns the guards of all Go files below root, in the order of files and lines.
func guards(root string) (all []guard, err error) {
	named := map[string]guard{}
	tree := os.DirFS(root)
	err = fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := entry.Name()
		if entry.IsDir() && name != "." && (strings.HasPrefix(base, ".") || base == "testdata" || base == "node_modules") {
			return fs.SkipDir
		}
		if entry.IsDir() || path.Ext(base) != ".go" {
			return nil
		}
		source, err := fs.ReadFile(tree, name)
		if err != nil || !bytes.Contains(source, []byte("mutants:")) {
			return err
		}
		found, err := guardsIn(name, string(source))
		for _, g := range found {
			if other, twice := named[g.name]; twice {
				return fmt.Errorf("%s: the guard of %s has the same name", g.at(), other.at())
			}
			named[g.name] = g
		}
		all = append(all, found...)
		return err
	})
	return all, err
}

// guardsIn returns the guards of a file, and an error for a marker that is not complete.
func guardsIn(file, source string) (all []guard, err error) {
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, file, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	lines := strings.Split(source+"\n", "\n")
	for _, group := range parsed.Comments {
		for _, c := range group.List {
			if !strings.HasPrefix(strings.TrimLeft(c.Text, "/* "), "mutants:") {
				continue
			}
			line := files.Position(c.Pos()).Line
			g, err := parse(c.Text)
			if err == nil && strings.TrimSpace(lines[line-1]) != c.Text {
				err = errors.New("a marker is a line of its own, above the line of the guard")
			}
			if err != nil {
				return nil, fmt.Errorf("%s:%d: %w", file, line, err)
			}
			for g.line = line + 1; strings.HasPrefix(strings.TrimSpace(lines[g.line-1]), marker); {
				g.line++
			}
			g.file, g.pkg = file, cmp.Or(g.pkg, "./"+path.Dir(file))
			all = append(all, g)
		}
	}
	return all, nil
}

// parse reads a marker.
func parse(comment string) (g guard, err error) {
	text, ok := strings.CutPrefix(comment, marker)
	parts := strings.SplitN(text, " | ", 3)
	if !ok || len(parts) < 2 || strings.TrimSpace(parts[0]) == "" {
		return g, errors.New("a marker is " + marker + "NAME | TEST [PACKAGE] [| [OLD] => NEW]")
	}
	g.name = parts[0]
	switch test := strings.Fields(parts[1]); len(test) {
	case 1:
		g.run = test[0]
	case 2:
		g.run, g.pkg = test[0], test[1]
	default:
		return g, fmt.Errorf("%q is not the pattern of a test, and its package if that is another one", parts[1])
	}
	if len(parts) == 2 {
		return g, nil
	}
	from, to, ok := strings.Cut(parts[2], "=>")
	g.old, g.new = strings.TrimSpace(from), strings.TrimSpace(to)
	if !ok || g.old == g.new {
		return g, fmt.Errorf("%q is no change, such as Create => Put", parts[2])
	}
	return g, nil
}

// at returns the place of the line.
func (g guard) at() string { return fmt.Sprintf("%s:%d", g.file, g.line) }

// remove returns the text of the file without the guard.
func (g guard) remove(source string) (string, error) {
	if g.old != "" {
		lines := strings.Split(source, "\n")
		line := &lines[g.line-1]
		if n := strings.Count(*line, g.old); n != 1 {
			return "", fmt.Errorf("%s: the line has %d times %q", g.at(), n, g.old)
		}
		*line = strings.Replace(*line, g.old, g.new, 1)
		return strings.Join(lines, "\n"), nil
	}
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, g.file, source, parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	s := statement(parsed, files, g.line)
	code, condition := removable(s)
	if s != nil && g.new != "" {
		code, condition = s, false
	}
	if code == nil {
		return "", fmt.Errorf("%s: no if, no case with one condition and no simple statement begins here: "+
			"the marker must say what becomes of the line, such as Create => Put", g.at())
	}
	begin, end := files.Position(code.Pos()).Offset, files.Position(code.End()).Offset
	changed := g.new
	if condition { // its variables stay in use
		changed = "false && (" + source[begin:end] + ")"
	}
	return source[:begin] + changed + source[end:], nil
}

// statement returns the outermost statement that begins in a line, or nil.
func statement(file *ast.File, files *token.FileSet, line int) (found ast.Stmt) {
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(ast.Stmt); ok && found == nil && files.Position(s.Pos()).Line == line {
			found = s
		}
		return found == nil
	})
	return found
}

// removable returns what to take away of a statement: its condition, if it has one, or all of
// it. It returns nil if the file would not be one without it.
func removable(s ast.Stmt) (code ast.Node, condition bool) {
	switch s := s.(type) {
	case *ast.IfStmt:
		return s.Cond, true
	case *ast.CaseClause:
		if len(s.List) == 1 {
			return s.List[0], true
		}
	case *ast.AssignStmt, *ast.ExprStmt, *ast.DeferStmt, *ast.GoStmt, *ast.IncDecStmt, *ast.ReturnStmt, *ast.BranchStmt:
		return s, false
	}
	return nil, false
}
