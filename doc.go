// Package singletable is the tour of a library for Go services that keep all
// entities of an application in one Amazon DynamoDB table (single-table design).
// It has no code of its own: import the packages below it.
//
// The library has keys that cannot collide, typed reads and writes,
// transactions whose failures you can read, and cursors that clients cannot
// abuse. It knows nothing of HTTP or Lambda: a handler in any runtime imports
// what it needs.
//
// # The nouns
//
//   - Key ([keys.Key]): the partition key and the sort key of an item, built
//     from prefixes: USER#u-123 / TX#2024-01-15T10:05:00.000Z#tx-abc.
//   - Schema ([schema.Table]): the name, keys, indexes and settings of a table.
//     It is a value, declared once. Ensure creates the table.
//   - Table ([table.Table]): a schema bound to a client. Reads are functions of
//     package table with the Go type as type argument.
//   - Op ([table.Op]): one write, run alone, in a transaction, or in a batch.
//     Create fails if the item exists, Put replaces it, Update modifies it.
//   - Entity ([repo.Entity]): how values of a Go type are stored, in one item or
//     several. A [repo.Repo] reads and writes them.
//   - Upgrade ([repo.Upgrade]): the step that turns an item of one release
//     into an item of the next. Reads apply it, and a Job ([backfill.Job])
//     stores the result in a live table.
//   - Change ([stream.Change]): the old and the new value of an entity that was
//     written. A [stream.Router] passes the changes of the table's stream to
//     handlers.
//   - Page ([table.Page]): some items of a query, and the cursor for the next ones.
//     A page has at most Limit items, 100 if Limit is zero. Functions called All return sequences, and have no limit if Limit is zero.
//   - Cursor: the position after a page, sealed and opened by a
//     [paginate.Codec].
//   - Shard ([shard.Index]): one of the partitions that an index is spread over.
//     A [shard.Reader] merges them in order.
//   - Request ([idempotency.Request]): a scope, an idempotency key and a
//     payload. However often it is repeated, it takes effect once.
//
// The README has a whole program, and docs/model-your-table.md leads from a list of access
// patterns to keys, entities and queries.
//
// # Consistency
//
// Reads are eventually consistent by default. A view made by Consistent, and a
// query with Query.Consistent, read consistently. Global indexes have no
// consistent reads. [repo.Repo.Update] and every read that a write depends on
// are consistent. All items of an entity are written in one DynamoDB
// transaction, and so are the ops given to [table.Table.Transact]. With
// Entity.Version a write of a stale value fails with [table.ErrStale].
//
// Reads and creates treat items whose TTL attribute is in the past as missing,
// although DynamoDB deletes them up to a few days later.
//
// AWS: "DynamoDB read consistency" and "Using time to live (TTL) in DynamoDB", Amazon
// DynamoDB Developer Guide. Seen: paritysuite/dynamodb-conformance,
// error-messages/indexReads.test.ts.
//
// # Errors
//
// Invalid input is refused before a request is sent. Errors name the operation
// and the table, match a sentinel with [errors.Is], and wrap the SDK's own
// error for [errors.As]. Keys are personal data: errors have them as fields,
// and leave them out of messages and of logs made with log/slog.
// [table.Classify] tells what to retry. After a lost response, a write is
// verified where possible. Otherwise it returns [table.ErrOutcomeUnknown].
//
// # Costs
//
// docs/costs.md has the units of each operation. [table.Stats] has what a page cost.
// The Observe option of a table reports each request; package table/telemetry turns
// that into logs, traces, metrics and a summary by access pattern.
//
// # Caveats
//
//   - Without a [paginate.Codec], a table seals cursors with a key of the process:
//     other instances refuse them. Services share a codec.
//   - A filter saves no read units: DynamoDB charges for what it reads.
//   - [table.Update] creates a missing item, without a type, unless it has IfExists. It works
//     on what is stored, expired or not.
//   - A partition of a table or index takes 1,000 write units a second. An
//     index that collects everything under one partition key gets hot. Package
//     shard spreads it over several.
//   - DynamoDB allows 100 items in a transaction, and every copy counts.
//
// AWS: "Best practices for designing and using partition keys effectively in
// DynamoDB" and "Constraints in Amazon DynamoDB", Amazon DynamoDB Developer Guide.
//
// # When not to use this
//
// Do not use it if the access patterns are not known yet, or need joins or ad
// hoc queries. If the entities have nothing to do with each other, a table each
// is simpler. For one table with one kind of item, the SDK alone is enough.
//
// [backfill.Job]: https://pkg.go.dev/github.com/singletable/singletable/backfill#Job
// [idempotency.Request]: https://pkg.go.dev/github.com/singletable/singletable/idempotency#Request
// [keys.Key]: https://pkg.go.dev/github.com/singletable/singletable/keys#Key
// [paginate.Codec]: https://pkg.go.dev/github.com/singletable/singletable/paginate#Codec
// [repo.Entity]: https://pkg.go.dev/github.com/singletable/singletable/repo#Entity
// [repo.Repo]: https://pkg.go.dev/github.com/singletable/singletable/repo#Repo
// [repo.Repo.Update]: https://pkg.go.dev/github.com/singletable/singletable/repo#Repo.Update
// [repo.Upgrade]: https://pkg.go.dev/github.com/singletable/singletable/repo#Upgrade
// [schema.Table]: https://pkg.go.dev/github.com/singletable/singletable/schema#Table
// [shard.Index]: https://pkg.go.dev/github.com/singletable/singletable/shard#Index
// [shard.Reader]: https://pkg.go.dev/github.com/singletable/singletable/shard#Reader
// [stream.Change]: https://pkg.go.dev/github.com/singletable/singletable/stream#Change
// [stream.Router]: https://pkg.go.dev/github.com/singletable/singletable/stream#Router
// [table.Classify]: https://pkg.go.dev/github.com/singletable/singletable/table#Classify
// [table.ErrOutcomeUnknown]: https://pkg.go.dev/github.com/singletable/singletable/table#ErrOutcomeUnknown
// [table.ErrStale]: https://pkg.go.dev/github.com/singletable/singletable/table#ErrStale
// [table.Op]: https://pkg.go.dev/github.com/singletable/singletable/table#Op
// [table.Page]: https://pkg.go.dev/github.com/singletable/singletable/table#Page
// [table.Stats]: https://pkg.go.dev/github.com/singletable/singletable/table#Stats
// [table.Table]: https://pkg.go.dev/github.com/singletable/singletable/table#Table
// [table.Table.Transact]: https://pkg.go.dev/github.com/singletable/singletable/table#Table.Transact
// [table.Update]: https://pkg.go.dev/github.com/singletable/singletable/table#Update
package singletable
