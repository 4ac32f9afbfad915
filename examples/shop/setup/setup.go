// Package setup puts the shop together, for the server and for the Lambda functions.
package setup

import (
	"context"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/examples/internal/httpapi"
	"github.com/singletable/singletable/examples/shop/api"
	"github.com/singletable/singletable/examples/shop/session"
	"github.com/singletable/singletable/examples/shop/store"
	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/table"
)

// KeyVariable names the environment variable with the secret of the shop: the standard
// base64 of 32 random bytes or more, as openssl rand -base64 32 prints it.
const KeyVariable = "SHOP_KEY"

// Key returns the secret of the shop from the environment. Its errors never quote it.
func Key(getenv func(string) string) ([]byte, error) {
	key, err := base64.StdEncoding.DecodeString(getenv(KeyVariable))
	if err != nil || len(key) < session.MinKey {
		return nil, fmt.Errorf("%s has to be the base64 of %d random bytes, as openssl rand -base64 32 prints it", KeyVariable, session.MinKey)
	}
	return key, nil
}

// Shop returns the shop on a table. What its requests cost is logged with the HTTP
// requests that they are for. key seals cursors; nil draws one for the process.
func Shop(client table.Client, name string, key []byte, rounds int) (*store.Shop, error) {
	options := table.Options{Observe: httpapi.Observe}
	if key != nil {
		secret, err := derived(key, "cursors")
		if err != nil {
			return nil, err
		}
		ring, err := paginate.ParseKeys(base64.StdEncoding.EncodeToString(secret))
		if err != nil {
			return nil, err
		}
		if options.Cursors, err = paginate.New(ring, nil); err != nil {
			return nil, err
		}
	}
	tbl, err := table.New(client, store.Schema(name), &options)
	if err != nil {
		return nil, err
	}
	return store.New(tbl, rounds)
}

// API returns the API of a shop whose tokens are signed with a key made of key.
func API(shop *store.Shop, key []byte, log *slog.Logger) (*api.API, error) {
	secret, err := derived(key, "sessions")
	if err != nil {
		return nil, err
	}
	sessions, err := session.New(secret, time.Now)
	if err != nil {
		return nil, err
	}
	return api.New(shop, sessions, log), nil
}

// derived returns a key for one purpose, from which no other one follows.
func derived(key []byte, purpose string) ([]byte, error) {
	return hkdf.Key(sha256.New, key, nil, "shop: "+purpose, session.MinKey)
}

// Client returns a client of DynamoDB on AWS, by the settings of the environment, and
// the name of the table. No request is sent.
func Client(ctx context.Context, getenv func(string) string) (client *dynamodb.Client, name string, err error) {
	if name = getenv("TABLE_NAME"); name == "" {
		return nil, "", errors.New("TABLE_NAME is not set")
	}
	aws, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, "", err
	}
	return dynamodb.NewFromConfig(aws), name, nil
}
