package toolcache_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/internal/toolcache"
)

func write(t *testing.T, file, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestVerify(t *testing.T) {
	t.Parallel()
	const sum = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
	file := filepath.Join(t.TempDir(), "file")
	if err := toolcache.Verify(file, sum); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
	write(t, file, "hello")
	if err := toolcache.Verify(file, sum); err != nil {
		t.Error(err)
	}
	write(t, file, "hello!")
	if err := toolcache.Verify(file, sum); !errors.Is(err, toolcache.ErrHash) || !strings.Contains(err.Error(), sum) {
		t.Errorf("other content: %v", err)
	}
}

func TestInstallFile(t *testing.T) {
	t.Parallel()
	parent := filepath.Join(t.TempDir(), "new")
	dest := filepath.Join(parent, "tool")
	for _, content := range []string{"one", "two"} {
		err := toolcache.Install(dest, func(tmp string) (string, error) {
			made := filepath.Join(tmp, "deep", "made")
			write(t, made, content)
			return made, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(dest); err != nil || string(got) != content {
			t.Errorf("installed %q, %v; want %q", got, err, content)
		}
	}
	alone(t, parent, "tool")
}

func TestInstallDirectoryThatIsThere(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	dest := filepath.Join(parent, "tool")
	for range 2 {
		err := toolcache.Install(dest, func(tmp string) (string, error) {
			write(t, filepath.Join(tmp, "made", "file"), "content")
			return filepath.Join(tmp, "made"), nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(filepath.Join(dest, "file")); err != nil || string(got) != "content" {
		t.Errorf("installed %q, %v", got, err)
	}
	alone(t, parent, "tool")
}

func TestInstallThatFails(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	failure := errors.New("as told")
	err := toolcache.Install(filepath.Join(parent, "tool"), func(tmp string) (string, error) {
		write(t, filepath.Join(tmp, "half"), "")
		return "", failure
	})
	if !errors.Is(err, failure) {
		t.Errorf("error %v; want %v", err, failure)
	}
	alone(t, parent)
}

// alone fails the test unless the directory holds the names and nothing else.
func alone(t *testing.T, dir string, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if diff := cmp.Diff(names, got); diff != "" {
		t.Error(diff)
	}
}

func TestNPMWithEndedContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := toolcache.NPM(ctx, t.TempDir(), "--version"); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v; want %v", err, context.Canceled)
	}
}
