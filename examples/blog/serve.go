package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/singletable/singletable/examples/blog/setup"
	"github.com/singletable/singletable/examples/blog/store"
	"github.com/singletable/singletable/examples/internal/program"
	"github.com/singletable/singletable/stream"
)

// sweepEvery is how often the objects are swept.
const sweepEvery = time.Hour

// serve serves the API on the table and the bucket of the environment's account, reads the
// stream, and sweeps the objects.
func serve(ctx context.Context, r program.Run) error {
	blog, handler, err := open(ctx, r)
	if err != nil {
		return err
	}
	reader, err := blog.Reader(r.Log)
	if err != nil {
		return err
	}
	return withBackground(ctx, blog.Store, reader, r.Log, func(ctx context.Context) error { return r.Serve(ctx, handler) })
}

// serveAPI serves the API, and leaves the rest to the functions.
func serveAPI(ctx context.Context, r program.Run) error {
	_, handler, err := open(ctx, r)
	if err != nil {
		return err
	}
	return r.Serve(ctx, handler)
}

// open returns the blog of the environment with its API. A wrong table or secret is found
// now, not by the first request.
func open(ctx context.Context, r program.Run) (*setup.Blog, http.Handler, error) {
	blog, err := setup.Open(ctx, r.Table, os.Getenv)
	if err != nil {
		return nil, nil, fmt.Errorf("%w (-%s does without)", err, program.DevFlag)
	}
	handler, keys, err := blog.Handler(r.Log)
	if err != nil {
		return nil, nil, fmt.Errorf("%w (-%s does without)", err, program.DevFlag)
	}
	if err := store.Schema(r.Table).Verify(ctx, blog.Client); err != nil {
		return nil, nil, err
	}
	return blog, handler, keys(ctx)
}

// withBackground runs do while the stream is read and the objects are swept.
func withBackground(ctx context.Context, s *store.Store, reader stream.Reader, log *slog.Logger, do func(context.Context) error) error {
	sweeping := func(ctx context.Context) error {
		foreign := 0 // as logged last
		for tick := time.NewTicker(sweepEvery); ; {
			swept, err := s.Sweep(ctx, time.Now())
			if err != nil {
				log.Error("sweep", slog.String("error", err.Error()))
			}
			if swept.Deleted > 0 || swept.Foreign > foreign {
				log.Info("sweep", slog.Int("deleted", swept.Deleted), slog.Int("foreign", swept.Foreign))
				foreign = swept.Foreign
			}
			select {
			case <-ctx.Done():
				tick.Stop()
				return ctx.Err()
			case <-tick.C:
			}
		}
	}
	return program.WithReader(ctx, reader.Run, func(ctx context.Context) error {
		return program.WithReader(ctx, sweeping, do)
	})
}
