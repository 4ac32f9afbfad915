package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/logging"
)

// live is the DynamoDB that the user's configuration leads to.
type live struct {
	client *dynamodb.Client
	region string
}

// connect finds region and credentials. It sends no request to DynamoDB.
func (p *program) connect(ctx context.Context) (live, error) {
	cfg, err := config.LoadDefaultConfig(ctx, config.WithLogger(logging.NewStandardLogger(p.stderr)))
	if err != nil {
		return live{}, err
	}
	if cfg.Region == "" {
		return live{}, errors.New("no region: set AWS_REGION, or AWS_PROFILE to a profile that has one")
	}
	if _, err := cfg.Credentials.Retrieve(ctx); err != nil {
		return live{}, fmt.Errorf("no credentials: %w\nSet AWS_PROFILE (and run \"aws sso login\" for one with SSO), or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY", err)
	}
	return live{dynamodb.NewFromConfig(cfg), cfg.Region}, nil
}

// The permissions of the commands, in the words of an error.
const (
	looking = "dynamodb:DescribeTable and dynamodb:DescribeTimeToLive on the table, " +
		"and dynamodb:DescribeContinuousBackups for a schema with pointInTimeRecovery"
	changing = "dynamodb:CreateTable, UpdateTable, DescribeTable, UpdateTimeToLive and DescribeTimeToLive on the table, " +
		"DescribeContinuousBackups and UpdateContinuousBackups for a schema with pointInTimeRecovery, and TagResource for one with tags"
	sampling = "dynamodb:Scan on the table"
	copying  = "dynamodb:DescribeTable, dynamodb:DescribeTimeToLive and dynamodb:DescribeContinuousBackups on the table"
)

// ofTable names the table in the error of a request that describes it.
func ofTable(name string, err error) error { return fmt.Errorf("table %s: %w", oneLine(name), err) }

// adviseRequest is advise if the error is one of a request.
func (p *program) adviseRequest(ctx context.Context, err error, permissions string) error {
	if _, request := errors.AsType[*smithy.OperationError](err); request {
		return p.advise(ctx, err, permissions)
	}
	return err
}

// advise adds to the error of a request what may help: the permissions that the
// command needs, and the variable that leads requests away from AWS. ctx is that of
// the request, with the program's patience as its deadline.
func (p *program) advise(ctx context.Context, err error, permissions string) error {
	api, _ := errors.AsType[smithy.APIError](err)
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		err = fmt.Errorf("no result within %v: %w", p.patience, err)
	case api != nil && api.ErrorCode() == "AccessDeniedException":
		err = fmt.Errorf("%w\nIt needs the permissions %s", err, permissions)
	case api != nil && api.ErrorCode() == "ResourceNotFoundException":
		err = fmt.Errorf("%w\nIs the table in another region or account? AWS_REGION and AWS_PROFILE choose them", err)
	}
	for _, name := range []string{"AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL"} {
		if os.Getenv(name) != "" {
			return fmt.Errorf("%w\n%s is set: requests go there and not to AWS", err, name)
		}
	}
	return err
}
