package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// release is a clone of the commit at hand, with the tags of its next version.
type release struct {
	dir, commit, version string
	modules              []mod // the released ones, the library first
	// copies are the arguments with which a released command writes a module into the
	// directory copied, for that of [mod.copied].
	copies []string
	// env is the environment of a user without the modules.
	env []string
}

func (r release) library() string { return r.modules[0].path() }

// prove returns an error unless the commit at the head of the repository at dir can be
// tagged. Released commands are run with the given arguments, which must need no network,
// and with copies if there are any, see [release].
func prove(ctx context.Context, dir string, args, copies []string, log func(format string, args ...any)) (err error) {
	tmp, err := os.MkdirTemp("", "release")
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, os.RemoveAll(tmp)) }()
	changes, err := output(ctx, dir, nil, "git", "status", "--porcelain")
	if err != nil {
		return err
	}
	if changes != "" {
		log("uncommitted changes are left out:\n%s", changes)
	}
	r, err := clone(ctx, dir, filepath.Join(tmp, "clone"))
	if err != nil {
		return err
	}
	r.copies = copies
	log("%s of %s", r.version, r.commit)
	for _, m := range r.modules {
		log("%s is tidy", m.path())
		if err := r.tidy(ctx, m, filepath.Join(tmp, "tidy")); err != nil {
			return fmt.Errorf("%s: %w", m.path(), err)
		}
	}
	for i, m := range r.modules {
		log("%s", m.path())
		u := user{release: r, mod: m, dir: filepath.Join(tmp, fmt.Sprint("user", i)), args: args, log: log}
		if err := u.use(ctx); err != nil {
			return fmt.Errorf("%s: %w", m.path(), err)
		}
	}
	return nil
}

// clone clones the commit, checks what needs no go command, and tags it.
func clone(ctx context.Context, from, dir string) (release, error) {
	r := release{dir: dir}
	root, err := output(ctx, from, nil, "git", "rev-parse", "--show-toplevel")
	if err != nil {
		return r, err
	}
	root = strings.TrimSpace(root)
	if _, err := output(ctx, root, nil, "git", "clone", "--quiet", "--no-local", "--no-tags", "--depth=1", fileURL(root), dir); err != nil {
		return r, err
	}
	commit, err := output(ctx, dir, nil, "git", "rev-parse", "HEAD")
	if err != nil {
		return r, err
	}
	r.commit = strings.TrimSpace(commit)

	paths, err := output(ctx, dir, nil, "git", "ls-files", "-z")
	if err != nil {
		return r, err
	}
	if err := r.check(strings.Split(strings.TrimSuffix(paths, "\x00"), "\x00")); err != nil {
		return r, err
	}
	for _, m := range r.modules {
		if _, err := output(ctx, dir, nil, "git", "tag", m.tag(r.version)); err != nil {
			return r, err
		}
	}
	r.env, err = stranger(ctx, root, dir, r.library())
	return r, err
}

// check finds the modules and their version among the tracked files.
func (r *release) check(paths []string) error {
	fsys := os.DirFS(r.dir)
	if err := checkNames(fsys, paths); err != nil {
		return err
	}
	all, err := modules(fsys, paths)
	if err != nil {
		return err
	}
	r.modules = slices.DeleteFunc(slices.Clone(all), func(m mod) bool { return !m.released() })
	if r.version, err = nextVersion(r.modules); err != nil {
		return err
	}
	return errors.Join(checkWorkspace(fsys, all), checkPage(fsys, r.modules, r.version))
}

// tidy returns an error unless the module's go.mod and go.sum are as go mod tidy
// writes them with the tags in place. A go.sum of the repository has no lines of
// the repository's own modules: their hashes depend on the commit.
func (r release) tidy(ctx context.Context, m mod, cache string) error {
	dir := filepath.Join(r.dir, filepath.FromSlash(m.dir))
	if _, err := output(ctx, dir, append(r.env, "GOMODCACHE="+cache), "go", "mod", "tidy"); err != nil {
		return err
	}
	// A go.sum that the commit lacks is a change, too.
	if _, err := output(ctx, dir, nil, "git", "add", "--intent-to-add", "."); err != nil {
		return err
	}
	changes, err := output(ctx, dir, nil, "git", "diff", "--unified=0", "--ignore-matching-lines=^"+r.library()+"[/ ].* h1:", ".")
	if err == nil && changes != "" {
		err = fmt.Errorf("not tidy:\n%s", changes)
	}
	return err
}
