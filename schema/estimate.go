package schema

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// EstimateItems returns about how many items and bytes the table has, or an index if
// the name is not empty, by one DescribeTable that consumes no capacity. DynamoDB
// counts every six hours or so, and items that have expired until it deletes them: a
// new table has 0. Count of package table is exact.
//
// AWS: DescribeTable and TableDescription, Amazon DynamoDB API Reference.
//
// Errors, as an [*Error]: [keys.ErrInvalid], [ErrMismatch] if there is no such table or
// index, and the SDK's.
func (t Table) EstimateItems(ctx context.Context, client Client, index string) (items, bytes int64, err error) {
	fail := func(err error) (int64, int64, error) {
		return 0, 0, &Error{Op: "EstimateItems", Table: t.Name, Index: index, Err: err}
	}
	if err := t.Validate(); err != nil {
		return 0, 0, err
	}
	if missing(client) {
		return fail(errNoClient)
	}
	have, err := liveTable(ctx, client, aws.String(t.Name))
	if gone := (*types.ResourceNotFoundException)(nil); errors.As(err, &gone) {
		err = fmt.Errorf("%w: the table does not exist: %w", ErrMismatch, err)
	}
	if err != nil {
		return fail(err)
	}
	if index == "" {
		return aws.ToInt64(have.ItemCount), aws.ToInt64(have.TableSizeBytes), nil
	}
	for _, x := range liveIndexes(have) {
		if x.name == index {
			return x.items, x.bytes, nil
		}
	}
	return fail(fmt.Errorf("%w: there is no such index", ErrMismatch))
}
