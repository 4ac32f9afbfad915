package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/singletable/singletable/table"
)

// finding are the permissions of the commands that ask DynamoDB for the schema.
const finding = "dynamodb:DescribeTable and dynamodb:DescribeTimeToLive on the table, or give -schema FILE"

// schemaUsage describes the flag -schema of the commands that open a table.
const schemaUsage = "schema `file`, instead of asking DynamoDB for keys, indexes and TTL"

// open binds a table of the command line to the client. The schema comes from a file,
// whose name may be empty or "-". Without a file, DynamoDB describes the table, which
// takes the program's patience at most. The table has the given name if that is not
// empty.
//
// Options may be nil.
func (p *program) open(ctx context.Context, live live, name, schemaFile string, options *table.Options) (*table.Table, error) {
	var schema table.Schema
	var err error
	if schemaFile != "" {
		schema, err = p.readSchema(schemaFile, name)
	} else {
		schema, err = p.findSchema(ctx, live, name)
	}
	if err != nil {
		return nil, err
	}
	return table.New(live.client, schema, options)
}

// findSchema asks DynamoDB for the schema of a table.
func (p *program) findSchema(ctx context.Context, live live, name string) (table.Schema, error) {
	if err := (table.Schema{Name: name}).Validate(); err != nil {
		return table.Schema{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, p.patience)
	defer cancel()
	schema, omitted, err := readLayout(ctx, live.client, name)
	if err != nil {
		return table.Schema{}, p.advise(ctx, err, finding)
	}
	for _, line := range omitted {
		fmt.Fprintln(p.stderr, "left out: "+oneLine(line))
	}
	if e, invalid := errors.AsType[*table.SchemaError](schema.Validate()); invalid {
		return table.Schema{}, fmt.Errorf("the table cannot be described by a schema:\n%s", strings.Join(e.Problems, "\n"))
	}
	return schema, nil
}
