package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/singletable/singletable/cmd/singletable/internal/quantity"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/telemetry"
)

// followingStream are the permissions of hot -stream.
const followingStream = "dynamodb:DescribeTable on the table, and dynamodb:DescribeStream, GetShardIterator and GetRecords on its stream"

// hotStream is the output of hot with -stream.
type hotStream struct {
	Table      string      `json:"table"`
	Region     string      `json:"region"`
	Seconds    float64     `json:"seconds"`
	Writes     int64       `json:"writes"`
	Partitions []hotWrites `json:"partitions"`
}

type hotWrites struct {
	Key string `json:"key"` // of a binary key the base64
	// Writes may be too high by Over, which is 0 for a key that is really hot.
	Writes int     `json:"writes"`
	Over   int     `json:"over,omitzero"`
	Share  float64 `json:"share"`
}

// hotWrites prints the partition keys with the most writes in a period.
func (p *program) hotWrites(ctx context.Context, live live, spec schema.Table, period time.Duration, asJSON bool) error {
	w := &writes{schema: spec, client: streamsOf(live.client), seen: map[string]bool{}, summary: telemetry.Summary{PlainKeys: true}}
	if err := w.begin(ctx, live.client, p.patience); err != nil {
		if noStream, ok := errors.AsType[noStreamError](err); ok {
			return noStream
		}
		return p.advise(ctx, err, followingStream)
	}
	fmt.Fprintf(p.stderr, "Counting the writes of %v …\n", period)
	if err := w.follow(ctx, period); err != nil {
		return p.advise(ctx, err, followingStream)
	}
	out := hotStream{Table: spec.Name, Region: live.region, Seconds: period.Seconds(), Writes: w.count.Load(), Partitions: []hotWrites{}}
	for _, k := range w.summary.Hottest(listed) {
		out.Partitions = append(out.Partitions, hotWrites{string(k.Key), k.Requests, k.Over, float64(k.Requests) / float64(out.Writes)})
	}
	return p.printResult(out, out.text(), asJSON, true)
}

func (h hotStream) text() string {
	rows := [][]string{{"writes", "", "a second", "partition"}}
	for _, x := range h.Partitions {
		text := fmt.Sprint(x.Writes)
		if x.Over > 0 {
			text = fmt.Sprintf("%d to %d", x.Writes-x.Over, x.Writes)
		}
		rows = append(rows, []string{text, percent(x.Share), fmt.Sprintf("%.1f", float64(x.Writes)/h.Seconds), printable(x.Key)})
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s in %s: %s in %gs\n", oneLine(h.Table), oneLine(h.Region), quantity.Of(h.Writes, "write"), h.Seconds)
	if len(h.Partitions) > 0 {
		b.WriteString("\n" + columns(rows))
	}
	return b.String()
}

// noStreamError means that the table has no stream.
type noStreamError struct{}

func (noStreamError) Error() string {
	return "the table has no stream: a schema with a stream turns it on (\"singletable ensure\"), and without -stream a sample is read"
}

// streamsOf returns the client of streams for the same account, and for the same
// endpoint if that is not AWS's: local engines have both.
func streamsOf(client *dynamodb.Client) *dynamodbstreams.Client {
	o := client.Options()
	endpoint := o.BaseEndpoint
	if url := os.Getenv("AWS_ENDPOINT_URL_DYNAMODB_STREAMS"); url != "" {
		endpoint = &url
	}
	return dynamodbstreams.New(dynamodbstreams.Options{
		Region: o.Region, Credentials: o.Credentials, HTTPClient: o.HTTPClient, Retryer: o.Retryer,
		BaseEndpoint: endpoint, EndpointOptions: dynamodbstreams.EndpointResolverOptions{UseFIPSEndpoint: o.EndpointOptions.UseFIPSEndpoint},
	})
}

// writes counts the writes of a table by partition key.
type writes struct {
	schema  schema.Table
	client  *dynamodbstreams.Client
	stream  *string
	open    []*string // iterators of the shards that begin found
	count   atomic.Int64
	summary telemetry.Summary

	mu   sync.Mutex
	seen map[string]bool // ids of shards
}

// begin finds the end of each open shard.
func (w *writes) begin(ctx context.Context, client *dynamodb.Client, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	out, err := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &w.schema.Name})
	if err != nil {
		return err
	}
	if out.Table == nil || out.Table.LatestStreamArn == nil || out.Table.StreamSpecification == nil || !aws.ToBool(out.Table.StreamSpecification.StreamEnabled) {
		return noStreamError{}
	}
	w.stream = out.Table.LatestStreamArn
	w.open, err = w.shards(ctx, streamtypes.ShardIteratorTypeLatest)
	return err
}

// shards returns iterators of the shards that were not seen before, and not of those that
// others have taken the place of. An end in the description of a shard is not looked at:
// local engines have one in open shards, too.
func (w *writes) shards(ctx context.Context, from streamtypes.ShardIteratorType) (iterators []*string, err error) {
	var all []streamtypes.Shard
	parents := map[string]bool{}
	for in := (&dynamodbstreams.DescribeStreamInput{StreamArn: w.stream}); ; {
		out, err := w.client.DescribeStream(ctx, in)
		if err != nil {
			return nil, err
		}
		if out.StreamDescription == nil {
			return nil, errors.New("the response describes no stream")
		}
		for _, shard := range out.StreamDescription.Shards {
			all = append(all, shard)
			parents[aws.ToString(shard.ParentShardId)] = true
		}
		if in.ExclusiveStartShardId = out.StreamDescription.LastEvaluatedShardId; in.ExclusiveStartShardId == nil {
			break
		}
	}
	for _, shard := range all {
		id := aws.ToString(shard.ShardId)
		if first := w.claim(id); !first || parents[id] && from == streamtypes.ShardIteratorTypeLatest {
			continue
		}
		at, err := w.client.GetShardIterator(ctx, &dynamodbstreams.GetShardIteratorInput{StreamArn: w.stream, ShardId: &id, ShardIteratorType: from})
		if err != nil {
			return nil, err
		}
		iterators = append(iterators, at.ShardIterator)
	}
	return iterators, nil
}

// claim reports whether the shard is seen for the first time.
func (w *writes) claim(id string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	first := !w.seen[id]
	w.seen[id] = true
	return first
}

// follow counts what the shards get in a period.
func (w *writes) follow(ctx context.Context, period time.Duration) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	end := time.Now().Add(period)
	var all sync.WaitGroup
	var read func(iterator *string)
	read = func(iterator *string) {
		next, err := w.shard(ctx, iterator, end)
		if err != nil {
			cancel(err) // The first one counts.
		}
		for _, iterator := range next {
			all.Go(func() { read(iterator) })
		}
	}
	for _, iterator := range w.open {
		all.Go(func() { read(iterator) })
	}
	all.Wait()
	return context.Cause(ctx)
}

// shard counts what a shard gets until the end of the period or of the shard. Then it
// returns the iterators of the shards that have taken its place.
func (w *writes) shard(ctx context.Context, iterator *string, end time.Time) (next []*string, err error) {
	for iterator != nil {
		last := !time.Now().Before(end) // What was written before is counted, too.
		out, err := w.client.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: iterator})
		if err != nil {
			return nil, err
		}
		for _, record := range out.Records {
			w.add(ctx, record)
		}
		if last {
			return nil, nil
		}
		if iterator = out.NextShardIterator; iterator != nil && len(out.Records) < maxRecords {
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(min(time.Second, time.Until(end))):
			}
		}
	}
	return w.shards(ctx, streamtypes.ShardIteratorTypeTrimHorizon)
}

// maxRecords is how many records a response holds. With as many, there are more.
const maxRecords = 1000

// add counts a record, except for one of a delete by TTL, which takes no capacity.
func (w *writes) add(ctx context.Context, record streamtypes.Record) {
	if id := record.UserIdentity; record.Dynamodb == nil || id != nil && aws.ToString(id.PrincipalId) == "dynamodb.amazonaws.com" {
		return
	}
	var key string
	switch v := record.Dynamodb.Keys[w.schema.PK].(type) {
	case *streamtypes.AttributeValueMemberS:
		key = v.Value
	case *streamtypes.AttributeValueMemberN:
		key = v.Value
	case *streamtypes.AttributeValueMemberB:
		key = base64.StdEncoding.EncodeToString(v.Value)
	}
	w.count.Add(1)
	w.summary.Observe(ctx, table.Event{Operation: "PutItem", Table: w.schema.Name, Attempts: 1, Partitions: []keys.PK{keys.PK(key)}})
}
