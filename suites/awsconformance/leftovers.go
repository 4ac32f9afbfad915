package awsconformance

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

// Leftovers returns the tables that runs with the prefix have made and not
// deleted: those whose names begin with it and that carry the tag of such a run.
func Leftovers(ctx context.Context, client *dynamodb.Client, prefix string) ([]string, error) {
	if !prefixes.MatchString(prefix) {
		return nil, fmt.Errorf("%w: PREFIX %q is not 3 to 31 of a-z 0-9 -, a letter first", ErrRefused, prefix)
	}
	var names []string
	pages := dynamodb.NewListTablesPaginator(client, &dynamodb.ListTablesInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, name := range page.TableNames {
			if !strings.HasPrefix(name, prefix+"-") {
				continue
			}
			tag, err := tagOf(ctx, client, name)
			if gone(err) {
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("table %s: %w", name, err)
			}
			if madeBy(prefix, name, tag) {
				names = append(names, name)
			}
		}
	}
	return names, nil
}

// Delete deletes leftovers. It looks again that each is one.
func Delete(ctx context.Context, client *dynamodb.Client, prefix string, names []string) error {
	for _, name := range names {
		tag, err := tagOf(ctx, client, name)
		switch {
		case gone(err):
		case err != nil:
			return fmt.Errorf("table %s: %w", name, err)
		case !madeBy(prefix, name, tag):
			return fmt.Errorf("%w: table %q was not made by a run with the prefix %q", ErrRefused, name, prefix)
		}
	}
	return deleteAll(ctx, client, names)
}

// madeBy reports whether a table with that tag is one of a run with the prefix:
// the tag is the prefix, then the run's mark, and begins the name. A longer
// prefix is another one.
func madeBy(prefix, name, tag string) bool {
	mark, ok := strings.CutPrefix(tag, prefix+"-")
	return ok && strings.Count(mark, "-") == 1 && strings.HasPrefix(name, tag)
}

func gone(err error) bool {
	_, ok := errors.AsType[*types.ResourceNotFoundException](err)
	return ok
}

// deletePause is the time between attempts to delete a table that is being made.
const deletePause = 500 * time.Millisecond

// deleteAll deletes tables, several at a time, and waits until they are gone. It
// goes on after failures.
func deleteAll(ctx context.Context, client *dynamodb.Client, names []string) error {
	var group sync.WaitGroup
	failures := make([]error, len(names))
	slots := make(chan struct{}, 8)
	for i, name := range names {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			if err := deleteTable(ctx, client, name); err != nil {
				failures[i] = fmt.Errorf("table %s is left behind: %w", name, err)
			}
		})
	}
	group.Wait()
	return errors.Join(failures...)
}

func deleteTable(ctx context.Context, client *dynamodb.Client, name string) error {
	for unprotected := false; ; {
		_, err := client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: aws.String(name)})
		if api, ok := errors.AsType[smithy.APIError](err); ok && api.ErrorCode() == "ValidationException" && !unprotected {
			// A killed run may have left a table with deletion protection.
			_, err = client.UpdateTable(ctx, &dynamodb.UpdateTableInput{
				TableName: aws.String(name), DeletionProtectionEnabled: aws.Bool(false),
			})
			unprotected = err == nil
		}
		if gone(err) {
			return nil
		}
		// A table that is being made or deleted cannot be deleted now.
		if _, busy := errors.AsType[*types.ResourceInUseException](err); err != nil && !busy {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(deletePause):
		}
	}
}
