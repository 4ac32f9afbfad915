package setup

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/singletable/singletable/examples/appcore/api"
	"github.com/singletable/singletable/examples/appcore/core"
	"github.com/singletable/singletable/examples/appcore/refresh"
	"github.com/singletable/singletable/paginate"
)

// CursorKeysSecret is the environment variable with the ARN or name of the
// secret in AWS Secrets Manager that holds the cursor keys: one or more made by
// openssl rand -base64 32, with commas between. The first one seals, all of them
// open.
const CursorKeysSecret = "CURSOR_KEYS_SECRET"

const (
	// KeysTTL is the age from which the cursor keys are read again.
	KeysTTL = 5 * time.Minute
	// KeysLimit is the age from which they are not used if that fails. No process
	// seals or opens with keys that are older, so it is how long each step of a
	// rotation takes.
	KeysLimit = time.Hour
)

// ListsOptions configures [Lists]. The zero value is for production.
type ListsOptions struct {
	// Now is the clock by which keys age. Nil means [time.Now].
	Now func() time.Time
	// Log gets a warning when the secret could not be read. Nil means none.
	Log *slog.Logger
}

// Lists returns the service with the current cursor keys, which build makes of
// them. The keys are read when they are first needed, and again by the first
// call after [KeysTTL]. If that fails, or the secret holds no valid keys, the ones
// at hand are used until [KeysLimit]. Then the error matches
// [core.ErrUnavailable]. Options may be nil.
func Lists(
	secrets *secretsmanager.Client, secret string,
	build func([]paginate.Key) (*core.Service, error), options *ListsOptions,
) api.Lists {
	var o ListsOptions
	if options != nil {
		o = *options
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	fetch := func(ctx context.Context) (*core.Service, error) {
		var service *core.Service
		keys, err := readKeys(ctx, secrets, secret)
		if err == nil {
			service, err = build(keys)
		}
		if err != nil {
			o.Log.WarnContext(ctx, "the cursor keys could not be read", slog.Any("error", err))
		}
		return service, err
	}
	service := refresh.New(fetch, refresh.Options{TTL: KeysTTL, Limit: KeysLimit, Now: o.Now})
	return func(ctx context.Context) (*core.Service, error) {
		s, err := service.Get(ctx)
		if err != nil {
			return nil, fmt.Errorf("%w: cursor keys: %w", core.ErrUnavailable, err)
		}
		return s, nil
	}
}

func readKeys(ctx context.Context, secrets *secretsmanager.Client, secret string) ([]paginate.Key, error) {
	out, err := secrets.GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{SecretId: &secret})
	if err != nil {
		return nil, err
	}
	if out.SecretString == nil {
		return nil, errors.New("the secret is not a text")
	}
	return paginate.ParseKeys(*out.SecretString)
}
