// Usage meters how often the features of an application are used: messages come
// from a queue, at least once each, and are counted once, by the hour and by the
// day, for a workspace and for its users. It shows what a message writes, what
// becomes of a batch with good, bad, repeated and unlucky messages, and what it
// saves to ask for days where a question covers whole ones.
//
// In this directory:
//
//	go run . -walk
//
// It uses a local DynamoDB engine, which it starts and if need be installs, or
// the one that AWS_ENDPOINT_URL_DYNAMODB names.
//
// To send messages and ask by hand, start the functions behind a local queue, and
// use them from another terminal:
//
//	go run . -dev
//	go run . send '{"workspaceId":"acme","metricId":"exports","count":1,"date":"2026-01-15T14"}'
//	go run . ask '{"workspaceId":"acme","metricId":"exports","fromDate":"2026-01-15T00","toDate":"2026-01-15T23"}'
//	go run . queue
//	go run . replay
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/examples/internal/program"
	"github.com/singletable/singletable/examples/internal/report"
	"github.com/singletable/singletable/examples/usage/lambda"
	"github.com/singletable/singletable/examples/usage/metering"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

var usage = program.Program{Name: "usage", Table: "Usage", Show: show}

func main() { service.Main() }

var service = program.Service{
	Name: usage.Name, Table: usage.Table, Data: "`directory` that keeps the table and the queue",
	Modes: []program.Mode{
		{Flag: program.DevFlag, Usage: "run the functions behind a local queue, for this machine only", Run: develop},
		{Flag: "walk", Usage: program.WalkUsage, Run: usage.Walk},
	},
	Commands: []program.Command{
		{Name: "send", Usage: "send a message, the argument, to the program that runs with -dev", Run: client("send", 1)},
		{Name: "ask", Usage: "ask it a question, the argument", Run: client("ask", 1)},
		{Name: "queue", Usage: "print how many messages wait, and the dead letters", Run: client("queue", 0)},
		{Name: "replay", Usage: "send the dead letters again", Run: client("replay", 0)},
	},
}

// develop runs the functions as they are set by the environment.
func develop(ctx context.Context, r program.Run) error {
	d, err := newDeveloper(r, os.Getenv)
	if err != nil {
		return err
	}
	return d.run(ctx)
}

// client returns what a command does: it sends the arguments, of which there are so many,
// to the program that runs with -dev.
func client(name string, takes int) func(ctx context.Context, args []string, out io.Writer) error {
	return func(ctx context.Context, args []string, out io.Writer) error {
		flags := flag.NewFlagSet("usage "+name, flag.ContinueOnError)
		addr := flags.String("addr", program.Addr, "`address` of the program that runs with -dev")
		if err := flags.Parse(args); err != nil {
			return err
		}
		if flags.NArg() != takes {
			return fmt.Errorf("%s takes %d arguments after its flags, and has %d", name, takes, flags.NArg())
		}
		return request(ctx, *addr, name, []byte(flags.Arg(0)), out)
	}
}

// today is the end of the sample data, and where the program's clock stands, so
// that every run prints the same.
var today = time.Date(2024, 4, 15, 0, 0, 0, 0, time.UTC)

// app is the program's doors to the table.
type app struct {
	table    *table.Table
	consumer *metering.Consumer
	reader   *metering.Reader
	// function is a consumer as a Lambda function. Its requests are broken by
	// faults, on purpose.
	function *lambda.Consumer
	faults   *tabletest.Faults
}

func newApp(engine *tabletest.Engine, s schema.Table, options *table.Options, log *slog.Logger) (a app, err error) {
	if a.table, err = table.New(engine.Client(), s, options); err != nil {
		return a, err
	}
	if a.consumer, err = metering.NewConsumer(a.table, nil); err != nil {
		return a, err
	}
	if a.reader, err = metering.NewReader(a.table, nil); err != nil {
		return a, err
	}

	a.faults = &tabletest.Faults{}
	// A client that repeats nothing by itself, so that each fault shows.
	client := engine.Client(a.faults.Install, func(o *dynamodb.Options) { o.RetryMaxAttempts = 1 })
	broken, err := table.New(client, s, options)
	if err != nil {
		return a, err
	}
	consumer, err := metering.NewConsumer(broken, nil)
	if err != nil {
		return a, err
	}
	a.function = lambda.NewConsumer(consumer, log)
	return a, nil
}

// show is the program proper: messages, batches, faults, questions.
func show(ctx context.Context, engine *tabletest.Engine, name string, out report.Report) error {
	s := metering.Schema(name)
	if err := s.Ensure(ctx, engine.Client()); err != nil {
		return err
	}
	options := &table.Options{Observe: out.Meter.Observe, Now: func() time.Time { return today }}
	a, err := newApp(engine, s, options, logger(out.Out))
	if err != nil {
		return err
	}
	for _, pattern := range []func(context.Context, app, report.Report) error{
		oneMessage, oneBatch, lostResponse, usageOfATime, usageOfAUser, whatDaysSave,
	} {
		if err := pattern(ctx, a, out); err != nil {
			return err
		}
	}
	return nil
}

// logger returns the log of the Lambda function, without what differs from run
// to run.
func logger(w io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey || a.Key == "error" {
				return slog.Attr{}
			}
			return a
		},
	}))
}
