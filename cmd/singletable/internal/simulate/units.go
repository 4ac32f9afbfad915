package simulate

import "math"

// readUnits returns what a read of so many bytes costs. AWS: "DynamoDB read and write
// operations", Amazon DynamoDB Developer Guide.
func readUnits(bytes float64, consistent, transaction bool) float64 {
	units := math.Max(1, math.Ceil(bytes/4096))
	switch {
	case transaction:
		return 2 * units
	case consistent:
		return units
	}
	return units / 2
}

// writeUnits returns what a write of so many bytes costs. AWS: "DynamoDB read and write
// operations", Amazon DynamoDB Developer Guide.
func writeUnits(bytes float64, transaction bool) float64 {
	units := math.Max(1, math.Ceil(bytes/1024))
	if transaction {
		return 2 * units
	}
	return units
}

// indexUnits returns what the write of an index costs: one for a new or changed entry, two
// for one that moves. AWS: "Using Global Secondary Indexes in DynamoDB", Amazon DynamoDB
// Developer Guide.
func indexUnits(x IndexWrite) float64 {
	units := writeUnits(float64(x.Bytes), false)
	if x.Moves {
		return 2 * units
	}
	return units
}

// shardUnits returns what the list of a page costs in each of so many shards: it is the rule of
// package shard, for shards that are asked for equally often. A reader asks for the part of the
// page, and a standard deviation more, in blocks of 4 KB. Of many shards it asks again for what
// lacks, so that on average it reads no whole blocks.
func shardUnits(items, shards int, bytes float64, consistent bool) float64 {
	const many = 8
	part := float64(items+1) / float64(shards)
	likely := math.Min(float64(items), part+math.Sqrt(part))
	if shards > many {
		return math.Max(readUnits(1, consistent, false), readUnits(4096, consistent, false)*(likely*bytes/4096+0.5))
	}
	block := math.Max(1, math.Floor(4096/bytes))
	return readUnits(math.Ceil(likely/block)*block*bytes, consistent, false)
}

// cost returns the units of one time that a request is sent: of each partition key that it
// asks, and how many these are.
func (r Request) cost(k Keys) (u Units, keys int) {
	if r.Units > 0 {
		return r.measured(k)
	}
	switch r.Op {
	case "get":
		keys = 1
		if k.SortKeys == oneItem { // whose shards are read together
			keys = k.Shards
		}
		return Units{Read: readUnits(float64(r.Bytes), r.Consistent, r.Transaction)}, keys
	case "query":
		if k.Shards > 1 {
			return Units{Read: shardUnits(r.Items, k.Shards, float64(r.Bytes), r.Consistent)}, k.Shards
		}
		return Units{Read: readUnits(float64(r.Items*r.Bytes), r.Consistent, false)}, 1
	}
	if r.Op == expire { // AWS: "Using time to live (TTL) in DynamoDB", Amazon DynamoDB Developer Guide
		return Units{}, 1
	}
	return Units{Write: writeUnits(float64(r.Bytes), r.Transaction || r.Op == "check")}, 1
}

// measured returns the cost of a request whose units were measured. A list over shards reads
// its part in each of them, and at least one item.
func (r Request) measured(k Keys) (u Units, keys int) {
	switch {
	case r.Op == "get" || r.Op == "query" && k.Shards == 1:
		return Units{Read: r.Units}, 1
	case r.Op == "query":
		return Units{Read: math.Max(readUnits(1, r.Consistent, false), r.Units/float64(k.Shards))}, k.Shards
	}
	return Units{Write: r.Units}, 1
}
