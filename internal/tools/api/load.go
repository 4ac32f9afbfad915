package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// A listed package is one that "go list" has described.
type listed struct {
	ImportPath, Name, Dir, Export string

	GoFiles, TestGoFiles, XTestGoFiles []string
	TestImports, XTestImports          []string

	DepOnly bool
}

// public reports whether a package is part of the library that others can import.
func (p listed) public() bool {
	return !p.DepOnly && p.Name != "main" && !p.within("internal") && !p.within("suites") && !p.program()
}

// program reports whether a package is a command, an example or a suite, or a part of
// one.
func (p listed) program() bool {
	return !p.DepOnly && (p.within("cmd") || p.within("examples") || p.within("schedules"))
}

func (p listed) within(folder string) bool {
	return slices.Contains(strings.Split(p.ImportPath, "/"), folder)
}

// repository is the packages of the repository, and an importer that knows them and
// all that they and their tests import.
type repository struct {
	packages []listed
	importer types.Importer
}

// load lists and compiles the packages. The module in the current directory is the
// library.
func load(ctx context.Context) (*repository, error) {
	paths := []string{"./...", module + "table/telemetry/oteltable/...", module + "cmd/...", module + "examples/...", module + "suites/schedules/..."}
	packages, err := goList(ctx, paths...)
	if err != nil {
		return nil, err
	}
	imported := paths
	for _, p := range packages {
		if p.public() || p.program() {
			imported = append(append(imported, p.TestImports...), p.XTestImports...)
		}
	}
	slices.Sort(imported)
	compiled, err := goList(ctx, append([]string{"-export", "-deps"}, slices.Compact(imported)...)...)
	if err != nil {
		return nil, err
	}
	exports := map[string]string{}
	for _, p := range compiled {
		exports[p.ImportPath] = p.Export
	}
	return &repository{packages, importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	})}, nil
}

func goList(ctx context.Context, args ...string) ([]listed, error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{"list", "-json=ImportPath,Name,Dir,Export,GoFiles,TestGoFiles,XTestGoFiles,TestImports,XTestImports,DepOnly"}, args...)...)
	text, err := cmd.Output()
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil, fmt.Errorf("go list: %w\n%s", err, e.Stderr)
	}
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var packages []listed
	for d := json.NewDecoder(bytes.NewReader(text)); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, err
		}
		packages = append(packages, p)
	}
}

// public returns the packages of the library.
func (r *repository) public() ([]*types.Package, error) {
	var public []*types.Package
	for _, p := range r.packages {
		if !p.public() {
			continue
		}
		imported, err := r.importer.Import(p.ImportPath)
		if err != nil {
			return nil, err
		}
		public = append(public, imported)
	}
	return public, nil
}
