package stream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/singletable/singletable/internal/lease"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// Reader reads a stream with the DynamoDB Streams API, for programs that do not run
// on Lambda. Several processes with the same Name share the shards. It is a plain
// value.
//
// It is for one process to a few. More than two readers of a shard can be throttled,
// Lambda functions included, and a global table should have one. AWS: "Quotas in Amazon
// DynamoDB", Amazon DynamoDB Developer Guide.
type Reader struct {
	// Name is the consumer: up to 200 bytes that no other consumer has.
	Name string
	// Router handles the records.
	Router *Router
	// Client reads the stream.
	Client *dynamodbstreams.Client
	// Table holds the checkpoints of the consumer, the router's table by default. Its
	// keys are strings, and leases end by its clock: those of the processes must agree
	// within 15 seconds. What a view of it leaves out does not count.
	Table *table.Table
	// StreamARN is the stream, by default the newest one of the router's table. A
	// consumer has a checkpoint of its own in each stream. A former stream that was not
	// read to its end has to be named.
	StreamARN string

	// Since is the time from which records are handled: all that were written since then,
	// and perhaps others of the same minute. Earlier ones are read and passed over. Records
	// have whole seconds, or on some local engines whole minutes, rounded down. By default all
	// records are handled that the stream still has, which are those of 24 hours. AWS:
	// "Change data capture for DynamoDB Streams", Amazon DynamoDB Developer Guide;
	// StreamRecord, Amazon DynamoDB Streams API Reference.
	Since time.Time
	// Interval is how long to wait after a response without records, a second by
	// default. It is the latency of an idle stream, and its price: see the package
	// documentation. After ten of them, but not more than ten seconds, a process looks
	// for new shards and for those that others have left. AWS: "Amazon DynamoDB pricing, on
	// demand", AWS pricing pages.
	Interval time.Duration
	// Attempts is how often a record is tried before it is set aside: see [SetAside].
	// By default it is tried until it succeeds, and blocks its shard.
	Attempts int
	// AcceptLoss continues after records were lost, because the stream keeps them for 24
	// hours only and the consumer did not run. By default Run ends with [ErrTrimmed].
	AcceptLoss bool
	// Progress is called after each response with records, each failure and each loss, by
	// one goroutine at a time. The reader waits for it.
	Progress func(Progress)
}

// Progress is what a reader of a shard has done.
type Progress struct {
	Shard string
	// Records is how many records were handled or passed over.
	Records int
	// Lag is the age of the last one of them.
	Lag time.Duration
	// Err is why a record was not handled, set aside, or lost.
	Err error
}

// ErrTrimmed means that the stream has deleted records before the consumer has read
// them. [Reader].AcceptLoss continues with those that are left.
var ErrTrimmed = errors.New("records were lost: the stream no longer has them")

// itemType is the type attribute of the items that readers store: checkpoints,
// processes, and what was set aside.
const itemType = lease.ReaderType

const (
	// leaseLife is how long a killed process keeps its shards from others.
	leaseLife = 30 * time.Second
	// lastTime is how long the last writes may take after the end of a context: one that was
	// begun may take a second, and leaving the shards takes the rest.
	lastTime = 3 * time.Second
	// maxLook bounds how long a process does not look for shards.
	maxLook = 10 * time.Second
	maxName = 200
)

func (r Reader) withDefaults() (Reader, error) {
	var problems []error
	bad := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if r.Name == "" || len(r.Name) > maxName || !utf8.ValidString(r.Name) {
		bad("Name: is not 1 to %d bytes of UTF-8", maxName)
	}
	if r.Client == nil {
		bad("Client: is nil")
	}
	if r.Router == nil || r.Router.table == nil {
		bad("Router: is not one of New")
	} else {
		r.Table = cmp.Or(r.Table, r.Router.table)
		if name := tableOf(r.StreamARN); r.StreamARN != "" && name != r.Router.schema.Name {
			bad("StreamARN: is not that of a stream of table %s", r.Router.schema.Name)
		}
	}
	if r.Table != nil && !made(r.Table) {
		bad("Table: is not one of table.New")
	} else if r.Table != nil {
		if s := r.Table.Schema(); s.SimpleKey || s.PKType != types.ScalarAttributeTypeS || s.SKType != types.ScalarAttributeTypeS {
			bad("Table: %s has not two keys that are strings", s.Name)
		} else if err := lease.Check(r.Table, keys.Key{PK: prefix.PK("-"), SK: startPrefix.SK()}, true); err != nil {
			bad("Table: %w", err)
		}
	}
	if r.Interval < 0 || r.Attempts < 0 {
		bad("Interval, Attempts: one is negative")
	}
	r.Interval = cmp.Or(r.Interval, time.Second)
	if len(problems) > 0 {
		return r, fmt.Errorf("%w stream reader: %w", table.ErrInvalid, errors.Join(problems...))
	}
	return r, nil
}

// Run reads the stream until the context ends. It continues where the consumer has
// stopped. It takes the shards that another process has left, and half a minute later
// those of one that was killed. It returns within three seconds after the context has
// ended, if the handlers do: until then it leaves its shards to others, also if responses
// are lost. It returns nil when the stream is disabled and was read to
// its end.
//
// A record that a handler has failed on is given to it again, after a delay that grows to
// ten seconds, until it succeeds or has had Attempts. The records behind it in its shard
// wait.
//
// Errors, all in a [*table.Error]:
//   - [table.ErrInvalid], if a field is invalid, or the stream has another view than
//     NEW_AND_OLD_IMAGES.
//   - [table.ErrNotFound], if the table has no stream.
//   - [ErrTrimmed].
//   - An error of a request that stays after retries. Call Run again to continue.
//   - The context's.
func (r Reader) Run(ctx context.Context) error {
	r, err := r.opened(ctx)
	if err == nil {
		err = r.run(ctx)
	}
	return r.fail("Run", err)
}

// opened returns a valid reader with the ARN of its stream.
func (r Reader) opened(ctx context.Context) (Reader, error) {
	r, err := r.withDefaults()
	if err == nil && r.StreamARN == "" {
		err = retry(ctx, func() (err error) {
			r.StreamARN, err = r.newest(ctx)
			return err
		})
	}
	return r, err
}

func (r Reader) run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	last, lastCancel := lease.Outlasting(ctx, lastTime)
	defer lastCancel()
	c := newConsumer(r, cancel, last)
	err := c.loop(ctx)
	cancel(err)
	c.shards.Wait()
	c.leave()
	return err
}

// newest returns the ARN of the newest stream of the router's table.
func (r Reader) newest(ctx context.Context) (string, error) {
	in := &dynamodbstreams.ListStreamsInput{TableName: aws.String(r.Router.schema.Name)}
	var all []streamtypes.Stream
	for {
		out, err := r.Client.ListStreams(ctx, in)
		if err != nil {
			return "", err
		}
		all = append(all, out.Streams...)
		if in.ExclusiveStartStreamArn = out.LastEvaluatedStreamArn; in.ExclusiveStartStreamArn == nil {
			break
		}
	}
	if len(all) == 0 {
		return "", fmt.Errorf("%w: the table has no stream; see Schema.Stream", table.ErrNotFound)
	}
	// A label is the time at which the stream was enabled, in ISO 8601.
	newest := slices.MaxFunc(all, func(a, b streamtypes.Stream) int {
		return cmp.Compare(aws.ToString(a.StreamLabel), aws.ToString(b.StreamLabel))
	})
	return aws.ToString(newest.StreamArn), nil
}

// describe returns the stream with all of its shards.
func (r Reader) describe(ctx context.Context) (*streamtypes.StreamDescription, error) {
	in := &dynamodbstreams.DescribeStreamInput{StreamArn: &r.StreamARN}
	var stream *streamtypes.StreamDescription
	for {
		out, err := r.Client.DescribeStream(ctx, in)
		if err != nil {
			return nil, err
		}
		d := out.StreamDescription
		if d == nil {
			return nil, errEmpty
		}
		if stream == nil {
			stream = d
		} else {
			stream.Shards = append(stream.Shards, d.Shards...)
		}
		if in.ExclusiveStartShardId = d.LastEvaluatedShardId; in.ExclusiveStartShardId == nil {
			break
		}
	}
	if v := stream.StreamViewType; v != streamtypes.StreamViewTypeNewAndOldImages {
		return nil, fmt.Errorf("%w: the view of the stream is %s, and changes need NEW_AND_OLD_IMAGES", errEvent, v)
	}
	return stream, nil
}

// retry runs do until it fails for another reason than the time.
func retry(ctx context.Context, do func() error) error {
	return lease.Retry(ctx, func(err error) bool { return table.Classify(err) == table.Transient || errors.Is(err, errEmpty) }, do)
}

// maxDelay bounds the pauses after failures.
const maxDelay = 10 * time.Second
