package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/singletable/singletable/examples/internal/httpapi"
	"github.com/singletable/singletable/examples/shop/demo"
	"github.com/singletable/singletable/examples/shop/session"
	"github.com/singletable/singletable/examples/shop/setup"
	"github.com/singletable/singletable/examples/shop/store"
	"github.com/singletable/singletable/table/tabletest"
)

// develop serves the shop with a local engine and sample data, whose password everybody
// knows. So only this machine may reach it, and it reaches only this machine.
func develop(ctx context.Context, o options, stdout io.Writer, log *slog.Logger) (err error) {
	if err := httpapi.CheckLocal(o.addr, os.Getenv(tabletest.EndpointVariable)); err != nil {
		return err
	}
	engine, err := tabletest.Start(ctx, nil)
	if err != nil {
		return err
	}
	defer func() {
		if closed := engine.Close(); err == nil {
			err = closed
		}
	}()
	if err := store.Schema(o.table).Ensure(ctx, engine.Client()); err != nil {
		return err
	}
	key := make([]byte, session.MinKey)
	_, _ = rand.Read(key) // it never fails
	shop, err := setup.Shop(engine.Client(), o.table, key, demo.Rounds)
	if err != nil {
		return err
	}
	if err := demo.Seed(ctx, shop); err != nil {
		return err
	}
	if _, err := shop.SetRole(ctx, demo.Shopkeeper, demo.Users[0].Email, store.Admin); err != nil {
		return err
	}
	api, err := setup.API(shop, key, log)
	if err != nil {
		return err
	}
	return httpapi.Serve(ctx, o.addr, httpapi.Local(api.Handler()), log, func(url string) {
		log.Warn("DEVELOPMENT SERVER: the users' password is public")
		fmt.Fprintf(stdout, welcome, url, demo.Users[0].Email, demo.Users[1].Email, demo.Password)
	})
}

// welcome is what to try.
const welcome = `listening on %[1]s
Open it in a browser and log in as %[3]s, or as the admin %[2]s. The password is: %[4]s

  TOKEN=$(curl -s '%[1]s/sessions' -d '{"email":"%[2]s","password":"%[4]s"}' | grep -o '"token":"[^"]*' | cut -d '"' -f 4)
  curl -s '%[1]s/admin/products' -H "Authorization: Bearer $TOKEN"
`
