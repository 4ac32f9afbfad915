// Load sends a mix of requests to the payments API on this machine, and reports
// its throughput and latency. Then it checks that each idempotency key has made
// exactly one transaction.
//
//	go run ./load
//
// It starts an engine, the API, and a handler of the same requests on the SDK
// alone, and sends requests to both by turns. With -url it sends them to a server
// that is running:
//
//	go run . -dev -rate 0
//	go run ./load -url http://127.0.0.1:8080
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/singletable/singletable/examples/internal/httpapi"
	"github.com/singletable/singletable/examples/internal/program"
)

func main() { program.Main("load", run) }

// rounds is how many turns each server gets.
const rounds = 5

type options struct {
	url      string
	requests int
	duration time.Duration
	clients  int
}

func parse(args []string, usage io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("load", flag.ContinueOnError)
	flags.SetOutput(usage)
	flags.StringVar(&o.url, "url", "", "`address` of a server with -dev on this machine; by default, load starts one and another on the SDK alone")
	flags.IntVar(&o.requests, "requests", 20_000, "how many requests to send to each server at most")
	flags.DurationVar(&o.duration, "duration", 30*time.Second, "how long to send them at most")
	flags.IntVar(&o.clients, "clients", 16, "how many clients send them, each one after the other")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	switch {
	case flags.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case o.clients < 1 || o.clients > 256:
		return o, errors.New("-clients must be from 1 to 256")
	case o.requests < 1 || o.requests > 1_000_000:
		return o, errors.New("-requests must be from 1 to 1,000,000")
	case o.duration <= 0 || o.duration > 10*time.Minute:
		return o, errors.New("-duration must be at most 10m")
	case o.url == "":
		return o, nil
	}
	u, err := url.Parse(o.url)
	if err != nil || u.Scheme != "http" || !httpapi.IsLoopback(u.Host) {
		return o, fmt.Errorf("-url must be of this machine, such as http://127.0.0.1:8080: %q is not", o.url)
	}
	o.url = strings.TrimSuffix(o.url, "/")
	return o, nil
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	if o.url != "" {
		return measure(ctx, o, stdout, &server{name: "appcore", url: o.url, token: devToken(o.url)})
	}
	return withServers(ctx, func(servers ...*server) error { return measure(ctx, o, stdout, servers...) })
}

// measure sends requests to the servers by turns, reports, and checks what they
// have stored.
func measure(ctx context.Context, o options, out io.Writer, servers ...*server) error {
	for _, s := range servers {
		if err := s.join(o.clients); err != nil {
			return err
		}
	}
	for round := range rounds {
		for i := range servers {
			// Neither is always the first one.
			s := servers[(i+round)%len(servers)]
			s.round(ctx, share(o.requests, round), o.duration/rounds)
			if err := ctx.Err(); err != nil {
				return err
			}
		}
	}
	report(out, o, servers)
	var wrong []error
	for _, s := range servers {
		keys, err := s.verify(ctx)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", s.name, err))
			continue
		}
		fmt.Fprintf(out, "%s: each of %d idempotency keys has made exactly one transaction\n", s.name, keys)
	}
	return errors.Join(wrong...)
}

// share returns how many of the requests a round has.
func share(requests, round int) int { return requests*(round+1)/rounds - requests*round/rounds }
