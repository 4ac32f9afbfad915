package agent

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/table"
)

// readClient has GetItem and Query. Its Client is nil: whatever asks for another operation,
// nothing is sent.
type readClient struct {
	table.Client
	of *dynamodb.Client
}

func (c readClient) GetItem(ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	return c.of.GetItem(ctx, in, o...)
}

func (c readClient) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	return c.of.Query(ctx, in, o...)
}
