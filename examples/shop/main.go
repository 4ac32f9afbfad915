// Shop is an e-commerce application in one DynamoDB table: a walk through its access
// patterns, and a server with a store page. README.md describes it.
//
// In this directory:
//
//	go run . -walk
//	go run . -dev
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/examples/internal/program"
	"github.com/singletable/singletable/examples/shop/setup"
	"github.com/singletable/singletable/examples/shop/store"
	"github.com/singletable/singletable/examples/shop/walk"
)

func main() { shop.Main() }

var shop = program.Service{
	Name: "shop", Table: walk.Program.Table, Data: "`file` that keeps the table",
	Modes: []program.Mode{
		{Flag: "walk", Usage: program.WalkUsage, Run: walk.Program.Walk},
		{Flag: program.DevFlag, Usage: "serve for development on this machine only: a local engine, sample data, a new key", Run: develop},
		{Flag: "serve", Usage: program.ServeUsage, Run: serve},
		{Flag: "admin", Usage: "make the user with this `e-mail` an admin", Run: makeAdmin},
	},
}

// serve serves the table of the environment's account.
func serve(ctx context.Context, r program.Run) error {
	client, err := open(ctx, r)
	if err != nil {
		return err
	}
	keys, err := setup.ParseKeys(os.Getenv(setup.KeyVariable))
	if err != nil {
		return fmt.Errorf("%s: %w (-%s does without)", setup.KeyVariable, err, program.DevFlag)
	}
	shop, err := setup.Shop(client, r.Table, keys, store.Rounds)
	if err != nil {
		return err
	}
	api, err := setup.API(shop, keys, r.Log)
	if err != nil {
		return err
	}
	return r.Serve(ctx, api.Handler())
}

func makeAdmin(ctx context.Context, r program.Run) error {
	client, err := open(ctx, r)
	if err != nil {
		return err
	}
	shop, err := setup.Shop(client, r.Table, nil, store.Rounds)
	if err == nil {
		_, err = shop.SetRole(ctx, "command", r.Value, store.Admin)
	}
	return err
}

// open returns a client of the table. A wrong table is found now, not by the first
// request.
func open(ctx context.Context, r program.Run) (*dynamodb.Client, error) {
	client, name, err := setup.Client(ctx, func(string) string { return r.Table })
	if err != nil {
		return nil, err
	}
	return client, store.Schema(name).Verify(ctx, client)
}
