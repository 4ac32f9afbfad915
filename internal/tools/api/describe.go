package main

import (
	"fmt"
	"go/types"
	"strings"
)

// module is the path of the library, which the listing leaves out.
const module = "github.com/singletable/singletable/"

// describe lists what a package exports: one line for each constant, variable,
// function, type, method, field and method of an interface.
func describe(p *types.Package) []string {
	d := description{pkg: p}
	for _, name := range p.Scope().Names() {
		o := p.Scope().Lookup(name)
		if !o.Exported() {
			continue
		}
		switch o := o.(type) {
		case *types.Const:
			d.add("const %s %s = %s", name, d.text(o.Type()), o.Val().ExactString())
		case *types.TypeName:
			d.typeName(o)
		default:
			d.add("%s", types.ObjectString(o, d.qualifier))
		}
	}
	return d.lines
}

type description struct {
	pkg   *types.Package
	lines []string
}

func (d *description) add(format string, args ...any) {
	d.lines = append(d.lines, "pkg "+strings.TrimPrefix(d.pkg.Path(), module)+", "+fmt.Sprintf(format, args...))
}

// qualifier names the packages of types, but not the one that is described.
func (d *description) qualifier(p *types.Package) string {
	if p == d.pkg {
		return ""
	}
	return p.Name()
}

func (d *description) text(t types.Type) string { return types.TypeString(t, d.qualifier) }

func (d *description) typeName(o *types.TypeName) {
	if o.IsAlias() {
		d.add("type %s = %s", o.Name(), d.text(types.Unalias(o.Type())))
		return
	}
	named := o.Type().(*types.Named)
	for m := range named.Methods() {
		if m.Exported() {
			d.add("method (%s) %s", d.text(m.Signature().Recv().Type()), d.method(m))
		}
	}
	name := d.text(named)
	switch t := named.Underlying().(type) {
	case *types.Struct:
		d.structOf(name, t)
	case *types.Interface:
		d.interfaceOf(name, t)
	default:
		d.add("type %s %s", name, d.text(t))
	}
}

// method returns the name and the signature of a method.
func (d *description) method(m *types.Func) string {
	return m.Name() + strings.TrimPrefix(d.text(m.Signature()), "func")
}

func (d *description) structOf(name string, t *types.Struct) {
	comparable := ""
	if !types.Comparable(t) {
		comparable = ", not comparable"
	}
	d.add("type %s struct%s", name, comparable)
	for i := range t.NumFields() {
		f := t.Field(i)
		if !f.Exported() {
			continue
		}
		text := d.text(f.Type())
		if !f.Embedded() {
			text = f.Name() + " " + text
		}
		if tag := t.Tag(i); tag != "" {
			text += " `" + tag + "`"
		}
		d.add("type %s struct, %s", name, text)
	}
}

func (d *description) interfaceOf(name string, t *types.Interface) {
	d.add("type %s interface", name)
	if !t.IsMethodSet() {
		d.add("type %s interface, constraint %s", name, d.text(t))
	}
	unexported := false
	for m := range t.Methods() {
		if m.Exported() {
			d.add("type %s interface, %s", name, d.method(m))
		} else {
			unexported = true
		}
	}
	if unexported {
		d.add("type %s interface, unexported methods", name)
	}
}
