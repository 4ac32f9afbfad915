package main

import (
	"context"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/examples/appcore/api"
	"github.com/singletable/singletable/examples/appcore/core"
	"github.com/singletable/singletable/examples/appcore/setup"
	"github.com/singletable/singletable/examples/internal/auth"
	"github.com/singletable/singletable/examples/internal/program"
)

// develop serves the API with a local engine and its own token issuer, which
// trusts everybody.
func (a *app) develop(ctx context.Context, r program.Run) error {
	options, err := a.options()
	if err != nil {
		return err
	}
	issuer, verifier, err := auth.NewLocal()
	if err != nil {
		return err
	}
	return r.Develop(ctx, r.Data, core.Schema(r.Table), func(client *dynamodb.Client) error {
		service, _, err := setup.Service(client, r.Table)
		if err != nil {
			return err
		}
		if a.demo {
			if err := service.Demo(ctx); err != nil {
				return err
			}
		}
		keys := func(context.Context) error { return nil }
		handler := api.New(service, keys, verifier, r.Log, options).Handler(map[string]http.Handler{
			"GET /.well-known/jwks.json": issuer,
			"GET /dev/token":             issuer.Tokens(),
		})
		return r.ServeLocally(ctx, a.forPages(handler), auth.Warning, welcome, core.DemoUsers[0])
	})
}

// welcome is printed with the address of the server and a user.
const welcome = `
Tokens for user %[2]s and for the back office, and a request to each endpoint:

  TOKEN=$(curl -s '%[1]s/dev/token?user=%[2]s')
  STAFF=$(curl -s '%[1]s/dev/token?user=u-staff&group=backoffice')
  curl -i '%[1]s/backoffice/users' -H "Authorization: Bearer $STAFF" -d '{"userId":"u-789","email":"carla@example.com","name":"Carla"}'
  curl -s '%[1]s/backoffice/users/u-789' -H "Authorization: Bearer $STAFF"
  curl -s -X PATCH '%[1]s/backoffice/users/u-789' -H "Authorization: Bearer $STAFF" -d '{"email":"carla@example.org"}'
  curl -i '%[1]s/transactions' -H "Authorization: Bearer $TOKEN" -H "Idempotency-Key: key-$RANDOM" -d '{"amount":500,"currency":"ARS"}'
  curl -s '%[1]s/transactions?limit=5' -H "Authorization: Bearer $TOKEN"
  ID=$(curl -s '%[1]s/transactions?limit=1' -H "Authorization: Bearer $TOKEN" | grep -o 'tx-[a-z0-9]*')
  curl -s "%[1]s/transactions/$ID" -H "Authorization: Bearer $TOKEN"
  curl -s -X PATCH "%[1]s/transactions/$ID" -H "Authorization: Bearer $TOKEN" -H "If-Match: *" -d '{"note":"paid in cash"}'
  curl -s -X POST "%[1]s/backoffice/transactions/$ID/approve" -H "Authorization: Bearer $STAFF"
  curl -s '%[1]s/transactions/global' -H "Authorization: Bearer $STAFF"
  NOTIF=$(curl -s '%[1]s/notifications?limit=1' -H "Authorization: Bearer $TOKEN" | grep -o '[0-9TZ:.-]*~notif-[a-z0-9]*')
  curl -s -X PATCH "%[1]s/notifications/$NOTIF" -H "Authorization: Bearer $TOKEN" -d '{"read":true}'
  curl -s '%[1]s/notifications' -H "Authorization: Bearer $TOKEN"

`
