// Package system copies an example system out of its repository: its files, the packages
// that the systems share, and a go.mod, as a module of its own.
package system

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

const (
	library  = "github.com/singletable/singletable"
	examples = library + "/examples"
)

// Source is where the systems are copied from.
type Source struct {
	// dir is the directory of the module of the examples.
	dir string
	// version is the version of the library that a copy requires.
	version string
	// checkout is the directory of the library, if it is no release.
	checkout string
}

// Checkout returns the directory of the checkout that a copy uses the library of. It is
// empty for a release.
func (s Source) Checkout() string { return s.checkout }

// errNoSource means that neither a checkout nor a release is at hand.
var errNoSource = errors.New("this program is no release, and the working directory is in no checkout of the library: run it in one, or run the program with @latest")

// Find returns the checkout that the working directory is in, or else the release of
// this program, whose version is given. The go command downloads a release once.
func Find(ctx context.Context, version string) (Source, error) {
	// It fails outside of a checkout, where no workspace has both modules.
	text, err := run(ctx, ".", nil, "list", "-m", "-f", "{{.Dir}}", examples, library)
	if dir, checkout, _ := strings.Cut(strings.TrimSpace(text), "\n"); err == nil && dir != "" && checkout != "" {
		return Source{dir: dir, version: "v0.0.0", checkout: checkout}, nil
	}
	if errors.Is(err, exec.ErrNotFound) || ctx.Err() != nil {
		return Source{}, err
	}
	if version == "" || version == "(devel)" {
		return Source{}, errors.Join(errNoSource, err)
	}
	text, err = run(ctx, os.TempDir(), []string{"GOWORK=off"}, "mod", "download", "-json", examples+"@"+version)
	if err != nil {
		return Source{}, err
	}
	var module struct{ Dir string }
	if err := json.Unmarshal([]byte(text), &module); err != nil {
		return Source{}, fmt.Errorf("go mod download: %w", err)
	}
	return Source{dir: module.Dir, version: version}, nil
}

// Workspace returns the go.work file that the go command finds for a directory, or "".
func Workspace(ctx context.Context, dir string) (string, error) {
	text, err := run(ctx, dir, nil, "env", "GOWORK")
	if text = strings.TrimSpace(text); text == "off" {
		text = ""
	}
	return text, err
}

// run runs the go command, without flags that the user has set for other modules, and returns
// its output. The error has what it printed.
func run(ctx context.Context, dir string, env []string, args ...string) (string, error) {
	return command(ctx, dir, append([]string{"GOFLAGS=", "GO111MODULE="}, env...), "go", args...)
}

func command(ctx context.Context, dir string, env []string, name string, args ...string) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, append(os.Environ(), env...), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s%s", name, strings.Join(args, " "), err, &stdout, &stderr)
	}
	return stdout.String(), nil
}
