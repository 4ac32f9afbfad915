//go:build unix

package tabletest_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/table/tabletest"
)

// TestFilesArePrivate starts engines on a new file, and on one that was left with
// a mode that other users can read, which it reaches by a link.
func TestFilesArePrivate(t *testing.T) {
	t.Setenv(tabletest.EndpointVariable, "")
	dir := t.TempDir()
	path, link := filepath.Join(dir, "orders.db"), filepath.Join(t.TempDir(), "link.db")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	want := map[string]fs.FileMode{"orders.db": 0o600, "orders.db-shm": 0o600, "orders.db-wal": 0o600}
	for _, path := range []string{path, link} {
		engine, err := tabletest.Start(t.Context(), &tabletest.Options{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		put(t, engine.Client(), createTable(t, engine.Client()), "1")
		if diff := cmp.Diff(want, modes(t, dir)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
		if err := engine.Close(); err != nil { // It kills the engine: its files remain.
			t.Fatal(err)
		}
		for name := range want {
			if err := os.Chmod(filepath.Join(dir, name), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// modes returns the modes of the files of a directory.
func modes(t *testing.T, dir string) map[string]fs.FileMode {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]fs.FileMode{}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = info.Mode()
	}
	return all
}

// TestPathThatIsNoFile: what is not a regular file keeps its mode, and is not
// opened. An open pipe would block.
func TestPathThatIsNoFile(t *testing.T) {
	t.Setenv(tabletest.EndpointVariable, "")
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o644); err != nil {
		t.Fatal(err)
	}
	before := modes(t, filepath.Dir(pipe))
	for _, path := range []string{pipe, os.DevNull, t.TempDir()} {
		_, err := tabletest.Start(t.Context(), &tabletest.Options{Path: path})
		if err == nil || !strings.Contains(err.Error(), "is not a regular file") {
			t.Errorf("%s: error %v", path, err)
		}
	}
	if diff := cmp.Diff(before, modes(t, filepath.Dir(pipe))); diff != "" {
		t.Errorf("modes (-want +got):\n%s", diff)
	}
}
