// Bootstrap is the program of the Lambda functions: the one that the function's handler
// setting names, which Lambda hands down in _HANDLER. api serves HTTP requests, audit and
// notify consume the table's stream.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"

	awslambda "github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/singletable/singletable/examples/internal/lambda"
	"github.com/singletable/singletable/examples/internal/secret"
	"github.com/singletable/singletable/examples/shop/setup"
	"github.com/singletable/singletable/examples/shop/store"
	"github.com/singletable/singletable/stream"
)

func main() {
	log := slog.New(slog.NewJSONHandler(os.Stdout, nil))
	ctx := context.Background()
	client, name, err := setup.Client(ctx, os.Getenv)
	var secrets *secretsmanager.Client
	if err == nil {
		secrets, err = setup.Secrets(ctx)
	}
	var function any
	if err == nil {
		function, err = load(ctx, client, name, secrets, os.Getenv, log)
	}
	if err != nil {
		log.Error("the function does not start", slog.Any("error", err))
		os.Exit(1)
	}
	awslambda.Start(function)
}

// load returns the function that the environment names, for aws-lambda-go. Only the API
// reads the secret.
func load(
	ctx context.Context, client *dynamodb.Client, name string, secrets *secretsmanager.Client,
	getenv func(string) string, log *slog.Logger,
) (any, error) {
	switch handler := getenv("_HANDLER"); handler {
	case "api":
		api, err := setup.Handler(ctx, client, name, secrets, getenv(setup.KeySecret), secret.Options{Log: log})
		if err != nil {
			return nil, err
		}
		return lambda.New(api), nil
	case "audit", "notify":
		shop, err := setup.Shop(client, name, nil, store.Rounds)
		if err != nil {
			return nil, err
		}
		router, err := shop.Auditor()
		if handler == "notify" {
			router, err = shop.Notifier(send(log))
		}
		return consume(router, log), err
	default:
		return nil, fmt.Errorf("there is no handler %q: it is api, audit or notify", handler)
	}
}

// send returns a function that sends a notification as a line of the log, which a
// subscription of the log group passes on. Call a mail service here instead.
func send(log *slog.Logger) store.Send {
	return func(ctx context.Context, key string, n store.LowStock) error {
		log.WarnContext(ctx, "low stock", slog.String("product", n.ProductID), slog.Int("left", n.Stock), slog.String("idempotencyKey", key))
		return nil
	}
}

// consume returns the function that gives records of the stream to a router. Lambda
// delivers those that were not handled again.
func consume(router *stream.Router, log *slog.Logger) func(context.Context, json.RawMessage) (stream.Response, error) {
	return func(ctx context.Context, event json.RawMessage) (stream.Response, error) {
		response, err := router.Handle(ctx, event)
		if response.Err != nil {
			log.ErrorContext(ctx, "stream", slog.Any("error", response.Err))
		}
		return response, err
	}
}
