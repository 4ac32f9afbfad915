// Package secret keeps what a program makes of a secret in AWS Secrets Manager, such as
// keys, and follows the secret when it changes. So no setting of a function holds the
// secret itself, which would be readable there, and stale after a rotation.
package secret

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/singletable/singletable/examples/internal/refresh"
)

const (
	// TTL is the age from which a secret is read again.
	TTL = 5 * time.Minute
	// Limit is the age from which what was made of it is not used if that fails. So it
	// is how long each step of a rotation takes.
	Limit = time.Hour
)

// Options configures [Keep]. The zero value is for production.
type Options struct {
	// Now is the clock by which a secret ages. Nil means [time.Now].
	Now func() time.Time
	// Log gets a warning when a secret could not be read. Nil means none.
	Log *slog.Logger
}

// Keep returns what build makes of the text of a secret. The secret is read by the first
// call of Get, and again by the first call after [TTL]. If that fails, or build fails, the
// value at hand is used until [Limit]. The errors of build are logged, so they must not
// quote the secret. Options may be nil.
func Keep[T any](client *secretsmanager.Client, id string, build func(text string) (T, error), options *Options) *refresh.Value[T] {
	var o Options
	if options != nil {
		o = *options
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	fetch := func(ctx context.Context) (T, error) {
		var v T
		text, err := read(ctx, client, id)
		if err == nil {
			v, err = build(text)
		}
		if err != nil {
			o.Log.WarnContext(ctx, "the secret could not be read", slog.String("secret", id), slog.Any("error", err))
		}
		return v, err
	}
	return refresh.New(fetch, refresh.Options{TTL: TTL, Limit: Limit, Now: o.Now})
}

func read(ctx context.Context, client *secretsmanager.Client, id string) (string, error) {
	out, err := client.GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{SecretId: &id})
	if err != nil {
		return "", err
	}
	if out.SecretString == nil {
		return "", errors.New("the secret is not a text")
	}
	return *out.SecretString, nil
}
