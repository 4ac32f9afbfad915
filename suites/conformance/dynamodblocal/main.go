// Command dynamodblocal runs a command on an engine of its own: DynamoDB Local, which
// AWS_ENDPOINT_URL_DYNAMODB names for the command, and which ends with it. It needs Java.
//
//	go run ./suites/conformance/dynamodblocal go test ./repo
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"

	"github.com/singletable/singletable/suites/conformance"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "dynamodblocal:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New("it takes a command, such as go test ./repo")
	}
	endpoint, end, err := conformance.StartDynamoDBLocal(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = end() }()
	c := exec.CommandContext(ctx, args[0], args[1:]...)
	c.Env = append(os.Environ(), "AWS_ENDPOINT_URL_DYNAMODB="+endpoint)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	return c.Run()
}
