package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/table/tabletest"
)

// TestMain also runs the importer that a test starts as a process of its own, to
// kill it.
func TestMain(m *testing.M) {
	if name := os.Getenv(childTable); name != "" {
		fmt.Fprintln(os.Stderr, "importer:", importAsChild(context.Background(), name))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

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
	s := schema("Cqrs-" + rand.Text()) // the engine may not be ours alone
	t.Cleanup(func() { drop(t, engine, s.Name) })
	var first, again bytes.Buffer
	if err := show(t.Context(), engine, s, &first); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"history  PRODUCT_HIST#ACME  PRODUCT_HIST#LAMP#0000000003",
		"requests 5, read and write units",
		"that expects version 1: stale version",
		"found 4, requests 2, read units",
		"version 1  price 40  ana from 192.0.2.7",
		"2024-12-31  ORD-000002  ORDER#ACME    ORDER#2024#ORD-000002",
		"2025-01-01  ORD-000001  ORDER#ACME    ORDER#2025#ORD-000001",
		"index code-index, codePK = CODE#ACME#ORD-000001",
		"DEPT#ACME  DEPT#ENG#BACKEND#STORAGE  STORAGE  version 1",
		"32 %: 16 of 50 done, 0 rejected\n    killed",
		"100 %: 49 of 50 done, 1 rejected",
		"REJECT#000000021  TOOL-008  the record exists already",
		"TASK#catalogue-2025  import  DONE",
		"the token of a page: invalid cursor (requests 0)",
		"PRODUCT#ACME%23LAMP / PRODUCT#LAMP, which is nobody's",
	} {
		if !strings.Contains(first.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, first.String())
		}
	}

	// A second run on the same table goes on from there.
	if err := show(t.Context(), engine, s, &again); err != nil {
		t.Fatal(err)
	}
	if want := "PRODUCT_HIST#LAMP#0000000006"; !strings.Contains(again.String(), want) {
		t.Errorf("the second report lacks %q:\n%s", want, again.String())
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
