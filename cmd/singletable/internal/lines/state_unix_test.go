//go:build unix

package lines

import (
	"os"
	"path/filepath"
	"testing"
)

// TestStateIsNotWrittenThroughALink has a link at the temporary name of the state, as
// another user of a shared directory can place it.
func TestStateIsNotWrittenThroughALink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name, other := filepath.Join(dir, "items.jsonl"), filepath.Join(dir, "other")
	if err := os.WriteFile(other, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(other, StateFile(name)+".new"); err != nil {
		t.Fatal(err)
	}
	var got int
	if err := WriteState(name, 7); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadState(name, &got); err != nil || got != 7 {
		t.Error(got, err)
	}
	if text, err := os.ReadFile(other); err != nil || string(text) != "precious" {
		t.Errorf("the other file is %q: %v", text, err)
	}
	if info, err := os.Lstat(StateFile(name)); err != nil || !info.Mode().IsRegular() || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
}
