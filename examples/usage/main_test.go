package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"io"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/examples/usage/metering"
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
	name := "Usage-" + rand.Text() // the engine may not be ours alone
	t.Cleanup(func() { drop(t, engine, name) })
	var first, again bytes.Buffer
	if err := show(t.Context(), engine, metering.Schema(name), &first); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(first.String()), " ")
	for _, want := range []string{
		"delivered counted (requests 1, write units",
		"again duplicate (requests 1",
		"WORKSPACE#acme#logins DAY#2024-01-15T00:00:00.000Z count 3 until 2029-01-18",
		"USER#acme#ana#logins HOUR#2024-01-15T10:00:00.000Z count 3 until",
		`level=ERROR msg="message dropped" id=b-3 class=permanent`,
		`level=WARN msg="message returned" id=b-4 class=transient`,
		`answer {"batchItemFailures":[{"itemIdentifier":"b-4"}]}`,
		`answer {"batchItemFailures":[{"itemIdentifier":"l-1"}]}`,
		"count of the message 4, counter 4",
		"pk = WORKSPACE#acme#exports sk between DAY#2024-03-16T00:00:00.000 and DAY#2024-04-14T00:00:00.000 items 29 total 2030",
		"total 2103 found 55, requests 3, read units",
		"exports 30 720",
		"24 times reports 1 8",
		"reports 30 240",
		"8 times exports are made",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the report lacks %q:\n%s", want, first.String())
		}
	}

	// A second run on the same table delivers the same messages again.
	if err := show(t.Context(), engine, metering.Schema(name), &again); err != nil {
		t.Fatal(err)
	}
	reads := func(report bytes.Buffer) string {
		_, rest, _ := strings.Cut(report.String(), "\n4. ")
		return rest
	}
	if reads(first) != reads(again) {
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
