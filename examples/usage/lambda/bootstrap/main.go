// Bootstrap is the program of the Lambda functions: the one that the function's
// handler setting names, count or query, which Lambda hands down in _HANDLER.
package main

import (
	"context"
	"errors"
	"fmt"
	stdlog "log"
	"log/slog"
	"os"
	"strconv"

	awslambda "github.com/aws/aws-lambda-go/lambda"
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
		log.Error("the function does not start", slog.Any("error", err))
		os.Exit(1)
	}
	awslambda.Start(function)
}

// load returns the function that the environment names, and sets the level of its
// log. It compares the table with the schema first: a consumer on the wrong table
// would find fault with every message and drop them all.
func load(ctx context.Context, getenv func(string) string, level *slog.LevelVar, log *slog.Logger) (awslambda.Handler, error) {
	c, err := configure(getenv)
	if err != nil {
		return nil, err
	}
	level.Set(c.level)
	sdk, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, err
	}
	return open(ctx, dynamodb.NewFromConfig(sdk), c, log)
}

// configuration is what the environment says.
type configuration struct {
	table, handler string
	level          slog.Level
	metering       metering.Options
}

// configure reads the environment, and reports everything that is wrong with it.
func configure(getenv func(string) string) (configuration, error) {
	c := configuration{table: getenv("TABLE_NAME"), handler: getenv("_HANDLER")}
	var errs []error
	if c.table == "" {
		errs = append(errs, errors.New("TABLE_NAME is not set"))
	}
	if text := getenv("LOG_LEVEL"); text != "" && c.level.UnmarshalText([]byte(text)) != nil {
		errs = append(errs, errors.New("LOG_LEVEL is not debug, info, warn or error"))
	}
	days := func(name string) int {
		text := getenv(name)
		n, err := strconv.Atoi(text)
		if text != "" && (err != nil || n < 1) {
			errs = append(errs, fmt.Errorf("%s is not a number of days", name))
		}
		return n
	}
	c.metering = metering.Options{RetentionDays: days("TTL_DAYS"), RangeDays: days("MAX_DATE_RANGE_DAYS")}
	return c, errors.Join(errs...)
}

func open(ctx context.Context, client *dynamodb.Client, c configuration, log *slog.Logger) (awslambda.Handler, error) {
	schema := metering.Schema(c.table)
	if err := schema.Verify(ctx, client); err != nil {
		return nil, err
	}
	tbl, err := table.New(client, schema, nil)
	if err != nil {
		return nil, err
	}
	// Both check the options, so that a wrong one shows in both functions.
	consumer, err := metering.NewConsumer(tbl, &c.metering)
	if err != nil {
		return nil, fmt.Errorf("TTL_DAYS, MAX_DATE_RANGE_DAYS: %w", err)
	}
	reader, err := metering.NewReader(tbl, &c.metering)
	if err != nil {
		return nil, fmt.Errorf("TTL_DAYS, MAX_DATE_RANGE_DAYS: %w", err)
	}
	switch c.handler {
	case "count":
		return lambda.Logged(awslambda.NewHandler(lambda.NewConsumer(consumer, log).Invoke), log), nil
	case "query":
		return lambda.Logged(awslambda.NewHandler(lambda.NewReader(reader).Invoke), log), nil
	}
	return nil, fmt.Errorf("there is no handler %q: it is count or query", c.handler)
}
