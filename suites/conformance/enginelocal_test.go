//go:build dynamodblocal

package conformance_test

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/suites/conformance"
)

func TestDynamoDBLocal(t *testing.T) {
	endpoint, stop, err := conformance.StartDynamoDBLocal(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	conformance.Run(t, conformance.Harness{
		Client: func(_ testing.TB, optFns ...func(*dynamodb.Options)) *dynamodb.Client {
			return dynamodb.New(dynamodb.Options{
				BaseEndpoint: aws.String(endpoint),
				Region:       "us-east-1",
				Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
					return aws.Credentials{AccessKeyID: "local", SecretAccessKey: "local"}, nil
				}),
			}, optFns...)
		},
		Tables:       &warmed,
		Capabilities: engines["ddblocal"],
	})
}
