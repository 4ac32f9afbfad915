package main

import (
	"context"
	"errors"
	"fmt"
	"io"
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
// everybody.
func develop(ctx context.Context, o options, stdout io.Writer, log *slog.Logger) (err error) {
	issuer, verifier, err := auth.NewLocal()
	if err != nil {
		return err
	}
	if o.database == "" {
		dir, err := os.MkdirTemp("", "cqrs")
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
		o.database = filepath.Join(dir, "readmodel.db")
	}
	return o.Develop(ctx, o.data, core.Schema(o.Table), func(client *dynamodb.Client) error {
		return serve(ctx, o, client, issuer, verifier, stdout, log)
	})
}

func serve(ctx context.Context, o options, client *dynamodb.Client, issuer *auth.Issuer, verifier *auth.Verifier, stdout io.Writer, log *slog.Logger) (err error) {
	cursors, err := paginate.New([]paginate.Key{paginate.NewKey()}, nil)
	if err != nil {
		return err
	}
	tbl, err := table.New(client, core.Schema(o.Table), &table.Options{Cursors: cursors, Observe: httpapi.Observe})
	if err != nil {
		return err
	}
	service, err := core.New(tbl, nil)
	if err != nil {
		return err
	}
	db, err := readmodel.Connect(ctx, o.database)
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
	handler := api.New(service, model, verifier, log).Handler(map[string]http.Handler{"GET /dev/token": issuer.Tokens()})
	listen := func(ctx context.Context) error {
		// The database may hold what another table had, so it is rebuilt.
		if err := model.Rebuild(ctx, fmt.Sprint("p", time.Now().UnixNano()), service.Replay(ctx)); err != nil {
			return err
		}
		var tasks sync.WaitGroup
		defer tasks.Wait()
		tasks.Go(func() {
			resumed, err := service.Resume(ctx)
			log.Info("tasks resumed", slog.Int("tasks", resumed), slog.Any("error", err))
		})
		return o.ServeLocally(ctx, handler, stdout, log, auth.Warning, welcome)
	}
	return program.WithReader(ctx, program.Reader("cqrs", handlers, client, log).Run, func(ctx context.Context) error {
		return program.WithReader(ctx, program.Reader("readmodel", versions, client, log).Run, listen)
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
