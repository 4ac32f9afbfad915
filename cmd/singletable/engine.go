package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/singletable/singletable/table/tabletest"
)

const engineHelp = `Usage: singletable engine [flags]

Engine runs a local DynamoDB engine until Ctrl-C or SIGTERM, and prints the
environment variables that lead the AWS SDKs, the AWS CLI and this library's tests
to it. The engine is the one of the library's tests: dynoxide from PATH, from the
cache, or installed into the cache once with npm.

It listens on this machine only, and accepts any credentials: every program and user of
the machine can read and change its data. So can a web page in a browser on it that
finds the engine. Without -port, its address is a random one of 127.0.0.0/8 if the
system has these, as Linux has, and a page cannot try them all. Give it test data only.

Data is in memory unless -path names a file. One engine at a time may use a file;
what was acknowledged stays in it, however the engine ends. On Unix the file is made
readable for its owner only (mode 0600).

With -seed it starts with a table to look at: a sample, shop or appcore, which the
example applications of those names have made; or the items of a FILE, as "singletable
dump" writes them, with the schema file of their table. A table that is in the file of
-path already stays as it is.

AWS_ENDPOINT_URL_DYNAMODB does not keep it from starting.

Exit codes: 0 it was ended, 2 it could not be started or ended by itself.

Examples:

  singletable engine -port 8000
  singletable engine -path orders.db
  singletable engine -seed shop
  singletable engine -seed appcore.jsonl.gz -schema schema.json
  singletable engine >engine.env &   # then: . ./engine.env; go test ./...
`

// started is the output of engine.
type started struct {
	Endpoint    string            `json:"endpoint"`
	Path        string            `json:"path,omitempty"`
	Environment map[string]string `json:"environment"`
	Seed        *seeded           `json:"seed,omitempty"`
}

// engineFlags are the flags of engine.
type engineFlags struct {
	path, seed, schema *string
	port               *int
}

func newEngineFlags(fs *flag.FlagSet) engineFlags {
	return engineFlags{
		path:   fs.String("path", "", "`file` that keeps the data; in memory by default"),
		port:   fs.Int("port", 0, "`port` of 127.0.0.1 to listen on; by default a free one, of a random address"),
		seed:   fs.String("seed", "", "`name` of a sample table to start with, or file of items with -schema"),
		schema: fs.String("schema", "", "schema `file` of the table of -seed"),
	}
}

// check refuses values that the flags cannot have.
func (f engineFlags) check() error {
	switch {
	case *f.port < 0 || *f.port > 1<<16-1:
		return usageError(fmt.Sprintf("-port %d is not 0 to 65535", *f.port))
	case *f.schema != "" && *f.seed == "":
		return usageError("-schema needs -seed")
	}
	return nil
}

func (p *program) engine(ctx context.Context, args []string) error {
	fs, asJSON := flags("engine")
	f := newEngineFlags(fs)
	if _, err := p.parse(fs, engineHelp, args, takes{0, 0, "no argument"}); err != nil {
		return err
	}
	if err := f.check(); err != nil {
		return err
	}
	var seed *seeding
	if *f.seed != "" {
		read, err := p.seed(*f.seed, *f.schema)
		if err != nil {
			return err
		}
		defer func() { _ = read.items.Close() }() // Nothing was written.
		seed = &read
	}
	// Only this command handles the signals: the others may be blocked in a read.
	// A second signal ends the process at once.
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	// A shell that was led to an earlier engine must not keep the next one from
	// starting.
	if err := os.Unsetenv("AWS_ENDPOINT_URL_DYNAMODB"); err != nil {
		return err
	}
	return p.runEngine(ctx, tabletest.Options{Path: *f.path, Port: *f.port}, seed, *asJSON)
}

// runEngine runs an engine until the context or the engine ends.
func (p *program) runEngine(ctx context.Context, opts tabletest.Options, seed *seeding, asJSON bool) error {
	engine, err := tabletest.Start(ctx, &opts)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	defer engine.Close()
	var table *seeded
	if seed != nil {
		done, err := seed.into(ctx, engine.Client(), p.progress())
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		table = &done
	}
	if err := p.printStarted(engine.Endpoint(), opts.Path, table, asJSON); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return nil
	case <-engine.Done():
		return errors.New("the engine has ended by itself")
	}
}

func (p *program) printStarted(endpoint, path string, seed *seeded, asJSON bool) error {
	variables := [][2]string{
		{"AWS_ENDPOINT_URL_DYNAMODB", endpoint},
		// Most SDKs read the first, boto3 and version 1 of the AWS CLI the second.
		{"AWS_REGION", "us-east-1"},
		{"AWS_DEFAULT_REGION", "us-east-1"},
		{"AWS_ACCESS_KEY_ID", "local"},
		{"AWS_SECRET_ACCESS_KEY", "local"},
	}
	if asJSON {
		s := started{Endpoint: endpoint, Path: path, Environment: map[string]string{}, Seed: seed}
		for _, v := range variables {
			s.Environment[v[0]] = v[1]
		}
		return p.printJSON(s)
	}
	where := "in memory"
	if path != "" {
		where = "on " + oneLine(filepath.Clean(path))
	}
	// The variables alone are on standard output, for a shell to read.
	fmt.Fprintf(p.stderr, "DynamoDB engine %s, at %s until Ctrl-C. For another terminal:\n\n", where, endpoint)
	var b strings.Builder
	for _, v := range variables {
		fmt.Fprintf(&b, "export %s=%s\n", v[0], v[1])
	}
	if err := p.print(b.String()); err != nil || seed == nil {
		return err
	}
	_, err := fmt.Fprint(p.stderr, seed.text())
	return err
}
