package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/singletable/singletable/examples/cqrs/core"
	"github.com/singletable/singletable/examples/cqrs/readmodel"
	"github.com/singletable/singletable/examples/cqrs/setup"
	"github.com/singletable/singletable/examples/internal/program"
	"github.com/singletable/singletable/stream"
)

// serve serves the table of the environment's account, and handles its stream.
func (a *app) serve(ctx context.Context, r program.Run) error {
	return a.open(ctx, r, func(system *setup.App, model *readmodel.Model, handler http.Handler) error {
		reader := func(name string, router *stream.Router) (stream.Reader, error) {
			read := program.Reader(name, router, system.Client, r.Log)
			read.Client, read.Interval = dynamodbstreams.NewFromConfig(system.AWS), 0
			return read, nil
		}
		if _, err := model.Active(ctx); errors.Is(err, readmodel.ErrNotBuilt) {
			if err := model.Rebuild(ctx, "p1", system.Service.Replay(ctx)); err != nil {
				return err
			}
		}
		return follow(ctx, system.Service, model, reader, r.Log, func(ctx context.Context) error { return r.Serve(ctx, handler) })
	})
}

// serveAPI serves the table of the environment's account.
func (a *app) serveAPI(ctx context.Context, r program.Run) error {
	return a.open(ctx, r, func(_ *setup.App, _ *readmodel.Model, handler http.Handler) error { return r.Serve(ctx, handler) })
}

// open calls do with the system of the environment. A wrong table, secret or database is
// found now, not by the first request.
func (a *app) open(ctx context.Context, r program.Run, do func(*setup.App, *readmodel.Model, http.Handler) error) error {
	if a.files != "" {
		return fmt.Errorf("-files goes with -%s; %s names the bucket", program.DevFlag, setup.ImportBucket)
	}
	system, err := setup.Open(ctx, r.Table, os.Getenv, r.Log)
	if err != nil {
		return err
	}
	return withModel(ctx, system, func(model *readmodel.Model) error {
		served, keys, err := system.API(model, &a.options)
		if err != nil {
			return fmt.Errorf("%w (-%s does without)", err, program.DevFlag)
		}
		if err := core.Schema(r.Table).Verify(ctx, system.Client); err != nil {
			return err
		}
		if err := keys(ctx); err != nil {
			return err
		}
		return do(system, model, served.Handler(nil))
	})
}

// withModel calls do with the read model.
func withModel(ctx context.Context, system *setup.App, do func(*readmodel.Model) error) (err error) {
	model, db, err := system.Model(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return do(model)
}

// follow calls listen while the readers of the stream run, and resumes the tasks.
func follow(
	ctx context.Context, service *core.Service, model *readmodel.Model,
	reader func(string, *stream.Router) (stream.Reader, error), log *slog.Logger, listen func(context.Context) error,
) error {
	for name, handlers := range map[string][]stream.Handler{"cqrs": service.Handlers(), "readmodel": {service.OnVersion(model.Apply)}} {
		router, err := service.Router(handlers...)
		if err != nil {
			return err
		}
		read, err := reader(name, router)
		if err != nil {
			return err
		}
		next := listen
		listen = func(ctx context.Context) error { return program.WithReader(ctx, read.Run, next) }
	}
	var tasks sync.WaitGroup
	defer tasks.Wait()
	ctx, end := context.WithCancel(ctx)
	defer end() // before the wait
	tasks.Go(func() {
		resumed, err := service.Resume(ctx, 0)
		log.Info("tasks resumed", slog.Int("tasks", resumed), slog.Any("error", err))
	})
	return listen(ctx)
}

// rebuild makes the projection of the mode's value.
func rebuild(ctx context.Context, r program.Run) error {
	system, err := setup.Open(ctx, r.Table, os.Getenv, r.Log)
	if err != nil {
		return err
	}
	return withModel(ctx, system, func(model *readmodel.Model) error {
		return model.Rebuild(ctx, r.Value, system.Service.Replay(ctx))
	})
}

// repair brings the table's data up to its history.
func repair(ctx context.Context, r program.Run) error {
	system, err := setup.Open(ctx, r.Table, os.Getenv, r.Log)
	if err != nil {
		return err
	}
	return system.Service.Repair(ctx)
}
