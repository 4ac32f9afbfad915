package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/cmd/singletable/internal/lines"
	"github.com/singletable/singletable/cmd/singletable/internal/quantity"
	"github.com/singletable/singletable/cmd/singletable/internal/seed"
	"github.com/singletable/singletable/table/tablemodel"
)

// seeding is a table that engine creates and loads.
type seeding struct {
	tablemodel.Model
	items io.ReadCloser
}

// seeded is what has become of it.
type seeded struct {
	Table string `json:"table"`
	// Created is false if the table was there, which then stays as it is.
	Created bool  `json:"created"`
	Items   int64 `json:"items"`
}

// seed returns the table that -seed names: a sample, or a file with a schema file.
func (p *program) seed(name, schemaFile string) (seeding, error) {
	if schemaFile != "" {
		model, err := p.readModel(schemaFile, "")
		if err != nil {
			return seeding{}, err
		}
		f, err := os.Open(name)
		return seeding{model, f}, err
	}
	schemaText, items, ok := seed.Open(name)
	if !ok {
		return seeding{}, usageError(fmt.Sprintf("-seed: there is no seed %q. Seeds are %s; a file of items needs -schema, too",
			name, strings.Join(seed.Names(), " and ")))
	}
	model, err := decodeModel(schemaText)
	return seeding{model, io.NopCloser(strings.NewReader(items))}, err
}

// seedingTag is on a table from its creation until all items are in it.
const seedingTag = "singletable:seeding"

// into creates the table on an engine and loads it, unless it is there. A table whose
// load has not ended, since the process was killed, is created again.
func (s seeding) into(ctx context.Context, client *dynamodb.Client, progress *progress) (seeded, error) {
	out := seeded{Table: s.Name}
	there, err := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &s.Name})
	if err == nil {
		partial, err := isPartial(ctx, client, there.Table)
		if err != nil || !partial {
			return out, err
		}
		if err := s.drop(ctx, client); err != nil {
			return out, err
		}
	} else if _, missing := errors.AsType[*types.ResourceNotFoundException](err); !missing {
		return out, err
	}
	marked := s.Table
	marked.Tags = maps.Clone(marked.Tags)
	if marked.Tags == nil {
		marked.Tags = map[string]string{}
	}
	marked.Tags[seedingTag] = "true"
	if err := marked.Ensure(ctx, client); err != nil {
		return out, err
	}
	out.Created = true
	if out.Items, err = s.load(ctx, client, progress); err != nil {
		err = errors.Join(fmt.Errorf("-seed: table %s was not made: %w", s.Name, err), s.drop(context.WithoutCancel(ctx), client))
	}
	return out, err
}

// drop deletes a part of the table, although its schema may protect the whole.
func (s seeding) drop(ctx context.Context, client *dynamodb.Client) error {
	if s.DeletionProtection {
		_, err := client.UpdateTable(ctx, &dynamodb.UpdateTableInput{
			TableName: &s.Name, DeletionProtectionEnabled: aws.Bool(false),
		})
		if err != nil {
			return err
		}
	}
	_, err := client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &s.Name})
	return err
}

// isPartial reports whether a seed of a table was begun and has not ended.
func isPartial(ctx context.Context, client *dynamodb.Client, there *types.TableDescription) (bool, error) {
	tags, err := client.ListTagsOfResource(ctx, &dynamodb.ListTagsOfResourceInput{ResourceArn: there.TableArn})
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(tags.Tags, func(t types.Tag) bool { return aws.ToString(t.Key) == seedingTag }), nil
}

// load writes the items into the table, and returns how many there are.
func (s seeding) load(ctx context.Context, client *dynamodb.Client, progress *progress) (int64, error) {
	described, err := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &s.Name})
	if err != nil {
		return 0, err
	}
	l := &load{progress: progress, model: s.Model}
	if l.table, err = rawTable(client, s.Table, nil); err != nil {
		return 0, err
	}
	if l.reader, err = lines.NewReader(s.items); err != nil {
		return 0, err
	}
	err = l.run(ctx)
	progress.end()
	if err != nil {
		return 0, err
	}
	_, err = client.UntagResource(ctx, &dynamodb.UntagResourceInput{
		ResourceArn: described.Table.TableArn, TagKeys: []string{seedingTag},
	})
	return l.items, err
}

// text says what there is to look at.
func (s seeded) text() string {
	what := fmt.Sprintf("Table %s has %s.", oneLine(s.Table), quantity.Of(s.Items, "item"))
	if !s.Created {
		what = fmt.Sprintf("Table %s was there already, and stays as it is.", oneLine(s.Table))
	}
	return what + " With the variables above:\n\n  singletable view " + oneLine(s.Table) + "\n\n"
}
