package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"io"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/table/tabletest"
)

// start returns an engine for the test, empty unless one is named by the
// environment.
func start(t *testing.T) *tabletest.Engine {
	t.Helper()
	engine, err := tabletest.Start(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
	return engine
}

func drop(t *testing.T, engine *tabletest.Engine, name string) {
	t.Helper()
	_, err := engine.Client().DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &name})
	if err != nil {
		t.Error(err)
	}
}

func TestTheReportShowsKeysRowsAndCosts(t *testing.T) {
	t.Parallel()
	engine := start(t)
	appCore := schema("AppCore-" + rand.Text()) // the engine may not be ours alone
	t.Cleanup(func() { drop(t, engine, appCore.Name) })
	var first, again bytes.Buffer
	if err := show(t.Context(), engine, appCore, &first); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"pk = USER#u-123 and sk begins with TX#",
		"USER#u-123  TX#2024-01-15T10:05:00.000Z#tx-abc",
		"page 3",
		"found 12, requests 3, read units",
		"pk = TX#tx-abc and sk = METADATA",
		"found 1, requests 1, read units",
		"NOTIF#2024-01-15T10:06:00.000Z#notif-xyz",
		"found 3, requests 1, read units",
		"GSI1PK = GLOBAL_TX#0 to GLOBAL_TX#3",
		"found 10, requests ",
		"would create tx-first: the answer is tx-first, replayed false",
		"would create tx-second: the answer is tx-first, replayed true",
	} {
		if !strings.Contains(first.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, first.String())
		}
	}

	// A second run on the same table finds its rows there.
	if err := show(t.Context(), engine, appCore, &again); err != nil {
		t.Fatal(err)
	}
	patterns := func(report bytes.Buffer) string {
		_, rest, _ := strings.Cut(report.String(), "\n1. ")
		reads, _, _ := strings.Cut(rest, "\n5. ")
		return reads
	}
	if patterns(first) != patterns(again) {
		t.Errorf("the second report differs:\n%s\nfrom the first:\n%s", again.String(), first.String())
	}
}

func TestTheEndpointFlagNamesTheEngine(t *testing.T) {
	engine := start(t)
	t.Setenv(tabletest.EndpointVariable, "") // run sets it; this restores it
	name := "Elsewhere-" + rand.Text()
	t.Cleanup(func() { drop(t, engine, name) })
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-endpoint", engine.Endpoint(), "-table", name}, &out); err != nil {
		t.Fatal(err)
	}
	if want := "Table " + name + " on " + engine.Endpoint(); !strings.HasPrefix(out.String(), want) {
		t.Errorf("the report does not begin with %q:\n%s", want, out.String())
	}
}

func TestMistakesAreErrors(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, err := range map[string]error{
		"unknown flag":   run(t.Context(), []string{"-nope"}, io.Discard),
		"argument":       run(t.Context(), []string{"nope"}, io.Discard),
		"bad table name": run(t.Context(), []string{"-table", "no spaces"}, io.Discard),
		"ended context":  run(ended, nil, io.Discard),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
