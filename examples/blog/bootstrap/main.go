// Bootstrap is the program of the Lambda functions: the one that the function's handler
// setting names, which Lambda hands down in _HANDLER. api serves HTTP requests, consume
// handles the changes of the table's stream, and sweep deletes objects that nothing names.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/singletable/singletable/examples/blog/setup"
	"github.com/singletable/singletable/examples/internal/lambda"
)

func main() { lambda.Main("blog", nil, load) }

// load returns the function that the environment names.
func load(ctx context.Context, log *slog.Logger) (any, error) {
	name := os.Getenv("TABLE_NAME")
	if name == "" {
		return nil, errors.New("TABLE_NAME is not set")
	}
	blog, err := setup.Open(ctx, name, os.Getenv)
	if err != nil {
		return nil, err
	}
	switch handler := os.Getenv("_HANDLER"); handler {
	case "api":
		h, _, err := blog.Handler(log)
		if err != nil {
			return nil, err
		}
		return lambda.New(h), nil
	case "consume":
		router, err := blog.Store.Router()
		if err != nil {
			return nil, err
		}
		return lambda.Stream(router, log), nil
	case "sweep":
		return func(ctx context.Context) error {
			swept, err := blog.Store.Sweep(ctx, time.Now())
			log.InfoContext(ctx, "sweep", slog.Int("deleted", swept.Deleted), slog.Int("foreign", swept.Foreign))
			return err
		}, nil
	default:
		return nil, fmt.Errorf("there is no handler %q: it is api, consume or sweep", handler)
	}
}
