// Package table reads and writes one Amazon DynamoDB table.
//
// A [Schema] says how the table is laid out: its name, key attributes, indexes,
// the attributes for an item's type and expiry. It is a value, declared once.
// [Schema.Ensure] creates the table and [Schema.Verify] compares it with the
// live one. A [Table] binds the schema to a client.
//
// Reads are functions with the Go type to decode into as type argument: [Get],
// [BatchGet], [TransactGet], [QueryPage] for a page of a [Query] and [All] for
// the whole of it; [ScanPage], for migrations, reads everything. [Item] as type
// argument gives items as they are stored.
// Items whose expiry has come are never returned, though DynamoDB keeps them
// for up to a few days.
//
// Writes are [Op] values: [Put], [Create], [Update], [Delete], [Check].
// [Table.Do] runs one, [Table.Transact] several, all or none, and
// [Table.BatchWrite] many without that promise.
//
// # Values
//
// Items become Go values, and Go values items, by the rules of the SDK's
// attributevalue package: its tags, its Marshaler and Unmarshaler. With a
// *[dynamodb.Client] that is done straight from and to what goes over the wire,
// in a fraction of the time; other clients, and those for which
// [Options].SDKDecoding is set, are given and asked for attribute values. There
// is no other difference between the two.
//
// # Errors
//
// Errors say which operation failed on which table, and match a sentinel such
// as [ErrNotFound] with [errors.Is]. What cannot be right is refused before a
// request is sent. Keys are not part of messages, because they hold personal
// data; they are fields of [Error] and [OpError]. [Classify] tells a consumer of
// a queue what to try again and what to drop.
//
// # Retries
//
// The SDK repeats requests that were throttled or whose answer was lost. The
// package repeats what the SDK does not: transactions cancelled for conflicts
// or lack of capacity, and what batches leave unprocessed. All of it is bounded
// and ends with the context.
//
// # Costs
//
// A read costs one read unit for 4 KB, half of that when it is eventually
// consistent, which is the default; a write costs one write unit for 1 KB, a
// transaction twice that. A query pays for what DynamoDB looked at, before the
// filter. [Stats] and [Options].Observe tell what was spent; package telemetry adds
// it up by access pattern.
package table
