// Package setup puts the blog together as it runs on AWS, for the server and for the
// Lambda functions. What it needs comes from the environment.
package setup

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/singletable/singletable/examples/blog/api"
	"github.com/singletable/singletable/examples/blog/bucket"
	"github.com/singletable/singletable/examples/blog/store"
	"github.com/singletable/singletable/examples/internal/auth"
	"github.com/singletable/singletable/examples/internal/httpapi"
	"github.com/singletable/singletable/examples/internal/secret"
	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/stream"
	"github.com/singletable/singletable/table"
)

// The environment variables that are read, besides those of the AWS SDK and of
// [auth.ConfigFromEnv].
const (
	// BucketName is the name of the bucket.
	BucketName = "BUCKET_NAME"
	// CursorKeysSecret is the ARN or name of the secret in AWS Secrets Manager that holds
	// the cursor keys: one or more made by openssl rand -base64 32, with commas between.
	// The first one seals, all of them open.
	CursorKeysSecret = "CURSOR_KEYS_SECRET"
)

// Blog is a blog on AWS.
type Blog struct {
	Store  *store.Store
	Client *dynamodb.Client

	aws    aws.Config
	codec  *paginate.Codec
	getenv func(string) string
}

// Open returns the blog in a table. No request is sent.
func Open(ctx context.Context, tableName string, getenv func(string) string) (*Blog, error) {
	name := getenv(BucketName)
	if name == "" {
		return nil, errors.New("without a bucket there is no place for large content: not set: " + BucketName)
	}
	b := &Blog{getenv: getenv}
	var err error
	if b.aws, err = config.LoadDefaultConfig(ctx); err != nil {
		return nil, err
	}
	if b.codec, err = paginate.New([]paginate.Key{paginate.NewKey()}, nil); err != nil {
		return nil, err
	}
	b.Client = dynamodb.NewFromConfig(b.aws)
	tbl, err := table.New(b.Client, store.Schema(tableName), &table.Options{Observe: httpapi.Observe, Cursors: b.codec})
	if err != nil {
		return nil, err
	}
	b.Store, err = store.New(tbl, bucket.Objects{Client: s3.NewFromConfig(b.aws), Bucket: name})
	return b, err
}

// Handler returns the API for users of the pool, and keys, which reads the cursor keys from
// their secret if it is time, see [secret.Keep]. No request is sent.
func (b *Blog) Handler(log *slog.Logger) (handler http.Handler, keys func(context.Context) error, err error) {
	pool, err := auth.ConfigFromEnv(b.getenv)
	if err != nil {
		return nil, nil, fmt.Errorf("without a user pool there is nobody to trust: %w", err)
	}
	pool.Log = log
	verifier, err := auth.NewCognito(pool)
	if err != nil {
		return nil, nil, err
	}
	id := b.getenv(CursorKeysSecret)
	if id == "" {
		return nil, nil, errors.New("without a secret there are no cursor keys: not set: " + CursorKeysSecret)
	}
	current := secret.Keep(secretsmanager.NewFromConfig(b.aws), id, func(text string) (struct{}, error) {
		parsed, err := paginate.ParseKeys(text)
		if err != nil {
			return struct{}{}, err
		}
		return struct{}{}, b.codec.SetKeys(parsed)
	}, &secret.Options{Log: log})
	keys = func(ctx context.Context) error {
		_, err := current.Get(ctx)
		return err
	}
	return (&api.API{Store: b.Store, Auth: verifier, Keys: keys, Log: log}).Handler(nil), keys, nil
}

// Reader returns the consumer of the table's stream, for a program that is no function. It
// logs what is delivered again. Changes that are older than a day are lost if nothing has
// consumed them.
func (b *Blog) Reader(log *slog.Logger) (stream.Reader, error) {
	router, err := b.Store.Router()
	return stream.Reader{
		Name: "blog", Router: router, Client: dynamodbstreams.NewFromConfig(b.aws), AcceptLoss: true,
		Progress: func(p stream.Progress) {
			if p.Err != nil {
				log.Warn("a change is delivered again, or lost", slog.String("error", p.Err.Error()))
			}
		},
	}, err
}
