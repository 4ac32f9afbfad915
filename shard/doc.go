// Package shard spreads one index over several partitions and reads it back in
// order.
//
// An index that collects all items of a system under one partition key, such as
// all transactions by time, sends every write to one partition. A partition takes
// at most 1,000 write units a second. An [Index] gives each item one of several
// partition keys by a hash of its id: GLOBAL_TX and GLOBAL_TX#1 to GLOBAL_TX#15.
// A [Reader] queries all of them in parallel and merges the results: the newest N
// items, or pages, or a stream, in the order of their sort keys.
//
//	index := shard.Index{Index: "GSI1", Prefix: "GLOBAL_TX", Shards: 16}
//	reader, err := shard.New[Transaction](tbl, index, nil)
//	newest, err := reader.Latest(ctx, 10)
//
// # Change the number of shards
//
// To raise it, deploy the new number to all readers first, then to writers.
// Stored items stay where they are: every shard of the lower number is one of the
// higher number, also when the lower one is 1. Cursors and walks in progress stay
// valid. A reader with fewer shards than the writers silently misses the items of
// the others, so never deploy the writers first.
//
// To lower it, deploy the new number to writers first. Rewrite the items of the
// higher shards under their new [Index.Key]. Deploy the readers when these shards
// are empty.
//
// An update computes the shard of an item again. [Index.KeyAt] keeps the item in
// its shard, which is cheaper, and safe for walks in progress: a walk can miss an
// item that moves between two shards while it reads them.
//
// # Tables of other programs
//
// Partition keys of another form are listed in [Index].Suffixes, and another rule
// for the shard of an id is [Index].ShardFunc. Take care that the list is
// complete: the items of a partition that is not listed are not found. In
// particular, a table with GLOBAL_TX#0 needs a list, because shard 0 of
// [Index].Shards is GLOBAL_TX.
//
// # Cost
//
// To ask each of S shards for N items would read S·N items to return N. The
// reader asks each shard for its likely number of the N items, by its share of
// recent reads. Then it asks those shards again that may hold more of them. A page
// of 100 items of 1 KB over 16 shards takes 20 read units instead of 184, in two
// rounds. A page takes at most three rounds, and a page of 10 items nearly always
// one. The picture cost.svg in this directory has more measurements. For small
// pages, one request to each shard is the minimum; use no more shards than the
// writes need.
//
// A reader learns when some shards have more of the items than others. Only where
// each shard has its items in blocks of time, it reads two to three times what is
// needed: the share of a shard then says nothing of its next items.
//
// Two situations take further rounds. A sort key that very many items share is
// read completely before the first of them is returned
// ([Index].NonUniqueSortKeys), in steps that double. And if the number of copies
// that [Options].Dedupe drops changes much, shards are asked again.
//
// # Cursors
//
// The cursor of a page holds the sort key of its last item. With
// NonUniqueSortKeys it also holds the item's table key or, with Dedupe, its
// identity. Its size does not depend on the number of shards, and it survives a
// change of that number.
//
// Writes between pages do not disturb a walk. An item that exists from beginning
// to end comes exactly once. One that is inserted behind the position comes once,
// one that is inserted before it does not come. With Dedupe this holds for
// values: one comes exactly once if one of its copies exists from beginning to
// end, whichever of its other copies come and go.
package shard
