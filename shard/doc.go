// Package shard spreads one index over several partitions and reads it back in
// order.
//
// An index that collects all items of a system under one partition key, such as
// all transactions by time, sends every write to one partition, which takes
// 1,000 write units a second at most. An [Index] gives each item one of several
// partition keys, GLOBAL_TX#0 to GLOBAL_TX#15, by a hash of its id. A [Reader]
// asks all of them in parallel and merges the answers: the newest N items, or
// pages, or a stream, in the order of their sort keys.
//
//	index := shard.Index{Index: "GSI1", Name: "GLOBAL_TX", Shards: 16}
//	reader, err := shard.New[Transaction](tbl, index, nil)
//	newest, err := reader.Latest(ctx, 10)
//
// # What it costs
//
// Asking each of S shards for N items would read S·N items to return N. The
// reader asks each for the number that it most likely has among the N, and then
// only those again that may hold more of them: in two rounds at most, for a
// fraction of the read units. For 100 items of 1 KB over 16 shards that is an
// eighth, in 1.25 rounds on average; cost.svg beside this file has the rest as it
// was measured. With few items a page, one request to each shard is what there is
// to pay; take no more shards than the writes need.
//
// Two things can take further rounds. A timestamp that very many items share is
// read completely before the first of them is returned ([Index].Ties), in steps
// that double. And where [Options].Dedupe leaves out far more or less than it did
// lately, the shards are asked again.
//
// # Tokens
//
// A page's token holds the sort key of its last item and, with [Index].Ties, its
// table key, whatever the number of shards. So it survives a change of that
// number and writes between pages: items that are older than the position come
// once, newer ones not at all.
package shard
