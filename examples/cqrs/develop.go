package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/examples/cqrs/api"
	"github.com/singletable/singletable/examples/cqrs/core"
	"github.com/singletable/singletable/examples/cqrs/readmodel"
	"github.com/singletable/singletable/examples/internal/auth"
	"github.com/singletable/singletable/examples/internal/httpapi"
	"github.com/singletable/singletable/examples/internal/program"
	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/stream"
	"github.com/singletable/singletable/table"
)

// develop serves the API with a local engine and its own token issuer, which trusts
// everybody. DATABASE_URL names the database of the read model, and a file that is gone
// afterwards is one by default.
func develop(ctx context.Context, r program.Run) (err error) {
	issuer, verifier, err := auth.NewLocal()
	if err != nil {
		return err
	}
	database := os.Getenv("DATABASE_URL")
	if database == "" {
		dir, err := os.MkdirTemp("", "cqrs")
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
		database = filepath.Join(dir, "readmodel.db")
	}
	return r.Develop(ctx, r.Data, core.Schema(r.Table), func(client *dynamodb.Client) error {
		return serve(ctx, r, client, database, issuer, verifier)
	})
}

func serve(ctx context.Context, r program.Run, client *dynamodb.Client, database string, issuer *auth.Issuer, verifier *auth.Verifier) (err error) {
	cursors, err := paginate.New([]paginate.Key{paginate.NewKey()}, nil)
	if err != nil {
		return err
	}
	tbl, err := table.New(client, core.Schema(r.Table), &table.Options{Cursors: cursors, Observe: httpapi.Observe})
	if err != nil {
		return err
	}
	service, err := core.New(tbl, nil)
	if err != nil {
		return err
	}
	db, err := readmodel.Connect(ctx, database)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	model, err := readmodel.Open(ctx, db)
	if err != nil {
		return err
	}
	handlers, err := service.Router()
	if err != nil {
		return err
	}
	versions, err := stream.New(tbl, nil, service.OnVersion(model.Apply), stream.IgnoreOther())
	if err != nil {
		return err
	}
	handler := api.New(service, model, verifier, r.Log).Handler(map[string]http.Handler{"GET /dev/token": issuer.Tokens()})
	listen := func(ctx context.Context) error {
		// The database may hold what another table had, so it is rebuilt.
		if err := model.Rebuild(ctx, fmt.Sprint("p", time.Now().UnixNano()), service.Replay(ctx)); err != nil {
			return err
		}
		var tasks sync.WaitGroup
		defer tasks.Wait()
		tasks.Go(func() {
			resumed, err := service.Resume(ctx)
			r.Log.Info("tasks resumed", slog.Int("tasks", resumed), slog.Any("error", err))
		})
		return r.ServeLocally(ctx, handler, auth.Warning, welcome)
	}
	return program.WithReader(ctx, program.Reader("cqrs", handlers, client, r.Log).Run, func(ctx context.Context) error {
		return program.WithReader(ctx, program.Reader("readmodel", versions, client, r.Log).Run, listen)
	})
}

// welcome is printed with the address of the server.
const welcome = `
A token for user ana of tenant ACME, and some requests:

  TOKEN=$(curl -s '%[1]s/dev/token?tenant=ACME&user=ana')
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
