package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/cmd/singletable/internal/described"
	"github.com/singletable/singletable/cmd/singletable/internal/dynamojson"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
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
	spec, err := p.schemaOf(ctx, live, name, schemaFile)
	if err != nil {
		return nil, err
	}
	return table.New(live.client, spec, options)
}

// storedTable is a table of a command that shows what is stored.
type storedTable struct {
	live
	table  *table.Table // gives expired items, too
	schema schema.Table // with all defaults, and the TTL attribute
}

// openStored connects, and is open for commands that show what is stored.
func (p *program) openStored(ctx context.Context, name, schemaFile string, options *table.Options) (t storedTable, err error) {
	if t.live, err = p.connect(ctx); err != nil {
		return t, err
	}
	spec, err := p.schemaOf(ctx, t.live, name, schemaFile)
	if err != nil {
		return t, err
	}
	tbl, err := table.New(t.client, spec, options)
	if err != nil {
		return t, err
	}
	t.table, t.schema = tbl.IncludingExpired(), tbl.Schema()
	return t, nil
}

// schemaOf reads the schema of a table from a file, or asks DynamoDB without a file.
func (p *program) schemaOf(ctx context.Context, live live, name, schemaFile string) (schema.Table, error) {
	if schemaFile != "" {
		return p.readSchema(schemaFile, name)
	}
	if err := (schema.Table{Name: name}).Validate(); err != nil {
		return schema.Table{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, p.patience)
	defer cancel()
	found, err := described.Read(ctx, live.client, name, "")
	if err != nil {
		return schema.Table{}, p.advise(ctx, ofTable(name, err), finding)
	}
	p.omitted = found.Omitted
	p.printOmitted(found.Omitted)
	spec := layout(found.Schema)
	return spec, validDescription(spec)
}

// layout returns what reads and writes of items need of a schema: not the settings of
// the table, whose combinations a schema file would have to get right.
func layout(spec schema.Table) schema.Table {
	indexes := slices.Clone(spec.Indexes)
	for i := range indexes {
		indexes[i].ProvisionedThroughput = schema.Throughput{}
	}
	return schema.Table{
		Name: spec.Name, PK: spec.PK, SK: spec.SK, SimpleKey: spec.SimpleKey,
		PKType: spec.PKType, SKType: spec.SKType, TypeAttribute: spec.TypeAttribute, Kinds: spec.Kinds, Shape: spec.Shape, TTLAttribute: spec.TTLAttribute, Indexes: indexes, Vectors: spec.Vectors,
	}
}

// keyOf returns the key of an item from the command line. The errors name no value.
func keyOf(spec schema.Table, args []string) (keys.Key, error) {
	pk, err := keyText(spec.PKType, "the partition key", args[0])
	if err != nil {
		return keys.Key{}, err
	}
	k := keys.Key{PK: keys.PK(pk)}
	switch {
	case spec.SimpleKey && len(args) > 1:
		return k, usageError("the table has no sort key")
	case spec.SimpleKey:
		return k, nil
	case len(args) == 1:
		return k, usageError("the table has a sort key, " + spec.SK)
	}
	sk, err := keyText(spec.SKType, "the sort key", args[1])
	k.SK = keys.SK(sk)
	return k, err
}

// keyText returns the text of a key attribute on the command line as package keys has
// it: a binary one is base64 on the command line, and a number can have needless zeros.
func keyText(kind types.ScalarAttributeType, part, text string) (string, error) {
	switch kind {
	case types.ScalarAttributeTypeN:
		return dynamojson.Number(text), nil
	case types.ScalarAttributeTypeS, "":
		return text, nil
	}
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return "", usageError(part + " is binary, and the argument is not base64")
	}
	return string(data), nil
}

// keyArgs returns a key as keyOf reads it from the command line.
func keyArgs(spec schema.Table, k keys.Key) []string {
	text := func(kind types.ScalarAttributeType, text string) string {
		if kind == types.ScalarAttributeTypeB {
			return base64.StdEncoding.EncodeToString([]byte(text))
		}
		return text
	}
	args := []string{text(spec.PKType, string(k.PK))}
	if !spec.SimpleKey {
		args = append(args, text(spec.SKType, string(k.SK)))
	}
	return args
}

// meter adds up the read units of requests.
type meter struct{ halves atomic.Int64 }

func (m *meter) observe(_ context.Context, e table.Event) { m.halves.Add(int64(2 * e.Capacity)) }

func (m *meter) units() float64 { return float64(m.halves.Load()) / 2 }

// failed is advise for the errors of package table: what is invalid was not sent.
func (p *program) failed(ctx context.Context, err error, permissions string) error {
	if errors.Is(err, table.ErrInvalid) || errors.Is(err, table.ErrTooLarge) {
		return err
	}
	if errors.Is(err, table.ErrOutcomeUnknown) {
		err = fmt.Errorf("%w\nIt may have been written: look at the item before you write it again", err)
	}
	return p.advise(ctx, err, permissions)
}
