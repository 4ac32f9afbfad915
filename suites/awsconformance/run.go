package awsconformance

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// Confirmed is what CONFIRM must be for anything to be sent.
const Confirmed = "yes"

// sweepTime bounds the deletion of a run's tables.
const sweepTime = 10 * time.Minute

// Protect calls run and returns what it returned, once the tables of the run are
// deleted. It deletes them as well when the process is told to end, by Ctrl-C or
// SIGTERM, and returns 130 then. What could not be deleted it reports on w, and
// returns at least 1.
func (g *Guard) Protect(w io.Writer, run func() int) int {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	ended := make(chan int, 1)
	go func() { ended <- run() }()
	code := 0
	select {
	case code = <-ended:
	case s := <-signals:
		code = 130
		fmt.Fprintf(w, "awsconformance: %v: deleting the tables that begin with %s\n", s, g.run)
	}
	ctx, cancel := context.WithTimeout(context.Background(), sweepTime)
	defer cancel()
	if err := g.Sweep(ctx); err != nil {
		fmt.Fprintf(w, "awsconformance: %v\nTo delete them: make conformance-aws-sweep PREFIX=%s\n", err, g.prefix)
		return max(code, 1)
	}
	return code
}
