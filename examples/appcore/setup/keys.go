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

// CursorKeys gives a codec the cursor keys of a secret, and those that follow, as
// [secret.Keep] says. Options may be nil.
func CursorKeys(secrets *secretsmanager.Client, id string, codec *paginate.Codec, options *secret.Options) api.CursorKeys {
	current := secret.Keep(secrets, id, func(text string) (struct{}, error) {
		keys, err := paginate.ParseKeys(text)
		if err != nil {
			return struct{}{}, err
		}
		return struct{}{}, codec.SetKeys(keys)
	}, options)
	return func(ctx context.Context) error {
		if _, err := current.Get(ctx); err != nil {
			return fmt.Errorf("%w: cursor keys: %w", core.ErrUnavailable, err)
		}
		return nil
	}
}
