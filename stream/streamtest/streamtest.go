// Package streamtest makes the events of a table's stream for tests of handlers.
//
// [Transact] and [Expire] run on a table, for which package tabletest has an engine, and
// return what Lambda would send to a function:
//
//	event, err := streamtest.Transact(ctx, client, tbl, users.CreateOps(&ana)...)
//	response, err := router.Handle(ctx, event)
//
// The table needs no stream for it. [Client] is for tests of a [stream.Reader], which
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
// program. AWS: "Process Amazon DynamoDB records with Lambda", AWS Lambda Developer Guide.
func event(ctx context.Context, client table.Client, t *table.Table, ks []keys.Key, by map[string]string, write func() error) (json.RawMessage, error) {
	spec := t.Schema()
	now := t.Now()
	t, err := table.NewWithClient(client, spec, nil)
	if err != nil {
		return nil, err
	}
	t = t.IncludingExpired()
	before, err := table.TransactGet[table.Item](ctx, t, ks)
	if err != nil {
		return nil, err
	}
	if err := write(); err != nil {
		return nil, err
	}
	after, err := table.TransactGet[table.Item](ctx, t, ks)
	if err != nil {
		return nil, err
	}
	records := []map[string]any{}
	for i, key := range ks {
		old, new := before[key], after[key]
		if maps.EqualFunc(old, new, item.Equal) {
			continue
		}
		attributes, err := t.IndexKey("", key)
		if err != nil {
			return nil, err
		}
		change := map[string]any{
			"ApproximateCreationDateTime": now.Unix(), "Keys": item.JSON(attributes), "StreamViewType": types.StreamViewTypeNewAndOldImages,
			"SequenceNumber": strconv.FormatInt(time.Now().UnixNano()+int64(i), 10), "SizeBytes": old.Size() + new.Size(),
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
			"eventSourceARN": fmt.Sprintf("arn:aws:dynamodb:us-east-1:000000000000:table/%s/stream/1970-01-01T00:00:00.000", spec.Name),
			"dynamodb":       change,
		}
		if by != nil {
			record["userIdentity"] = by
		}
		records = append(records, record)
	}
	return json.Marshal(map[string]any{"Records": records})
}
