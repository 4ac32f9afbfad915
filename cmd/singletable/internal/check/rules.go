package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/cmd/singletable/internal/pattern"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table/tablemodel"
)

// rule finds a kind of fault.
type rule struct {
	id, do, source string
	// load means that the rule needs a load, decidedByLoad that it finds more or less with one.
	load, decidedByLoad bool
	find                func(c *checked, found report)
}

// rules returns all rules. Their order is that of findings.
func rules() []rule {
	return slices.Concat(keyRules(), indexRules(), entityRules(), volumeRules())
}

// keyRules are about partition and sort keys.
func keyRules() []rule {
	const distribute = `AWS: "Designing partition keys to distribute your workload in DynamoDB", Amazon DynamoDB Developer Guide`
	return []rule{
		{
			id: "hot-partition-key", decidedByLoad: true,
			do:     "Spread the key over shards, as package shard does, or add an attribute with many values. Accept it if the rate stays low, or say the rate in -load.",
			source: distribute, find: (*checked).hotKeys,
		},
		{
			id: "low-cardinality-key", decidedByLoad: true,
			do:     "Add an attribute with many values to the partition key. Accept it if there are few items, or say the rate in -load.",
			source: distribute, find: (*checked).fewKeys,
		},
		{
			id:     "sort-key-without-order",
			do:     "Put what the list is sorted by first in the sort key: {at:time} for a time, {n:10} for a number. Accept it if no query asks for an order.",
			source: `AWS: "Best practices for using sort keys to organize data in DynamoDB", Amazon DynamoDB Developer Guide`,
			find:   (*checked).noOrder,
		},
		{
			id:     "same-key",
			do:     "Begin one of the keys with another prefix. Accept it if one must exclude the other, and both are created on the condition that the key is free.",
			source: "AWS: PutItem, Amazon DynamoDB API Reference", find: (*checked).sameKeys,
		},
	}
}

// indexRules are about indexes.
func indexRules() []rule {
	const general = `AWS: "General guidelines for secondary indexes in DynamoDB", Amazon DynamoDB Developer Guide`
	return []rule{
		{
			id: "unused-index", decidedByLoad: true,
			do:     "Delete the index, or add to the file what is in it, and to the load what queries it.",
			source: general, find: (*checked).unused,
		},
		{
			id:     "duplicate-index",
			do:     "Query one of them, and delete the other.",
			source: general, find: (*checked).duplicates,
		},
		{
			id:     "copy-instead-of-projection",
			do:     "Keep the copy if it is read consistently or its key must be unique. Otherwise keep the index, whose entries take no transaction. Accept it if the index holds a part of them only.",
			source: general, find: (*checked).twoLists,
		},
		{
			id:     "twice-in-index",
			do:     "Give the key of the index to one of the items.",
			source: "singletable: repo.New refuses it", find: (*checked).twice,
		},
		{
			id:     "local-index-collection",
			do:     "Use a global index, unless queries of it have to be consistent and each partition stays small.",
			source: `AWS: "Local secondary indexes", Amazon DynamoDB Developer Guide`, find: (*checked).local,
		},
		{
			id:     "expiry-not-projected",
			do:     "Include the attribute in the projection.",
			source: `AWS: "Working with expired items and time to live (TTL)", Amazon DynamoDB Developer Guide`, find: (*checked).expiryHidden,
		},
	}
}

// entityRules are about what is stored of an entity.
func entityRules() []rule {
	return []rule{
		{
			id: "expiry-without-ttl", decidedByLoad: true,
			do:     "Name the attribute as ttl of the schema. Accept it if items with a past expiry stay.",
			source: `AWS: "Using time to live (TTL) in DynamoDB", Amazon DynamoDB Developer Guide`, find: (*checked).noTTL,
		},
		{
			id:     "copies-without-version",
			do:     "Give the entity a version attribute, and the file its name.",
			source: "singletable: repo.New refuses it", find: (*checked).noVersion,
		},
		{
			id: "transaction-too-large", decidedByLoad: true,
			do:     "Store the copies as an index, or divide the write into steps that can be repeated.",
			source: "AWS: TransactWriteItems, Amazon DynamoDB API Reference", find: (*checked).largeTransactions,
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
	c.hotKinds(found)
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
		for _, s := range e.sk {
			if s.Name != "" && s.Form == "" && c.isText(e) && c.isPadded(e, s.Name) {
				found(e.at, "The number {%s} is padded in another key of %s and not in this sort key, where 10 is before 9.", s.Name, e.entity.Type)
			}
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

// isPadded reports whether a key of the entity has the attribute with a width.
func (c *checked) isPadded(e entry, name string) bool {
	return slices.ContainsFunc(c.of(e), func(x entry) bool {
		return slices.ContainsFunc(slices.Concat(x.pk, x.sk), func(s pattern.Segment) bool {
			return s.Name == name && pattern.IsNumber(s.Form)
		})
	})
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

// duplicates finds indexes with the same keys.
func (c *checked) duplicates(found report) {
	keysOf := func(name string) map[string]string {
		all := map[string]string{}
		for _, e := range c.entries {
			if e.index == name {
				all[fmt.Sprintf("%s[%d]", e.entity.Type, e.item)] = shown(e)
			}
		}
		return all
	}
	for i, x := range c.table.Indexes {
		for _, y := range c.table.Indexes[:i] {
			attributes := x.PK != "" && x.PK == y.PK && (x.SK == "" || x.SK == y.SK)
			patterns := len(keysOf(x.Name)) > 0 && maps.Equal(keysOf(x.Name), keysOf(y.Name))
			if attributes || patterns {
				found(indexPlace(i, x), "A query of index %s can be one of index %s, which has the same keys.", x.Name, y.Name)
				break
			}
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

// twice finds entities of which two items are in one partition of an index.
func (c *checked) twice(found report) {
	for i, e := range c.entries {
		if e.index != "" && e.isKnown() && slices.ContainsFunc(c.entries[:i], func(x entry) bool {
			return x.isKnown() && x.entity.Type == e.entity.Type && x.index == e.index && x.pattern.PK == e.pattern.PK
		}) {
			found(e.at, "Two items of %s are under the partition key %s of index %s: a query returns it twice.", e.entity.Type, e.pattern.PK, e.index)
		}
	}
}

// isKnown reports whether the item's key in the table is made of attributes. Where it is not,
// the items of an entity can be other forms of one key, and are then no copies.
func (e entry) isKnown() bool { return isKnown(e.entity.Items[e.item]) }

func isKnown(p tablemodel.Pattern) bool {
	return !slices.ContainsFunc(slices.Concat(pattern.Names(p.PK), pattern.Names(p.SK)), pattern.IsNumber)
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

// noVersion finds entities whose copies can drift apart.
func (c *checked) noVersion(found report) {
	for i, e := range c.Model.Entities {
		if len(e.Items) > 1 && e.Version == "" && !slices.ContainsFunc(e.Items, func(p tablemodel.Pattern) bool { return !isKnown(p) }) {
			found(place{"entity " + e.Type, fmt.Sprintf("entities[%d]", i), false},
				"%s has copies and no version, so two writers can leave items of different writes.", e.Type)
		}
	}
}

// maxTransaction is how many items a transaction writes. AWS: TransactWriteItems, Amazon
// DynamoDB API Reference.
const maxTransaction = 100

// largeTransactions finds writes with more items than a transaction has.
func (c *checked) largeTransactions(found report) {
	for i, e := range c.Model.Entities {
		// A write that changes all keys deletes each copy, and stores it under its new key.
		if n := 2*len(e.Items) - 1; n > maxTransaction {
			found(place{"entity " + e.Type, fmt.Sprintf("entities[%d]", i), false},
				"A write that changes the keys of all copies of %s has %d items, and a transaction %d at most.", e.Type, n, maxTransaction)
		}
	}
	c.largeInLoad(found)
}
