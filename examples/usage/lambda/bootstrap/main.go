// Bootstrap is the program of the Lambda functions: the one that the function's
// handler setting names, count or query, which Lambda hands down in _HANDLER.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/examples/internal/lambda"
	usage "github.com/singletable/singletable/examples/usage/lambda"
	"github.com/singletable/singletable/examples/usage/metering"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

func main() {
	var level slog.LevelVar
	lambda.Main(usage.Service, &level, func(ctx context.Context, log *slog.Logger) (any, error) {
		return load(ctx, log, &level)
	})
}

// verifyTime bounds the look at the table, in which the SDK sends a request up to four
// times. Lambda gives a program ten seconds to start. AWS: "Understanding the Lambda
// execution environment lifecycle", AWS Lambda Developer Guide.
const verifyTime = 5 * time.Second

// load returns the function that the environment names, and sets the level of its log. The
// error names everything that is wrong with the environment, or where the table differs
// from the schema. A table that cannot be looked at may be right, so the function starts
// with a warning. On a wrong one, it returns all messages.
func load(ctx context.Context, log *slog.Logger, level *slog.LevelVar) (any, error) {
	settings, err := usage.ReadSettings(os.Getenv)
	name := os.Getenv("TABLE_NAME")
	if name == "" {
		err = errors.Join(errors.New("TABLE_NAME is not set"), err)
	}
	if err != nil {
		return nil, err
	}
	level.Set(settings.Level)
	sdk, err := config.LoadDefaultConfig(ctx, config.WithHTTPClient(httpClient(5*time.Second)))
	if err != nil {
		return nil, err
	}
	client, spec := dynamodb.NewFromConfig(sdk), metering.Schema(name)
	look, cancel := context.WithTimeout(ctx, verifyTime)
	defer cancel()
	if err := spec.Verify(look, client); errors.Is(err, schema.ErrMismatch) {
		return nil, err
	} else if err != nil {
		log.Warn("the table was not compared with its schema", slog.Any("error", err))
	}
	tbl, err := table.New(client, spec, nil)
	if err != nil {
		return nil, err
	}
	count, query, err := settings.Functions(tbl, log)
	if err != nil {
		return nil, err
	}
	switch handler := os.Getenv("_HANDLER"); handler {
	case "count":
		return count, nil
	case "query":
		return query, nil
	default:
		return nil, fmt.Errorf("there is no handler %q: it is count or query", handler)
	}
}

// httpClient returns a client that waits so long for a response at most, and three
// seconds for a connection. Then the SDK sends the request again: one that hangs must
// not take all of an invocation's time.
func httpClient(timeout time.Duration) aws.HTTPClient {
	return awshttp.NewBuildableClient().WithTimeout(timeout).WithDialerOptions(func(d *net.Dialer) { d.Timeout = 3 * time.Second })
}
