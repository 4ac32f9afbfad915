// Package local has what the programs that command coldstart compares are given.
package local

import (
	"context"
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// The environment variables of a program: where the engine is, its table, and the
// id of the order that it creates.
const (
	Endpoint = "COLDSTART_ENDPOINT"
	Table    = "COLDSTART_TABLE"
	ID       = "COLDSTART_ID"
)

// Client returns a client of the engine.
func Client() *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		Region: "local", BaseEndpoint: aws.String(os.Getenv(Endpoint)),
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "local", SecretAccessKey: "local"}, nil
		}),
	})
}
