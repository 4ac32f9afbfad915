package main

import (
	"testing"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/program/programtest"
)

func TestTheReportShowsKeysRowsAndCosts(t *testing.T) {
	t.Parallel()
	first, again := programtest.Twice(t, blog)
	programtest.Contains(t, first,
		"table, pk = USER#ana and sk begins with POST#, backwards",
		"USER#ana  POST#2024-01-18T10:00:00.000Z#p4  Day 4",
		"  page 1\n    POST#p1  COMMENT#2024-01-15T14:00:00.000Z#c4  Bob  Thanks\n",
		"  page 2\n    POST#p1  COMMENT#2024-01-15T11:00:00.000Z#c1  Bob  First!\n  found 4, requests 2, read units",
		"PUBLISHED  2024-02-17T10:00:00.000Z#p3  Day 3",
		"USER#bob  GROUP#cooks    Cooks    member  2024-01-16",
		"cooks has 2 members, bob is in 2 groups",
		"DRIVE#ana  NODE#archive#work#2024#plan.txt    FILE",
		"5 nodes read and moved: requests 4",
		"the item has 0 bytes and the name of an object of 153600",
		"sk from 2024-01-15T12:00:00.000 to",
		"the total, 20 more than before",
		"table, pk = USER#bob and sk begins with COMMENT#, backwards",
		"USER#bob  COMMENT#2024-01-15T15:00:00.000Z#p2#c5  Robert  of version 3  Between two names\n",
		"USER#bob  COMMENT#2024-01-15T11:00:00.000Z#p1#c1  Robert  of version 3  First!\n  found 5, requests 1",
		"interrupted; started again",
		"of their writes 0 are missing",
	)

	// A second run on the same table finds its rows there.
	reads := func(report string) string { return programtest.Between(t, report, "\n1. ", "\n11. ") }
	check.Equal(t, "the second report", reads(again), reads(first))
	programtest.Contains(t, again, "was done by an earlier run", "#p1#c1  Robert  of version 6  First!\n  found 5")
}
