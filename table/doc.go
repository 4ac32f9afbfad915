// Package table reads and writes one Amazon DynamoDB table.
//
// A [schema.Table] describes the table: its name, key attributes, indexes, and the
// attributes for an item's type and expiry. It is a value, declared once.
// [schema.Table.Ensure] creates the table and adds the indexes of a later schema.
// [schema.Table.Plan] reports what Ensure would do, and [schema.Table.Verify] compares the
// schema with the live table. A [Table] binds the schema to a client.
//
// Reads are functions with the Go type to decode into as type argument: [Get],
// [BatchGet], [TransactGet], [QueryPage] for a page of a [Query] and [All] for
// the whole of it; [ScanPage], for migrations, reads everything. [Item] as type
// argument gives items as they are stored. Expired items are never returned,
// although DynamoDB keeps them for up to a few days.
//
// Writes are [Op] values: [Put], [Create], [Update], [Delete], [Check].
// [Table.Do] runs one op. [Table.Transact] runs several, all or none.
// [Table.BatchWrite] runs many, without that guarantee.
//
// AWS: "Using time to live (TTL) in DynamoDB", Amazon DynamoDB Developer Guide.
//
// # Values
//
// Items become Go values, and Go values items, by the rules of the SDK's
// attributevalue package: its tags, its Marshaler and Unmarshaler. For a
// *[dynamodb.Client], the table reads and writes the JSON of the requests
// itself, in a fraction of the time. There is no other difference to what other clients do.
//
// Middleware and interceptors of a client may change attribute values, as those that encrypt
// do. So with them the SDK decodes the items of responses, the table takes those that are
// left in outputs, and each input is a copy. Then [Error].Stored has only items that were
// read, since DynamoDB returns others in errors, which are not decrypted.
// docs/performance.md has what that costs.
//
// Middleware of otelaws and of the X-Ray SDK (awsv2) only looks, and changes none of this. In
// the outputs that it sees there are no items. It is known by its package and by
// the names under which it is added, so a release that adds more is unknown. For anything
// else that only looks there are [Options].Observe, and an HTTP client around that of the
// client.
//
// Code: aws-sdk-go-v2/service/dynamodb, types/errors.go.
//
// # Errors
//
// Errors name the operation and the table, and match a sentinel such as
// [ErrNotFound] with [errors.Is]. Invalid input is refused before a request is
// sent. Messages hold no keys, no values and no keys of maps, because these are personal data;
// they name the attributes and paths that an expression of yours has.
// Keys are fields of [Error]. [Classify] tells a consumer of a queue what to retry and
// what to set aside.
//
// # Retries
//
// The SDK repeats requests that were throttled or whose response was lost: four
// attempts by default, until failures have used up the retries of its client.
//
// The package repeats what the SDK does not:
// requests with an unreadable response, transactions cancelled for conflicts or
// lack of capacity, and unprocessed parts of batches. [Table.Retry] repeats a
// function of the caller that reads before it writes. All attempts of a call,
// those of the SDK too, share one budget of requests and time,
// [Options].MaxAttempts and MaxElapsed:
//
//	Get, Do, Transact, TransactGet     10 requests, 30 s
//	QueryPage, ScanPage, All           10 requests without a response, 30 s, each time
//	BatchGet, BatchWrite               the same for each 100 keys or 25 writes;
//	                                   80 requests that do only a part of them
//	Retry, with all that it runs       10 failures, 80 runs that met newer versions, 30 s
//
// A transaction that DynamoDB says is in progress is sent again for 5 seconds, which
// does not count: see [Table.Transact].
//
// Delays are random and grow to a second at most. The end of the context ends
// every wait; the error then matches the context's error and its cause.
//
// AWS: TransactWriteItems and BatchWriteItem, Amazon DynamoDB API Reference; "Amazon
// DynamoDB Transactions: How it works", Amazon DynamoDB Developer Guide. Code:
// aws-sdk-go-v2/service/dynamodb, api_client.go; aws-sdk-go-v2@v1.48.0, CHANGELOG.md.
//
// # Replays
//
// Most of what a request costs is what the SDK's client does between a call and HTTP. So the
// client makes the first two calls of an operation, and one each hour. If their requests agree in all but
// what each has for itself, the other calls are replays: the same URL and header with
// another body, time, id and session token, signed by the client's signer, sent by its HTTP client.
// The client's credentials and retryer are asked for each of them.
//
// A replay only ever succeeds. Any other response or failure is handed to the client, which
// treats it as the result of its own first attempt: errors, retries, delays and the
// correction of the clock are the client's. Only if DynamoDB then refuses the form of the request,
// such as its signature, is it sent again whole by the client; not a write that must be sent once. After
// another response there are no more replays for the Table.
//
// There are none for a client that has something between a call and HTTP, which would not see them:
// APIOptions, interceptors, tracers, meters, logs of requests, a resolver, signer or
// auth scheme of others, gzip, endpoint discovery, options that a later SDK adds; nor for a wrapper.
// [Options].DisableReplay ends them, and [Event].Replayed tells of each. A Table that is made
// for one call has none.
//
// Code: aws-sdk-go-v2/service/dynamodb@v1.74.0, api_client.go; aws-sdk-go-v2@v1.48.0,
// aws/retry/middleware.go.
//
// # Connections
//
// The SDK's default HTTP client keeps ten idle connections to DynamoDB. A read
// over 16 shards or a busy service has more requests in flight. Each further
// one costs a TLS handshake. So a [Table] that has had more than ten requests
// in flight continues with a pool of its own, for up to 1,000 idle connections.
// It is a copy of the client's HTTP client: timeouts, proxy, dialer, TLS and
// the client's own bound for all hosts stay. Until then it shares the client's
// pool. Make a Table once, as you make a client once.
//
// Every other HTTP client is used as it is: an *http.Client, a wrapper, or the
// SDK's with another limit. Give it a limit of at least the number of
// concurrent requests. Then all tables of the client share its pool:
//
//	awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
//		t.MaxIdleConns, t.MaxIdleConnsPerHost = 200, 200
//	})
//
// Code: aws-sdk-go-v2, aws/transport/http/client.go.
//
// # Late reads
//
// Package hedge is an HTTP client that sends late reads a second time.
//
// # Costs
//
// [Stats] has what a page cost, and [Options].Observe reports each request; package
// telemetry adds them up by access pattern. docs/costs.md has the units of each operation.
package table
