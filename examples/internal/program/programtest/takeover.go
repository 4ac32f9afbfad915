package programtest

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/program"
	"github.com/singletable/singletable/stream"
)

// Takeover reads a stream in two processes while writers write. The first process has the
// first reader, gets the shards and ends after some records; the second one has all
// readers, and ends when the writers have and done returns true. write is called for each
// writer, and makes its last write when ended is closed: that is for the second process.
func Takeover(t *testing.T, records, writers int, write func(writer int, ended <-chan struct{}) error, done func(context.Context) (bool, error), readers ...stream.Reader) {
	t.Helper()
	ctx, end := context.WithCancelCause(t.Context())
	errEnd := errors.New("the process ends")
	begun, ended, read := make(chan struct{}), make(chan struct{}), 0
	first := readers[0]
	first.Progress = func(p stream.Progress) {
		if read == 0 {
			close(begun)
		}
		if read += p.Records; read > records {
			end(errEnd)
		}
	}
	var writing atomic.Int64
	writing.Store(int64(writers))
	errs := check.Errors(2+writers, func(i int) error {
		switch i {
		case 0:
			defer close(ended)
			return first.Run(ctx)
		case 1:
			<-begun
			return program.Follow(t.Context(), func(ctx context.Context) (bool, error) {
				if writing.Load() > 0 {
					return false, nil
				}
				return done(ctx)
			}, readers...)
		}
		defer writing.Add(-1)
		return write(i-2, ended)
	})
	check.Is(t, errs[0], errEnd, "the first reader")
	check.OK(t, errs[1:]...)
}
