package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// release is the commit at the head of a repository, to be tagged.
type release struct {
	dir string
	// command has the arguments that the released commands are run with. They
	// must need no network.
	command []string
	log     func(format string, args ...any)
}

// scratch is a clone of the repository with the tags of its next version.
type scratch struct {
	dir, commit, version string
	modules              []mod // the released ones, the library first
	env                  []string
}

func (s scratch) library() string { return s.modules[0].path() }

// prove returns an error unless the commit can be tagged.
func (r release) prove(ctx context.Context) (err error) {
	tmp, err := os.MkdirTemp("", "release")
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, os.RemoveAll(tmp)) }()
	s, err := r.clone(ctx, filepath.Join(tmp, "clone"))
	if err != nil {
		return err
	}
	r.log("%s of %s", s.version, s.commit)
	for _, m := range s.modules {
		r.log("%s is tidy", m.path())
		if err := s.tidy(ctx, m, filepath.Join(tmp, "tidy")); err != nil {
			return fmt.Errorf("%s: %w", m.path(), err)
		}
	}
	for i, m := range s.modules {
		u := user{scratch: s, mod: m, dir: filepath.Join(tmp, fmt.Sprint("user", i)), command: r.command, log: r.log}
		if err := u.use(ctx); err != nil {
			return fmt.Errorf("%s: %w", m.path(), err)
		}
	}
	return nil
}

// clone clones the commit, checks what needs no go command, and tags it.
func (r release) clone(ctx context.Context, dir string) (scratch, error) {
	s := scratch{dir: dir}
	root, err := output(ctx, r.dir, nil, "git", "rev-parse", "--show-toplevel")
	if err != nil {
		return s, err
	}
	root = strings.TrimSpace(root)
	changes, err := output(ctx, root, nil, "git", "status", "--porcelain")
	if err != nil {
		return s, err
	}
	if changes != "" {
		r.log("uncommitted changes are left out:\n%s", changes)
	}
	if _, err := output(ctx, root, nil, "git", "clone", "--quiet", "--no-local", "--no-tags", "--depth=1", fileURL(root), dir); err != nil {
		return s, err
	}
	commit, err := output(ctx, dir, nil, "git", "rev-parse", "HEAD")
	if err != nil {
		return s, err
	}
	s.commit = strings.TrimSpace(commit)

	paths, err := tracked(ctx, dir)
	if err != nil {
		return s, err
	}
	fsys := os.DirFS(dir)
	if err := checkNames(fsys, paths); err != nil {
		return s, err
	}
	all, err := modules(fsys, paths)
	if err != nil {
		return s, err
	}
	if s.version, err = nextVersion(all); err != nil {
		return s, err
	}
	if err := errors.Join(checkWorkspace(fsys, all), zips(dir, all, s.version)); err != nil {
		return s, err
	}
	s.modules = slices.DeleteFunc(all, func(m mod) bool { return !m.released() })
	for _, m := range s.modules {
		if _, err := output(ctx, dir, nil, "git", "tag", m.tag(s.version)); err != nil {
			return s, err
		}
	}
	s.env, err = stranger(ctx, root, dir, s.library())
	return s, err
}

// tidy returns an error unless the module's go.mod and go.sum are as go mod tidy
// writes them with the tags in place. A go.sum of the repository has no lines of
// the repository's own modules: their hashes depend on the commit.
func (s scratch) tidy(ctx context.Context, m mod, cache string) error {
	dir := filepath.Join(s.dir, filepath.FromSlash(m.dir))
	read := func() (lines [2][]string, err error) {
		for i, name := range []string{"go.mod", "go.sum"} {
			text, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				return lines, err
			}
			lines[i] = strings.Split(string(text), "\n")
		}
		lines[1] = slices.DeleteFunc(lines[1], func(line string) bool {
			p, _, _ := strings.Cut(line, " ")
			return within(p, s.library())
		})
		return lines, nil
	}
	before, err := read()
	if err != nil {
		return err
	}
	if _, err := output(ctx, dir, append(s.env, "GOMODCACHE="+cache), "go", "mod", "tidy"); err != nil {
		return err
	}
	after, err := read()
	if err != nil {
		return err
	}
	var changes []string
	for i, name := range []string{"go.mod", "go.sum"} {
		for _, line := range before[i] {
			if !slices.Contains(after[i], line) {
				changes = append(changes, fmt.Sprintf("%s has %q", name, line))
			}
		}
		for _, line := range after[i] {
			if !slices.Contains(before[i], line) {
				changes = append(changes, fmt.Sprintf("%s lacks %q", name, line))
			}
		}
	}
	if changes != nil {
		return fmt.Errorf("not tidy:\n%s", strings.Join(changes, "\n"))
	}
	return nil
}

// user uses one module and no other, in empty directories and with an empty
// module cache.
type user struct {
	scratch
	mod
	dir     string
	command []string
	log     func(format string, args ...any)
}

func (u user) run(ctx context.Context, dir, name string, args ...string) (string, error) {
	dir = filepath.Join(u.dir, dir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	env := append(u.env, "GOMODCACHE="+filepath.Join(u.dir, "cache"), "GOBIN="+filepath.Join(u.dir, "bin"))
	u.log("  %s %s", path.Base(filepath.ToSlash(name)), strings.Join(args, " "))
	return output(ctx, dir, env, name, args...)
}

func (u user) use(ctx context.Context) error {
	u.log("%s", u.path())
	packages, commands, err := u.packages(ctx)
	if err != nil {
		return err
	}
	if len(packages)+len(commands) == 0 {
		return errors.New("nothing to import or run")
	}
	if len(packages) > 0 {
		if err := u.imports(ctx, packages); err != nil {
			return err
		}
	}
	for _, command := range commands {
		if err := u.runs(ctx, command); err != nil {
			return err
		}
	}
	return u.origin(ctx)
}

// packages lists what others can import and run, without the suites. A released module must not need
// internal packages of another one: with a newer version of that, which any
// dependency can ask for, they may be gone.
func (u user) packages(ctx context.Context) (packages, commands []string, err error) {
	text, err := u.run(ctx, filepath.Join("..", "clone", filepath.FromSlash(u.mod.dir)), "go", "list", "-json=ImportPath,Name,Imports,TestImports,XTestImports", "./...")
	if err != nil {
		return nil, nil, err
	}
	for d := json.NewDecoder(strings.NewReader(text)); d.More(); {
		var p struct {
			ImportPath, Name                   string
			Imports, TestImports, XTestImports []string
		}
		if err := d.Decode(&p); err != nil {
			return nil, nil, err
		}
		for _, i := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			if internal(i) && within(i, u.library()) && !within(i, u.path()) {
				return nil, nil, fmt.Errorf("%s imports %s of another module", p.ImportPath, i)
			}
		}
		switch {
		case internal(p.ImportPath), within(p.ImportPath, u.library()+"/suites"):
		case p.Name == "main":
			commands = append(commands, p.ImportPath)
		default:
			packages = append(packages, p.ImportPath)
		}
	}
	return packages, commands, nil
}

func internal(pkg string) bool { return slices.Contains(strings.Split(pkg, "/"), "internal") }

// imports gets the module as the README says, and builds and runs a program that
// imports all of it.
func (u user) imports(ctx context.Context, packages []string) error {
	if _, err := u.run(ctx, "program", "go", "mod", "init", "example.com/program"); err != nil {
		return err
	}
	if _, err := u.run(ctx, "program", "go", "get", u.path()+"@latest"); err != nil {
		return err
	}
	source := "package main\n\nimport (\n"
	for _, p := range packages {
		source += fmt.Sprintf("\t_ %q\n", p)
	}
	source += ")\n\nfunc main() {}\n"
	if err := os.WriteFile(filepath.Join(u.dir, "program", "main.go"), []byte(source), 0o644); err != nil {
		return err
	}
	for _, args := range [][]string{{"mod", "tidy"}, {"run", "."}} {
		if _, err := u.run(ctx, "program", "go", args...); err != nil {
			return err
		}
	}
	// A dependency could have asked for another version than the newest.
	got, err := u.run(ctx, "program", "go", "list", "-m", "-f", "{{.Version}}", u.path())
	if err == nil && strings.TrimSpace(got) != u.version {
		err = fmt.Errorf("@latest is %s, want %s", strings.TrimSpace(got), u.version)
	}
	return err
}

// runs installs a command, runs it by version, and runs it as a tool of a module.
func (u user) runs(ctx context.Context, command string) error {
	name := path.Base(command)
	at := command + "@" + u.version
	steps := []struct {
		dir, name string
		args      []string
	}{
		{"installed", "go", []string{"install", at}},
		{"installed", filepath.Join(u.dir, "bin", name), u.command},
		{"run", "go", slices.Concat([]string{"run", at}, u.command)},
		{"tool", "go", []string{"mod", "init", "example.com/tool"}},
		{"tool", "go", []string{"get", "-tool", at}},
		{"tool", "go", slices.Concat([]string{"tool", name}, u.command)},
	}
	for _, s := range steps {
		if _, err := u.run(ctx, s.dir, s.name, s.args...); err != nil {
			return err
		}
	}
	return nil
}

// origin returns an error unless git has fetched the module and the library from
// the clone's commit.
func (u user) origin(ctx context.Context) error {
	for _, p := range []string{u.path(), u.library()} {
		text, err := u.run(ctx, "origin", "go", "list", "-m", "-json", p+"@"+u.version)
		if err != nil {
			return err
		}
		var got struct{ Origin struct{ VCS, Hash string } }
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			return err
		}
		if got.Origin.VCS != "git" || got.Origin.Hash != u.commit {
			return fmt.Errorf("%s is from %+v, want git and %s", p, got.Origin, u.commit)
		}
	}
	return nil
}
