// Service keeps the projects of tenants in one DynamoDB table, behind HTTP: a list in pages,
// creations that take effect once, and changes that overwrite no other. It is a small service
// to start your own with.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
	"github.com/singletable/singletable/table/telemetry"
)

func main() {
	spec := Schema
	flag.StringVar(&spec.Name, "table", spec.Name, "`name` of the table")
	addr := flag.String("addr", "127.0.0.1:8080", "`address` to listen on")
	dev := flag.Bool("dev", false, "use a local DynamoDB engine, and create the table there")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process
	if err := run(ctx, spec, *addr, *dev); err != nil {
		log.Fatal(err)
	}
}

// run serves until the context ends.
func run(ctx context.Context, spec schema.Table, addr string, dev bool) error {
	open := deployed
	if dev {
		engine, err := tabletest.Start(ctx, nil)
		if err != nil {
			return err
		}
		defer engine.Close()
		open = func(ctx context.Context, spec schema.Table) (*table.Table, error) {
			if err := spec.Ensure(ctx, engine.Client()); err != nil {
				return nil, err
			}
			return table.New(engine.Client(), spec, nil)
		}
	}
	tbl, err := open(ctx, spec)
	if err != nil {
		return err
	}
	s, err := newService(tbl)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	log.Printf("listening on http://%s", listener.Addr())
	return serve(ctx, listener, s.handler())
}

// deployed returns the table that a deployment has created, by the settings of the environment:
// those of the AWS SDK, and CURSOR_KEYS, which all instances share.
func deployed(ctx context.Context, spec schema.Table) (*table.Table, error) {
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, err
	}
	ring, err := paginate.ParseKeys(os.Getenv("CURSOR_KEYS"))
	if err != nil {
		return nil, fmt.Errorf("CURSOR_KEYS, from openssl rand -base64 32: %w", err)
	}
	cursors, err := paginate.New(ring, nil)
	if err != nil {
		return nil, err
	}
	client := dynamodb.NewFromConfig(cfg)
	if err := spec.Verify(ctx, client); err != nil {
		return nil, err
	}
	return table.New(client, spec, &table.Options{Cursors: cursors, Observe: telemetry.Logs(nil)})
}

// serve serves until the context ends, and then finishes the requests in flight.
func serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{Handler: handler, ReadTimeout: 15 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: time.Minute}
	stopped := make(chan error, 1)
	go func() { stopped <- server.Serve(listener) }()
	select {
	case err := <-stopped:
		return err
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
	defer cancel()
	return server.Shutdown(drain)
}
