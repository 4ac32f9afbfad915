package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// user uses one module and no other, in empty directories and with an empty
// module cache.
type user struct {
	release
	mod
	dir  string
	args []string // of the commands
	log  func(format string, args ...any)
}

// run runs a program in a directory of the user.
func (u user) run(ctx context.Context, dir, name string, args ...string) (string, error) {
	dir = filepath.Join(u.dir, dir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	env := append(u.env, "GOMODCACHE="+filepath.Join(u.dir, "cache"), "GOBIN="+filepath.Join(u.dir, "bin"))
	u.log("  %s %s", path.Base(filepath.ToSlash(name)), strings.Join(args, " "))
	out, err := output(ctx, dir, env, name, args...)
	return strings.TrimSpace(out), err
}

func (u user) use(ctx context.Context) error {
	if u.copied() { // which the command has shown
		return u.origin(ctx)
	}
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
	clone := filepath.Join("..", "clone", filepath.FromSlash(u.mod.dir))
	text, err := u.run(ctx, clone, "go", "list", "-f", `{{.ImportPath}} {{.Name}} {{join .Imports " "}} {{join .TestImports " "}} {{join .XTestImports " "}}`, "./...")
	if err != nil {
		return nil, nil, err
	}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		p, name, imports := fields[0], fields[1], fields[2:]
		for _, i := range imports {
			if internal(i) && within(i, u.library()) && !within(i, u.path()) {
				return nil, nil, fmt.Errorf("%s imports %s of another module", p, i)
			}
		}
		switch {
		case internal(p), within(p, u.library()+"/suites"):
		case name == "main":
			commands = append(commands, p)
		default:
			packages = append(packages, p)
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
	source := "package main\n\nimport (\n"
	for _, p := range packages {
		source += fmt.Sprintf("\t_ %q\n", p)
	}
	source += ")\n\nfunc main() {}\n"
	if err := os.WriteFile(filepath.Join(u.dir, "program", "main.go"), []byte(source), 0o644); err != nil {
		return err
	}
	for _, args := range [][]string{{"get", u.path() + "@latest"}, {"mod", "tidy"}, {"run", "."}} {
		if _, err := u.run(ctx, "program", "go", args...); err != nil {
			return err
		}
	}
	// A dependency could have asked for another version than the newest.
	got, err := u.run(ctx, "program", "go", "list", "-m", "-f", "{{.Version}}", u.path())
	if err == nil && got != u.version {
		err = fmt.Errorf("@latest is %s, want %s", got, u.version)
	}
	return err
}

// runs installs a command, runs it by version, and runs it as a tool of a module.
func (u user) runs(ctx context.Context, command string) error {
	name := path.Base(command)
	at := command + "@" + u.version
	for _, s := range []struct {
		dir, name string
		args      []string
	}{
		{"installed", "go", []string{"install", at}},
		{"installed", filepath.Join(u.dir, "bin", name), u.args},
		{"run", "go", slices.Concat([]string{"run", at}, u.args)},
		{"tool", "go", []string{"mod", "init", "example.com/tool"}},
		{"tool", "go", []string{"get", "-tool", at}},
		{"tool", "go", slices.Concat([]string{"tool", name}, u.args)},
	} {
		if _, err := u.run(ctx, s.dir, s.name, s.args...); err != nil {
			return err
		}
	}
	if len(u.copies) == 0 {
		return nil
	}
	for _, s := range []struct {
		dir  string
		args []string
	}{{"run", slices.Concat([]string{"run", at}, u.copies)}, {"run/copied", []string{"build", "./..."}}} {
		if _, err := u.run(ctx, s.dir, "go", s.args...); err != nil {
			return err
		}
	}
	required, err := u.run(ctx, "run/copied", "go", "list", "-m", "-f", "{{.Version}} {{.Replace}}", u.library())
	if want := u.version + " <nil>"; err == nil && required != want {
		err = fmt.Errorf("the copy requires %s, want %s", required, want)
	}
	return err
}

// origin returns an error unless git has fetched the module and the library from
// the clone's commit.
func (u user) origin(ctx context.Context) error {
	for _, p := range []string{u.path(), u.library()} {
		got, err := u.run(ctx, "origin", "go", "list", "-m", "-f", "{{.Origin.VCS}} {{.Origin.Hash}}", p+"@"+u.version)
		if err != nil {
			return err
		}
		if want := "git " + u.commit; got != want {
			return fmt.Errorf("%s is from %s, want %s", p, got, want)
		}
	}
	return nil
}
