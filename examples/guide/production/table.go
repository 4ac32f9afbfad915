// Package production opens a table as a service does that runs on AWS.
package production

import (
	"context"
	"os"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/telemetry"
)

// Open returns the table of a schema, which a deployment has created. The
// environment has the settings of the AWS SDK, and CURSOR_KEYS. No request is sent.
func Open(ctx context.Context, spec schema.Table) (*table.Table, error) {
	cfg, err := config.LoadDefaultConfig(ctx) // region and credentials
	if err != nil {
		return nil, err
	}
	ring, err := paginate.ParseKeys(os.Getenv("CURSOR_KEYS")) // from: openssl rand -base64 32
	if err != nil {
		return nil, err
	}
	cursors, err := paginate.New(ring, nil)
	if err != nil {
		return nil, err
	}
	return table.New(dynamodb.NewFromConfig(cfg), spec, &table.Options{Cursors: cursors, Observe: telemetry.Logs(nil)})
}
