// Package idempotency runs a write once, however often it is requested, and
// returns the same result every time.
//
// A client that got no response retries its request, and a queue delivers a
// message again. [Do] writes a record of the request in the same DynamoDB
// transaction as the request's own writes, on condition that no record exists.
// So effect and record exist together or not at all. There is no state "in
// progress", no lease, and no stuck record when a process dies. A write takes
// one request.
//
//	store, err := idempotency.New(tbl, nil)
//	result, err := idempotency.Do(ctx, store, idempotency.Request{
//		Scope:   user + ":CreateTransaction",
//		Key:     key,
//		Payload: idempotency.Text(body),
//	}, func(ctx context.Context) (idempotency.Plan[Transaction], error) {
//		tx := newTransaction(user, body)
//		ops := transactions.CreateOps(&tx) // which set its version or revision
//		return idempotency.Snapshot(tx, ops...), nil
//	})
//
// A repeated request gets the result of the first, with Replayed set, even if
// its own plan has drawn other ids. The same key with another payload is
// [ErrPayloadMismatch].
//
// # What to scope by
//
// Clients choose keys, so two clients can choose the same one. The scope keeps
// them apart: put in the caller (tenant, user) and the operation. Two requests
// are the same if and only if scope and key are equal.
//
// # Keys from an HTTP header
//
// Refuse a request with two Idempotency-Key headers, or with a comma in one:
// API Gateway joins repeated headers with a comma, and http.Header.Get returns
// the first. In both cases a retry could have another key, and run again. The
// example for headers shows the check.
//
// IETF: draft-ietf-httpapi-idempotency-key-header. AWS: "Create AWS Lambda proxy
// integrations for HTTP APIs in API Gateway", Amazon API Gateway Developer Guide.
//
// # What to compare
//
// A retry that meets the record of another release must have the same payload,
// or it is [ErrPayloadMismatch]. So choose a payload that stays the same when your
// types change:
//
//   - [Text] of the body as the client sent it. Its digits stay as they are too:
//     json.Unmarshal into an any rounds large integers to float64.
//   - [JSON] of a struct of its own with the fields to compare. Add fields to it with
//     `json:",omitzero"` only, so that requests without them stay equal.
//   - [Text] of a string or a hash that you make yourself, such as "v1 " + order.ID.
//
// # How long to keep
//
// A record is kept for Request.TTL, 24 hours by default: longer than the client
// retries, and for a queue, longer than it keeps a message. After that the same
// key is a new request. A record expires at the second ExpiresAt of the table's
// clock, for reads and writes alike, even if DynamoDB deletes it later.
//
// AWS: "Using time to live (TTL) in DynamoDB", Amazon DynamoDB Developer Guide.
//
// # What to respond
//
// docs/errors.md has a status for each error, in the order in which to test for them. After
// [ErrInvalidRequest] and a failed business condition nothing is recorded, so the key can be
// used again. After [table.ErrOutcomeUnknown], [table.ErrConflict] and [table.ErrThrottled],
// repeat the request with the same key.
//
// # What it costs
//
// Two write units for each KB of the record, as it is part of a transaction, on
// top of the writes themselves, which as part of a transaction cost double. A
// replay costs the write units of the refused transaction, and a read unit if
// the engine did not return the record with the refusal.
//
// AWS: "Amazon DynamoDB Transactions: How it works" and "Constraints in Amazon
// DynamoDB", Amazon DynamoDB Developer Guide.
//
// # Global tables
//
// A transaction is atomic only in the region that executed it. Where a table
// has replicas in several regions, send the requests of one scope to one
// region.
//
// AWS: "How DynamoDB global tables work" and "Constraints in Amazon DynamoDB", Amazon
// DynamoDB Developer Guide.
package idempotency
