// Shop is an e-commerce application in one DynamoDB table: users, a catalogue,
// carts and orders, and by the table's stream an audit trail and notifications of
// products that are low in stock. The program walks through its access patterns and prints the
// keys that each uses, what it finds, and what it costs. It never scans.
//
// Run it from the root of the repository:
//
//	go run ./examples/shop
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

var shopping = program.Program{Name: "shop", Table: "Shop", Show: show}

func main() { shopping.Main() }

// show is the program proper: a table, sample data, and a walk through the
// access patterns.
func show(ctx context.Context, engine *tabletest.Engine, name string, out report.Report) error {
	s := schema(name)
	tbl, err := program.Open(ctx, engine, s, out)
	if err != nil {
		return err
	}
	market, err := newShop(tbl, sampleRounds)
	if err != nil {
		return err
	}
	out.Line("keys %s and %s, indexes %s and %s", s.PK, s.SK, gsi1, gsi2)
	w := walk{shop: market, Report: out}
	if err := w.run(ctx); err != nil {
		return err
	}
	return w.follow(ctx, engine.Client())
}
