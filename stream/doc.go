// Package stream passes the changes of a table to handlers, as values of the
// application's types, in order.
//
// DynamoDB Streams has a record for each item that a write has changed. A [Router] turns
// records into changes of entities:
//
//	router, err := stream.New(tbl, nil,
//		stream.On(users, func(ctx context.Context, c stream.Change[User]) error {
//			switch c.Kind {
//			case stream.Insert, stream.Modify:
//				return index(ctx, *c.New)
//			default: // Remove, Expire
//				return drop(ctx, *c.Old)
//			}
//		}),
//		stream.IgnoreOther(),
//	)
//
// The table needs a stream with both images: set schema.Table.Stream to
// NEW_AND_OLD_IMAGES.
//
// AWS: "Change data capture for DynamoDB Streams", Amazon DynamoDB Developer Guide.
//
// # What is a change
//
// An entity with several copies has a record for each copy, but only one
// change, from the record of its main item. Items of an older shape are
// upgraded. A write of the version alone, such as by a backfill, is not a
// change, and neither is a count of another entity in an attribute of
// [repo.Entity].Counted. Nor are writes of the items that the library stores for itself.
//
// If the main key of an entity changes, handlers get a Remove and an Insert for
// two different keys, in any order. A consumer that stores the entity under a
// key other than [Change].Key should store that key too, and ignore a Remove of
// another one.
//
// # Order and failures
//
// The changes of one item are handled one after the other, in the order in
// which they were made; from Kinesis Data Streams, this holds within one event, see
// [Router.Handle]. Changes of different items have no order, not even
// those of one transaction. An error of a handler ends the batch: the record is
// delivered again, and so are all records behind it. Nothing is skipped. If a
// handler always fails on a record, the record blocks its shard until it is set
// aside: by [Reader].Attempts, or by the attempts and the on-failure
// destination of Lambda's event source mapping.
//
// A process that was stopped for longer than its lease, half a minute, does not
// notice that. It finishes its batch while another process continues. So where
// an old value would do harm, a handler must not rely on order alone: let it
// compare versions.
//
// AWS: "Retain discarded records for a DynamoDB event source in Lambda", AWS Lambda
// Developer Guide; "Change data capture for DynamoDB Streams", Amazon DynamoDB Developer
// Guide.
//
// # Effects
//
// Every change is delivered at least once. For an effect in the table, use
// package idempotency with [Change.Request]: the effect then happens once. An
// effect elsewhere must be idempotent: send [Change].EventID as the idempotency
// key of the request.
//
// An outbox is an entity for messages. A service creates a message in the transaction of
// its other writes, and the handler of the message's Insert sends it.
//
// AWS: "Using AWS Lambda with Amazon DynamoDB", AWS Lambda Developer Guide.
//
// # Sources
//
// On Lambda, [Router.Handle] takes the event as it is: of Lambda's mapping, of EventBridge Pipes, or
// of Kinesis Data Streams. [Router.EventFilter] is the filter for the template of the first.
// Anywhere else, a [Reader] reads the stream.
//
// # Costs
//
// Per minute and with the default Interval, a [Reader] without records sends 60 GetRecords
// requests for each shard that it reads, and 6 writes of its lease. Each process sends
// 6 DescribeStream requests, 12 queries, 3 reads and 3 writes. The writes are in the stream,
// too: each can cost one more GetRecords. The test "an idle minute costs what the
// documentation says" of the conformance suite (make conformance) counts them. A batch of
// records costs a GetRecords and one write of a kilobyte. Lambda's requests to a stream
// are free.
//
// AWS: "Change data capture for DynamoDB Streams" and "DynamoDB Streams and AWS Lambda
// triggers", Amazon DynamoDB Developer Guide; "Amazon DynamoDB pricing, on demand", AWS
// pricing pages.
package stream
