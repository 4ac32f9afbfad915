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
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/examples/internal/httpapi"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table/tabletest"
)

// Service is a program with some modes, one of which runs.
type Service struct {
	// Name is the program's name.
	Name string
	// Table is the name of its table if the user gives no other.
	Table string
	// Modes are what it can do.
	Modes []Mode
	// Data describes what -data names, such as "`file` that keeps the table", which goes
	// with -dev. Empty means that there is no such flag.
	Data string
	// Flags adds further flags. Nil means none.
	Flags func(*flag.FlagSet)
	// Commands are called by their names instead of a mode.
	Commands []Command
}

// Command is what a program does for a first argument of its name.
type Command struct {
	Name, Usage string
	// Run gets the arguments after the name.
	Run func(ctx context.Context, args []string, stdout io.Writer) error
}

// Mode is what a program does with a flag.
type Mode struct {
	// Flag is the name of the flag, and Usage its description. The flag has a value if the
	// description names one, in back quotes.
	Flag, Usage string
	// Run does it. It returns when the context ends.
	Run func(ctx context.Context, r Run) error
}

// The modes that most services have.
const (
	DevFlag = "dev"
	// DevUsage describes -dev of a service with an issuer of its own.
	DevUsage = "serve on this machine only, for development: a local engine, tokens for anyone, a new cursor key"
	// ServeUsage describes -serve.
	ServeUsage = "serve a table that is there, by the settings of the environment"
	// WalkUsage describes -walk.
	WalkUsage = "walk through the access patterns on a local engine, print keys, rows and costs, and end"
)

// Addr is the address that a service listens on by default.
const Addr = "127.0.0.1:8080"

// Run is one run of a service.
type Run struct {
	// Addr, Table and Data are what the flags of these names say.
	Addr, Table, Data string
	// Value is that of the mode's flag.
	Value  string
	Stdout io.Writer
	// Stderr gets the log.
	Stderr io.Writer
	Log    *slog.Logger

	endpoint string
}

// Main is for the program's func main, see [Main].
func (s Service) Main() { Main(s.Name, s.Run) }

// Main runs a program. Its context ends with the first SIGINT or SIGTERM, and the process
// with the second one. It does not return after a failure.
func Main(name string, run func(ctx context.Context, args []string, stdout, stderr io.Writer) error) {
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

// Run runs the mode that a command line names.
func (s Service) Run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	for _, c := range s.Commands {
		if len(args) > 0 && args[0] == c.Name {
			return c.Run(ctx, args[1:], stdout)
		}
	}
	r := Run{Table: s.Table, Stdout: stdout, Stderr: stderr, Log: slog.New(slog.NewJSONHandler(stderr, nil))}
	mode, err := s.parse(args, &r)
	if err != nil {
		return err
	}
	if err := setEndpoint(r.endpoint); err != nil {
		return err
	}
	return mode.Run(ctx, r)
}

// parse returns the mode that the command line names, and sets what else it says.
func (s Service) parse(args []string, r *Run) (Mode, error) {
	flags := flag.NewFlagSet(s.Name, flag.ContinueOnError)
	flags.SetOutput(r.Stderr)
	flags.Usage = func() { s.usage(flags) }
	flags.StringVar(&r.Addr, "addr", Addr, "`address` to listen on; port 0 takes a free one")
	flags.StringVar(&r.Table, "table", s.Table, "name of the table; with -dev it is created if missing")
	flags.StringVar(&r.endpoint, "endpoint", "", "DynamoDB `URL`, instead of AWS or a local engine")
	if s.Data != "" {
		flags.StringVar(&r.Data, "data", "", s.Data+"; with -dev only. By default, nothing is left when the program ends")
	}
	if s.Flags != nil {
		s.Flags(flags)
	}
	var given []Mode
	var names []string
	for _, mode := range s.Modes {
		names = append(names, "-"+mode.Flag)
		set := func(value string) error {
			r.Value, given = value, append(given, mode)
			return nil
		}
		if strings.Contains(mode.Usage, "`") {
			flags.Func(mode.Flag, mode.Usage, set)
		} else {
			flags.BoolFunc(mode.Flag, mode.Usage, func(value string) error {
				on, err := strconv.ParseBool(value)
				if on {
					return set("")
				}
				return err
			})
		}
	}
	if err := flags.Parse(args); err != nil {
		return Mode{}, err
	}
	switch {
	case flags.NArg() > 0:
		return Mode{}, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case len(given) != 1:
		return Mode{}, fmt.Errorf("exactly one of %s is needed; -h tells more", strings.Join(names, ", "))
	case r.Data != "" && r.endpoint != "":
		return Mode{}, errors.New("-data is for the local engine, and -endpoint names another one")
	case r.Data != "" && given[0].Flag != DevFlag:
		return Mode{}, errors.New("-data goes with -dev: it is for the local engine")
	}
	return given[0], nil
}

// usage prints the flags and the commands.
func (s Service) usage(flags *flag.FlagSet) {
	out := flags.Output()
	fmt.Fprintf(out, "Usage of %s:\n", s.Name)
	flags.PrintDefaults()
	for _, c := range s.Commands {
		fmt.Fprintf(out, "  %s\n    \t%s\n", c.Name, c.Usage)
	}
}

// Develop calls serve with a local engine that has the table. The file keeps its data,
// in memory if it is empty. A service for development trusts everybody: so only this
// machine may reach it, and it reaches only this machine.
func (r Run) Develop(ctx context.Context, file string, spec schema.Table, serve func(*dynamodb.Client) error) error {
	if err := httpapi.CheckLocal(r.Addr, cmp.Or(r.endpoint, os.Getenv(endpointVariable))); err != nil {
		return err
	}
	if named := os.Getenv(endpointVariable); file != "" && named != "" {
		r.Log.Warn("the engine that "+endpointVariable+" names keeps the table, and not -data", slog.String("engine", named))
	}
	return WithEngine(ctx, file, func(engine *tabletest.Engine) error {
		if err := spec.Ensure(ctx, engine.Client()); err != nil {
			return err
		}
		return serve(engine.Client())
	})
}

// Serve serves a handler until the context ends, and prints the address.
func (r Run) Serve(ctx context.Context, handler http.Handler) error {
	return httpapi.Serve(ctx, r.Addr, handler, r.Log, func(url string) { fmt.Fprintf(r.Stdout, "listening on %s\n", url) })
}

// ServeLocally serves a handler for development to this machine, and prints the address
// and a welcome, which is a format of the address and args. The log gets the warning.
func (r Run) ServeLocally(ctx context.Context, handler http.Handler, warning, welcome string, args ...any) error {
	return httpapi.Serve(ctx, r.Addr, httpapi.Local(handler), r.Log, func(url string) {
		r.Log.Warn("DEVELOPMENT SERVER: "+warning, slog.String("url", url))
		fmt.Fprintf(r.Stdout, "listening on %s\n", url)
		fmt.Fprintf(r.Stdout, welcome, slices.Concat([]any{url}, args)...)
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

// endpointVariable is the SDK's own, which the local engine gives way to as well.
const endpointVariable = "AWS_ENDPOINT_URL_DYNAMODB"

// streamsVariable is the SDK's own for the streams of tables.
const streamsVariable = "AWS_ENDPOINT_URL_DYNAMODB_STREAMS"

// setEndpoint makes the endpoint of -endpoint that of the process. An engine has the streams of
// its tables: those of AWS would be of other tables.
func setEndpoint(url string) error {
	var err error
	if url != "" {
		err = errors.Join(os.Setenv(endpointVariable, url), os.Unsetenv(streamsVariable))
	}
	if engine := os.Getenv(endpointVariable); engine != "" && os.Getenv(streamsVariable) == "" {
		err = errors.Join(err, os.Setenv(streamsVariable, engine))
	}
	return err
}
