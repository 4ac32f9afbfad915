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
	"flag"
	"fmt"
	"os"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/examples/internal/program"
	"github.com/singletable/singletable/examples/shop/api"
	"github.com/singletable/singletable/examples/shop/setup"
	"github.com/singletable/singletable/examples/shop/store"
	"github.com/singletable/singletable/examples/shop/walk"
)

func main() { service().Main() }

// service returns the program's service.
func service() program.Service {
	var s server
	return program.Service{
		Name: "shop", Table: walk.Program.Table, Data: "`file` that keeps the table",
		Modes: []program.Mode{
			{Flag: "walk", Usage: program.WalkUsage, Run: walk.Program.Walk},
			{Flag: program.DevFlag, Usage: "serve for development on this machine only: a local engine, sample data, a new key, printed mails", Run: develop},
			{Flag: "serve", Usage: program.ServeUsage, Run: s.serve},
			{Flag: "create", Usage: "create the table if it is missing, and end", Run: create},
			{Flag: "admin", Usage: "make the user with this `e-mail` an admin", Run: makeAdmin},
		},
		Flags: func(flags *flag.FlagSet) {
			flags.BoolVar(&s.functions, "functions", false, "with -serve, leave the stream of the table to Lambda functions")
			flags.BoolVar(&s.proxy, "proxy", false, "with -serve, take the address of a client from X-Forwarded-For, as a proxy has added it")
		},
	}
}

// server is what the flags of -serve say.
type server struct{ functions, proxy bool }

// serve serves the table of the environment's account.
func (s *server) serve(ctx context.Context, r program.Run) error {
	client, err := open(ctx, r)
	if err != nil {
		return err
	}
	keys, err := setup.ParseKeys(os.Getenv(setup.KeyVariable))
	if err != nil {
		return fmt.Errorf("%s: %w (-%s does without)", setup.KeyVariable, err, program.DevFlag)
	}
	send, err := setup.Mail(ctx, os.Getenv)
	if err != nil {
		return err
	}
	shop, err := setup.Shop(client, r.Table, keys, store.Rounds)
	if err != nil {
		return err
	}
	api, err := setup.API(shop, keys, api.Options{Mail: send, MailTime: setup.MailTime, Proxy: s.proxy, Log: r.Log})
	if err != nil {
		return err
	}
	listen := func(ctx context.Context) error { return r.Serve(ctx, api.Handler()) }
	if s.functions {
		return listen(ctx)
	}
	return withConsumers(ctx, shop, client, r.Log, listen)
}

func create(ctx context.Context, r program.Run) error {
	client, err := clientOf(ctx, r)
	if err != nil {
		return err
	}
	return store.Schema(r.Table).Ensure(ctx, client)
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
	client, err := clientOf(ctx, r)
	if err != nil {
		return nil, err
	}
	return client, store.Schema(r.Table).Verify(ctx, client)
}

func clientOf(ctx context.Context, r program.Run) (*dynamodb.Client, error) {
	client, _, err := setup.Client(ctx, func(string) string { return r.Table })
	return client, err
}
