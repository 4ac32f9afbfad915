package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"io"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/examples/internal/report"
	"github.com/singletable/singletable/table/tabletest"
)

// start returns an engine for the test, empty unless one is named by the
// environment, and a table name that nobody else uses there.
func start(t *testing.T) (engine *tabletest.Engine, name string) {
	t.Helper()
	engine, err := tabletest.Start(t.Context(), nil)
	must(t, err)
	name = "Shop-" + rand.Text()
	t.Cleanup(func() {
		if _, err := engine.Client().DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &name}); err != nil {
			t.Error(err)
		}
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
	return engine, name
}

func TestTheReportShowsKeysRowsAndCosts(t *testing.T) {
	t.Parallel()
	engine, name := start(t)
	var first, again bytes.Buffer
	must(t, show(t.Context(), engine, schema(name), &first))
	for _, want := range []string{
		"keys PK and SK, indexes GSI1 and GSI2",
		"read: PK = EMAIL#ana@example.com, SK = METADATA",
		"refused: another user has this e-mail",
		"table, PK = CATEGORIES and SK begins with CATEGORY#",
		"found 3, requests 1, read units",
		"index GSI1, GSI1PK = CATEGORY#home and GSI1SK begins with NAME#",
		"index GSI2, GSI2PK = INITIAL#d and GSI2SK from NAME#desk%20l to",
		"table, PK = USER#u-ana and SK begins with CART#",
		"index GSI1, GSI1PK = CART#p-lamp and GSI1SK begins with USER#",
		"create  USER#u-ana      ORDER#2024-01-16T09:00:00.000Z#o-0001",
		"order o-0001: 2 products, 134.00",
		"refused: out of stock: Desk lamp (2 wanted, 1 left)",
		"table, PK = ORDER#o-0001\n",
		"ITEM#002  2 × Desk lamp",
		"PAID, then SHIPPED",
		"and not back: an order does not go this way: from SHIPPED to PAID",
		"table, PK = USER#u-ana and SK begins with ORDER#, backwards",
	} {
		if !strings.Contains(first.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, first.String())
		}
	}

	// A second run finds the first one's orders.
	must(t, show(t.Context(), engine, schema(name), &again))
	for _, want := range []string{"order o-0002: 2 products, 134.00", "#o-0001  134.00  SHIPPED", "found 2, requests 1"} {
		if !strings.Contains(again.String(), want) {
			t.Errorf("the second report lacks %q:\n%s", want, again.String())
		}
	}
}

func TestNothingIsScanned(t *testing.T) {
	t.Parallel()
	var faults tabletest.Faults
	s, _ := openFaulty(t, &faults)
	w := walk{shop: s, Report: report.Report{Out: io.Discard, Meter: &report.Meter{}}}
	must(t, w.run(t.Context()))
	if scans := faults.Requests("Scan"); len(scans) > 0 {
		t.Errorf("%d scans", len(scans))
	}
}

func TestTheEndpointFlagNamesTheEngine(t *testing.T) {
	engine, name := start(t)
	t.Setenv(tabletest.EndpointVariable, "") // run sets it; this restores it
	var out bytes.Buffer
	must(t, run(t.Context(), []string{"-endpoint", engine.Endpoint(), "-table", name}, &out))
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
