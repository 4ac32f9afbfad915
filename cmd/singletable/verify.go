package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table/tablemodel"
)

const verifyHelp = `Usage: singletable verify [flags] SCHEMA.json

Verify compares a live table with a schema file: key attributes and their types,
indexes, projections, TTL, and if the file sets them, the stream's view, the billing
mode, deletion protection and point-in-time recovery. A table or an index that is
being created, filled or deleted is a difference. It prints every difference, and
changes nothing; "singletable plan" says what resolves each. Indexes that the schema
does not name are no difference. A setting that an engine for tests does not have is left
out, with a line on standard error. "-" reads the schema from standard input. It waits 30
seconds for DynamoDB.

The file holds a schema.Table as encoding/json writes it. "singletable schema" prints
that of a live table, and a program prints its own:

  json.NewEncoder(os.Stdout).Encode(schema)

Region and credentials are found as by the AWS CLI: AWS_PROFILE (SSO, roles), or
AWS_REGION, AWS_ACCESS_KEY_ID and so on. AWS_ENDPOINT_URL_DYNAMODB names another
endpoint, such as that of "singletable engine".

Exit codes: 0 no difference, 1 differences, 2 the table could not be looked at.

Examples:

  AWS_PROFILE=prod singletable verify schema.json
  singletable verify -table AppCore-staging -json schema.json
  go run ./cmd/printschema | singletable verify -
`

// verified is the output of verify.
type verified struct {
	Table       string   `json:"table"`
	Region      string   `json:"region"`
	OK          bool     `json:"ok"`
	Differences []string `json:"differences"`
}

func (p *program) verify(ctx context.Context, args []string) error {
	fs, asJSON := flags("verify")
	name := fs.String("table", "", "`name` of the table, instead of the one in the file")
	rest, err := p.parse(fs, verifyHelp, args, oneSchema)
	if err != nil {
		return err
	}
	spec, live, err := p.compared(ctx, rest[0], *name)
	if err != nil {
		return err
	}
	// Not for the credentials, for which a program may ask the user.
	ctx, cancel := context.WithTimeout(ctx, p.patience)
	defer cancel()
	out := verified{Table: spec.Name, Region: live.region, Differences: []string{}}
	switch err := spec.Verify(ctx, live.client); {
	case err == nil:
		out.OK = true
	case errors.Is(err, schema.ErrUnsupported):
		out.OK = true
		p.printOmitted(unsupported(err))
	case errors.Is(err, schema.ErrMismatch):
		e, _ := errors.AsType[*schema.Error](err)
		out.Differences = e.Problems
	default:
		return p.advise(ctx, err, looking)
	}
	return p.printResult(out, out.text(), *asJSON, out.OK)
}

// unsupported returns the settings of a schema that the engine does not have.
func unsupported(err error) []string {
	e, _ := errors.AsType[*schema.Error](err)
	return e.Problems
}

// compared reads the schema file that is the only argument, and connects to the DynamoDB
// that it is compared with.
func (p *program) compared(ctx context.Context, file, name string) (spec schema.Table, live live, err error) {
	if spec, err = p.readSchema(file, name); err != nil {
		return spec, live, err
	}
	live, err = p.connect(ctx)
	return spec, live, err
}

// readSchema reads the schema of a valid schema file, under another name unless that
// is empty.
func (p *program) readSchema(file, name string) (schema.Table, error) {
	model, err := p.readModel(file, name)
	return model.Table, err
}

// readModel reads a valid schema file, under another name unless that is empty.
func (p *program) readModel(file, name string) (tablemodel.Model, error) {
	read, _, _, err := p.readSchemaFile(file, name)
	return read.Model, err
}

// readSchemaFile reads a valid schema file, as readModel does. It also returns its text, and its
// name for errors.
func (p *program) readSchemaFile(file, name string) (read schemaFile, text, at string, err error) {
	text, at, err = p.readInput(file, maxInput)
	if err != nil {
		return schemaFile{}, "", at, err
	}
	if read, err = decodeFile(text); err != nil {
		return schemaFile{}, "", at, fmt.Errorf("%s: %w", at, err)
	}
	read.Name = cmp.Or(name, read.Name)
	if e, invalid := errors.AsType[*schema.Error](read.Validate()); invalid {
		return schemaFile{}, "", at, fmt.Errorf("%s: %w\n%s", at, e.Err, strings.Join(e.Problems, "\n"))
	}
	return read, text, at, nil
}

func (v verified) text() string {
	at := oneLine(v.Table) + " in " + oneLine(v.Region)
	if v.OK {
		return at + " is as the schema says.\n"
	}
	var b strings.Builder
	b.WriteString(at + " differs from the schema:\n")
	for _, d := range v.Differences {
		b.WriteString("  " + oneLine(d) + "\n")
	}
	return b.String()
}
