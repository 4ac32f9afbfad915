package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tablemodel"
)

const schemaHelp = `Usage: singletable schema [flags] TABLE

Schema prints a live table as a schema file, which verify accepts for it: keys, indexes,
TTL, stream, billing mode, capacity, table class, deletion protection and point-in-time
recovery. It changes nothing. It waits 30 seconds for DynamoDB.

DynamoDB does not know which attribute holds an item's type: say so with -type if it
is not entityType. Tags and warm throughput are left out. So is an index that is being
deleted, with a line on standard error.

With -sample it reads so many items, the first of a Scan, and adds the entities that
they show: for each type, the patterns of its keys. Standard error tells how many read
units that took. The patterns hold names of attributes and constant parts of keys. They
are guesses: look at them before you keep or publish them.

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
	rest, err := p.parse(fs, schemaHelp, args)
	if err != nil {
		return err
	}
	if len(rest) != 1 {
		return usageError("it takes the name of one table")
	}
	if *sample < 0 {
		return usageError("-sample is a number of items")
	}
	if err := (table.Schema{Name: rest[0], Type: *kind}).Validate(); err != nil {
		return err
	}
	live, err := p.connect(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, p.patience)
	defer cancel()
	schema, omitted, err := readTable(ctx, live.client, rest[0])
	if err != nil {
		return p.advise(ctx, ofTable(rest[0], err), copying)
	}
	schema.Type = *kind
	if e, invalid := errors.AsType[*table.SchemaError](schema.Validate()); invalid {
		return fmt.Errorf("the table cannot be described by a schema:\n%s", strings.Join(e.Problems, "\n"))
	}
	for _, line := range omitted {
		fmt.Fprintln(p.stderr, "left out: "+oneLine(line))
	}
	if *sample == 0 {
		return p.printJSON(schema)
	}
	about, err := p.ownCount(ctx, live, "", rest[0])
	if err != nil {
		return err
	}
	fmt.Fprintln(p.stderr, beforeSample(about, *sample))
	model, err := p.sampled(ctx, live, schema, *sample)
	if err != nil {
		return p.advise(ctx, err, sampling)
	}
	return p.printJSON(model)
}

// sampled returns a model of the first items of a table.
func (p *program) sampled(ctx context.Context, live live, schema table.Schema, limit int) (tablemodel.Model, error) {
	reading := schema
	reading.TTL = "" // Expired items are samples as well, and have been paid for.
	t, err := table.New(live.client, reading, nil)
	if err != nil {
		return tablemodel.Model{}, err
	}
	var items []table.Item
	var stats table.Stats
	for scan := (table.Scan{Limit: limit}); ; {
		page, err := table.ScanPage[table.Item](ctx, t, scan)
		if err != nil {
			return tablemodel.Model{}, err
		}
		items, stats = append(items, page.Items...), stats.Add(page.Stats)
		scan.After, scan.Limit = page.Next, limit-len(items)
		if scan.After == "" || scan.Limit <= 0 {
			break
		}
	}
	fmt.Fprintf(p.stderr, "read %s for %s\n", quantity(len(items), "item"), quantity(stats.Capacity, "read unit"))
	return tablemodel.Infer(schema, items)
}

// readTable returns the schema of a live table, and what it has and the schema cannot
// say.
func readTable(ctx context.Context, client *dynamodb.Client, name string) (schema table.Schema, omitted []string, err error) {
	schema, omitted, err = readLayout(ctx, client, name)
	if err != nil {
		return schema, nil, err
	}
	backups, err := client.DescribeContinuousBackups(ctx, &dynamodb.DescribeContinuousBackupsInput{TableName: &name})
	if api, ok := errors.AsType[smithy.APIError](err); ok && api.ErrorCode() == "UnknownOperationException" {
		return schema, append(omitted, "point-in-time recovery, which the endpoint does not have"), nil
	}
	if err != nil {
		return schema, nil, err
	}
	if d := backups.ContinuousBackupsDescription; d != nil && d.PointInTimeRecoveryDescription != nil {
		schema.PointInTimeRecovery = d.PointInTimeRecoveryDescription.PointInTimeRecoveryStatus == types.PointInTimeRecoveryStatusEnabled
	}
	return schema, omitted, nil
}

// readLayout is readTable without what data commands do not need, and often have no
// permission for: point-in-time recovery.
func readLayout(ctx context.Context, client *dynamodb.Client, name string) (schema table.Schema, omitted []string, err error) {
	out, err := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name})
	if err != nil {
		return schema, nil, err
	}
	if out.Table == nil {
		return schema, nil, errors.New("the response describes no table")
	}
	schema, omitted, err = describedSchema(name, out.Table)
	if err != nil {
		return schema, nil, err
	}
	ttl, err := client.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &name})
	if err != nil {
		return schema, nil, err
	}
	if d := ttl.TimeToLiveDescription; d != nil &&
		(d.TimeToLiveStatus == types.TimeToLiveStatusEnabled || d.TimeToLiveStatus == types.TimeToLiveStatusEnabling) {
		schema.TTL = aws.ToString(d.AttributeName)
	}
	return schema, omitted, nil
}

// describedSchema returns what the description of a table says.
func describedSchema(name string, t *types.TableDescription) (schema table.Schema, omitted []string, err error) {
	kinds := map[string]types.ScalarAttributeType{}
	for _, d := range t.AttributeDefinitions {
		if d.AttributeType != types.ScalarAttributeTypeS { // the default
			kinds[aws.ToString(d.AttributeName)] = d.AttributeType
		}
	}
	partition, sort := keysOf(t.KeySchema, kinds)
	if len(partition) != 1 || len(sort) > 1 {
		return schema, nil, errors.New("the table does not have one partition key and at most one sort key")
	}
	pk, sk := partition[0], first(sort)
	schema = table.Schema{
		Name: name, PK: pk.Name, SK: sk.Name, SimpleKey: sk.Name == "", PKType: pk.Type, SKType: sk.Type,
		BillingMode:        types.BillingModeProvisioned, // of a table that never was on demand
		DeletionProtection: aws.ToBool(t.DeletionProtectionEnabled),
	}
	if spec := t.StreamSpecification; spec != nil && aws.ToBool(spec.StreamEnabled) {
		schema.Stream = spec.StreamViewType
	}
	if t.BillingModeSummary != nil {
		schema.BillingMode = t.BillingModeSummary.BillingMode
	}
	if t.TableClassSummary != nil {
		schema.TableClass = t.TableClassSummary.TableClass
	}
	provisioned := schema.BillingMode == types.BillingModeProvisioned
	if provisioned {
		schema.ProvisionedThroughput = throughput(t.ProvisionedThroughput)
	}
	add := func(x table.Index, elements []types.KeySchemaElement, p *types.Projection) {
		partition, sort := keysOf(elements, kinds)
		switch {
		case x.Local: // It has the partition key of the table.
			x.SK, x.SKType = first(sort).Name, first(sort).Type
		case len(partition) > 1 || len(sort) > 1:
			x.PKs, x.SKs = partition, sort
		default:
			x.PK, x.PKType = first(partition).Name, first(partition).Type
			x.SK, x.SKType = first(sort).Name, first(sort).Type
		}
		if p != nil && p.ProjectionType != types.ProjectionTypeAll {
			x.Projection, x.Include = p.ProjectionType, p.NonKeyAttributes
		}
		schema.Indexes = append(schema.Indexes, x)
	}
	for _, g := range t.GlobalSecondaryIndexes {
		x := table.Index{Name: aws.ToString(g.IndexName)}
		if g.IndexStatus == types.IndexStatusDeleting {
			omitted = append(omitted, fmt.Sprintf("index %s, which is DELETING", x.Name))
			continue
		}
		if provisioned {
			x.ProvisionedThroughput = throughput(g.ProvisionedThroughput)
		}
		add(x, g.KeySchema, g.Projection)
	}
	for _, l := range t.LocalSecondaryIndexes {
		add(table.Index{Name: aws.ToString(l.IndexName), Local: true}, l.KeySchema, l.Projection)
	}
	return schema, omitted, nil
}

// keysOf returns the key attributes that are not of the default type with their types.
func keysOf(elements []types.KeySchemaElement, kinds map[string]types.ScalarAttributeType) (partition, sort []table.Attribute) {
	for _, e := range elements {
		name := aws.ToString(e.AttributeName)
		a := table.Attribute{Name: name, Type: kinds[name]}
		if e.KeyType == types.KeyTypeHash {
			partition = append(partition, a)
		} else {
			sort = append(sort, a)
		}
	}
	return partition, sort
}

// first returns the first attribute, none if there are none.
func first(all []table.Attribute) table.Attribute {
	if len(all) == 0 {
		return table.Attribute{}
	}
	return all[0]
}

// throughput returns the capacity of a table or an index.
func throughput(p *types.ProvisionedThroughputDescription) table.Throughput {
	if p == nil {
		return table.Throughput{}
	}
	return table.Throughput{Read: aws.ToInt64(p.ReadCapacityUnits), Write: aws.ToInt64(p.WriteCapacityUnits)}
}
