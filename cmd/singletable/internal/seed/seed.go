// Package seed holds sample tables for "singletable engine -seed": the schema and the
// items of each. The example applications of the repository make them by their own
// operations: go generate ./examples/internal/seeds.
package seed

import (
	"embed"
	"io/fs"
	"strings"
)

//go:embed *.jsonl *.json
var files embed.FS

// Names returns the names of the sample tables.
func Names() []string {
	found, _ := fs.Glob(files, "*.jsonl") // The pattern is valid.
	for i, name := range found {
		found[i] = strings.TrimSuffix(name, ".jsonl")
	}
	return found
}

// Open returns a sample table: its schema as a schema file, and its items as lines. ok
// is false if no seed has that name.
func Open(name string) (spec, items string, ok bool) {
	s, err := files.ReadFile(name + ".json")
	if err != nil {
		return "", "", false
	}
	i, err := files.ReadFile(name + ".jsonl")
	return string(s), string(i), err == nil
}
