package main

import (
	"testing"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/program/programtest"
)

func TestTheReportShowsKeysRowsAndCosts(t *testing.T) {
	t.Parallel()
	first, again := programtest.Twice(t, quickstart)
	programtest.Contains(t, first,
		"pk = USER#u-123 and sk begins with TX#",
		"USER#u-123  TX#2024-01-15T10:05:00.000Z#tx-abc",
		"page 3",
		"found 12, requests 3, read units",
		"pk = TX#tx-abc and sk = METADATA",
		"found 1, requests 1, read units",
		"NOTIF#2024-01-15T10:06:00.000Z#notif-xyz",
		"found 3, requests 1, read units",
		"GSI1PK = GLOBAL_TX and GLOBAL_TX#1 to #3",
		"found 10, requests ",
		"would create tx-first: the result is tx-first, replayed false",
		"would create tx-second: the result is tx-first, replayed true",
	)

	// A second run on the same table finds its rows there.
	reads := func(report string) string { return programtest.Between(t, report, "\n1. ", "\n5. ") }
	check.Equal(t, "the second report", reads(again), reads(first))
}
