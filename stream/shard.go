package stream

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/singletable/singletable/internal/group"
	"github.com/singletable/singletable/internal/lease"
	"github.com/singletable/singletable/table"
)

// shardReader reads one shard under its lease.
type shardReader struct {
	*consumer
	held *lease.Held[checkpoint]
	// leave is true when the shard is to be left to another process.
	leave *atomic.Bool
	// iterator is where to continue, nil at the end of the shard.
	iterator *string
	// saved is when the lease was stored.
	saved time.Time
}

// shard reads a shard until its end, or until it is left.
func (c *consumer) shard(ctx context.Context, h *lease.Held[checkpoint], leave *atomic.Bool) error {
	s := &shardReader{consumer: c, held: h, leave: leave, saved: time.Now()}
	err := s.read(ctx)
	if _, gone := errors.AsType[*streamtypes.ResourceNotFoundException](err); gone {
		err = lease.Wait(ctx, c.Interval) // the next look says whether anything was lost
	}
	if !errors.Is(err, lease.ErrHeld) {
		err = errors.Join(err, s.release())
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// release leaves the shard to others. The SDK can wait for longer than there is time, before
// it repeats a request whose response was lost, so an attempt that takes long is ended.
func (s *shardReader) release() error {
	const shortest, longest = 250 * time.Millisecond, 4 * time.Second
	for limit := shortest; ; limit *= 2 {
		ctx, cancel := context.WithTimeout(s.last, limit)
		err := s.held.Release(ctx)
		cancel()
		if table.Classify(err) != table.Transient || s.last.Err() != nil || limit == longest {
			return err
		}
	}
}

// read handles the records of the shard until its end, or until it is left.
func (s *shardReader) read(ctx context.Context) error {
	if s.held.State.Done { // by another process, since the look
		return nil
	}
	if err := s.seek(ctx); err != nil {
		return err
	}
	for s.iterator != nil {
		if s.leave.Load() {
			return nil
		}
		records, err := s.next(ctx)
		if err != nil {
			return err
		}
		if err := s.renew(ctx); err != nil { // the response was late: is the shard still held?
			return err
		}
		if err := s.handle(ctx, records); err != nil {
			return err
		}
		if len(records) == 0 {
			if err := s.idle(ctx); err != nil {
				return err
			}
		}
		if err := s.renew(ctx); err != nil {
			return err
		}
	}
	s.held.State.Done, s.held.State.Tip = true, s.Table.Now().UnixMilli()
	return nil // the release stores it
}

// idle notes that the shard has no record by now, and waits for the next ones.
func (s *shardReader) idle(ctx context.Context) error {
	s.held.State.Tip = s.Table.Now().UnixMilli()
	if s.iterator == nil {
		return nil
	}
	return lease.Wait(ctx, s.Interval)
}

// retention is how long a stream keeps records. AWS: "Change data capture for DynamoDB
// Streams", Amazon DynamoDB Developer Guide.
const retention = 24 * time.Hour

// seek moves behind the last record that was handled.
func (s *shardReader) seek(ctx context.Context) error {
	//mutants:guard stream: a shard that was not begun for a day may have lost records | TestLossBeforeTheFirstRecord
	if p := s.held.State; p.Sequence == "" && p.Tip != 0 && s.Table.Now().Sub(time.UnixMilli(p.Tip)) > retention {
		s.held.State.Tip = 0
		return s.trimmed(ctx, errOff)
	}
	in := &dynamodbstreams.GetShardIteratorInput{
		StreamArn: &s.StreamARN, ShardId: &s.held.State.Shard,
		ShardIteratorType: streamtypes.ShardIteratorTypeTrimHorizon,
	}
	if s.held.State.Sequence != "" {
		in.ShardIteratorType, in.SequenceNumber = streamtypes.ShardIteratorTypeAfterSequenceNumber, &s.held.State.Sequence
	}
	err := retry(ctx, func() error {
		out, err := s.Client.GetShardIterator(ctx, in)
		if err == nil && out.ShardIterator == nil {
			err = errEmpty
		}
		if err == nil {
			s.iterator = out.ShardIterator
		}
		return err
	})
	if _, trimmed := errors.AsType[*streamtypes.TrimmedDataAccessException](err); trimmed && s.held.State.Sequence != "" {
		return s.trimmed(ctx, err)
	}
	return err
}

var (
	errOff = errors.New("the shard was not read for longer than the stream keeps records")
	// errEmpty means that a response lacks what it must have: a proxy may have made it.
	errEmpty = errors.New("the response is empty")
)

// trimmed continues with the oldest record after a loss, if that is accepted.
func (s *shardReader) trimmed(ctx context.Context, err error) error {
	if at := s.held.State.Sequence; at != "" {
		err = fmt.Errorf("after record %s: %w", at, err)
	}
	err = fmt.Errorf("%w: %w", ErrTrimmed, err)
	if !s.AcceptLoss {
		return err
	}
	s.progress(Progress{Shard: s.held.State.Shard, Err: err})
	s.held.State.Sequence = ""
	return s.seek(ctx)
}

// next reads the next records and moves on.
func (s *shardReader) next(ctx context.Context) ([]*record, error) {
	var records []*record
	err := retry(ctx, func() error {
		out, err := s.Client.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: s.iterator})
		//mutants:guard stream: an empty response ends no shard | TestReaderDoesNotTrustEmptyResponses
		if err == nil && out.Records == nil && out.NextShardIterator == nil {
			err = errEmpty
		}
		if err != nil {
			return err
		}
		records = make([]*record, len(out.Records))
		for i, from := range out.Records {
			if records[i], err = newRecord(s.StreamARN, from); err != nil {
				return fmt.Errorf("record %s: %w", aws.ToString(from.EventID), err)
			}
		}
		s.iterator = out.NextShardIterator
		return s.Router.identify(records)
	})
	_, expired := errors.AsType[*streamtypes.ExpiredIteratorException](err)
	_, trimmed := errors.AsType[*streamtypes.TrimmedDataAccessException](err)
	switch {
	case expired:
		return nil, s.seek(ctx)
	case trimmed:
		return nil, s.trimmed(ctx, err)
	}
	return records, err
}

// handle gives records to the router until all were handled, and stores the checkpoint.
func (s *shardReader) handle(ctx context.Context, records []*record) error {
	delay, attempts := 100*time.Millisecond, 0 // of the first record
	for len(records) > 0 {
		done, failure, err := s.try(ctx, records)
		if err != nil {
			return err
		}
		if done > 0 {
			if err := s.advance(ctx, records[:done], nil); err != nil {
				return err
			}
			delay, attempts = 100*time.Millisecond, 0
		}
		if records = records[done:]; failure == nil {
			continue
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		attempts++
		if s.Attempts > 0 && attempts >= s.Attempts {
			if err := retry(ctx, func() error { return s.setAside(ctx, records[0], failure) }); err != nil {
				return err
			}
			if err := s.advance(ctx, records[:1], failure); err != nil {
				return err
			}
			records, attempts = records[1:], 0
			continue
		}
		s.progress(Progress{Shard: s.held.State.Shard, Err: failure, Lag: s.Table.Now().Sub(records[0].at)})
		if err := s.pause(ctx, delay); err != nil {
			return err
		}
		delay = min(2*delay, maxDelay)
	}
	return nil
}

// try gives records to the router and keeps the lease as long as that takes. failure is
// why the record at done was not handled.
func (s *shardReader) try(ctx context.Context, records []*record) (done int, failure, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if since := s.Since.Truncate(time.Minute); !s.Since.IsZero() { // the records of some engines have minutes
		for len(records) > done && records[done].at.Before(since) {
			done++
		}
	}
	handled := make(chan struct{})
	router := group.Group{KeepExits: true} // they are errGone
	router.Go(func() {
		defer close(handled)
		passed := done
		done, failure = 0, errGone
		n, failed := s.Router.run(ctx, records[passed:])
		done, failure = passed+n, failed
	})
	timer := time.NewTicker(leaseLife / 3)
	defer timer.Stop()
	for {
		select {
		case <-handled:
			router.Wait()
			return done, failure, err
		case <-timer.C:
			if err == nil {
				if err = s.save(ctx); err != nil {
					cancel(err)
				}
			}
		}
	}
}

// advance moves behind records that were handled. The checkpoint is stored, unless they
// are items of the library alone: that would make another record.
func (s *shardReader) advance(ctx context.Context, records []*record, failure error) error {
	last := records[len(records)-1]
	s.held.State.Sequence = last.sequence
	for _, r := range records {
		//mutants:guard stream: the library's own items are not checkpointed | TestReaderDoesNotFeedItself | if => if true ||
		if !s.Router.own(r.old) || !s.Router.own(r.new) {
			if err := s.save(ctx); err != nil {
				return err
			}
			break
		}
	}
	s.progress(Progress{Shard: s.held.State.Shard, Records: len(records), Lag: s.Table.Now().Sub(last.at), Err: failure})
	return nil
}

// pause waits, and keeps the lease.
func (s *shardReader) pause(ctx context.Context, d time.Duration) error {
	if err := lease.Wait(ctx, d); err != nil {
		return err
	}
	return s.renew(ctx)
}

// renew keeps the lease, once a third of its life is over.
func (s *shardReader) renew(ctx context.Context) error {
	if time.Since(s.saved) <= leaseLife/3 {
		return nil
	}
	return s.save(ctx)
}

// save stores the checkpoint.
func (s *shardReader) save(ctx context.Context) error {
	err := retry(ctx, func() error { return s.held.Save(ctx) })
	if err == nil {
		s.saved = time.Now()
	}
	return err
}
