package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/examples/cqrs/api"
	"github.com/singletable/singletable/examples/cqrs/core"
	"github.com/singletable/singletable/examples/cqrs/files"
	"github.com/singletable/singletable/examples/cqrs/readmodel"
	"github.com/singletable/singletable/examples/cqrs/setup"
	"github.com/singletable/singletable/examples/internal/auth"
	"github.com/singletable/singletable/examples/internal/program"
	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/stream"
)

// develop serves the API with a local engine and its own token issuer, which trusts
// everybody. DATABASE_URL names the database of the read model, and a file that is gone
// afterwards is one by default.
func (a *app) develop(ctx context.Context, r program.Run) (err error) {
	database := os.Getenv(setup.DatabaseURL)
	if database == "" {
		dir, err := os.MkdirTemp("", "cqrs")
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
		database = filepath.Join(dir, "readmodel.db")
	}
	return r.Develop(ctx, r.Data, core.Schema(r.Table), func(client *dynamodb.Client) error {
		return a.serveLocally(ctx, r, client, database)
	})
}

func (a *app) serveLocally(ctx context.Context, r program.Run, client *dynamodb.Client, database string) (err error) {
	issuer, verifier, err := auth.NewLocal()
	if err != nil {
		return err
	}
	cursors, err := paginate.New([]paginate.Key{paginate.NewKey()}, nil)
	if err != nil {
		return err
	}
	service, err := setup.Service(client, r.Table, files.Directory(a.files), cursors)
	if err != nil {
		return err
	}
	db, err := readmodel.Connect(ctx, database)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	model, err := readmodel.Open(ctx, db, cursors)
	if err != nil {
		return err
	}
	// The database may hold what another table had, so it is rebuilt.
	if err := model.Rebuild(ctx, fmt.Sprint("p", time.Now().UnixNano()), service.Replay(ctx)); err != nil {
		return err
	}
	keys := func(context.Context) error { return nil }
	handler := api.New(service, model, keys, verifier, r.Log, &a.options).Handler(map[string]http.Handler{"GET /dev/token": issuer.Tokens()})
	reader := func(name string, router *stream.Router) (stream.Reader, error) {
		read := program.Reader(name, router, client, r.Log)
		// A killed process keeps the stream for half a minute. This one reads it from its
		// oldest change on, which has no effect where the handlers have been.
		return read, read.Forget(ctx)
	}
	return follow(ctx, service, model, reader, r.Log, func(ctx context.Context) error {
		return r.ServeLocally(ctx, handler, auth.Warning, welcome)
	})
}

// welcome is printed with the address of the server.
const welcome = `
A token for user ana of tenant ACME, who is an admin, and some requests:

  TOKEN=$(curl -s '%[1]s/dev/token?tenant=ACME&user=ana&group=admin')
  curl -s '%[1]s/records' -H "Authorization: Bearer $TOKEN" -H "Idempotency-Key: key-1" -d '{"type":"PRODUCT","path":["LAMP"],"name":"Desk lamp","attributes":{"price":40}}'
  curl -s '%[1]s/records' -H "Authorization: Bearer $TOKEN" -H "Idempotency-Key: key-2" -d '{"type":"PRODUCT","path":["LAMP"],"name":"Desk lamp","attributes":{"price":45},"version":1}'
  curl -s '%[1]s/record/version?type=PRODUCT&path=LAMP&version=1' -H "Authorization: Bearer $TOKEN"
  curl -s '%[1]s/orders' -H "Authorization: Bearer $TOKEN" -H "Idempotency-Key: key-3" -d '{"name":"A lamp","attributes":{"product":"LAMP"}}'
  curl -s '%[1]s/imports' -H "Authorization: Bearer $TOKEN" -d '{"id":"imp-1","rows":[{"type":"PRODUCT","path":["DESK"],"name":"Desk"}]}'
  curl -s '%[1]s/task?id=imp-1' -H "Authorization: Bearer $TOKEN"
  curl -s '%[1]s/catalogue' -H "Authorization: Bearer $TOKEN"
  curl -s '%[1]s/search?name=lamp' -H "Authorization: Bearer $TOKEN"
  curl -s '%[1]s/counts' -H "Authorization: Bearer $TOKEN"

`
