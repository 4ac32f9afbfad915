package main

import (
	"context"
	"fmt"
	"log/slog"
	"math"

	"github.com/singletable/singletable/cmd/singletable/internal/agent"
)

const mcpHelp = `Usage: singletable mcp [flags] SCHEMA.json

Mcp lets an agent read a table, over standard input and output, by the Model Context
Protocol. It is for the configuration of an agent's program, which starts it: see
docs/agents.md. The tools are made of the entities in the schema file, which
"singletable schema -sample" writes.

It reads, and has no operation that writes: GetItem on the table, and Query on the table
and its indexes are all the permissions that it needs.

What an agent sees is bounded by the flags, and no request widens it. -entity names the
types in the scope. -partition names partition keys of the table, whole or by their first
segments: TENANT#acme has TENANT#acme and TENANT#acme#1, and not TENANT#acme2. It is
checked for each item, also of an index, whose partitions can hold items of everybody.
-hide leaves an attribute out, with every key that is or could be made of it; then nothing
is asked for by whole keys. What is outside is not shown. Expired items are not shown.

A call and a session have a budget of read units, items, and bytes of items as they are
shown; a request reads whole items, and can go over it. Standard error has a line for each
call, without what it was about.

What is stored can hold text that tells an agent what to do. Results are marked as data;
that does not keep every agent from following it. Give it no tools that do harm.

Exit codes: 0 the agent's program has ended it, 2 it could not be started.

Examples:

  singletable mcp -entity ORDER -entity PRODUCT -hide email shop.json
  AWS_PROFILE=reader singletable mcp -partition TENANT#acme -session-units 500 crm.json
`

func (p *program) mcp(ctx context.Context, args []string) error {
	fs, _ := flags("mcp") // The output is JSON in any case.
	name := fs.String("table", "", "`name` of the table, instead of the one in the file")
	var entities, partitions, hidden texts
	fs.Var(&entities, "entity", "`type` in the scope; can be repeated; all by default")
	fs.Var(&partitions, "partition", "partition `key` in the scope, or its first segments; can be repeated; all by default")
	fs.Var(&hidden, "hide", "`attribute` that is left out; can be repeated")
	call, session := agent.Budget{}, agent.Budget{}
	fs.Float64Var(&call.Units, "call-units", 25, "read `units` that a call may take")
	fs.IntVar(&call.Items, "call-items", 50, "`items` that a call may return")
	fs.IntVar(&call.Bytes, "call-bytes", 64<<10, "`bytes` of items that a call may return")
	fs.Float64Var(&session.Units, "session-units", 1000, "read `units` that a session may take")
	fs.IntVar(&session.Items, "session-items", 2000, "`items` that a session may return")
	fs.IntVar(&session.Bytes, "session-bytes", 2<<20, "`bytes` of items that a session may return")
	rest, err := p.parse(fs, mcpHelp, args, oneSchema)
	switch {
	case err != nil:
		return err
	case rest[0] == "-":
		return usageError("standard input is the agent's: name a schema file")
	}
	for _, b := range []agent.Budget{call, session} {
		if !(b.Units > 0) || math.IsInf(b.Units, 0) || b.Items < 1 || b.Bytes < 1 {
			return usageError("a budget must be greater than 0")
		}
	}
	file, _, _, err := p.readSchemaFile(rest[0], *name)
	if err != nil {
		return err
	}
	live, err := p.connect(ctx)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(p.stderr, nil))
	server, err := agent.New(agent.Options{
		Client: live.client, Model: file.Model, Accepted: file.Accepted, Entities: entities, Partitions: partitions, Hidden: hidden, Call: call, Session: session,
		Patience: p.patience, Now: p.now, Log: log, Version: build().Version,
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(p.stderr, "Reads %s in %s until standard input ends.\n", oneLine(file.Name), oneLine(live.region))
	return server.Run(ctx, agent.Transport(p.stdin, p.stdout, log))
}
