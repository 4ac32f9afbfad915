package main

import (
	"context"
	"crypto/rand"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/examples/internal/program"
	"github.com/singletable/singletable/examples/shop/api"
	"github.com/singletable/singletable/examples/shop/demo"
	"github.com/singletable/singletable/examples/shop/mail"
	"github.com/singletable/singletable/examples/shop/session"
	"github.com/singletable/singletable/examples/shop/setup"
	"github.com/singletable/singletable/examples/shop/store"
)

// develop serves the shop with a local engine and sample data, whose password everybody
// knows.
func develop(ctx context.Context, r program.Run) error {
	return r.Develop(ctx, r.Data, store.Schema(r.Table), func(client *dynamodb.Client) error {
		key := make([]byte, session.MinKey)
		_, _ = rand.Read(key) // it never fails
		keys := setup.Keys{key}
		shop, err := setup.Shop(client, r.Table, keys, demo.Rounds)
		if err != nil {
			return err
		}
		if err := demo.Seed(ctx, shop); err != nil {
			return err
		}
		if _, err := shop.SetRole(ctx, demo.Shopkeeper, demo.Users[0].Email, store.Admin); err != nil {
			return err
		}
		api, err := setup.API(shop, keys, api.Options{Mail: mail.Print(r.Stdout), Log: r.Log})
		if err != nil {
			return err
		}
		return withConsumers(ctx, shop, client, r.Log, func(ctx context.Context) error {
			return r.ServeLocally(ctx, api.Handler(), "the users' password is public",
				welcome, demo.Users[0].Email, demo.Users[1].Email, demo.Password)
		})
	})
}

// welcome is what to try.
const welcome = `Open it in a browser and log in as %[3]s, or as the admin %[2]s. The password is: %[4]s

  TOKEN=$(curl -s '%[1]s/sessions' -d '{"email":"%[2]s","password":"%[4]s"}' | grep -o '"token":"[^"]*' | cut -d '"' -f 4)
  curl -s '%[1]s/admin/products' -H "Authorization: Bearer $TOKEN"
  curl -s '%[1]s/admin/low-stock' -H "Authorization: Bearer $TOKEN"

The mails of the shop are printed below.
`
