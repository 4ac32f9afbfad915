package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/schema"
)

const ensureHelp = `Usage: singletable ensure [flags] SCHEMA.json

Ensure makes a live table as a schema file says. It creates the table if it is missing.
In an existing table it turns TTL, the stream, deletion protection and point-in-time
recovery on, and adds the global indexes that are missing, one after the other, each
when the one before is active. It drops nothing. While there is a difference that a
person has to resolve, such as another view of the stream, it changes nothing.
"singletable plan" says beforehand what it would do, and what an index costs.

An index takes minutes to hours on a large table. DynamoDB goes on without the program:
after the end of the wait, Ctrl-C or a lost connection, run ensure again, and it
continues to wait. Several may run at the same time. What it does and waits for is on
standard error. "-" reads the schema from standard input.

Exit codes: 0 the table is as the schema says, 1 not yet: run it again, 2 a request
failed, 3 a person has to do something, and nothing was changed.

Examples:

  AWS_PROFILE=prod singletable ensure -wait 6h schema.json
  singletable ensure -table AppCore-staging -json schema.json
`

func (p *program) ensure(ctx context.Context, args []string) error {
	fs, asJSON := flags("ensure")
	name := fs.String("table", "", "`name` of the table, instead of the one in the file")
	wait := fs.Duration("wait", time.Hour, "how long to wait for the table and its indexes")
	rest, err := p.parse(fs, ensureHelp, args, oneSchema)
	switch {
	case err != nil:
		return err
	case *wait < time.Second:
		return usageError("-wait must be at least 1s")
	}
	spec, live, err := p.compared(ctx, rest[0], *name)
	if err != nil {
		return err
	}
	out, err := p.makePlan(ctx, spec, live)
	if err != nil {
		return err
	}
	if out.OK || len(out.Manual) > 0 {
		return p.printPlanned(out, *asJSON)
	}
	for _, c := range out.Changes {
		fmt.Fprintln(p.stderr, oneLine(c.String()))
	}
	limited, cancel := context.WithTimeout(ctx, *wait)
	defer cancel()
	err = spec.Ensure(limited, &watched{Client: live.client, w: p.stderr})
	if err != nil && limited.Err() == nil && !errors.Is(err, schema.ErrMismatch) && !errors.Is(err, schema.ErrUnsupported) {
		return p.advise(limited, err, changing)
	}
	if errors.Is(err, schema.ErrUnsupported) {
		p.printOmitted(unsupported(err))
		out.OK, out.Changes = true, []schema.Change{}
		return p.printPlanned(out, *asJSON)
	}
	// What is left after a wait that was too short is the result, too.
	if out, err = p.makePlan(ctx, spec, live); err != nil {
		return err
	}
	return p.printPlanned(out, *asJSON)
}

// watched is a client that prints the status of a table and its indexes whenever a
// response has another one.
type watched struct {
	schema.Client
	w    io.Writer
	last string
}

// DescribeTable sends the request and prints what it tells.
func (c *watched) DescribeTable(ctx context.Context, in *dynamodb.DescribeTableInput, options ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error) {
	out, err := c.Client.DescribeTable(ctx, in, options...)
	if err == nil && out.Table != nil {
		if text := statuses(out.Table); text != c.last {
			c.last = text
			fmt.Fprint(c.w, text)
		}
	}
	return out, err
}

// statuses returns a line for the table and each global index that is not active.
func statuses(t *types.TableDescription) string {
	var b strings.Builder
	if t.TableStatus != types.TableStatusActive && t.TableStatus != "" {
		fmt.Fprintf(&b, "the table is %s\n", oneLine(string(t.TableStatus)))
	}
	for _, x := range t.GlobalSecondaryIndexes {
		status := string(x.IndexStatus)
		if x.IndexStatus == types.IndexStatusActive || status == "" {
			continue
		}
		if aws.ToBool(x.Backfilling) {
			status += ", backfilling"
		}
		fmt.Fprintf(&b, "global index %s is %s\n", oneLine(aws.ToString(x.IndexName)), oneLine(status))
	}
	return b.String()
}
