package main

import (
	"errors"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
)

// unused lists the exported names that no Example with output, example program,
// command or sibling package uses.
//
// A type counts as used if its name is written, or if an expression, a parameter or a
// result has the type. A field is used if it is set or read. Three kinds of names are
// not listed: methods of interfaces, methods that satisfy an interface of the standard
// library or the SDK, and the field Err of an error, which Unwrap returns.
func unused(r *repository) ([]string, error) {
	public, err := r.public()
	if err != nil {
		return nil, err
	}
	used := usage{}
	for _, p := range r.packages {
		if err := used.readPackage(r, p); err != nil {
			return nil, err
		}
	}
	var names []string
	for _, p := range public {
		for name, o := range exported(p) {
			if !used[o] {
				names = append(names, strings.TrimPrefix(p.Path(), module)+"."+name)
			}
		}
	}
	slices.Sort(names)
	return names, nil
}

// standard holds the methods by which types satisfy interfaces of the standard
// library and the SDK, with their parameters and results.
var standard = map[string][]string{
	"Error":     {"() (string)"},
	"Unwrap":    {"() (error)", "() ([]error)"},
	"String":    {"() (string)"},
	"Format":    {"(fmt.State, rune) ()"},
	"LogValue":  {"() (log/slog.Value)"},
	"WriteTo":   {"(io.Writer) (int64, error)"},
	"RoundTrip": {"(*net/http.Request) (*net/http.Response, error)"},
	"Do":        {"(*net/http.Request) (*net/http.Response, error)"}, // of the SDK's
}

// isStandard reports whether a method is one of those.
func isStandard(m *types.Func) bool {
	types := func(t *types.Tuple) string {
		var texts []string
		for v := range t.Variables() {
			texts = append(texts, v.Type().String())
		}
		return "(" + strings.Join(texts, ", ") + ")"
	}
	return slices.Contains(standard[m.Name()], types(m.Signature().Params())+" "+types(m.Signature().Results()))
}

// exported returns what a package exports, by name: Name, Type.Method, Type.Field.
func exported(p *types.Package) map[string]types.Object {
	names := map[string]types.Object{}
	for _, name := range p.Scope().Names() {
		o := p.Scope().Lookup(name)
		if !o.Exported() {
			continue
		}
		names[name] = o
		t, ok := o.(*types.TypeName)
		if !ok || t.IsAlias() {
			continue
		}
		named := t.Type().(*types.Named)
		for m := range named.Methods() {
			if m.Exported() && !isStandard(m) {
				names[name+"."+m.Name()] = m
			}
		}
		if s, ok := named.Underlying().(*types.Struct); ok {
			wraps, _, _ := types.LookupFieldOrMethod(types.NewPointer(named), true, p, "Unwrap")
			for f := range s.Fields() {
				if f.Exported() && (wraps == nil || f.Name() != "Err") {
					names[name+"."+f.Name()] = f
				}
			}
		}
	}
	return names
}

// usage holds the names that are used.
type usage map[types.Object]bool

// readPackage adds what a package shows: all that a command, an example program with
// its tests, a suite or a sibling uses, and what Examples with output use.
func (u usage) readPackage(r *repository, p listed) error {
	everything := func(file *ast.File) []ast.Decl { return file.Decls }
	switch {
	case p.program() && !p.within("cmd"):
		return errors.Join(
			u.readFiles(r, p, slices.Concat(p.GoFiles, p.TestGoFiles), everything),
			u.readFiles(r, p, p.XTestGoFiles, everything))
	case p.program():
		return u.readFiles(r, p, p.GoFiles, everything)
	case p.public():
		return errors.Join(
			u.readFiles(r, p, p.GoFiles, everything),
			u.readFiles(r, p, p.XTestGoFiles, runnable))
	}
	return nil
}

// runnable returns the Examples with output of a file and its other
// declarations, except for tests, benchmarks and fuzz targets. It returns nil
// if there are no such Examples.
func runnable(file *ast.File) []ast.Decl {
	found, silent := false, []string{}
	for _, e := range doc.Examples(file) {
		if e.Output != "" || e.EmptyOutput {
			found = true
		} else {
			silent = append(silent, "Example"+e.Name)
		}
	}
	if !found {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(file.Decls), func(d ast.Decl) bool {
		f, ok := d.(*ast.FuncDecl)
		return ok && (slices.Contains(silent, f.Name.Name) || strings.HasPrefix(f.Name.Name, "Test") ||
			strings.HasPrefix(f.Name.Name, "Benchmark") || strings.HasPrefix(f.Name.Name, "Fuzz"))
	})
}

// readFiles adds what the files of one package use of other packages, within the
// declarations that show returns.
func (u usage) readFiles(r *repository, p listed, names []string, show func(*ast.File) []ast.Decl) error {
	fset := token.NewFileSet()
	var files []*ast.File
	var shown []ast.Decl
	for _, name := range names {
		file, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.ParseComments)
		if err != nil {
			return err
		}
		files = append(files, file)
		shown = append(shown, show(file)...)
	}
	if len(shown) == 0 {
		return nil
	}
	info := &types.Info{
		Types:      map[ast.Expr]types.TypeAndValue{},
		Uses:       map[*ast.Ident]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{},
	}
	// Tests can use what a test file adds to the package itself. An Example that
	// does so shows nothing.
	config := types.Config{Importer: r.importer, Error: func(error) {}}
	_, _ = config.Check(p.ImportPath, fset, files, info)
	for _, d := range shown {
		ast.Inspect(d, func(n ast.Node) bool {
			u.read(info, n)
			return true
		})
	}
	return nil
}

// read adds what one node uses.
func (u usage) read(info *types.Info, n ast.Node) {
	if e, ok := n.(ast.Expr); ok {
		u.addType(info.Types[e].Type)
	}
	switch n := n.(type) {
	case *ast.Ident:
		u.add(info.Uses[n])
	case *ast.SelectorExpr:
		if s := info.Selections[n]; s != nil {
			u.path(s)
		}
	case *ast.CompositeLit:
		s, ok := underlying(info.Types[n].Type).(*types.Struct)
		if !ok || len(n.Elts) == 0 {
			return
		}
		if _, keyed := n.Elts[0].(*ast.KeyValueExpr); !keyed {
			for f := range s.Fields() {
				u.add(f)
			}
		}
	}
}

// path adds the embedded fields that a selection goes through.
func (u usage) path(s *types.Selection) {
	t := s.Recv()
	for _, i := range s.Index()[:len(s.Index())-1] {
		st, ok := underlying(t).(*types.Struct)
		if !ok {
			return
		}
		u.add(st.Field(i))
		t = st.Field(i).Type()
	}
}

// add adds a name, and the types that it brings with it: those that a function takes
// and returns, and that of a field.
func (u usage) add(o types.Object) {
	switch f := o.(type) {
	case nil:
		return
	case *types.Func:
		o = f.Origin()
		signature := f.Origin().Signature()
		u.addTypes(signature.Params())
		u.addTypes(signature.Results())
		for p := range signature.TypeParams().TypeParams() {
			u.addType(p.Constraint())
		}
	case *types.Var:
		o = f.Origin()
		u.addType(o.Type())
	}
	u[o] = true
}

func (u usage) addTypes(t *types.Tuple) {
	for v := range t.Variables() {
		u.addType(v.Type())
	}
}

func (u usage) addType(t types.Type) {
	switch t := t.(type) {
	case interface{ Elem() types.Type }: // a pointer, slice, array, map or channel
		u.addType(t.Elem())
	case *types.Tuple:
		u.addTypes(t)
	case *types.Named:
		u[t.Obj()] = true
	}
}

// underlying returns the type below a name or a pointer.
func underlying(t types.Type) types.Type {
	if t == nil {
		return nil
	}
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	return t.Underlying()
}
