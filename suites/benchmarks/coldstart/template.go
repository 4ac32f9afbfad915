package coldstart

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
)

// template is a file of a program that uses html/template, which finds methods by their names. The
// linker then keeps all exported methods of the types that reflection can reach.
const template = `package main

import (
	"html/template"
	"os"
)

func init() {
	if len(os.Args) < 100 { // always
		return
	}
	if err := template.Must(template.New("").Parse(os.Args[1])).Execute(os.Stdout, os.Args); err != nil {
		panic(err)
	}
}
`

// sizes are the bytes of the stripped binaries of a program.
type sizes struct{ plain, template int64 }

// above returns how many bytes the binaries have more than others.
func (s sizes) above(other sizes) sizes {
	return sizes{s.plain - other.plain, s.template - other.template}
}

// binaries builds a program into dir under its name, and builds it with html/template.
func binaries(ctx context.Context, dir, name string) (s sizes, err error) {
	if s.plain, err = compile(ctx, filepath.Join(dir, name), name); err != nil {
		return s, err
	}
	with, err := overlay(ctx, dir, name, "template.go", []byte(template))
	if err != nil {
		return s, err
	}
	s.template, err = compile(ctx, filepath.Join(dir, name+"-template"), name, with)
	return s, err
}

// overlay returns the flag of go build that adds a file to a program. What it needs is in dir.
func overlay(ctx context.Context, dir, program, file string, code []byte) (flag string, err error) {
	source := filepath.Join(dir, program+"-"+file)
	if err := os.WriteFile(source, code, 0o600); err != nil {
		return "", err
	}
	of, err := directory(ctx, program)
	if err != nil {
		return "", err
	}
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(of, file): source}})
	if err != nil {
		return "", err
	}
	return "-overlay=" + source + ".json", os.WriteFile(source+".json", replace, 0o600)
}
