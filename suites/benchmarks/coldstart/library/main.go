// Program library makes a few calls with the library, and ends. It is the half of
// the comparison that command coldstart measures; program sdk is the other.
package main

import (
	"context"
	"log"
	"os"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/suites/benchmarks/coldstart/local"
	"github.com/singletable/singletable/table"
)

type order struct {
	Customer, ID, Note string
	Revision           string
}

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	tbl, err := table.New(local.Client(), schema.Table{Name: os.Getenv(local.Table), PK: "PK", SK: "SK"}, nil)
	if err != nil {
		return err
	}
	orders, err := repo.New(tbl, repo.Entity[order]{
		Type: "Order", Version: "Revision",
		Key: func(o order) keys.Key { return keys.Key{PK: keys.User.PK(o.Customer), SK: keys.Tx.SK(keys.Str(o.ID))} },
	})
	if err != nil {
		return err
	}
	o := order{Customer: "ana", ID: os.Getenv(local.ID), Note: "first"}
	if err := orders.Create(ctx, &o); err != nil {
		return err
	}
	if _, err := orders.Update(ctx, keys.Key{PK: keys.User.PK(o.Customer), SK: keys.Tx.SK(keys.Str(o.ID))}, func(o *order) error {
		o.Note = "second"
		return nil
	}); err != nil {
		return err
	}
	_, err = orders.Query(ctx, table.Query{PK: keys.User.PK("ana"), Range: keys.Tx.All(), Descending: true, Limit: 10})
	return err
}
