package main

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/examples/blog/api"
	"github.com/singletable/singletable/examples/blog/store"
	"github.com/singletable/singletable/examples/internal/auth"
	"github.com/singletable/singletable/examples/internal/httpapi"
	"github.com/singletable/singletable/examples/internal/program"
	"github.com/singletable/singletable/table"
)

// develop serves the API with a local engine, a directory for objects, the consumer of
// the stream, and its own token issuer, which trusts everybody.
func develop(ctx context.Context, r program.Run) (err error) {
	issuer, verifier, err := auth.NewLocal()
	if err != nil {
		return err
	}
	file := ""
	if r.Data == "" {
		if r.Data, err = os.MkdirTemp("", "blog-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(r.Data)) }()
	} else {
		if err := os.MkdirAll(r.Data, 0o700); err != nil {
			return err
		}
		file = filepath.Join(r.Data, "table.db")
	}
	objects, err := store.OpenDirectory(filepath.Join(r.Data, "objects"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, objects.Close()) }()
	return r.Develop(ctx, file, store.Schema(r.Table), func(client *dynamodb.Client) error {
		tbl, err := table.New(client, store.Schema(r.Table), &table.Options{Observe: httpapi.Observe})
		if err != nil {
			return err
		}
		s, err := store.New(tbl, objects)
		if err != nil {
			return err
		}
		a := &api.API{Store: s, Auth: verifier, Log: r.Log}
		handler := a.Handler(map[string]http.Handler{"GET /dev/token": issuer.Tokens()})
		router, err := s.Router()
		if err != nil {
			return err
		}
		return withBackground(ctx, s, program.Reader("blog", router, client, r.Log), r.Log, func(ctx context.Context) error {
			return r.ServeLocally(ctx, handler, auth.Warning, welcome)
		})
	})
}

// welcome is printed with the address of the server.
const welcome = `
A token for user ana, and some requests:

  TOKEN=$(curl -s '%[1]s/dev/token?user=ana')
  curl -s -X PUT '%[1]s/me' -H "Authorization: Bearer $TOKEN" -d '{"email":"ana@example.com","name":"Ana"}'
  POST=$(curl -s '%[1]s/posts' -H "Authorization: Bearer $TOKEN" -H "Idempotency-Key: post-$RANDOM" -d '{"title":"A day","content":"Rain."}' | cut -d'"' -f4)
  head -c 200000 /dev/zero | tr '\0' x | curl -s -X PUT "%[1]s/posts/$POST/content" -H "Authorization: Bearer $TOKEN" --data-binary @-
  curl -s -X PUT "%[1]s/posts/$POST/publication" -H "Authorization: Bearer $TOKEN"
  curl -s "%[1]s/posts/$POST/comments" -H "Authorization: Bearer $TOKEN" -H "Idempotency-Key: comment-$RANDOM" -d '{"text":"First!"}'
  curl -s "%[1]s/posts/$POST/comments" -H "Authorization: Bearer $TOKEN"
  GROUP=$(curl -s '%[1]s/groups' -H "Authorization: Bearer $TOKEN" -H "Idempotency-Key: group-$RANDOM" -d '{"name":"Cooks","description":"What we eat"}' | cut -d'"' -f4)
  curl -s "%[1]s/groups/$GROUP" -H "Authorization: Bearer $TOKEN"
  curl -s "%[1]s/groups/$GROUP/members" -H "Authorization: Bearer $TOKEN"
  echo soup | curl -s -X PUT '%[1]s/files/recipe.txt' -H "Authorization: Bearer $TOKEN" --data-binary @-
  curl -s '%[1]s/files?by=size' -H "Authorization: Bearer $TOKEN"

`
