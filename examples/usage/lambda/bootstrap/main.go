// Bootstrap is the program of the Lambda functions: the one that the function's
// handler setting names, count or query, which Lambda hands down in _HANDLER.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	awslambda "github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/examples/usage/lambda"
	"github.com/singletable/singletable/examples/usage/metering"
	"github.com/singletable/singletable/table"
)

func main() {
	log := slog.New(slog.NewJSONHandler(os.Stdout, nil))
	function, err := load(context.Background(), os.Getenv, log)
	if err != nil {
		log.Error("the function does not start", slog.Any("error", err))
		os.Exit(1)
	}
	awslambda.Start(function)
}

// load returns the function that the environment names. It compares the table
// with the schema first: a consumer on the wrong table would find fault with
// every message and drop them all.
func load(ctx context.Context, getenv func(string) string, log *slog.Logger) (any, error) {
	name := getenv("TABLE_NAME")
	if name == "" {
		return nil, errors.New("TABLE_NAME is not set")
	}
	configuration, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, err
	}
	client := dynamodb.NewFromConfig(configuration)
	return open(ctx, client, name, getenv("_HANDLER"), log)
}

func open(ctx context.Context, client *dynamodb.Client, name, handler string, log *slog.Logger) (any, error) {
	schema := metering.Schema(name)
	if err := schema.Verify(ctx, client); err != nil {
		return nil, err
	}
	tbl, err := table.New(client, schema, nil)
	if err != nil {
		return nil, err
	}
	switch handler {
	case "count":
		consumer, err := metering.NewConsumer(tbl)
		if err != nil {
			return nil, err
		}
		return lambda.NewConsumer(consumer, log).Invoke, nil
	case "query":
		return lambda.NewReader(metering.NewReader(tbl)).Invoke, nil
	}
	return nil, fmt.Errorf("there is no handler %q: it is count or query", handler)
}
