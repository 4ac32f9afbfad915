// Package setup puts the shop together, for the server and for the Lambda functions.
package setup

import (
	"context"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
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

// KeyVariable names the environment variable with the keys of the server, see [ParseKeys].
const KeyVariable = "SHOP_KEY"

// Keys are the keys of a shop. Those of sessions and of cursors are derived from them. The
// first one signs and seals, all of them are accepted.
type Keys [][]byte

// ParseKeys reads keys, with commas between. Each is the standard base64 of 32 random bytes
// or more, as openssl rand -base64 32 prints it. Its errors never quote the text.
func ParseKeys(text string) (Keys, error) {
	var keys Keys
	for part := range strings.SplitSeq(text, ",") {
		key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(part))
		if err != nil || len(key) < session.MinKey {
			return nil, fmt.Errorf("a key has to be the base64 of %d random bytes, as openssl rand -base64 32 prints it", session.MinKey)
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// Shop returns the shop on a table. What its requests cost is logged with the HTTP
// requests that they are for. keys seal cursors; nil draws one for the process.
func Shop(client table.Client, name string, keys Keys, rounds int) (*store.Shop, error) {
	options := table.Options{Observe: httpapi.Observe}
	if keys != nil {
		secrets, err := keys.derived("cursors")
		if err != nil {
			return nil, err
		}
		var texts []string
		for _, secret := range secrets {
			texts = append(texts, base64.StdEncoding.EncodeToString(secret))
		}
		ring, err := paginate.ParseKeys(strings.Join(texts, ","))
		if err != nil {
			return nil, err
		}
		if options.Cursors, err = paginate.New(ring, nil); err != nil {
			return nil, err
		}
	}
	tbl, err := table.NewWithClient(client, store.Schema(name), &options)
	if err != nil {
		return nil, err
	}
	return store.New(tbl, rounds)
}

// MailTime is how long a request takes that may mail a code: longer than a hash, a few
// requests to DynamoDB, and one to Amazon SES.
const MailTime = 2 * time.Second

// API returns the API of a shop whose tokens are signed with keys made of keys.
func API(shop *store.Shop, keys Keys, options api.Options) (*api.API, error) {
	secrets, err := keys.derived("sessions")
	if err != nil {
		return nil, err
	}
	sessions, err := session.New(secrets, time.Now)
	if err != nil {
		return nil, err
	}
	return api.New(shop, sessions, options), nil
}

// derived returns the keys for one purpose, from which no other ones follow.
func (keys Keys) derived(purpose string) ([][]byte, error) {
	secrets := make([][]byte, len(keys))
	for i, key := range keys {
		var err error
		if secrets[i], err = hkdf.Key(sha256.New, key, nil, "shop: "+purpose, session.MinKey); err != nil {
			return nil, err
		}
	}
	return secrets, nil
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
