package main

import (
	"flag"
	"io"
	"strings"
	"testing"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/program/programtest"
)

func TestTheReportShowsKeysRowsAndCosts(t *testing.T) {
	t.Parallel()
	first, again := programtest.Twice(t, usage)
	programtest.Contains(t, strings.Join(strings.Fields(first), " "),
		"delivered counted (requests 1, write units",
		"again duplicate (requests 1",
		"WORKSPACE#acme#logins DAY#2024-01-15T00:00:00.000Z count 3 until 2029-01-18",
		"USER#acme#ana#logins HOUR#2024-01-15T10:00:00.000Z count 3 until",
		`level=ERROR msg="message dropped" id=b-3 class=permanent`,
		`level=WARN msg="message returned" id=b-4 class=transient`,
		`response {"batchItemFailures":[{"itemIdentifier":"b-4"}]}`,
		`response {"batchItemFailures":[{"itemIdentifier":"l-1"}]}`,
		"count of the message 4, counter 4",
		"pk = WORKSPACE#acme#exports sk between DAY#2024-03-16T00:00:00.000 and DAY#2024-04-14T00:00:00.000 items 29 total 2030",
		"total 2103 found 55, requests 3, read units",
		"exports 30 720",
		"pk = USER#acme#ana#logins: total 8 (requests 1",
		"pk = USER#ana#logins: total 17 (requests 1",
		"24 times reports 1 8",
		"reports 30 240",
		"8 times exports are made",
	)

	// A second run on the same table delivers the same messages again.
	reads := func(report string) string {
		_, rest, _ := strings.Cut(report, "\n4. ")
		return rest
	}
	check.Equal(t, "the second report", reads(again), reads(first))
}

func TestTheHelpShowsModesAndCommands(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	check.Is(t, service.Run(t.Context(), []string{"-h"}, io.Discard, &out), flag.ErrHelp)
	for _, name := range []string{"-addr address", "-data directory", "-dev", "-walk", "send", "ask", "queue", "replay"} {
		if !strings.Contains(out.String(), "\n  "+name+"\n") {
			t.Errorf("nothing about %s:\n%s", name, &out)
		}
	}
	if strings.Contains(out.String(), "`") {
		t.Errorf("a name is not cut out:\n%s", &out)
	}
}
