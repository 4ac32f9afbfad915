// Package repo stores the entities of an application in a [table.Table].
//
// An [Entity] describes how values of a Go type are stored: their type name and
// plain functions from a value to its keys. The Go type itself stays clean.
// [New] makes a [Repo] of the description, with Get, Query, Create, Put, Update
// and Delete for values of that type.
//
// An entity can have several items: a transaction may be one item under
// its user, to be listed there, and another one under its id, to be found by it.
// Every write touches all items in one DynamoDB transaction, so they
// cannot drift apart. When a change alters a key, the old item is deleted in the
// same transaction. A copy that another program has removed, or has written under
// another version, is brought back by the next change of the entity. What another
// program changes in a copy without changing its version is not noticed: only the
// attributes of the next change are written.
//
// With [Entity].Version, writes are guarded by a revision or a version.
// [Repo.Update] and [Repo.Put] then write what has changed and keep everything
// that the Go type does not know: attributes, index keys and expiries of another
// release. [Repo.Update] loses no concurrent update, and [Repo.Upsert] counts in
// one request.
//
// When T changes, [Entity].Upgrades tell how items of earlier releases become values
// of the present one. Reads apply them, and the next write stores the result.
// [Repo.Refresh] brings one entity to its present description, and package backfill
// all of them.
//
// The same writes exist as ops ([Repo.CreateOps], [Repo.PutOps],
// [Repo.UpdateOps], [Repo.DeleteOps]), to be joined across entities into one
// [table.Table.Transact]. [Repo.UpdateWith] joins them to an update.
//
// A query over a partition that holds entities of several types is read by
// [Collect], into a slice for each type, or by [Stream], in the order of the
// partition.
package repo
