package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A guard whose text has changed could not be removed any more.
func TestEachGuardIsInTheCodeOnce(t *testing.T) {
	t.Parallel()
	for _, m := range mutants {
		text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(m.file)))
		if err != nil {
			t.Error(err)
			continue
		}
		if n := strings.Count(string(text), m.old); n != 1 {
			t.Errorf("%s: its text is %d times in %s", m.guard, n, m.file)
		}
	}
}
