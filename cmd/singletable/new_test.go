package main

import (
	"bytes"
	"context"
	"errors"
	"go/format"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/singletable/singletable/cmd/singletable/internal/system"
)

// TestNew writes each system, as a module that the go command finds all packages of, in
// which nothing is left of the repository. make copies runs the tests of all of them.
func TestNew(t *testing.T) {
	t.Parallel()
	for _, name := range system.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "deep", "er")
			got := run(t, nil, "", "new", name, dir, "example.com/ours/"+name+"-2")
			if got.code != exitYes || !strings.Contains(got.stdout, dir) {
				t.Fatal(got)
			}
			list := exec.CommandContext(t.Context(), "go", "list", "-test", "-deps", "./...")
			list.Dir, list.Env = dir, append(os.Environ(), "GOWORK=off")
			text, err := list.CombinedOutput()
			if err != nil || !strings.Contains(string(text), "example.com/ours/"+name+"-2/internal/rest") {
				t.Errorf("%v\n%s", err, text)
			}
			checkCopy(t, dir)
		})
	}
}

// markdownLink finds the targets of links in Markdown.
var markdownLink = regexp.MustCompile(`\]\(([^)#\s]+)[^)]*\)`)

// checkCopy looks for what is only right in the repository: paths of its examples, links
// to other places there, and imports that a longer or shorter path has put out of order.
func checkCopy(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if bytes.Contains(text, []byte("singletable/examples")) || bytes.Contains(text, []byte("./examples/")) {
			t.Errorf("%s has a path of the repository", path)
		}
		if bytes.Contains(text, []byte("//mutants:")) {
			t.Errorf("%s has a marker of a guard, which only the repository tests", path)
		}
		switch filepath.Ext(path) {
		case ".go":
			if formatted, err := format.Source(text); err != nil || !bytes.Equal(formatted, text) {
				t.Errorf("%s is not formatted: %v", path, err)
			}
		case ".md":
			for _, link := range markdownLink.FindAllSubmatch(text, -1) {
				target := string(link[1])
				if strings.Contains(target, "://") {
					continue
				}
				to := filepath.Join(filepath.Dir(path), target)
				if inside, err := filepath.Rel(dir, to); err != nil || !filepath.IsLocal(inside) {
					t.Errorf("%s: the link %s leads out of the copy", path, target)
				} else if _, err := os.Stat(to); err != nil {
					t.Errorf("%s: %v", path, err)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestNewRefuses looks for what is left of copies that were refused, too.
func TestNewRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	full := filepath.Join(dir, "full")
	if err := os.MkdirAll(filepath.Join(full, "mine"), 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	free, dangling := filepath.Join(dir, "free"), filepath.Join(dir, "dangling")
	if err := os.Symlink(filepath.Join(dir, "nowhere"), dangling); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args []string
		says string
	}{
		{[]string{"appcore", free}, "has 2 arguments"},
		{[]string{"quickstart", free, "example.com/x"}, `no system "quickstart": it is service, appcore`},
		{[]string{"../cmd", free, "example.com/x"}, "no system"},
		{[]string{"usage", free, "example.com/with space"}, "malformed import path"},
		{[]string{"usage", free, ""}, "malformed import path"},
		{[]string{"usage", free, "github.com/singletable/singletable/mine"}, "path of the library's repository"},
		{[]string{"usage", full, "example.com/x"}, "is not empty"},
		{[]string{"usage", file, "example.com/x"}, "not a directory"},
		{[]string{"usage", "mine", "example.com/x"}, "in the checkout"},
		{[]string{"usage", free, "example.com/vendor/x"}, "keeps the go command"},
		{[]string{"usage", dangling, "example.com/x"}, "link to nothing"},
	} {
		trouble(t, run(t, nil, "", append([]string{"new"}, tt.args...)...), tt.says)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 3 {
		t.Errorf("left behind: %v %v", entries, err)
	}
	if _, err := os.Stat("mine"); err == nil {
		t.Error("a copy was left in the checkout")
	}
}

// TestNewFillsADirectory writes into a directory that is there, by a link to it. It stays the
// same directory, and a workspace above it is named.
func TestNewFillsADirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mine, link := filepath.Join(dir, "my service"), filepath.Join(dir, "link")
	err := errors.Join(os.Mkdir(mine, 0o700), os.Symlink(mine, link), os.WriteFile(filepath.Join(dir, "go.work"), []byte("go 1.26.0\n"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	got := run(t, nil, "", "new", "-json", "usage", link, "example.com/x")
	if got.code != exitYes || !strings.Contains(got.stdout, `"module": "example.com/x"`) || !strings.Contains(got.stdout, "go.work") {
		t.Error(got)
	}
	before, err := os.Stat(mine)
	if err != nil || before.Mode().Perm() != 0o700 {
		t.Errorf("the directory has become another one: %v %v", before, err)
	}
	entries, err := os.ReadDir(mine)
	if err != nil || len(entries) < 10 || strings.HasPrefix(entries[0].Name(), ".unfinished") {
		t.Errorf("the directory holds %v %v", entries, err)
	}
	if text := (copied{Dir: mine, Workspace: "w"}).String(); !strings.Contains(text, "'"+mine+"'") || !strings.Contains(text, "go work use") {
		t.Error(text)
	}
}

// TestNewIsEnded leaves nothing behind.
func TestNewIsEnded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stdout, stderr bytes.Buffer
	if code := testProgram(&stdout, &stderr, nil, "", time.Minute).run(ctx, []string{"new", "usage", filepath.Join(dir, "free"), "example.com/x"}); code != exitTrouble {
		t.Errorf("exit %d: %s", code, &stderr)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("left behind: %v %v", entries, err)
	}
}
