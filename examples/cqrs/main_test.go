package main

import (
	"strings"
	"testing"

	"github.com/singletable/singletable/examples/internal/generated"
	"github.com/singletable/singletable/examples/internal/program/programtest"
)

func TestTheDocsShowTheWalk(t *testing.T) {
	t.Parallel()
	first, again := programtest.Twice(t, walked)
	_, first, _ = strings.Cut(first, "\n\n") // without the address of the engine
	generated.File(t, "docs/walk.txt", strings.TrimSpace(first)+"\n")

	// A second run on the same table goes on from there.
	programtest.Contains(t, again, "PRODUCT_HIST#LAMP#0000000008", "checked: all 66 records")
}
