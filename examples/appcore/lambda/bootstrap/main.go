// Bootstrap is the program of the Lambda functions. Each function serves one
// endpoint of the API: the one that its handler setting names, which Lambda
// hands down in _HANDLER.
package main

import (
	"context"
	"errors"
	"log/slog"
	"os"

	"github.com/singletable/singletable/examples/appcore/setup"
	"github.com/singletable/singletable/examples/internal/lambda"
)

func main() { lambda.Main("appcore", nil, load) }

// load returns the function that the environment names, with the cursor keys if
// it is one for a list.
func load(ctx context.Context, log *slog.Logger) (any, error) {
	name := os.Getenv("TABLE_NAME")
	if name == "" {
		return nil, errors.New("TABLE_NAME is not set")
	}
	// Without limits for each user: an instance handles one request at a time, so a
	// count of its own says little. API Gateway limits the requests of all users.
	app, err := setup.Production(ctx, name, os.Getenv, log, nil)
	if err != nil {
		return nil, err
	}
	handler, err := app.API.HandlerOf(ctx, os.Getenv("_HANDLER"))
	if err != nil {
		return nil, err
	}
	return lambda.New(handler), nil
}
