// Quickstart shows single-table design at work: it creates the table AppCore
// and writes users, transactions and notifications into it. It reads them back
// by the four access patterns of a small payments application, and prints the
// keys and what each read costs. Then it repeats a write, like a client that
// got no response.
//
// Run it from the root of the repository:
//
//	go run ./examples/quickstart
//
// It uses a local DynamoDB engine, which it starts and if need be installs, or
// the one that AWS_ENDPOINT_URL_DYNAMODB names.
package main

import (
	"context"

	"github.com/singletable/singletable/examples/internal/program"
	"github.com/singletable/singletable/examples/internal/report"
	"github.com/singletable/singletable/table/tabletest"
)

var quickstart = program.Program{Name: "quickstart", Table: "AppCore", Show: show}

func main() { quickstart.Main() }

// show is the program proper: a table, data, the four access patterns, and a write
// that is repeated.
func show(ctx context.Context, engine *tabletest.Engine, name string, out report.Report) error {
	tbl, err := program.Open(ctx, engine, spec(name), out)
	if err != nil {
		return err
	}
	r, err := newRepos(tbl)
	if err != nil {
		return err
	}
	out.Title("Sample data")
	if err := seed(ctx, r); err != nil {
		return err
	}
	out.Line("  2 users, 16 transactions (2 items each), 3 notifications: one table, one partition for each user")
	requests, units := out.Meter.Take()
	out.Line("  requests %d, write units %g", requests, units)

	if err := userTransactions(ctx, r, out, "u-123"); err != nil {
		return err
	}
	if err := transactionByID(ctx, r, out, "tx-abc"); err != nil {
		return err
	}
	if err := userNotifications(ctx, r, out, "u-123"); err != nil {
		return err
	}
	if err := newestTransactions(ctx, r, out, 10); err != nil {
		return err
	}
	return retriedCreate(ctx, r, out)
}
