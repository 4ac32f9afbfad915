package setup

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/singletable/singletable/examples/internal/rest"
	"github.com/singletable/singletable/examples/internal/secret"
	"github.com/singletable/singletable/examples/shop/api"
	"github.com/singletable/singletable/examples/shop/mail"
	"github.com/singletable/singletable/examples/shop/store"
	"github.com/singletable/singletable/table"
)

// KeySecret names the environment variable with the ARN or name of the secret in AWS
// Secrets Manager that holds the keys of the functions, see [ParseKeys].
const KeySecret = "SHOP_KEY_SECRET"

// Handler returns the handler of the API on a table, with the keys of a secret. It reads
// the secret, and fails if it cannot. The keys follow the secret as [secret.Keep] says;
// without any, the handler responds 503. Log must be set in the options.
func Handler(ctx context.Context, client table.Client, name string, secrets *secretsmanager.Client, id string, send mail.Send, options secret.Options) (http.Handler, error) {
	if id == "" {
		return nil, errors.New(KeySecret + " is not set")
	}
	current := secret.Keep(secrets, id, func(text string) (http.Handler, error) {
		keys, err := ParseKeys(text)
		if err != nil {
			return nil, err
		}
		shop, err := Shop(client, name, keys, store.Rounds)
		if err != nil {
			return nil, err
		}
		handler, err := API(shop, keys, api.Options{Mail: send, MailTime: MailTime, Log: options.Log})
		if err != nil {
			return nil, err
		}
		return handler.Handler(), nil
	}, &options)
	if _, err := current.Get(ctx); err != nil {
		return nil, fmt.Errorf("the keys: %w", err)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler, err := current.Get(r.Context())
		if err != nil { // which is in the log
			rest.Fail(w, &rest.Failure{
				Status: http.StatusServiceUnavailable, Code: "unavailable",
				Message: "try again in a moment; repeat an order with the same Idempotency-Key",
			})
			return
		}
		handler.ServeHTTP(w, r)
	}), nil
}

// Secrets returns a client of AWS Secrets Manager, by the settings of the environment. No
// request is sent.
func Secrets(ctx context.Context) (*secretsmanager.Client, error) {
	aws, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, err
	}
	return secretsmanager.NewFromConfig(aws), nil
}
