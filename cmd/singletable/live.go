package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/logging"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
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
	p.region = cfg.Region
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
func ofTable(name string, err error) error { return &tableError{name, err} }

// tableError is the error of a request about a table.
type tableError struct {
	table string
	err   error
}

func (e *tableError) Error() string { return fmt.Sprintf("table %s: %v", oneLine(e.table), e.err) }

func (e *tableError) Unwrap() error { return e.err }

// tableIn returns the table that an error is about.
func tableIn(err error) string {
	if e, ok := errors.AsType[*tableError](err); ok {
		return e.table
	}
	if e, ok := errors.AsType[*table.Error](err); ok {
		return e.Table
	}
	if e, ok := errors.AsType[*schema.Error](err); ok {
		return e.Table
	}
	return ""
}

// endpoint returns the variable that leads requests to an endpoint, and its value.
func endpoint() (name, value string) {
	for _, name := range []string{"AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL"} {
		if value := os.Getenv(name); value != "" {
			return name, value
		}
	}
	return "", ""
}

// adviseRequest is advise if the error is one of a request.
func (p *program) adviseRequest(ctx context.Context, err error, permissions string) error {
	if _, request := errors.AsType[*smithy.OperationError](err); request {
		return p.advise(ctx, err, permissions)
	}
	return err
}

// advise puts before the error of a request what is wrong and what may help: the permissions
// that the command needs, or that there is no such table. It adds the variable that leads
// requests away from AWS. ctx is that of the request, with the program's patience as its
// deadline.
func (p *program) advise(ctx context.Context, err error, permissions string) error {
	api, _ := errors.AsType[smithy.APIError](err)
	_, unsent := errors.AsType[*smithyhttp.RequestSendError](err)
	name, at := endpoint()
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		err = fmt.Errorf("no result within %v: %w", p.patience, err)
	case unsent:
		err = fmt.Errorf("there is no connection to DynamoDB\n%w", err)
	case api != nil && api.ErrorCode() == "AccessDeniedException":
		err = fmt.Errorf("the credentials are not allowed to do this; the command needs %s\n%w", permissions, err)
	case api != nil && slices.Contains(unknownCredentials, api.ErrorCode()):
		err = fmt.Errorf("the credentials are not accepted: sign in again (\"aws sso login\"), or set AWS_PROFILE to others\n%w", err)
	case api != nil && api.ErrorCode() == "ResourceNotFoundException" && tableIn(err) != "":
		if name != "" {
			return fmt.Errorf("there is no table %s at %s, to which %s leads", oneLine(tableIn(err)), oneLine(at), name)
		}
		return fmt.Errorf("there is no table %s in %s and the account of these credentials; AWS_REGION and AWS_PROFILE choose others", oneLine(tableIn(err)), oneLine(p.region))
	}
	if name != "" {
		return fmt.Errorf("%w\n%s is set: requests go there and not to AWS", err, name)
	}
	return err
}

// unknownCredentials are the codes of errors about credentials that have expired or are others
// than DynamoDB knows. AWS: "Error handling with DynamoDB", Amazon DynamoDB Developer Guide;
// "Common Errors", Amazon DynamoDB API Reference.
var unknownCredentials = []string{"ExpiredTokenException", "InvalidSignatureException", "MissingAuthenticationTokenException", "UnrecognizedClientException"}
