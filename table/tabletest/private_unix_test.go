//go:build unix

package tabletest_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/table/tabletest"
)

// TestFilesArePrivate starts engines on a new file, and on one that was left with
// a mode that other users can read, which it reaches by a link.
func TestFilesArePrivate(t *testing.T) {
	t.Setenv(tabletest.EndpointVariable, "")
	dir := t.TempDir()
	path, link := filepath.Join(dir, "orders.db"), filepath.Join(t.TempDir(), "link.db")
	expect.OK(t, os.Symlink(path, link))
	want := map[string]fs.FileMode{"orders.db": 0o600, "orders.db-shm": 0o600, "orders.db-wal": 0o600}
	for _, path := range []string{path, link} {
		engine := expect.Value(tabletest.Start(t.Context(), &tabletest.Options{Path: path}))(t)
		put(t, engine.Client(), createTable(t, engine.Client()), "1")
		expect.Equal(t, path, modes(t, dir), want)
		expect.OK(t, engine.Close())
		for name := range want {
			expect.OK(t, os.Chmod(filepath.Join(dir, name), 0o644))
		}
	}
}

// modes returns the modes of the files of a directory.
func modes(t *testing.T, dir string) map[string]fs.FileMode {
	t.Helper()
	entries := expect.Value(os.ReadDir(dir))(t)
	all := map[string]fs.FileMode{}
	for _, e := range entries {
		info := expect.Value(e.Info())(t)
		all[e.Name()] = info.Mode()
	}
	return all
}

// TestPathIsNotARegularFile: what is not a regular file keeps its mode, and is not
// opened. An open pipe would block.
func TestPathIsNotARegularFile(t *testing.T) {
	t.Setenv(tabletest.EndpointVariable, "")
	pipe := filepath.Join(t.TempDir(), "pipe")
	expect.OK(t, syscall.Mkfifo(pipe, 0o644))
	before := modes(t, filepath.Dir(pipe))
	for _, path := range []string{pipe, os.DevNull, t.TempDir()} {
		_, err := tabletest.Start(t.Context(), &tabletest.Options{Path: path})
		if err == nil || !strings.Contains(err.Error(), "is not a regular file") {
			t.Errorf("%s: error %v", path, err)
		}
	}
	expect.Equal(t, "modes", modes(t, filepath.Dir(pipe)), before)
}
