// Package shard spreads one index over several partitions and reads it back in
// order.
//
// An index may collect all items of a system under one partition key, such as
// all transactions by time. Then every write goes to one partition. A partition
// takes at most 1,000 write units a second. An [Index] gives each item one of
// several partition keys by a hash of its id: GLOBAL_TX and GLOBAL_TX#1 to
// GLOBAL_TX#15. A [Reader] queries all of them in parallel and merges the
// results: the newest N items, or pages, or a stream, in the order of their
// sort keys.
//
//	index := shard.Index{Index: "GSI1", Prefix: "GLOBAL_TX", Shards: 16}
//	reader, err := shard.New[Transaction](tbl, index, nil)
//	newest, err := reader.Latest(ctx, 10)
//
// AWS: "Best practices for designing and using partition keys effectively in
// DynamoDB", Amazon DynamoDB Developer Guide.
//
// # Change the number of shards
//
// To raise it, deploy the new number to all readers first, then to writers.
// Stored items do not move: every shard of the lower number is also a shard of
// the higher number, even if the lower number is 1. Cursors and walks in
// progress stay valid. A reader with fewer shards than the writers silently
// misses the items of the others, so never deploy the writers first.
//
// To lower it, deploy the new number to writers first. Rewrite the items of the
// higher shards under their new [Index.Key]. Deploy the readers when these shards
// are empty.
//
// An update computes the shard of an item again. [Index.KeyAt] keeps the item
// in its shard. That is cheaper, and safe for walks in progress: a walk can
// miss an item that moves between two shards while it reads them.
//
// # Tables of other programs
//
// List partition keys of another form in [Index].Suffixes. [Index].ShardFunc is
// another rule for the shard of an id. The list must be complete: items of
// other partitions are not found. In particular, a table with GLOBAL_TX#0 needs
// a list, because shard 0 of [Index].Shards is GLOBAL_TX.
//
// # Cost
//
// To ask each of S shards for N items would read S·N items to return N. The
// reader asks each shard for its likely number of the N items, by its share of
// recent reads. Then it asks those shards again that may hold more of them. In
// make shardcost, a page of 100 items of 1 KB over 16 shards takes 20 read units
// instead of 200, in two rounds. A page there takes 1 to 2.1 rounds on average,
// and a page of 10 items at most 1.4. If sort keys are unique, and without Dedupe,
// no page takes more than three. The picture cost.svg in this directory has all its
// figures. For small pages, one request to each shard is the minimum; use no more
// shards than the writes need. docs/costs.md of this repository has their number for a
// rate of writes, and what a page then costs.
//
// A reader learns when some shards have more of the items than others. There is
// one exception. If each shard has its items in blocks of time, the share of a
// shard does not predict its next items. The reader then reads more than is
// needed.
//
// Two situations take further rounds. If very many items share a sort key
// ([Index].NonUniqueSortKeys), all of them are read before the first is
// returned, in steps that double. And if the number of copies that
// [Options].Dedupe drops changes much, shards are asked again.
//
// AWS: "Best practices for designing and using partition keys effectively in
// DynamoDB", Amazon DynamoDB Developer Guide.
//
// # Cursors
//
// The cursor of a page holds the sort key of its last item. With
// NonUniqueSortKeys it also holds the item's table key or, with Dedupe, its
// identity. Its size does not depend on the number of shards, and it survives a
// change of that number.
//
// Writes between pages do not disturb a walk. An item that exists during the
// whole walk is returned exactly once. An item that is inserted behind the
// position is returned once, and one before it is not returned. With Dedupe
// this holds for values: a value is returned exactly once if one of its copies
// exists during the whole walk, even if other copies are created or deleted.
package shard
