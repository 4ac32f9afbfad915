// Package setup puts the system together as it runs on AWS, for the server and for the
// Lambda functions.
package setup

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/singletable/singletable/examples/cqrs/api"
	"github.com/singletable/singletable/examples/cqrs/core"
	"github.com/singletable/singletable/examples/cqrs/files"
	"github.com/singletable/singletable/examples/cqrs/readmodel"
	"github.com/singletable/singletable/examples/internal/auth"
	"github.com/singletable/singletable/examples/internal/httpapi"
	"github.com/singletable/singletable/examples/internal/secret"
	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/table"
)

// The environment variables of a service, besides those of its user pool: see
// [auth.ConfigFromEnv].
const (
	// CursorKeysSecret is the ARN or name of the secret with the cursor keys: one or more
	// made by openssl rand -base64 32, with commas between. The first one seals, all open.
	CursorKeysSecret = "CURSOR_KEYS_SECRET"
	// DatabaseSecret is the ARN or name of the secret with the PostgreSQL database of the
	// read model: see [readmodel.ParseSecret].
	DatabaseSecret = "DATABASE_SECRET"
	// DatabaseURL names the database itself: see [readmodel.Connect]. It comes before
	// DatabaseSecret.
	DatabaseURL = "DATABASE_URL"
	// ImportBucket is the bucket that imports are read from. Without it there are no files.
	ImportBucket = "IMPORT_BUCKET"
)

// Service returns a service on a table. Cursors seals the cursors of its lists. What its
// requests cost is logged with the HTTP requests that they are for.
func Service(client table.Client, name string, files core.Files, cursors *paginate.Codec) (*core.Service, error) {
	tbl, err := table.NewWithClient(client, core.Schema(name), &table.Options{Cursors: cursors, Observe: httpapi.Observe})
	if err != nil {
		return nil, err
	}
	return core.New(tbl, &core.Options{Files: files})
}

// App is the system in the environment's AWS account. Its methods open the parts, and read
// no more of the environment than they need.
type App struct {
	AWS     aws.Config
	Client  *dynamodb.Client
	Service *core.Service

	cursors *paginate.Codec
	secrets *secretsmanager.Client
	getenv  func(string) string
	log     *slog.Logger
}

// Open returns the system on a table. No request is sent.
func Open(ctx context.Context, name string, getenv func(string) string, log *slog.Logger) (*App, error) {
	sdk, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, err
	}
	// Until API sets others.
	cursors, err := paginate.New([]paginate.Key{paginate.NewKey()}, nil)
	if err != nil {
		return nil, err
	}
	var bucket core.Files
	if name := getenv(ImportBucket); name != "" {
		bucket = files.Open(sdk, name)
	}
	client := dynamodb.NewFromConfig(sdk)
	service, err := Service(client, name, bucket, cursors)
	return &App{
		AWS: sdk, Client: client, Service: service,
		cursors: cursors, secrets: secretsmanager.NewFromConfig(sdk), getenv: getenv, log: log,
	}, err
}

// Model opens the read model and its database.
func (a *App) Model(ctx context.Context) (*readmodel.Model, *sql.DB, error) {
	db, err := a.database(ctx)
	if err != nil {
		return nil, nil, err
	}
	model, err := readmodel.Open(ctx, db, a.cursors)
	return model, db, err
}

func (a *App) database(ctx context.Context) (*sql.DB, error) {
	name, id := a.getenv(DatabaseURL), a.getenv(DatabaseSecret)
	switch {
	case name != "":
		return readmodel.Connect(ctx, name)
	case id == "":
		return nil, fmt.Errorf("without a database there is no read model: not set: %s", DatabaseSecret)
	}
	url := secret.Keep(a.secrets, id, readmodel.ParseSecret, &secret.Options{Log: a.log})
	return readmodel.ConnectPostgres(ctx, url.Get)
}

// API returns the API with a read model, which may be nil, and what keeps its cursor keys
// current. Options may be nil.
func (a *App) API(model *readmodel.Model, options *api.Options) (*api.API, api.CursorKeys, error) {
	pool, err := auth.ConfigFromEnv(a.getenv)
	if err != nil {
		return nil, nil, fmt.Errorf("without a user pool there is nobody to trust: %w", err)
	}
	pool.Log = a.log
	verifier, err := auth.NewCognito(pool)
	if err != nil {
		return nil, nil, err
	}
	id := a.getenv(CursorKeysSecret)
	if id == "" {
		return nil, nil, fmt.Errorf("without a secret there are no cursor keys: not set: %s", CursorKeysSecret)
	}
	current := secret.Keep(a.secrets, id, func(text string) (struct{}, error) {
		keys, err := paginate.ParseKeys(text)
		if err != nil {
			return struct{}{}, err
		}
		return struct{}{}, a.cursors.SetKeys(keys)
	}, &secret.Options{Log: a.log})
	keys := func(ctx context.Context) error {
		_, err := current.Get(ctx)
		return err
	}
	return api.New(a.Service, model, keys, verifier, a.log, options), keys, nil
}
