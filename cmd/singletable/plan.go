package main

import (
	"context"
	"errors"
	"strings"

	"github.com/singletable/singletable/schema"
)

const planHelp = `Usage: singletable plan [flags] SCHEMA.json

Plan compares a live table with a schema file, as verify does, and says for each
difference what resolves it. It changes nothing. "singletable ensure" makes those
changes that lose nothing: it creates the table, adds a global index, turns TTL, the
stream, deletion protection and point-in-time recovery on. The others are for a
person, and ensure changes nothing while there is one. Nothing is ever dropped: an
index that the schema does not name is a note.

Adding an index costs a write unit for each KB of each item in it. The plan has an upper
bound by DynamoDB's own count of items and bytes, which is up to about 6 hours old. "-"
reads the schema from standard input. Plan waits 30 seconds for DynamoDB.

Exit codes: 0 nothing to do, 1 ensure can make all changes, 2 the table could not be
looked at, 3 a person has to do something.

Examples:

  AWS_PROFILE=prod singletable plan schema.json
  singletable plan -json schema.json | jq '[.changes[].writeUnits // 0] | add'
`

// planned is the output of plan and ensure.
type planned struct {
	Table   string          `json:"table"`
	Region  string          `json:"region"`
	OK      bool            `json:"ok"`
	Changes []schema.Change `json:"changes"`
	Manual  []schema.Change `json:"manual"`
	Notes   []schema.Change `json:"notes"`
}

func (p *program) plan(ctx context.Context, args []string) error {
	fs, asJSON := flags("plan")
	name := fs.String("table", "", "`name` of the table, instead of the one in the file")
	rest, err := p.parse(fs, planHelp, args, oneSchema)
	if err != nil {
		return err
	}
	spec, live, err := p.compared(ctx, rest[0], *name)
	if err != nil {
		return err
	}
	out, err := p.makePlan(ctx, spec, live)
	if err != nil {
		return err
	}
	return p.printPlanned(out, *asJSON)
}

// makePlan looks at the live table for as long as the program's patience lasts.
func (p *program) makePlan(ctx context.Context, spec schema.Table, live live) (planned, error) {
	ctx, cancel := context.WithTimeout(ctx, p.patience)
	defer cancel()
	plan, err := spec.Plan(ctx, live.client)
	if err != nil {
		return planned{}, p.advise(ctx, err, looking)
	}
	return planned{
		Table: plan.Table, Region: live.region, OK: len(plan.Changes)+len(plan.Manual) == 0,
		Changes: plan.Changes, Manual: plan.Manual, Notes: plan.Notes,
	}, nil
}

// printPlanned prints a plan. Its error is the exit code.
func (p *program) printPlanned(out planned, asJSON bool) error {
	err := p.printResult(out, out.text(), asJSON, out.OK)
	if errors.Is(err, errNo) && len(out.Manual) > 0 {
		return errManual
	}
	return err
}

func (out planned) text() string {
	var b strings.Builder
	b.WriteString(oneLine(out.Table) + " in " + oneLine(out.Region))
	if out.OK {
		b.WriteString(" is as the schema says.\n")
	} else {
		b.WriteString(" differs from the schema.\n")
	}
	changes := "Ensure makes these changes:"
	if len(out.Manual) > 0 {
		changes = "Ensure makes these changes when the differences above are resolved:"
	}
	for _, list := range []struct {
		heading string
		changes []schema.Change
	}{{"A person has to resolve these differences:", out.Manual}, {changes, out.Changes}, {"Notes:", out.Notes}} {
		if len(list.changes) > 0 {
			b.WriteString(list.heading + "\n")
		}
		for _, c := range list.changes {
			b.WriteString("  " + oneLine(c.String()) + "\n")
		}
	}
	return b.String()
}
