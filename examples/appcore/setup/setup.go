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

// Service returns the application on a table, and what seals its cursors: with a key of
// its own, until [CursorKeys] sets others. What its requests cost is logged with the HTTP
// requests that they are for.
func Service(client table.Client, name string) (*core.Service, *paginate.Codec, error) {
	codec, err := paginate.New([]paginate.Key{paginate.NewKey()}, nil)
	if err != nil {
		return nil, nil, err
	}
	tbl, err := table.NewWithClient(client, core.Schema(name), &table.Options{Observe: httpapi.Observe, Cursors: codec})
	if err != nil {
		return nil, nil, err
	}
	// For a table in which a program of the source design has created transactions:
	// &core.Options{Former: core.Former}
	service, err := core.New(tbl, nil)
	return service, codec, err
}

// App is the application as it runs on AWS.
type App struct {
	API *api.API
	// Keys are those of its cursors.
	Keys   api.CursorKeys
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
	service, codec, err := Service(client, tableName)
	if err != nil {
		return App{}, err
	}
	keys := CursorKeys(secretsmanager.NewFromConfig(aws), keysSecret, codec, &secret.Options{Log: log})
	return App{API: api.New(service, keys, verifier, log, options), Keys: keys, Client: client}, nil
}
