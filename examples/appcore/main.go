// Appcore is a payments API: users, transactions and notifications in one
// DynamoDB table, behind HTTP. README.md describes it.
//
// For a look at it, in this directory:
//
//	go run . -dev -demo
package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"regexp"

	"github.com/rs/cors"

	"github.com/singletable/singletable/examples/appcore/api"
	"github.com/singletable/singletable/examples/appcore/core"
	"github.com/singletable/singletable/examples/appcore/setup"
	"github.com/singletable/singletable/examples/internal/httpapi"
	"github.com/singletable/singletable/examples/internal/program"
)

func main() { new(app).service().Main() }

// app has the flags of its own.
type app struct {
	demo   bool
	limits httpapi.Limits
	origin string
}

func (a *app) service() program.Service {
	return program.Service{
		Name: "appcore", Table: "AppCore", Data: "`file` that keeps the table",
		Modes: []program.Mode{
			{Flag: program.DevFlag, Usage: program.DevUsage, Run: a.develop},
			{Flag: "serve", Usage: program.ServeUsage, Run: a.serve},
		},
		Flags: func(flags *flag.FlagSet) {
			flags.BoolVar(&a.demo, "demo", false, "create users with history; with -dev only")
			flags.Float64Var(&a.limits.PerSecond, "rate", 50, "how many requests a second each user may send; 0 is no limit")
			flags.IntVar(&a.limits.Burst, "burst", 100, "how many of them at once")
			flags.StringVar(&a.origin, "cors", "", "`origin` of web pages that may call the API, such as https://app.example.com; none by default")
		},
	}
}

// origin is the form of an origin, as browsers send it: no path, and no wildcard.
var origin = regexp.MustCompile(`^https?://[a-zA-Z0-9.-]+(:[0-9]+)?$`)

// options are the options of the API by the flags.
func (a *app) options() (*api.Options, error) {
	if a.origin != "" && !origin.MatchString(a.origin) {
		return nil, fmt.Errorf("-cors: %q is not an origin such as https://app.example.com", a.origin)
	}
	limiter, err := httpapi.NewLimiter(a.limits)
	if err != nil {
		return nil, fmt.Errorf("-rate and -burst: %w", err)
	}
	return &api.Options{Limiter: limiter}, nil
}

// serve serves the table of the environment's account.
func (a *app) serve(ctx context.Context, r program.Run) error {
	if a.demo {
		return fmt.Errorf("-demo goes with -%s: it writes made-up transactions", program.DevFlag)
	}
	options, err := a.options()
	if err != nil {
		return err
	}
	production, err := setup.Production(ctx, r.Table, os.Getenv, r.Log, options)
	if err != nil {
		return fmt.Errorf("%w (-%s does without)", err, program.DevFlag)
	}
	// A wrong table or secret is found now, not by the first request.
	if err := core.Schema(r.Table).Verify(ctx, production.Client); err != nil {
		return err
	}
	if err := production.Keys(ctx); err != nil {
		return err
	}
	return r.Serve(ctx, a.forPages(production.API.Handler(nil)))
}

// forPages lets web pages of the origin call a handler, as API Gateway does by the
// template.
func (a *app) forPages(handler http.Handler) http.Handler {
	if a.origin == "" {
		return handler
	}
	return cors.New(corsOf(a.origin)).Handler(handler)
}

// corsOf are the rules for the pages of an origin: those of the template.
func corsOf(origin string) cors.Options {
	return cors.Options{
		AllowedOrigins: []string{origin},
		AllowedMethods: []string{http.MethodGet, http.MethodPost, http.MethodPatch},
		AllowedHeaders: []string{"Authorization", "Content-Type", "Idempotency-Key", "If-Match", "X-Request-Id"},
		ExposedHeaders: []string{"ETag", "Idempotency-Replayed", "Location", "Retry-After", "X-Request-Id"},
		MaxAge:         600,
	}
}
