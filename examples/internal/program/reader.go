package program

import (
	"context"
	"errors"
	"time"
)

// WithReader runs do while reader runs, and ends the reader with it. An error of the reader
// ends do, and is the result.
func WithReader(ctx context.Context, reader, do func(context.Context) error) error {
	ctx, end := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		end(reader(ctx))
	}()
	err := do(ctx)
	end(nil)
	<-ended
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return err
}

var errLate = errors.New("the handlers have not come to it within a minute")

// Until asks again until the result is true, like a client that waits for the
// consequence of a write.
func Until(ctx context.Context, done func() (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, errLate)
	defer cancel()
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(5 * time.Millisecond):
		}
	}
}
