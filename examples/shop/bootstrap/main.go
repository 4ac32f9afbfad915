// Bootstrap is the program of the Lambda functions: the one that the function's handler
// setting names, which Lambda hands down in _HANDLER. api serves HTTP requests, audit and
// notify consume the table's stream.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/examples/internal/lambda"
	"github.com/singletable/singletable/examples/internal/secret"
	"github.com/singletable/singletable/examples/shop/setup"
	"github.com/singletable/singletable/examples/shop/store"
)

func main() { lambda.Main("shop", nil, load) }

// load returns the function that the environment names.
func load(ctx context.Context, log *slog.Logger) (any, error) {
	client, name, err := setup.Client(ctx, os.Getenv)
	if err != nil {
		return nil, err
	}
	switch handler := os.Getenv("_HANDLER"); handler {
	case "api":
		return serve(ctx, client, name, log)
	case "audit", "notify":
		shop, err := setup.Shop(client, name, nil, store.Rounds)
		if err != nil {
			return nil, err
		}
		router, err := setup.Router(handler, shop, log)
		return lambda.Stream(router, log), err
	default:
		return nil, fmt.Errorf("there is no handler %q: it is api, audit or notify", handler)
	}
}

// serve returns the function for the API, which alone reads the secret.
func serve(ctx context.Context, client *dynamodb.Client, name string, log *slog.Logger) (any, error) {
	secrets, err := setup.Secrets(ctx)
	if err != nil {
		return nil, err
	}
	send, err := setup.Mail(ctx, os.Getenv)
	if err != nil {
		return nil, err
	}
	handler, err := setup.Handler(ctx, client, name, secrets, os.Getenv(setup.KeySecret), send, secret.Options{Log: log})
	if err != nil {
		return nil, err
	}
	return lambda.New(handler), nil
}
