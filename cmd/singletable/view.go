package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/singletable/singletable/cmd/singletable/internal/check"
	"github.com/singletable/singletable/cmd/singletable/internal/view"
	"github.com/singletable/singletable/schema"
)

const viewHelp = `Usage: singletable view [flags] [TABLE]

View serves pages on a table, or on all tables, to a browser on this machine until
Ctrl-C or SIGTERM, and prints their address. The pages show entities by type,
partitions as rows, each index, items with their size, their cost and the copies of the
same entity, queries with the request that was sent, and the items whose vectors are
nearest to that of an item. They are read only, except with -write.

The first page of a table reads 100 items at most. Every other page reads one page of a
Query or Scan, or one item and its copies, or searches one vector index. A query whose
filters drop what it reads goes on, up to 100 such items or 50 read units. All pages show
what that has cost. None reads a whole table.

The address holds a token: who has it can read the tables as you can. The browser
keeps the token as a cookie until it is closed. The server listens on 127.0.0.1 only.
Each run has a random path of its own, and the cookie is for that path: the browser
sends it to no other server of this machine.

With -write items can be created, changed and deleted: the page shows the difference
first, and writes only if the stored item is still the one that was shown. An item whose
entity has a version attribute is guarded by it and gets a new one; another is guarded by
all of its attributes, which may be 150. Copies of an entity can be changed along, in one
transaction; keys in indexes follow the attributes that they are made of. Claims are items
of their own, which stay as they are.

With -schema the pages know the entities of a schema file, and the attribute for
types. Without, they use that of -type, or entityType, and infer the keys of entities
from the items that were read. With a file, they show what the command check finds next to
what it is about. The file's table is opened if no other is named. The command schema makes
such a file; its -sample adds entities.

The page for cursors takes keys from the environment variable CURSOR_KEYS.

It needs the permissions dynamodb:DescribeTable, DescribeTimeToLive, Scan, Query,
GetItem, BatchGetItem and SearchVectors on the table and its indexes, and
dynamodb:ListTables if no table is named; with -write also PutItem, UpdateItem and
DeleteItem.

Exit codes: 0 it was ended, 2 it could not be started.

Examples:

  AWS_PROFILE=prod singletable view AppCore
  singletable view -schema schema.json
  singletable view -type __edb_e__ Orders   # a table of ElectroDB
  singletable view -port 8123   # all tables
`

// opened is the output of view.
type opened struct {
	Address string `json:"address"`
}

func (p *program) view(ctx context.Context, args []string) error {
	fs, asJSON := flags("view")
	name := fs.String("table", "", "`name` of the only table to show; the argument is the same")
	file := fs.String("schema", "", "schema `file` with the entities of a table")
	kind := fs.String("type", "", "`name` of the attribute with an item's type, if it is not entityType")
	write := fs.Bool("write", false, "let the pages create, change and delete items")
	port := fs.Int("port", 0, "`port` to listen on; a free one by default")
	rest, err := p.parse(fs, viewHelp, args, takes{0, 1, "the name of one table"})
	if err != nil {
		return err
	}
	named := len(rest) == 1
	switch {
	case named && *name != "":
		return usageError("a table is named twice")
	case named:
		*name = rest[0]
	}
	fs.Visit(func(f *flag.Flag) { named = named || f.Name == "table" })
	if named && *name == "" {
		return usageError("the name of the table is empty") // As of an unset variable: not all tables.
	}
	if *port < 0 || *port > 1<<16-1 {
		return usageError(fmt.Sprintf("-port %d is not 0 to 65535", *port))
	}
	if *kind != "" && *file != "" {
		return usageError("-type does not go with -schema, whose file has the attribute for types")
	}
	options, err := p.viewOptions(*file, *name)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	live, err := p.connect(ctx)
	if err != nil {
		return err
	}
	if options.Table != "" {
		if _, err := p.describe(ctx, live, options.Table, "dynamodb:DescribeTable on the table"); err != nil {
			return err
		}
	}
	options.Client, options.Write, options.Type = live.client, *write, *kind
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", *port))
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }() // The server closes it, too.
	options.Port = listener.Addr().(*net.TCPAddr).Port
	return p.serve(ctx, listener, options, *asJSON)
}

// viewOptions returns what the flags say. With neither a file nor a name, all tables are
// shown.
func (p *program) viewOptions(file, name string) (view.Options, error) {
	options := view.Options{Timeout: p.patience, Now: p.now, Token: view.NewToken(), Prefix: view.NewToken()}
	ring, err := p.cursorKeys("")
	if err != nil {
		return options, err
	}
	options.Inspect = func(cursor string) view.Cursor {
		return view.Cursor(inspect(cursor, ring, defaultTTL, p.now()))
	}
	if file != "" {
		read, _, _, err := p.readSchemaFile(file, name)
		if err != nil {
			return options, err
		}
		options.Model, name = &read.Model, read.Name
		options.Findings, _ = check.Run(check.Design{Model: read.Model, Factor: 1}, read.Accepted)
	}
	options.Table = name
	if name != "" {
		return options, (schema.Table{Name: name}).Validate()
	}
	return options, nil
}

// serve serves the pages until the end of the context.
func (p *program) serve(ctx context.Context, listener net.Listener, options view.Options, asJSON bool) error {
	handler, err := view.New(options)
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second,
		WriteTimeout: options.Timeout + 30*time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
	}
	address := url.URL{Scheme: "http", Host: listener.Addr().String(), Path: "/" + options.Prefix + "/", RawQuery: url.Values{"token": {options.Token}}.Encode()}
	if asJSON {
		err = p.printJSON(opened{address.String()})
	} else {
		fmt.Fprintln(p.stderr, "Until Ctrl-C, a browser on this machine finds the pages at:")
		err = p.print(address.String() + "\n")
	}
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
