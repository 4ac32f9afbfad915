// Package setup puts the application together, for the server and for the
// Lambda functions.
package setup

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/singletable/singletable/examples/appcore/api"
	"github.com/singletable/singletable/examples/appcore/core"
	"github.com/singletable/singletable/examples/internal/auth"
	"github.com/singletable/singletable/examples/internal/httpapi"
	"github.com/singletable/singletable/examples/internal/secret"
	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/table"
)

// Service returns the application on a table. The first of the keys seals
// cursors, all of them open; a service without keys is not for lists. What its
// requests cost is logged with the HTTP requests that they are for.
func Service(client table.Client, name string, keys ...paginate.Key) (*core.Service, error) {
	options := table.Options{Observe: httpapi.Observe}
	if len(keys) > 0 {
		codec, err := paginate.New(keys, nil)
		if err != nil {
			return nil, err
		}
		options.Cursors = codec
	}
	tbl, err := table.New(client, core.Schema(name), &options)
	if err != nil {
		return nil, err
	}
	return core.New(tbl)
}

// App is the application as it runs on AWS.
type App struct {
	API    *api.API
	Lists  api.Lists
	Client *dynamodb.Client
}

// Production returns the application as it runs on AWS. Everything comes from
// the environment; the error names what is missing there. No request is sent.
// Options may be nil.
func Production(
	ctx context.Context, tableName string, getenv func(string) string, log *slog.Logger, options *api.Options,
) (App, error) {
	pool, err := auth.ConfigFromEnv(getenv)
	if err != nil {
		return App{}, fmt.Errorf("without a user pool there is nobody to trust: %w", err)
	}
	pool.Log = log
	verifier, err := auth.NewCognito(pool)
	if err != nil {
		return App{}, err
	}
	keysSecret := getenv(CursorKeysSecret)
	if keysSecret == "" {
		return App{}, fmt.Errorf("without a secret there are no cursor keys: not set: %s", CursorKeysSecret)
	}
	aws, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return App{}, err
	}
	client := dynamodb.NewFromConfig(aws)
	service, err := Service(client, tableName)
	if err != nil {
		return App{}, err
	}
	lists := Lists(secretsmanager.NewFromConfig(aws), keysSecret, func(keys []paginate.Key) (*core.Service, error) {
		return Service(client, tableName, keys...)
	}, &secret.Options{Log: log})
	return App{API: api.New(service, lists, verifier, log, options), Lists: lists, Client: client}, nil
}
