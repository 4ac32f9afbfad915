package system

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
)

// Names are the names of the systems.
func Names() []string { return []string{"service", "appcore", "shop", "blog", "usage", "cqrs"} }

// Copy writes a system into a directory, as a module with that path, and returns how many
// files it has. The directory must be missing or empty. After an error nothing is there.
func (s Source) Copy(ctx context.Context, system, dir, modulePath string) (files int, err error) {
	if err := s.check(dir, modulePath); err != nil {
		return 0, err
	}
	all, err := s.files(ctx, system)
	if err != nil {
		return 0, err
	}
	unfinished, err := onSameDisk(dir)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(unfinished)) }()
	made := filepath.Join(unfinished, system) // with the permissions of a new directory
	c := copier{source: s, system: system, to: made, module: modulePath}
	for _, file := range all {
		if err := c.file(file); err != nil {
			return 0, err
		}
	}
	if err := errors.Join(c.goMod(), c.license()); err != nil {
		return 0, err
	}
	if _, err := run(ctx, made, []string{"GOWORK=off"}, "mod", "tidy"); err != nil {
		return 0, err
	}
	return len(all), place(made, dir)
}

// onSameDisk makes a directory for what becomes a directory, on the same file system: in it, if
// it is there.
func onSameDisk(dir string) (string, error) {
	if _, err := os.Stat(dir); err == nil {
		return os.MkdirTemp(dir, ".unfinished-*")
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", err
	}
	return os.MkdirTemp(filepath.Dir(dir), ".unfinished-*")
}

// place moves what was made to its directory. One that is there stays the same directory.
func place(made, dir string) error {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return os.Rename(made, dir)
	}
	entries, err := os.ReadDir(made)
	for i := 0; i < len(entries) && err == nil; i++ {
		if err = os.Rename(filepath.Join(made, entries[i].Name()), filepath.Join(dir, entries[i].Name())); err != nil {
			for _, placed := range entries[:i] {
				err = errors.Join(err, os.RemoveAll(filepath.Join(dir, placed.Name())))
			}
		}
	}
	return err
}

// check returns an error unless a copy can be written there under that path.
func (s Source) check(dir, modulePath string) error {
	if err := module.CheckImportPath(modulePath); err != nil {
		return err
	}
	if within(modulePath, library) {
		return fmt.Errorf("%s is a path of the library's repository", modulePath)
	}
	if elems := strings.Split(modulePath, "/"); slices.Contains(elems, "vendor") || slices.Contains(elems, "internal") {
		return fmt.Errorf("%s has an element that keeps the go command from importing it", modulePath)
	}
	entries, err := os.ReadDir(dir)
	_, link := os.Readlink(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist) && link == nil:
		return fmt.Errorf("%s is a link to nothing", dir)
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case len(entries) > 0:
		return fmt.Errorf("%s is not empty", dir)
	}
	if s.checkout == "" {
		return nil
	}
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if at, err := filepath.Rel(s.checkout, absolute); err == nil && filepath.IsLocal(at) {
		return fmt.Errorf("%s is in the checkout of the library, whose workspace would not have it: give a directory outside of it", dir)
	}
	return nil
}

// files returns the files of a system and of the shared packages that it needs, by their
// paths in the module of the examples.
func (s Source) files(ctx context.Context, system string) ([]string, error) {
	all, err := s.tree(ctx, system)
	if err != nil {
		return nil, err
	}
	taken := map[string]bool{}
	for i := 0; i < len(all); i++ {
		shared, err := s.shares(all[i])
		if err != nil {
			return nil, err
		}
		for _, name := range shared {
			if taken[name] {
				continue
			}
			taken[name] = true
			more, err := s.tree(ctx, "internal/"+name)
			if err != nil {
				return nil, err
			}
			all = append(all, more...)
		}
	}
	return all, nil
}

// tree returns the files of a directory. In a checkout these are the files that git tracks:
// others may be nobody else's business.
func (s Source) tree(ctx context.Context, dir string) (files []string, err error) {
	if s.checkout != "" {
		text, err := command(ctx, s.dir, nil, "git", "ls-files", "-z", "--", dir)
		for name := range strings.SplitSeq(text, "\x00") {
			// A file that was deleted stays in git's list until that is committed.
			if _, missing := os.Stat(filepath.Join(s.dir, name)); name != "" && missing == nil {
				files = append(files, name)
			}
		}
		return files, err
	}
	err = fs.WalkDir(os.DirFS(s.dir), dir, func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files = append(files, name)
		}
		return err
	})
	return files, err
}

// shares returns the names of the shared packages that a file imports.
func (s Source) shares(file string) (names []string, err error) {
	if path.Ext(file) != ".go" {
		return nil, nil
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(s.dir, file), nil, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	for _, spec := range parsed.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		if rest, ok := strings.CutPrefix(imported, examples+"/internal/"); ok {
			name, _, _ := strings.Cut(rest, "/")
			names = append(names, name)
		}
	}
	return names, nil
}

// markers are for the repository's own suites/mutants.
var markers = regexp.MustCompile(`(?m)^[\t ]*//mutants:guard .*\n`)

// copier writes the files of a copy.
type copier struct {
	source             Source
	system, to, module string
}

// file writes a file, with the import paths of the copy and without markers.
func (c copier) file(name string) error {
	text, err := os.ReadFile(filepath.Join(c.source.dir, name))
	if err != nil {
		return err
	}
	if !bytes.Contains(text, []byte{0}) {
		text = bytes.ReplaceAll(text, []byte(examples+"/"+c.system), []byte(c.module))
		text = bytes.ReplaceAll(text, []byte(examples+"/internal/"), []byte(c.module+"/internal/"))
	}
	if path.Ext(name) == ".go" {
		text = markers.ReplaceAll(text, nil)
		if text, err = format.Source(text); err != nil { // which sorts the imports
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	to := filepath.Join(c.to, strings.TrimPrefix(name, c.system+"/"))
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o644)
}

// goMod writes go.mod and go.sum: those of the examples, which have more than a copy
// needs until go mod tidy has run.
func (c copier) goMod() error {
	text, err := os.ReadFile(filepath.Join(c.source.dir, "go.mod"))
	if err != nil {
		return err
	}
	file, err := modfile.Parse("go.mod", text, nil)
	if err != nil {
		return err
	}
	err = errors.Join(file.AddModuleStmt(c.module), file.DropReplace(library, ""), file.AddRequire(library, c.source.version))
	if c.source.checkout != "" {
		err = errors.Join(err, file.AddReplace(library, "", c.source.checkout, ""))
	}
	if err != nil {
		return err
	}
	if text, err = file.Format(); err != nil {
		return err
	}
	sums, err := os.ReadFile(filepath.Join(c.source.dir, "go.sum"))
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(c.to, "go.mod"), text, 0o644),
		os.WriteFile(filepath.Join(c.to, "go.sum"), sums, 0o644),
	)
}

// license copies the license of the library, which is that of its examples as well.
func (c copier) license() error {
	text, err := os.ReadFile(filepath.Join(cmp.Or(c.source.checkout, c.source.dir), "LICENSE"))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(c.to, "LICENSE"), text, 0o644)
}

// within reports whether a path is that of a module or below it.
func within(p, module string) bool { return p == module || strings.HasPrefix(p, module+"/") }
