package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
)

// mod is a module of the repository.
type mod struct {
	dir  string // from the root of the repository, "." for the library
	file *modfile.File
}

func (m mod) path() string { return m.file.Module.Mod.Path }

// released reports whether the module gets tags: all modules do, except for the suites
// and internal ones.
func (m mod) released() bool {
	elems := strings.Split(m.dir, "/")
	return elems[0] != "suites" && !slices.Contains(elems, "internal")
}

// copied reports whether the module is there for a command to copy from, and not to be
// imported or run.
func (m mod) copied() bool { return m.dir == "examples" }

// tag returns the tag of a version of the module.
func (m mod) tag(version string) string { return path.Join(m.dir, version) }

// modules returns the modules among the tracked files, the library first.
func modules(fsys fs.FS, paths []string) ([]mod, error) {
	var all []mod
	for _, p := range paths {
		if path.Base(p) != "go.mod" {
			continue
		}
		text, err := fs.ReadFile(fsys, p)
		if err != nil {
			return nil, err
		}
		f, err := modfile.Parse(p, text, nil)
		if err != nil {
			return nil, err
		}
		all = append(all, mod{path.Dir(p), f})
	}
	slices.SortFunc(all, func(a, b mod) int { return strings.Compare(a.dir, b.dir) })
	if len(all) == 0 || all[0].dir != "." {
		return nil, errors.New("the root has no go.mod")
	}
	for _, m := range all {
		if want := path.Join(all[0].path(), m.dir); m.path() != want {
			return nil, fmt.Errorf("%s is module %s, want %s", m.dir, m.path(), want)
		}
	}
	return all, nil
}

// checkWorkspace reports modules that go.work does not use.
func checkWorkspace(fsys fs.FS, all []mod) error {
	text, err := fs.ReadFile(fsys, "go.work")
	if err != nil {
		return err
	}
	work, err := modfile.ParseWork("go.work", text, nil)
	if err != nil {
		return err
	}
	for _, m := range all {
		if !slices.ContainsFunc(work.Use, func(use *modfile.Use) bool { return path.Clean(use.Path) == m.dir }) {
			err = errors.Join(err, fmt.Errorf("go.work does not use ./%s", m.dir))
		}
	}
	return err
}

var versions = regexp.MustCompile(`\bv\d+\.\d+\.\d+(-rc\.\d+)?\b`)

// checkPage reports tags that have no row in the table of VERSIONING.md, or are not in
// the command that pushes them. The page may still name an earlier version.
func checkPage(fsys fs.FS, released []mod, version string) error {
	page, err := fs.ReadFile(fsys, "VERSIONING.md")
	if err != nil {
		return err
	}
	text := versions.ReplaceAllString(string(page), version)
	push := "git push origin"
	for _, m := range released {
		push += " " + m.tag(version)
		if !strings.Contains(text, "| `"+m.tag(version)+"` |") {
			err = errors.Join(err, fmt.Errorf("VERSIONING.md has no row for %s", m.tag(version)))
		}
	}
	if !strings.Contains(text, push) {
		err = errors.Join(err, fmt.Errorf("VERSIONING.md does not have %q", push))
	}
	return err
}

// nextVersion returns the version that the released modules require of each other.
func nextVersion(released []mod) (string, error) {
	required := map[string]string{}
	var errs []error
	for _, m := range released {
		if len(m.file.Replace)+len(m.file.Exclude) > 0 {
			errs = append(errs, fmt.Errorf("%s/go.mod has replace or exclude directives, which its users do not see", m.dir))
		}
		for _, r := range m.file.Require {
			if within(r.Mod.Path, released[0].path()) {
				required[r.Mod.Version] = m.dir
			}
		}
	}
	versions := slices.Sorted(maps.Keys(required))
	switch {
	case len(versions) == 0:
		errs = append(errs, errors.New("no module requires the library, so none names its next version"))
	case len(versions) > 1:
		errs = append(errs, fmt.Errorf("the modules require different versions of each other: %s", strings.Join(versions, ", ")))
	case module.IsPseudoVersion(versions[0]) || versions[0] == "v0.0.0":
		errs = append(errs, fmt.Errorf("%s/go.mod requires %s, which is no release", required[versions[0]], versions[0]))
	}
	if err := errors.Join(errs...); err != nil {
		return "", err
	}
	return versions[0], nil
}

// within reports whether a module or package is part of the repository.
func within(p, library string) bool { return p == library || strings.HasPrefix(p, library+"/") }
