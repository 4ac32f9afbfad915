package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/singletable/singletable/cmd/singletable/internal/described"
	"github.com/singletable/singletable/cmd/singletable/internal/kinds"
	"github.com/singletable/singletable/cmd/singletable/internal/quantity"
	"github.com/singletable/singletable/cmd/singletable/internal/spread"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table/tablemodel"
)

const schemaHelp = `Usage: singletable schema [flags] TABLE

Schema prints a live table as a schema file, which verify accepts for it: keys, indexes,
TTL, stream, billing mode, capacity, table class, deletion protection and point-in-time
recovery. It changes nothing. It waits 30 seconds for DynamoDB.

DynamoDB does not know which attribute holds an item's type: say so with -type if it
is not entityType. Tags and warm throughput are left out. With a line on standard error,
so are an index that is being deleted, a local index sorted by type or expiry, and types
or TTL whose attribute is a key that a schema does not allow.

With -sample it reads so many items, from several places of the table, and adds the
entities that they show: for each type, the patterns of its keys. Standard error tells how
many read units that took, and what may hold the type if no item has the attribute. The
patterns hold names of attributes and constant parts of keys. They are guesses, and lack a
copy that no item of the sample is: look at them before you keep or publish them.

Exit codes: 0 the schema was printed, 2 the table could not be looked at.

Examples:

  AWS_PROFILE=prod singletable schema AppCore >schema.json
  singletable schema AppCore | singletable verify -table AppCore-staging -
  singletable schema -sample 1000 AppCore-staging >schema.json
`

func (p *program) schema(ctx context.Context, args []string) error {
	fs, _ := flags("schema") // The output is JSON in any case.
	sample := fs.Int("sample", 0, "read at most `n` items and add the entities that they show")
	kind := fs.String("type", "", "`name` of the attribute with an item's type, if it is not entityType")
	rest, err := p.parse(fs, schemaHelp, args, takes{1, 1, "the name of one table"})
	if err != nil {
		return err
	}
	if *sample < 0 {
		return usageError("-sample is a number of items")
	}
	if err := (schema.Table{Name: rest[0], TypeAttribute: *kind}).Validate(); err != nil {
		return err
	}
	live, err := p.connect(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, p.patience)
	defer cancel()
	found, err := readTable(ctx, live.client, rest[0], *kind)
	if err != nil {
		return p.advise(ctx, ofTable(rest[0], err), copying)
	}
	spec := found.Schema
	if err := validDescription(spec); err != nil {
		return err
	}
	p.printOmitted(found.Omitted)
	if *sample == 0 {
		return p.printJSON(spec)
	}
	about, err := p.ownCount(ctx, live, "", rest[0])
	if err != nil {
		return err
	}
	fmt.Fprintln(p.stderr, beforeSample(about, *sample))
	model, err := p.sampled(ctx, live, spec, *sample)
	if err != nil {
		return p.advise(ctx, err, sampling)
	}
	return p.printJSON(model)
}

// validDescription returns why a live table has no schema.
func validDescription(spec schema.Table) error {
	if e, invalid := errors.AsType[*schema.Error](spec.Validate()); invalid {
		return fmt.Errorf("the table cannot be described by a schema:\n%s", strings.Join(e.Problems, "\n"))
	}
	return nil
}

// printOmitted says what a live table has and its schema cannot say.
func (p *program) printOmitted(omitted []string) {
	for _, line := range omitted {
		fmt.Fprintln(p.stderr, "left out: "+oneLine(line))
	}
}

// sampled returns a model of a sample of a table.
func (p *program) sampled(ctx context.Context, live live, spec schema.Table, limit int) (tablemodel.Model, error) {
	// Expired items are samples as well, and have been paid for.
	read, err := spread.Read(ctx, live.client, spec, limit)
	if err != nil {
		return tablemodel.Model{}, err
	}
	fmt.Fprintf(p.stderr, "read %s for %s\n", quantity.Of(len(read.Items), "item"), quantity.Of(read.Stats.Capacity, "read unit"))
	if len(read.Items) == 0 {
		fmt.Fprintln(p.stderr, "No item was read, so the file has no entities.")
	}
	var kinds kinds.Finder
	kinds.Add(spec.WithDefaults(), read.Items...)
	p.noteUntyped(spec.WithDefaults(), "", kinds)
	return tablemodel.Infer(spec, read.Items)
}

// readTable is [described.Read] with point-in-time recovery. Commands on items do not need
// that, and often have no permission for it.
func readTable(ctx context.Context, client *dynamodb.Client, name, kind string) (described.Table, error) {
	t, err := described.Read(ctx, client, name, kind)
	if err != nil {
		return t, err
	}
	backups, err := client.DescribeContinuousBackups(ctx, &dynamodb.DescribeContinuousBackupsInput{TableName: &name})
	if api, ok := errors.AsType[smithy.APIError](err); ok && api.ErrorCode() == "UnknownOperationException" {
		t.Omitted = append(t.Omitted, "point-in-time recovery, which the endpoint does not have")
		return t, nil
	}
	if err != nil {
		return t, err
	}
	if d := backups.ContinuousBackupsDescription; d != nil && d.PointInTimeRecoveryDescription != nil {
		t.Schema.PointInTimeRecovery = d.PointInTimeRecoveryDescription.PointInTimeRecoveryStatus == types.PointInTimeRecoveryStatusEnabled
	}
	return t, nil
}
