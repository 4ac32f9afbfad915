package program

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/examples/internal/httpapi"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table/tabletest"
)

// Service is for the func main of a program that runs until it is told to end: run's
// context ends with the first SIGINT or SIGTERM, and the process with the second one.
// It does not return after a failure.
func Service(name string, run func(ctx context.Context, args []string, stdout, stderr io.Writer) error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		cancel() // what is in flight is finished
		<-signals
		fmt.Fprintf(os.Stderr, "%s: ended by a second signal\n", name)
		os.Exit(1)
	}()
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// Options are the flags that all services have.
type Options struct {
	Addr, Table, Endpoint string
}

// Parse adds the flags to those of the service and parses a command line. It takes no
// arguments. The endpoint of -endpoint is that of the process from then on.
func (o *Options) Parse(flags *flag.FlagSet, args []string) error {
	flags.StringVar(&o.Addr, "addr", "127.0.0.1:8080", "`address` to listen on; port 0 takes a free one")
	flags.StringVar(&o.Table, "table", o.Table, "name of the table; with -dev it is created if missing")
	flags.StringVar(&o.Endpoint, "endpoint", "", "DynamoDB `URL`, instead of AWS or a local engine")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	return o.setEndpoint()
}

// setEndpoint sets the SDK's own variable, which the local engine gives way to as well.
func (o *Options) setEndpoint() error {
	if o.Endpoint == "" {
		return nil
	}
	return os.Setenv("AWS_ENDPOINT_URL_DYNAMODB", o.Endpoint)
}

// Develop calls serve with a local engine that has the table. The file keeps its data,
// in memory if it is empty. A service for development trusts everybody: so only this
// machine may reach it, and it reaches only this machine.
func (o Options) Develop(ctx context.Context, file string, spec schema.Table, serve func(*dynamodb.Client) error) error {
	if err := httpapi.CheckLocal(o.Addr, cmp.Or(o.Endpoint, os.Getenv("AWS_ENDPOINT_URL_DYNAMODB"))); err != nil {
		return err
	}
	return WithEngine(ctx, file, func(engine *tabletest.Engine) error {
		if err := spec.Ensure(ctx, engine.Client()); err != nil {
			return err
		}
		return serve(engine.Client())
	})
}

// Serve serves a handler until the context ends, and prints the address.
func (o Options) Serve(ctx context.Context, handler http.Handler, stdout io.Writer, log *slog.Logger) error {
	return httpapi.Serve(ctx, o.Addr, handler, log, func(url string) { fmt.Fprintf(stdout, "listening on %s\n", url) })
}

// ServeLocally serves a handler for development to this machine, and prints the address
// and a welcome, which is a format of the address and args. The log gets the warning.
func (o Options) ServeLocally(
	ctx context.Context, handler http.Handler, stdout io.Writer, log *slog.Logger, warning, welcome string, args ...any,
) error {
	return httpapi.Serve(ctx, o.Addr, httpapi.Local(handler), log, func(url string) {
		log.Warn("DEVELOPMENT SERVER: "+warning, slog.String("url", url))
		fmt.Fprintf(stdout, "listening on %s\n", url)
		fmt.Fprintf(stdout, welcome, append([]any{url}, args...)...)
	})
}

// WithEngine calls do with an engine, which is closed then. The file keeps its data, in
// memory if it is empty.
func WithEngine(ctx context.Context, file string, do func(*tabletest.Engine) error) (err error) {
	engine, err := tabletest.Start(ctx, &tabletest.Options{Path: file})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	return do(engine)
}
