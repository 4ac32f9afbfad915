package benchmarks_test

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// library does the four jobs, as an engineer would who uses it every day: keys
// are made of ids where they are needed.
type library interface {
	// get reads the user's record of that time and id.
	get(ctx context.Context, user string, at time.Time, id string) (record, error)
	// page reads the newest records of the user, pageSize of them, and says
	// whether it learned where the next page begins.
	page(ctx context.Context, user string) (page []record, more bool, err error)
	// transact writes all of the change or nothing.
	transact(ctx context.Context, c change) error
	// transactPut creates all three records, or none if one of them exists.
	transactPut(ctx context.Context, records trio) error
}

// libraries are named as in the results.
var libraries = []struct {
	name string
	open func(client *dynamodb.Client, tableName string) library
}{
	{"sdk", openSDK},
	{"sdk-expression", openSDKExpression},
	{"sdk-maps", openSDKMaps},
	{"singletable", openSingletable},
	{"guregu", openGuregu},
}
