// Package telemetry turns the events of a table into logs, and into a summary of
// what each access pattern costs. Package oteltable, a module of its own, makes
// traces and metrics of them for OpenTelemetry.
//
// Each part is a function for the Observe option of a table, and [Join]
// makes one of several:
//
//	var summary telemetry.Summary
//	tbl, err := table.New(client, schema, &table.Options{
//		Observe: telemetry.Join(telemetry.Logs(nil), oteltable.Traces(nil), summary.Observe),
//	})
//
// There is one event for each request to DynamoDB, after it has ended, with the
// SDK's own retries inside. A page of a filtered query, a batch, or a transaction
// in conflict can take several requests.
//
// # Access patterns
//
// A request does not tell which access pattern it is for. [WithPattern] gives
// the context the name of the access pattern, and every observer here tells
// requests apart by it:
//
//	ctx = telemetry.WithPattern(ctx, "list transactions")
//	page, err := transactions.Query(ctx, q)
//
// [Summary] adds up requests, attempts, errors, read and write units, bytes of
// vectors, and time by access pattern. A test can hold an application to a budget with it, and a
// page can show where the money goes.
//
// # Hot keys
//
// A partition of DynamoDB takes 3,000 read units and 1,000 write units a second,
// so one hot partition key is throttled while the table has capacity left.
// [Summary.Hottest] names the hottest keys by their hash, with the number of shards
// that their peak needs, and [table.Event].Throttles has DynamoDB's reasons.
//
// AWS: "Best practices for designing and using partition keys effectively in DynamoDB"
// and "DynamoDB burst and adaptive capacity", Amazon DynamoDB Developer Guide.
//
// # Traces for the simulator
//
// [Trace] keeps a random sample of the requests, which is an input of the command
// singletable simulate. It never has partition keys, and only those of their prefixes that
// [Trace].Prefixes lists:
//
//	trace := telemetry.Trace{Prefixes: []keys.Prefix{keys.User, Order}}
//
// An exporter to any other system is a function that calls [Describe].
//
// # Names
//
// Names are those of version 1.43.0 of the OpenTelemetry semantic conventions
// for database clients and for DynamoDB, in logs too:
//
//	db.system.name                  aws.dynamodb
//	db.operation.name               GetItem, Query, …
//	db.collection.name              the table
//	db.operation.batch.size         keys or writes, if there are two or more
//	db.query.summary                the access pattern
//	db.response.status_code         the HTTP status of a failure
//	error.type                      see below
//	aws.dynamodb.table_names        the table, in spans
//	aws.dynamodb.index_name         the index
//	aws.dynamodb.consumed_capacity  what was consumed, as JSON, in spans
//	aws.request_id                  of a failure that DynamoDB reported
//
// The conventions have no names for these:
//
//	singletable.attempts                how often the SDK sent it
//	singletable.error.class             what table.Classify says of a failure
//	singletable.cancellation_reasons    of a cancelled transaction, one for each op
//	singletable.consumed.read_units     and
//	singletable.consumed.write_units    in metrics and logs
//	singletable.consumed.vector_bytes   of searches, or of writes in vector indexes; in spans, too
//	singletable.throttles               attempts that were refused, by
//	singletable.throttle.reason         DynamoDB's reason
//	singletable.hot_key.requests,       of the hottest partition keys, by
//	singletable.hot_key.throttles,      singletable.key_hash
//	singletable.hot_key.shards
//
// The attributes rpc.system and rpc.service, which the conventions for DynamoDB
// still list, are deprecated there and not set.
//
// error.type is DynamoDB's own name of the error, such as
// ConditionalCheckFailedException; "timeout" and "canceled" for the ends of the
// context; "connection" if DynamoDB could not be reached or the connection
// broke; "_OTHER" for all others.
//
// Keys, values and texts of errors, which can quote them, are never written.
package telemetry
