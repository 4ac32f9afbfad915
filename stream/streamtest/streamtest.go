// Package streamtest makes the events of a table's stream for tests of handlers.
//
// A [Recorder] is between a client and its engine, for which there is package tabletest. It
// returns what Lambda would send to a function after the writes of a program:
//
//	var recorder streamtest.Recorder
//	tbl := tabletest.NewWith(t, tabletest.Client(t, recorder.Install), orders.Schema, nil)
//	store := orders.New(tbl)
//	event, err := recorder.Event(tbl, func() error { return store.Place(ctx, order) })
//	response, err := router.Handle(ctx, event)
//
// [Transact] is the short form for ops, and [Expire] is for what DynamoDB deletes itself. The
// table needs no stream for any of them. [Client] is for tests of a [stream.Reader], which
// read the stream of the engine itself.
package streamtest

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// Transact runs ops in one transaction and returns the event of it: a record for each
// item that was written, in the order of the ops. As in DynamoDB, a check and a write
// that leaves the item as it was have no record. An error is that of
// [table.Table.Transact]; then there is no event.
//
// client is a client of the table, of which views do not count. Other writers of the same
// items must not run at the same time.
//
// AWS: "Change data capture for DynamoDB Streams", Amazon DynamoDB Developer Guide.
func Transact(ctx context.Context, client table.Client, t *table.Table, ops ...table.Op) (json.RawMessage, error) {
	ks := make([]keys.Key, 0, len(ops))
	for _, op := range ops {
		if !slices.Contains(ks, op.Key()) { // several count in one item
			ks = append(ks, op.Key())
		}
	}
	return event(ctx, client, t, ks, nil, func() error { return t.Transact(ctx, ops...) })
}

// Expire deletes items and returns the event that DynamoDB would send for their
// deletion after their expiry. The items need no expiry.
func Expire(ctx context.Context, client table.Client, t *table.Table, ks ...keys.Key) (json.RawMessage, error) {
	ops := make([]table.Op, len(ks))
	for i, k := range ks {
		ops[i] = table.Delete(k)
	}
	ttl := map[string]string{"principalId": "dynamodb.amazonaws.com", "type": "Service"}
	return event(ctx, client, t, ks, ttl, func() error { return t.Transact(ctx, ops...) })
}

// endpointVariable is the SDK's own.
const endpointVariable = "AWS_ENDPOINT_URL_DYNAMODB_STREAMS"

// Client returns a client for the streams of the engine that another client is for: a
// local engine serves both under one address. AWS does not: there, or with an engine that
// has another address for its streams, set AWS_ENDPOINT_URL_DYNAMODB_STREAMS. AWS:
// "Change data capture for DynamoDB Streams", Amazon DynamoDB Developer Guide.
func Client(c *dynamodb.Client, optFns ...func(*dynamodbstreams.Options)) *dynamodbstreams.Client {
	o := c.Options()
	endpoint := o.BaseEndpoint
	if url := os.Getenv(endpointVariable); url != "" {
		endpoint = &url
	}
	return dynamodbstreams.New(dynamodbstreams.Options{
		BaseEndpoint: endpoint, Region: o.Region, Credentials: o.Credentials, HTTPClient: o.HTTPClient, Retryer: o.Retryer,
	}, optFns...)
}

// event runs a write of items and returns its event. by is who made it, nil for a
// program.
func event(ctx context.Context, client table.Client, t *table.Table, ks []keys.Key, by map[string]string, write func() error) (json.RawMessage, error) {
	reads, err := table.NewWithClient(client, t.Schema(), nil)
	if err != nil {
		return nil, err
	}
	c := changes{table: reads.IncludingExpired(), now: t.Now, by: by}
	if err := c.record(ctx, ks, write); err != nil {
		return nil, err
	}
	return c.event()
}

// changes are those of the items of a table.
type changes struct {
	table   *table.Table
	now     func() time.Time
	by      map[string]string
	records []map[string]any
}

// record runs a write of items, which are under keys, and adds a record for each that it has
// changed. The error is that of a read, or of the write. AWS: "Process Amazon DynamoDB records
// with Lambda", AWS Lambda Developer Guide.
func (c *changes) record(ctx context.Context, ks []keys.Key, write func() error) error {
	before, err := table.TransactGet[table.Item](ctx, c.table, ks)
	if err != nil {
		return err
	}
	if err := write(); err != nil {
		return err
	}
	after, err := table.TransactGet[table.Item](ctx, c.table, ks)
	if err != nil {
		return err
	}
	for _, key := range ks {
		old, new := before[key], after[key]
		if maps.EqualFunc(old, new, item.Equal) {
			continue
		}
		attributes, err := c.table.IndexKey("", key)
		if err != nil {
			return err
		}
		c.add(attributes, old, new)
	}
	return nil
}

// add adds the record of an item; nil is one that is not there.
func (c *changes) add(key, old, new table.Item) {
	change := map[string]any{
		"ApproximateCreationDateTime": c.now().Unix(), "Keys": item.JSON(key), "StreamViewType": types.StreamViewTypeNewAndOldImages,
		"SequenceNumber": strconv.FormatInt(time.Now().UnixNano()+int64(len(c.records)), 10), "SizeBytes": old.Size() + new.Size(),
	}
	name := "MODIFY"
	if old == nil {
		name = "INSERT"
	} else {
		change["OldImage"] = item.JSON(old)
	}
	if new == nil {
		name = "REMOVE"
	} else {
		change["NewImage"] = item.JSON(new)
	}
	record := map[string]any{
		"eventID": rand.Text(), "eventVersion": "1.1", "eventName": name, "eventSource": "aws:dynamodb", "awsRegion": "us-east-1",
		"eventSourceARN": fmt.Sprintf("arn:aws:dynamodb:us-east-1:000000000000:table/%s/stream/1970-01-01T00:00:00.000", c.table.Schema().Name),
		"dynamodb":       change,
	}
	if c.by != nil {
		record["userIdentity"] = c.by
	}
	c.records = append(c.records, record)
}

// event returns what Lambda sends.
func (c *changes) event() (json.RawMessage, error) {
	return json.Marshal(map[string]any{"Records": append([]map[string]any{}, c.records...)})
}

// pipe returns what EventBridge Pipes sends.
func (c *changes) pipe() (json.RawMessage, error) {
	return json.Marshal(append([]map[string]any{}, c.records...))
}

// kinesis returns what Lambda sends for a Kinesis data stream.
func (c *changes) kinesis() (json.RawMessage, error) {
	const arn = "arn:aws:kinesis:us-east-1:000000000000:stream/changes"
	records := []map[string]any{}
	for i, r := range c.records {
		change := maps.Clone(r["dynamodb"].(map[string]any))
		sequence := change["SequenceNumber"]
		delete(change, "SequenceNumber")
		delete(change, "StreamViewType")
		change["ApproximateCreationDateTime"], change["ApproximateCreationDateTimePrecision"] = c.now().UnixMicro()+int64(i), "MICROSECOND"
		data, err := json.Marshal(map[string]any{
			"awsRegion": r["awsRegion"], "eventID": r["eventID"], "eventName": r["eventName"], "eventSource": r["eventSource"],
			"userIdentity": r["userIdentity"], "recordFormat": "application/json", "tableName": c.table.Schema().Name, "dynamodb": change,
		})
		if err != nil {
			return nil, err
		}
		records = append(records, map[string]any{
			"kinesis": map[string]any{
				"kinesisSchemaVersion": "1.0", "partitionKey": rand.Text(), "sequenceNumber": sequence, "data": data,
				"approximateArrivalTimestamp": float64(c.now().UnixMilli()) / 1e3,
			},
			"eventSource": "aws:kinesis", "eventVersion": "1.0", "eventID": fmt.Sprint("shardId-000000000000:", sequence),
			"eventName": "aws:kinesis:record", "awsRegion": "us-east-1", "eventSourceARN": arn,
			"invokeIdentityArn": "arn:aws:iam::000000000000:role/consumer",
		})
	}
	return json.Marshal(map[string]any{"Records": records})
}
