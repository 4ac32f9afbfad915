package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"io"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/table/tabletest"
)

// startEngine returns an engine for the test, empty unless one is named by the
// environment.
func startEngine(t *testing.T) *tabletest.Engine {
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
	for _, suffix := range []string{"", "-Users", "-Posts", "-Comments"} {
		table := name + suffix
		_, err := engine.Client().DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &table})
		if err != nil {
			t.Error(err)
		}
	}
}

func TestTheReportShowsKeysRowsAndCosts(t *testing.T) {
	t.Parallel()
	engine := startEngine(t)
	name := "Blog-" + rand.Text() // the engine may not be ours alone
	t.Cleanup(func() { drop(t, engine, name) })
	var first, again bytes.Buffer
	if err := show(t.Context(), engine, name, &first); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
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
	} {
		if !strings.Contains(first.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, first.String())
		}
	}

	// A second run on the same table finds its rows there.
	if err := show(t.Context(), engine, name, &again); err != nil {
		t.Fatal(err)
	}
	patterns := func(report bytes.Buffer) string {
		_, rest, _ := strings.Cut(report.String(), "\n1. ")
		reads, _, _ := strings.Cut(rest, "\n11. ")
		return reads
	}
	if diff := cmp.Diff(patterns(first), patterns(again)); diff != "" {
		t.Errorf("the second report differs from the first (-first +second):\n%s", diff)
	}
	if !strings.Contains(again.String(), "was done by an earlier run") {
		t.Errorf("the second run migrates again:\n%s", again.String())
	}
}

func TestTheEndpointFlagNamesTheEngine(t *testing.T) {
	engine := startEngine(t)
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
