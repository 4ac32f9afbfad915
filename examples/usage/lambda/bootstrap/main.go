// Bootstrap is the program of the Lambda functions: the one that the function's
// handler setting names, count or query, which Lambda hands down in _HANDLER.
package main

import (
	"context"
	"errors"
	"fmt"
	stdlog "log"
	"log/slog"
	"net"
	"os"
	"time"

	awslambda "github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/examples/usage/lambda"
	"github.com/singletable/singletable/examples/usage/metering"
	"github.com/singletable/singletable/table"
)

func main() {
	var level slog.LevelVar
	log := lambda.NewLog(os.Stdout, &level)
	stdlog.SetFlags(0)
	stdlog.SetOutput(lambda.LibraryLog(log))
	function, err := load(context.Background(), os.Getenv, &level, log)
	if err != nil {
		failed(log, err)
		os.Exit(1)
	}
	awslambda.Start(function)
}

func failed(log *slog.Logger, err error) {
	log.Error("the function does not start", slog.Any("error", err))
}

// load returns the function that the environment names, and sets the level of its
// log. It compares the table with the schema first: a consumer on the wrong table
// would find fault with every message and drop them all.
func load(ctx context.Context, getenv func(string) string, level *slog.LevelVar, log *slog.Logger) (awslambda.Handler, error) {
	c, err := configure(getenv)
	if err != nil {
		return nil, err
	}
	level.Set(c.Level)
	sdk, err := config.LoadDefaultConfig(ctx, config.WithHTTPClient(httpClient(5*time.Second)))
	if err != nil {
		return nil, err
	}
	return open(ctx, dynamodb.NewFromConfig(sdk), c, log)
}

// httpClient returns a client that waits so long for a response at most, and three
// seconds for a connection. Then the SDK sends the request again: one that hangs must
// not take all of an invocation's time.
func httpClient(timeout time.Duration) aws.HTTPClient {
	return awshttp.NewBuildableClient().WithTimeout(timeout).WithDialerOptions(func(d *net.Dialer) { d.Timeout = 3 * time.Second })
}

// configuration is what the environment says.
type configuration struct {
	table, handler string
	lambda.Settings
}

// configure reads the environment, and reports everything that is wrong with it.
func configure(getenv func(string) string) (configuration, error) {
	settings, err := lambda.ReadSettings(getenv)
	c := configuration{table: getenv("TABLE_NAME"), handler: getenv("_HANDLER"), Settings: settings}
	if c.table == "" {
		err = errors.Join(errors.New("TABLE_NAME is not set"), err)
	}
	return c, err
}

func open(ctx context.Context, client *dynamodb.Client, c configuration, log *slog.Logger) (awslambda.Handler, error) {
	spec := metering.Schema(c.table)
	if err := spec.Verify(ctx, client); err != nil {
		return nil, err
	}
	tbl, err := table.New(client, spec, nil)
	if err != nil {
		return nil, err
	}
	count, query, err := c.Functions(tbl, log)
	if err != nil {
		return nil, err
	}
	switch c.handler {
	case "count":
		return count, nil
	case "query":
		return query, nil
	}
	return nil, fmt.Errorf("there is no handler %q: it is count or query", c.handler)
}
