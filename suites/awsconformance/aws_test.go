//go:build aws

package awsconformance_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/suites/awsconformance"
	"github.com/singletable/singletable/suites/conformance"
	"github.com/singletable/singletable/table/tabletest"
)

// lag bounds how long the suite waits for a write to be shown.
const lag = 30 * time.Second

var (
	guard *awsconformance.Guard
	onAWS func(...func(*dynamodb.Options)) *dynamodb.Client
)

func TestMain(m *testing.M) {
	if err := connect(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(guard.Protect(os.Stderr, m.Run))
}

// connect loads the configuration. It sends nothing to DynamoDB.
func connect(ctx context.Context) error {
	if endpoint := os.Getenv("AWS_ENDPOINT_URL_DYNAMODB"); endpoint != "" {
		return fmt.Errorf("AWS_ENDPOINT_URL_DYNAMODB is set to %s: unset it to run on AWS", endpoint)
	}
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return err
	}
	if cfg.Region == "" {
		return fmt.Errorf("no region: set AWS_REGION, or one for the profile")
	}
	guard, err = awsconformance.NewGuard(dynamodb.NewFromConfig(cfg), os.Getenv("PREFIX"))
	onAWS = func(optFns ...func(*dynamodb.Options)) *dynamodb.Client {
		return dynamodb.NewFromConfig(cfg, append([]func(*dynamodb.Options){guard.Install}, optFns...)...)
	}
	return err
}

func TestAWS(t *testing.T) {
	var meter awsconformance.Meter
	estimated := t.Run("estimate", func(t *testing.T) {
		conformance.Run(t, conformance.Harness{
			Client: func(tb testing.TB, optFns ...func(*dynamodb.Options)) *dynamodb.Client {
				return tabletest.Client(tb, append([]func(*dynamodb.Options){meter.Install}, optFns...)...)
			},
			Capabilities: conformance.Capabilities{Lag: lag},
		})
	})
	fmt.Println(&meter)
	if !estimated {
		t.Fatal("the suite fails on the local engine; nothing was sent to AWS")
	}
	if os.Getenv("CONFIRM") != awsconformance.Confirmed {
		t.Fatalf("nothing was sent to AWS: say CONFIRM=%s to run there", awsconformance.Confirmed)
	}
	t.Run("run", func(t *testing.T) {
		conformance.Run(t, conformance.Harness{
			Client: func(_ testing.TB, optFns ...func(*dynamodb.Options)) *dynamodb.Client {
				return onAWS(optFns...)
			},
			TablePrefix:  guard.TablePrefix(),
			Capabilities: conformance.Capabilities{Lag: lag},
		})
	})
}
