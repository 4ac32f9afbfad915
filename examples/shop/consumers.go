package main

import (
	"context"
	"log/slog"
	"net/url"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/singletable/singletable/examples/internal/httpapi"
	"github.com/singletable/singletable/examples/internal/program"
	"github.com/singletable/singletable/examples/shop/setup"
	"github.com/singletable/singletable/examples/shop/store"
	"github.com/singletable/singletable/stream"
)

// withConsumers runs the consumers of the table's stream in this process while do runs.
// They continue where those of an earlier process have stopped. One that fails is logged,
// and starts again.
func withConsumers(ctx context.Context, shop *store.Shop, client *dynamodb.Client, log *slog.Logger, do func(context.Context) error) error {
	readers, err := readersOf(ctx, shop, client, log)
	if err != nil {
		return err
	}
	var group sync.WaitGroup
	defer group.Wait()
	ctx, end := context.WithCancel(ctx)
	defer end() // before the wait
	for _, r := range readers {
		group.Go(func() { keepReading(ctx, r, log) })
	}
	return do(ctx)
}

func readersOf(ctx context.Context, shop *store.Shop, client *dynamodb.Client, log *slog.Logger) (readers []stream.Reader, err error) {
	endpoint, err := url.Parse(aws.ToString(client.Options().BaseEndpoint))
	if err != nil {
		return nil, err
	}
	settings, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range setup.Consumers {
		router, err := setup.Router(name, shop, log)
		if err != nil {
			return nil, err
		}
		r := program.Reader(name, router, client, log)
		if !httpapi.IsLoopback(endpoint.Host) { // a local engine has table and stream at one address, AWS at two
			r.Client, r.Interval = dynamodbstreams.NewFromConfig(settings), 0
		}
		// What the stream has lost while no consumer ran is in the log. It does not come
		// back if the rest is not handled.
		r.AcceptLoss = true
		readers = append(readers, r)
	}
	return readers, nil
}

// pause is how long a consumer that has failed waits.
const pause = 5 * time.Second

func keepReading(ctx context.Context, r stream.Reader, log *slog.Logger) {
	for {
		err := r.Run(ctx)
		if ctx.Err() != nil {
			return
		}
		log.ErrorContext(ctx, "a consumer of the stream has ended and starts again", slog.String("reader", r.Name), slog.Any("error", err))
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}
