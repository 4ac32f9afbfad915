// Command sweep lists the tables that killed runs of the conformance suite have
// left in an AWS account, and deletes them if it is told to.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/suites/awsconformance"
)

func main() {
	prefix := flag.String("prefix", "", "what the names of the tables begin with")
	confirm := flag.String("confirm", "", "yes to delete them")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	cfg, err := config.LoadDefaultConfig(ctx)
	if err == nil {
		err = sweep(ctx, os.Stdout, dynamodb.NewFromConfig(cfg), *prefix, *confirm)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// sweep lists the leftovers, and deletes them if confirm says so.
func sweep(ctx context.Context, w io.Writer, client *dynamodb.Client, prefix, confirm string) error {
	names, err := awsconformance.Leftovers(ctx, client, prefix)
	if err != nil {
		return err
	}
	for _, name := range names {
		fmt.Fprintln(w, name)
	}
	if len(names) == 0 || confirm != awsconformance.Confirmed {
		fmt.Fprintf(w, "%d tables of runs with the prefix %s; none was deleted\n", len(names), prefix)
		return nil
	}
	if err := awsconformance.Delete(ctx, client, prefix, names); err != nil {
		return err
	}
	fmt.Fprintf(w, "%d tables deleted\n", len(names))
	return nil
}
