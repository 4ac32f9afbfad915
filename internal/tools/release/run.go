package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// output runs a program and returns its standard output. The error has what the
// program printed. Without env, the environment is that of this process.
func output(ctx context.Context, dir string, env []string, name string, args ...string) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	if env == nil {
		env = environ()
	}
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, env, &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s%s", strings.Join(cmd.Args, " "), err, &stdout, &stderr)
	}
	return stdout.String(), nil
}

// environ returns the environment without the variables of git: a git hook sets
// GIT_DIR, which would lead every git command to that repository.
func environ() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GIT_") })
}

// stranger returns the environment of a user without this checkout. git's only
// setting leads the library's address to the clone. The go command has no workspace
// and fetches the library's modules with git. Other modules come from the downloads
// of this machine or from its module proxy.
func stranger(ctx context.Context, dir, clone, library string) ([]string, error) {
	settings, err := output(ctx, dir, nil, "go", "env", "GOPROXY", "GOMODCACHE", "GONOPROXY", "GONOSUMDB", "GOCACHE")
	if err != nil {
		return nil, err
	}
	lines := strings.Split(settings, "\n")
	proxies, cache, noProxy, noSum, builds := lines[0], lines[1], lines[2], lines[3], lines[4]

	config := clone + ".gitconfig"
	text := fmt.Sprintf("[url %q]\n\tinsteadOf = https://%s\n", fileURL(clone), library)
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		return nil, err
	}
	return append(environ(),
		"GIT_CONFIG_GLOBAL="+config, "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
		"GOWORK=off", "GOCACHE="+builds,
		// Without paths in their results, builds with another module cache are reused.
		"GOFLAGS=-modcacherw -trimpath",
		"GOPROXY="+fileURL(filepath.Join(cache, "cache", "download"))+","+proxies,
		"GONOPROXY="+join(noProxy, library), "GONOSUMDB="+join(noSum, library),
	), nil
}

// join adds a pattern to a comma-separated list.
func join(list, pattern string) string { return strings.TrimPrefix(list+","+pattern, ",") }

func fileURL(p string) string {
	return "file:///" + strings.TrimPrefix(filepath.ToSlash(p), "/")
}
