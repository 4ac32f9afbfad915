package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/cmd/singletable/internal/pattern"
	"github.com/singletable/singletable/schema"
)

// rule finds a kind of fault.
type rule struct {
	id, source string
	by         decided
	find       func(c *checked, found report)
	do         string
}

// decided says what a rule looks at.
type decided int

const (
	file decided = iota
	load
	fileAndLoad
)

// Sources of several rules.
const (
	distribute = `AWS: "Designing partition keys to distribute your workload in DynamoDB", Amazon DynamoDB Developer Guide`
	general    = `AWS: "General guidelines for secondary indexes in DynamoDB", Amazon DynamoDB Developer Guide`
	partitions = `AWS: "Best practices for designing and using partition keys effectively in DynamoDB", Amazon DynamoDB Developer Guide`
)

// rules returns all rules. Their order is that of findings.
func rules() []rule {
	return []rule{
		{
			"hot-partition-key", distribute, fileAndLoad, (*checked).hotKeys,
			"Spread the key over shards, as package shard does, or add an attribute with many values. Accept it if the rate stays low, or say the rate in -load.",
		},
		{
			"low-cardinality-key", distribute, fileAndLoad, (*checked).fewKeys,
			"Add an attribute with many values to the partition key. Accept it if there are few items, or say the rate in -load.",
		},
		{
			"sort-key-without-order", `AWS: "Best practices for using sort keys to organize data in DynamoDB", Amazon DynamoDB Developer Guide`, file, (*checked).noOrder,
			"Put what the list is sorted by first in the sort key: {at:time} for a time, {n:10} for a number. Accept it if no query asks for an order.",
		},
		{
			"same-key", "AWS: PutItem, Amazon DynamoDB API Reference", file, (*checked).sameKeys,
			"Begin one of the keys with another prefix. Accept it if one must exclude the other, and both are created on the condition that the key is free.",
		},
		{
			"unused-index", general, fileAndLoad, (*checked).unused,
			"Delete the index, or add to the file what is in it, and to the load what queries it.",
		},
		{
			"copy-instead-of-projection", general, file, (*checked).twoLists,
			"Keep the copy if it is read consistently or its key must be unique. Otherwise keep the index, whose entries take no transaction. Accept it if the index holds a part of them only.",
		},
		{
			"local-index-collection", `AWS: "Local secondary indexes", Amazon DynamoDB Developer Guide`, file, (*checked).local,
			"Use a global index, unless queries of it have to be consistent and each partition stays small.",
		},
		{
			"expiry-not-projected", `AWS: "Working with expired items and time to live (TTL)", Amazon DynamoDB Developer Guide`, file, (*checked).expiryHidden,
			"Include the attribute in the projection.",
		},
		{
			"expiry-without-ttl", `AWS: "Using time to live (TTL) in DynamoDB", Amazon DynamoDB Developer Guide`, fileAndLoad, (*checked).noTTL,
			"Name the attribute as ttl of the schema. Accept it if items with a past expiry stay.",
		},
		{
			"transaction-too-large", "AWS: TransactWriteItems, Amazon DynamoDB API Reference", load, (*checked).largeTransactions,
			"Divide the write into steps that can be repeated.",
		},
		{
			"counter-too-hot", partitions, load, (*checked).hotItems,
			"Count in several items, and add them up when the number is read. An item that is only read too often takes copies, or a cache.",
		},
		{
			"item-too-large", `AWS: "Best practices for storing large items and attributes in DynamoDB", Amazon DynamoDB Developer Guide`, load, (*checked).largeItems,
			"Store what grows as items of their own, compress it, or keep it in S3.",
		},
		{
			"wide-projection", general, load, (*checked).wide,
			"Project the attributes that queries of the index need. Accept it if they need all.",
		},
	}
}

// hotKeys finds keys that all writes of an entity go to.
func (c *checked) hotKeys(found report) {
	for _, e := range c.entries {
		kind := e.partitions()
		if c.calm(e.index) || !e.varies() || kind == many || kind != period && !e.grows() {
			continue
		}
		key := fmt.Sprintf("the partition key %s of %s", e.pattern.PK, e.in())
		switch kind {
		case period:
			found(e.at, "At a time, %s is written under one period of %s: a key takes 1,000 write units a second.", e.entity.Type, key)
		case few:
			found(e.at, "All writes of %s go to the ends of the few values of %s: each takes 1,000 write units a second, and sort keys that grow cannot be divided.", e.entity.Type, key)
		default:
			found(e.at, "All writes of %s go to the end of %s: it takes 1,000 write units a second, and sort keys that grow cannot be divided.", e.entity.Type, key)
		}
	}
	c.refused("growing", found, "shards")
}

// fewKeys finds partition keys that hold all of an entity.
func (c *checked) fewKeys(found report) {
	for _, e := range c.entries {
		kind := e.partitions()
		if c.calm(e.index) || !e.varies() || kind != one && kind != few || e.grows() {
			continue
		}
		how := "one value"
		if kind == few {
			how = "few values, by the name of its attribute"
		}
		found(e.at, "All %s are under the partition key %s of %s, which has %s.", e.entity.Type, e.pattern.PK, e.in(), how)
	}
	for i, x := range c.table.Indexes {
		kind := one
		for _, a := range x.PKs {
			if a.Name != c.table.TypeAttribute {
				kind = min(kind, spreadOf(a.Name, false))
			}
		}
		if len(x.PKs) > 0 && kind >= few && !c.calm(x.Name) {
			found(indexPlace(i, x), "The partition key of index %s has few values, by the names of its attributes.", x.Name)
		}
	}
}

// noOrder finds lists whose sort keys give them no order.
func (c *checked) noOrder(found report) {
	for _, e := range c.entries {
		if e.identifies() {
			for i, s := range e.sk {
				if isTime(s) && !slices.Contains(e.identity(), s.Name) && contains(e.names(i), e.identity()) {
					found(e.at, "%s in the sort key is behind the identity of %s, so it orders nothing.", s.Braces(), e.entity.Type)
					break
				}
			}
		}
		if _, sorted := e.first(); e.index != "" && !sorted && e.varies() && e.partitions() != many {
			found(e.at, "All %s of a partition of index %s have the same sort key, so a query returns them in no order.", e.entity.Type, e.index)
		}
	}
}

// identifies reports whether the file says which attributes tell the items of the entity apart.
func (e entry) identifies() bool {
	return e.varies() && !slices.ContainsFunc(e.identity(), pattern.IsNumber)
}

// names returns the names in the partition key, and in so many segments of the sort key.
func (e entry) names(segments int) []string {
	names := pattern.Names(e.pattern.PK)
	for _, s := range e.sk[:segments] {
		if s.Name != "" {
			names = append(names, s.Name)
		}
	}
	return names
}

// sameKeys finds items of two entities that can have the same key.
func (c *checked) sameKeys(found report) {
	for i, e := range c.entries {
		for _, x := range c.entries[:i] {
			constant := slices.ContainsFunc(slices.Concat(e.pk, e.sk), func(s pattern.Segment) bool { return s.Before+s.After != "" })
			if e.index == "" && x.index == "" && e.entity.Type != x.entity.Type && constant && sameForm(e.pk, x.pk) && sameForm(e.sk, x.sk) {
				found(e.at, "%s can have the key of a %s, %s: a write of one replaces the other.", e.entity.Type, x.entity.Type, shown(x))
				break
			}
		}
	}
}

// shown returns the pattern of a key.
func shown(e entry) string { return strings.TrimSuffix(e.pattern.PK+" / "+e.pattern.SK, " / ") }

// unused finds indexes that hold nothing, or that no pattern of the load queries.
func (c *checked) unused(found report) {
	for i, x := range c.table.Indexes {
		filled := len(x.PKs) > 0 || x.PK == c.table.SK || x.Local || len(c.entries) == 0 ||
			slices.ContainsFunc(c.entries, func(e entry) bool { return e.index == x.Name })
		switch {
		case !filled:
			found(indexPlace(i, x), "No entity of the file has a key in index %s.", x.Name)
		case c.Load != nil && !c.queried(x.Name):
			found(indexPlace(i, x), "No pattern of the load queries index %s.", x.Name)
		}
	}
}

// twoLists finds entities that are listed by a copy and by the same key of an index. An index
// with the keys of the main item is no fault: it can be a filter, or a partition of several types.
func (c *checked) twoLists(found report) {
	for _, e := range c.entries {
		if e.index == "" || c.isShared(e) {
			continue
		}
		for _, x := range c.of(e) {
			if x.index == "" && x.item > 0 && x.pattern.PK == e.pattern.PK && x.pattern.SK == e.pattern.SK {
				found(e.at, "Index %s lists %s as its copy %s does: each write pays for both.", e.index, e.entity.Type, shown(x))
				break
			}
		}
	}
}

// isShared reports whether items of another type can be in the same partition of the index.
func (c *checked) isShared(e entry) bool {
	return slices.ContainsFunc(c.entries, func(x entry) bool {
		return x.index == e.index && x.entity.Type != e.entity.Type && sameForm(x.pk, e.pk)
	})
}

// local finds local indexes.
func (c *checked) local(found report) {
	for i, x := range c.table.Indexes {
		if x.Local {
			found(indexPlace(i, x), "With the local index %s, all items of a partition key and their entries take 10 GB at most, and it cannot be added to or removed from a live table.", x.Name)
		}
	}
}

// expiryHidden finds indexes whose entries do not say that an item has expired.
func (c *checked) expiryHidden(found report) {
	ttl := c.table.TTLAttribute
	for i, x := range c.table.Indexes {
		keys := slices.Concat(x.PKs, x.SKs, []schema.Attribute{{Name: x.PK}, {Name: x.SK}})
		if ttl == "" || x.Projection == types.ProjectionTypeAll || slices.Contains(x.Include, ttl) ||
			slices.ContainsFunc(keys, func(a schema.Attribute) bool { return a.Name == ttl }) {
			continue
		}
		found(indexPlace(i, x), "Index %s is without the attribute %s, so a query of it returns items that have expired and are not yet deleted.", x.Name, ttl)
	}
}

// noTTL finds expiries that DynamoDB does not know of.
func (c *checked) noTTL(found report) {
	if c.table.TTLAttribute != "" {
		return
	}
	for _, e := range c.entries {
		names := slices.Concat(pattern.Names(e.pattern.PK), pattern.Names(e.pattern.SK))
		if i := slices.IndexFunc(names, expiries.MatchString); i >= 0 {
			found(e.at, "%s has the attribute %s, and the schema no ttl: items stay when they have expired.", e.entity.Type, names[i])
		}
	}
	c.expiresInLoad(found)
}
