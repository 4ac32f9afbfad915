// Command api compares the exported API of the library with a listing of it,
// api.txt, so that nobody changes it without noticing. It is run from the root of
// the repository:
//
//	go run ./internal/api           compare, and fail if they differ
//	go run ./internal/api -update   write the listing
//
// The listing has one line for each thing that a caller can depend on, and is
// reviewed with the change that alters it.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/importer"
	"go/token"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
)

const listing = "internal/api/api.txt"

func main() {
	update := flag.Bool("update", false, "write "+listing)
	flag.Parse()
	if err := run(context.Background(), *update, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "api:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, update bool, out io.Writer) error {
	have, err := exported(ctx)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(listing)
	if err != nil {
		return err
	}
	report := compare(lines(string(text)), have)
	fmt.Fprint(out, report)
	if report == "" {
		return nil
	}
	if update {
		return os.WriteFile(listing, []byte(strings.Join(have, "\n")+"\n"), 0o644)
	}
	return errors.New("the exported API differs from " + listing + `
If that is meant, run "make api-update" and say so in the CHANGELOG; VERSIONING.md says what may change when`)
}

// lines returns the lines of a listing.
func lines(text string) []string {
	return slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool { return line == "" })
}

// exported lists the API of all packages of the released modules that others can
// import. The module in the current directory is the library.
func exported(ctx context.Context) ([]string, error) {
	type pkg struct {
		ImportPath, Name, Export string
		DepOnly                  bool
	}
	cmd := exec.CommandContext(ctx, "go", "list", "-export", "-deps", "-json=ImportPath,Name,Export,DepOnly", "./...", module+"table/telemetry/oteltable/...")
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	files := map[string]string{}
	var public []string
	for d := json.NewDecoder(bytes.NewReader(text)); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		files[p.ImportPath] = p.Export
		if !p.DepOnly && p.Name != "main" && !slices.Contains(strings.Split(p.ImportPath, "/"), "internal") {
			public = append(public, p.ImportPath)
		}
	}
	compiled := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(files[path])
	})
	var all []string
	for _, path := range public {
		p, err := compiled.Import(path)
		if err != nil {
			return nil, err
		}
		all = append(all, describe(p)...)
	}
	slices.Sort(all)
	return all, nil
}
