package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"

	"github.com/singletable/singletable/suites/benchmarks/backfill"
	"github.com/singletable/singletable/suites/benchmarks/coldstart"
	"github.com/singletable/singletable/suites/benchmarks/firstpage"
	"github.com/singletable/singletable/suites/benchmarks/network"
	"github.com/singletable/singletable/suites/benchmarks/report"
	"github.com/singletable/singletable/suites/benchmarks/shardcost"
)

// commands define their flags, and return what they do once these are parsed.
var commands = map[string]func(*flag.FlagSet) func(context.Context) error{
	"backfill":  backfill.Command,
	"coldstart": coldstart.Command,
	"firstpage": firstpage.Command,
	"network":   network.Command,
	"report":    report.Command,
	"shardcost": shardcost.Command,
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "benchmarks:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	names := strings.Join(slices.Sorted(maps.Keys(commands)), ", ")
	if len(args) == 0 || commands[args[0]] == nil {
		return fmt.Errorf("the first argument is one of %s", names)
	}
	flags := flag.NewFlagSet(args[0], flag.ExitOnError)
	do := commands[args[0]](flags)
	_ = flags.Parse(args[1:]) // exits
	if err := do(ctx); err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	return nil
}
