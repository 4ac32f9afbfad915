// Package setup puts the application together, for the server and for the
// Lambda functions.
package setup

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/examples/appcore/api"
	"github.com/singletable/singletable/examples/appcore/auth"
	"github.com/singletable/singletable/examples/appcore/core"
	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/table"
)

// CursorKeys is the environment variable with the keys of page tokens: one or
// more made by openssl rand -base64 32, with commas between. The first one
// seals, all of them open.
const CursorKeys = "CURSOR_KEYS"

// Service returns the application on a table. What its requests cost is logged
// with the HTTP requests that they are for.
func Service(client table.Client, name string, cursorKeys []paginate.Key) (*core.Service, error) {
	codec, err := paginate.New(cursorKeys, nil)
	if err != nil {
		return nil, err
	}
	tbl, err := table.New(client, core.Schema(name), &table.Options{Cursors: codec, Observe: api.Observe})
	if err != nil {
		return nil, err
	}
	return core.New(tbl)
}

// Production returns the API as it runs on AWS, and the client that it uses.
// Everything comes from the environment; what is missing there is an error.
func Production(ctx context.Context, tableName string, getenv func(string) string, log *slog.Logger) (*api.API, *dynamodb.Client, error) {
	pool, err := auth.ConfigFromEnv(getenv)
	if err != nil {
		return nil, nil, fmt.Errorf("without a user pool there is nobody to trust: %w", err)
	}
	verifier, err := auth.NewCognito(pool)
	if err != nil {
		return nil, nil, err
	}
	cursorKeys, err := paginate.ParseKeys(getenv(CursorKeys))
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", CursorKeys, err)
	}
	aws, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, nil, err
	}
	client := dynamodb.NewFromConfig(aws)
	service, err := Service(client, tableName, cursorKeys)
	if err != nil {
		return nil, nil, err
	}
	return api.New(service, verifier, log), client, nil
}
