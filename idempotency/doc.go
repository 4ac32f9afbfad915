// Package idempotency carries out a write once, however often it is asked for,
// and gives the same answer every time.
//
// A client that got no answer repeats its request, and a queue delivers a
// message again. [Do] puts a record of the request into the same DynamoDB
// transaction as the writes it asks for, on the condition that there is none
// yet. So the effect and the record are there together or not at all: there is
// no state in progress, no lease, nothing that gets stuck when a process dies,
// and a write takes one request.
//
//	store, err := idempotency.New(tbl, nil)
//	result, err := idempotency.Do(ctx, store, idempotency.Request{
//		Scope:   user + ":CreateTransaction",
//		Key:     header.Get("Idempotency-Key"),
//		Payload: body,
//	}, func(ctx context.Context) (idempotency.Plan[Transaction], error) {
//		tx := newTransaction(user, body)
//		return idempotency.Snapshot(tx, transactions.CreateOps(tx)...), nil
//	})
//
// A repeated request gets the result of the first, with Replayed set, whatever
// ids its own plan has drawn. The same key with another payload is
// [ErrKeyReused].
//
// # What to scope by
//
// Keys are chosen by clients, so two clients can choose the same one. The scope
// keeps them apart: put in whom the request is from (tenant, user) and what it
// is for (the operation). Two requests meet if and only if scope and key are
// equal.
//
// # How long to keep
//
// A record is kept for Request.TTL, 24 hours by default: longer than the client
// goes on repeating, and for a queue longer than it keeps a message. After that
// the same key is a new request. It is expired from the second ExpiresAt on, for
// reads and writes alike, whenever DynamoDB deletes it, by the clock of who asks.
//
// # What to answer
//
// Look for these in this order, since the first ones also match what package
// table calls the same in general.
//
//	[ErrInvalidRequest]              400  key missing or too long
//	[ErrKeyReused]                   422  or 409; the key belongs to another request
//	a failed business condition      409  nothing was recorded, the key can be used again
//	[ErrResultGone]                  410  or 404; it was done, and the item deleted since
//	[table.ErrOutcomeUnknown],
//	[table.ErrConflict],
//	[table.ErrThrottled]             503  repeat with the same key
//
// # What it costs
//
// Two write units for each KB of the record, as it is part of a transaction, on
// top of the writes themselves, which as part of a transaction cost double. A
// replay costs the write units of the refused transaction, and a read unit if
// the engine did not return the record with the refusal.
//
// # Global tables
//
// A transaction holds in the region that carried it out. Where a table has
// replicas in several regions, send the requests of one scope to one region.
package idempotency
