// Package table reads and writes one Amazon DynamoDB table.
//
// A [Schema] says how the table is laid out: its name, key attributes, indexes,
// the attributes for an item's type and expiry. It is a value, declared once.
// [Schema.Ensure] creates the table and adds the indexes of a later schema,
// [Schema.Plan] says beforehand what it would do, and [Schema.Verify] compares the
// schema with the live table. A [Table] binds the schema to a client.
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
// as [ErrNotFound] with [errors.Is]. Invalid input is refused before a request is
// sent. Keys and values are not part of messages, because they hold personal
// data; keys are fields of [Error] and [OpError]. [Classify] tells a consumer of
// a queue what to try again and what to put aside.
//
// # Retries
//
// The SDK repeats requests that were throttled or whose response was lost: three
// attempts, by default. The package repeats what the SDK does not: a response
// that cannot be read, transactions cancelled for conflicts or lack of capacity,
// and what batches leave unprocessed. [Table.Retry] repeats what a caller has to
// read again first. All attempts of a call, those of the SDK too, share one
// budget of requests and time, [Options].MaxAttempts and MaxElapsed:
//
//	Get, Do, Transact, TransactGet     10 requests, 30 s
//	QueryPage, ScanPage, All           10 requests without a response, 30 s, each time
//	BatchGet, BatchWrite               the same for each 100 keys or 25 writes;
//	                                   80 requests that do only a part of them
//	Retry, with all that it runs       10 failures, 80 runs that met newer versions, 30 s
//
// Delays are random and grow to a second at most. The end of the context ends
// every wait; the error then matches the context's error and its cause.
//
// # Connections
//
// The SDK's default HTTP client keeps ten idle connections to DynamoDB. With more
// requests in flight, as in a read over 16 shards or a busy service, each further
// one costs a TLS handshake. So a [Table] that has had more than ten requests in
// flight continues with a pool of its own, for up to 1,000 idle connections. It is
// a copy of the client's HTTP client: timeouts, proxy, dialer, TLS and the client's
// own bound for all hosts stay. Until then it shares the client's pool. Make a
// Table once, as you make a client once.
//
// Every other HTTP client is used as it is: an *http.Client, a wrapper, and one of
// the SDK's with another limit. Give it a limit of at least the number of requests
// that are in flight together. Then all tables of the client share its pool:
//
//	awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
//		t.MaxIdleConns, t.MaxIdleConnsPerHost = 200, 200
//	})
//
// # Late reads
//
// [Options].HedgeReads sends a read a second time that is late. It is off by
// default. A hedge is no retry.
//
// # Costs
//
// A read costs one read unit for 4 KB, half of that when it is eventually
// consistent, which is the default; a write costs one write unit for 1 KB, a
// transaction twice that. A query pays for what DynamoDB looked at, before the
// filter. [Stats] and [Options].Observe tell what was spent; package telemetry adds
// it up by access pattern.
package table
