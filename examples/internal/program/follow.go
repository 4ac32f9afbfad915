package program

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/stream"
	"github.com/singletable/singletable/stream/streamtest"
)

// Reader returns a reader of the stream of a local engine, which logs what is delivered
// again. A nil log is one that nobody reads.
func Reader(name string, router *stream.Router, client *dynamodb.Client, log *slog.Logger) stream.Reader {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return stream.Reader{
		Name: name, Router: router, Client: streamtest.Client(client), Interval: 20 * time.Millisecond,
		Progress: func(p stream.Progress) {
			if p.Err != nil {
				log.Warn("a change is delivered again", slog.String("reader", name), slog.String("error", p.Err.Error()))
			}
		},
	}
}

// followFor bounds Follow. A process that was killed keeps its shards for half a
// minute.
const followFor = time.Minute

var errEnded = errors.New("a reader has ended")

// Follow runs readers until done returns true, and a minute at most. done is called
// first, whenever a reader has made progress, and five times a second. The readers have
// stopped when Follow returns.
func Follow(ctx context.Context, done func(context.Context) (bool, error), readers ...stream.Reader) error {
	ctx, stop := context.WithTimeoutCause(ctx, followFor, fmt.Errorf("the changes were not handled within %v", followFor))
	defer stop()
	progress := make(chan error, 1)
	ended := make(chan error, len(readers))
	var group sync.WaitGroup
	for _, r := range readers {
		r.Progress = func(p stream.Progress) {
			select {
			case progress <- p.Err:
			case <-ctx.Done():
			}
		}
		group.Go(func() { ended <- r.Run(ctx) })
	}
	defer group.Wait()
	defer stop() // before the wait
	tick := time.NewTicker(time.Second / 5)
	defer tick.Stop()
	var failure error
	for {
		ok, err := done(ctx)
		if ok || err != nil {
			return err
		}
		select {
		case failure = <-progress:
		case <-tick.C:
		case err := <-ended:
			return errors.Join(errEnded, err, failure)
		}
	}
}
