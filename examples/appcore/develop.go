package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"

	"github.com/singletable/singletable/examples/appcore/api"
	"github.com/singletable/singletable/examples/appcore/auth"
	"github.com/singletable/singletable/examples/appcore/core"
	"github.com/singletable/singletable/examples/appcore/setup"
	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/table/tabletest"
)

// develop serves the API with a local engine and a token issuer of its own.
func develop(ctx context.Context, o options, stdout io.Writer, log *slog.Logger) (err error) {
	cursorKeys := []paginate.Key{paginate.NewKey()}
	if text := os.Getenv(setup.CursorKeys); text != "" {
		if cursorKeys, err = paginate.ParseKeys(text); err != nil {
			return fmt.Errorf("%s: %w", setup.CursorKeys, err)
		}
	}
	issuer, err := auth.NewIssuer(nil)
	if err != nil {
		return err
	}
	verifier, err := auth.NewCognito(issuer.Config())
	if err != nil {
		return err
	}
	engine, err := tabletest.Start(ctx, &tabletest.Options{Path: o.data})
	if err != nil {
		return err
	}
	defer func() {
		if closed := engine.Close(); err == nil {
			err = closed
		}
	}()
	client := engine.Client()
	if err := core.Schema(o.table).Ensure(ctx, client); err != nil {
		return err
	}
	service, err := setup.Service(client, o.table, cursorKeys)
	if err != nil {
		return err
	}
	if o.demo {
		if err := service.Demo(ctx); err != nil {
			return err
		}
	}
	mux := http.NewServeMux()
	mux.Handle("/", api.New(service, verifier, log).Handler())
	mux.Handle("GET /.well-known/jwks.json", issuer)
	mux.HandleFunc("GET /dev/token", func(w http.ResponseWriter, r *http.Request) {
		token, err := issuer.Token(r.URL.Query().Get("user"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		fmt.Fprintln(w, token)
	})
	return serve(ctx, o.addr, mux, log, func(url string) {
		fmt.Fprintf(stdout, "listening on %s\n", url)
		fmt.Fprintf(stdout, welcome, url, core.DemoUsers[0])
	})
}

// welcome is printed with the address of the server and a user.
const welcome = `
A token for user %[2]s, and a request to each endpoint:

  TOKEN=$(curl -s '%[1]s/dev/token?user=%[2]s')
  curl -i '%[1]s/transactions' -H "Authorization: Bearer $TOKEN" -H "Idempotency-Key: key-$RANDOM" -d '{"amount":500,"currency":"ARS"}'
  curl -s '%[1]s/transactions?limit=5' -H "Authorization: Bearer $TOKEN"
  ID=$(curl -s '%[1]s/transactions?limit=1' -H "Authorization: Bearer $TOKEN" | grep -o 'tx-[a-z0-9]*')
  curl -s "%[1]s/transactions/$ID" -H "Authorization: Bearer $TOKEN"
  curl -s '%[1]s/transactions/global' -H "Authorization: Bearer $TOKEN"
  curl -s '%[1]s/notifications' -H "Authorization: Bearer $TOKEN"

`
