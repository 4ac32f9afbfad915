package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/examples/internal/program/programtest"
)

func TestTheReportShowsKeysRowsAndCosts(t *testing.T) {
	t.Parallel()
	first, again := programtest.Twice(t, blog)
	programtest.Contains(t, first,
		"partition key = USER#ana, sort key begins with POST#, backwards",
		"USER#ana  POST#2024-01-18T10:00:00.000Z#p4  Day 4",
		"found 4, requests 2, read units",
		"PUBLISHED  2024-02-17T10:00:00.000Z#p3  Day 3",
		"USER#bob  GROUP#cooks    member",
		"cooks has 2 members, bob is in 2 groups",
		"DRIVE#ana  NODE#archive#work#2024#plan.txt  FILE",
		"4 nodes read and moved: requests 3",
		"sort key between 2024-01-15T12:00:00.000 and 2024-01-15T13:00:00.000",
		"the total, 20 more than before",
		"interrupted; started again",
		"of their writes 0 are missing",
	)

	// A second run on the same table finds its rows there.
	reads := func(report string) string { return programtest.Between(t, report, "\n1. ", "\n11. ") }
	if diff := cmp.Diff(reads(first), reads(again)); diff != "" {
		t.Errorf("the second report differs from the first (-first +second):\n%s", diff)
	}
	programtest.Contains(t, again, "was done by an earlier run")
}
