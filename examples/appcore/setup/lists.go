package setup

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/singletable/singletable/examples/appcore/api"
	"github.com/singletable/singletable/examples/appcore/core"
	"github.com/singletable/singletable/examples/internal/secret"
	"github.com/singletable/singletable/paginate"
)

// CursorKeysSecret is the environment variable with the ARN or name of the
// secret in AWS Secrets Manager that holds the cursor keys: one or more made by
// openssl rand -base64 32, with commas between. The first one seals, all of them
// open.
const CursorKeysSecret = "CURSOR_KEYS_SECRET"

// Lists returns the service with the current cursor keys, which build makes of
// them. The keys follow the secret as [secret.Keep] says. Without any, the error
// matches [core.ErrUnavailable]. Options may be nil.
func Lists(
	secrets *secretsmanager.Client, id string,
	build func([]paginate.Key) (*core.Service, error), options *secret.Options,
) api.Lists {
	service := secret.Keep(secrets, id, func(text string) (*core.Service, error) {
		keys, err := paginate.ParseKeys(text)
		if err != nil {
			return nil, err
		}
		return build(keys)
	}, options)
	return func(ctx context.Context) (*core.Service, error) {
		s, err := service.Get(ctx)
		if err != nil {
			return nil, fmt.Errorf("%w: cursor keys: %w", core.ErrUnavailable, err)
		}
		return s, nil
	}
}
