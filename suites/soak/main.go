// Command soak tries what the library promises, on a real engine whose requests
// are broken on purpose, and prints how often each promise was tried and held.
//
//	go run ./suites/soak -duration 5m
//	go run ./suites/soak -seed 42 -ops 300
//
// It ends with status 1 if a promise was broken, and also if one was never
// tried. See README.md in this folder.
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"time"

	"github.com/singletable/singletable/suites/conformance"
	"github.com/singletable/singletable/suites/soak/report"
	"github.com/singletable/singletable/suites/soak/workload"
)

func main() {
	workload.Victim()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "\nFAILED\n%v\n", err)
		stop()
		os.Exit(1)
	}
	fmt.Println("\nok")
}

func run(ctx context.Context) error {
	var c workload.Config
	flag.Uint64Var(&c.Seed, "seed", 0, "what operations and faults are drawn from; 0 draws a seed")
	flag.IntVar(&c.Ops, "ops", 0, "operations of a worker in each phase; 0 for as many as there is time for")
	flag.IntVar(&c.Workers, "workers", 4, "workers at a time")
	flag.DurationVar(&c.Duration, "duration", 30*time.Second, "time for all phases where -ops is 0")
	engine := flag.String("engine", "", `"dynamodblocal" starts DynamoDB Local (needs java); by default the engine is as for tests`)
	flag.Parse()
	if c.Seed == 0 {
		c.Seed = uint64(rand.Uint32())
	}

	name := "dynoxide"
	switch {
	case *engine == "dynamodblocal":
		endpoint, end, err := conformance.StartDynamoDBLocal(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = end() }()
		if err := os.Setenv("AWS_ENDPOINT_URL_DYNAMODB", endpoint); err != nil {
			return err
		}
		name = "DynamoDB Local"
	case *engine != "":
		return fmt.Errorf("unknown engine %q", *engine)
	case workload.Named():
		name = os.Getenv("AWS_ENDPOINT_URL_DYNAMODB")
	}
	fmt.Printf("seed %d, %d workers, engine %s\n\n", c.Seed, c.Workers, name)

	var r report.Report
	start := time.Now()
	err := workload.Run(ctx, c, &r)
	if printErr := r.Print(os.Stdout); printErr != nil {
		return printErr
	}
	fmt.Printf("seed %d, %v\n", c.Seed, time.Since(start).Round(time.Second))
	if err != nil {
		return err
	}
	return r.Verdict(workload.Expected())
}
