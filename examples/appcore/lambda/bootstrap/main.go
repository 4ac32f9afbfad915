// Bootstrap is the program of the Lambda functions. Each function serves one
// endpoint of the API: the one that its handler setting names, which Lambda
// hands down in _HANDLER.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	awslambda "github.com/aws/aws-lambda-go/lambda"

	"github.com/singletable/singletable/examples/appcore/setup"
	"github.com/singletable/singletable/examples/internal/lambda"
)

func main() {
	log := slog.New(slog.NewJSONHandler(os.Stdout, nil))
	function, err := load(context.Background(), os.Getenv, log)
	if err != nil {
		log.Error("the function does not start", slog.Any("error", err))
		os.Exit(1)
	}
	awslambda.Start(function)
}

// load returns the function that the environment names, with the cursor keys if
// it is one for a list.
func load(ctx context.Context, getenv func(string) string, log *slog.Logger) (lambda.Function, error) {
	name := getenv("TABLE_NAME")
	if name == "" {
		return nil, fmt.Errorf("TABLE_NAME is not set")
	}
	// Without limits for each user: an instance handles one request at a time, so a
	// count of its own says little. API Gateway limits the requests of all users.
	app, err := setup.Production(ctx, name, getenv, log, nil)
	if err != nil {
		return nil, err
	}
	handler, err := app.API.HandlerOf(ctx, getenv("_HANDLER"))
	if err != nil {
		return nil, err
	}
	return lambda.New(handler), nil
}
