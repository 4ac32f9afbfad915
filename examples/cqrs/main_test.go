package main

import (
	"testing"

	"github.com/singletable/singletable/examples/internal/program/programtest"
)

func TestTheReportShowsKeysRowsAndCosts(t *testing.T) {
	t.Parallel()
	first, again := programtest.Twice(t, cqrs)
	programtest.Contains(t, first,
		"history  PRODUCT_HIST#ACME  PRODUCT_HIST#LAMP#0000000003",
		"requests 5, read and write units",
		"that expects version 1: stale version",
		"found 4, requests 2, read units",
		"version 1  price 40  ana from 192.0.2.7",
		"2024-12-31  ORD-000002  ORDER#ACME    ORDER#2024#ORD-000002",
		"2025-01-01  ORD-000001  ORDER#ACME    ORDER#2025#ORD-000001",
		"index code-index, codePK = CODE#ACME#ORD-000001",
		"DEPT#ACME  DEPT#ENG#BACKEND#STORAGE  STORAGE  version 1",
		"killed: 20 of 50 rows are in the area, and none is published",
		"100 %: 49 of 50 done, 1 rejected",
		"REJECT#000000021  TOOL-008  the record exists already",
		"TASK#catalogue-2025  import  DONE",
		"the token of a page: invalid cursor (requests 0)",
		"PRODUCT#ACME%23LAMP / PRODUCT#LAMP, which is nobody's",
		"CATALOGUE#LAMP   Desk lamp  price 42   lowest 40   changes 2  version 3",
		"53 listings were deleted\n    CATALOGUE#LAMP  Desk lamp  price 41  lowest 39  changes 4  version 5",
		"checked: all 62 records",
	)

	// A second run on the same table goes on from there.
	programtest.Contains(t, again, "PRODUCT_HIST#LAMP#0000000008", "checked: all 66 records")
}
