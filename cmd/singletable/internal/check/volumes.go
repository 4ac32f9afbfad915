package check

import (
	"fmt"
	"math"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/cmd/singletable/internal/simulate"
)

// queried reports whether a pattern of the load queries an index.
func (c *checked) queried(index string) bool {
	return slices.ContainsFunc(c.Load.Patterns, func(p simulate.Pattern) bool {
		return slices.ContainsFunc(p.Requests, func(r simulate.Request) bool { return r.In == index })
	})
}

// refused calls found for each kind of keys that refuses requests at the factor for good, and
// over how many shards or items it would not.
func (c *checked) refused(sortKeys string, found report, more string) {
	for _, x := range c.limits {
		if x.Adapts || x.Factor >= c.Factor || x.Keys == "" || c.Load.Keys[x.Keys].SortKeys != sortKeys {
			continue
		}
		n := math.Ceil(c.Factor / x.Factor * float64(c.Load.Keys[x.Keys].Shards))
		found(place{fmt.Sprintf("keys %q in %s", x.Keys, entry{index: x.Place}.in()), "keys." + x.Keys, true},
			"At %g times today's load %s: %.0f %s would take it.", c.Factor, x.Why, n, more)
	}
}

// hotItems finds single items that are too hot for one partition.
func (c *checked) hotItems(found report) { c.refused("one", found, "items") }

// eachRequest calls do for each request of the load.
func (c *checked) eachRequest(do func(p simulate.Pattern, r simulate.Request, at place)) {
	if c.Load == nil {
		return
	}
	for i, p := range c.Load.Patterns {
		for j, r := range p.Requests {
			do(p, r, place{fmt.Sprintf("pattern %q", p.Name), fmt.Sprintf("patterns[%d].requests[%d]", i, j), true})
		}
	}
}

// maxItem is the size of an item in bytes, maxTransaction how many items a transaction writes, and
// maxTransactionBytes the size of all of them. AWS: "Quotas in Amazon DynamoDB", Amazon DynamoDB Developer Guide;
// TransactWriteItems, Amazon DynamoDB API Reference.
const (
	maxItem             = 400 << 10
	maxTransaction      = 100
	maxTransactionBytes = 4 << 20
)

// largeItems finds items of half the limit or more: sizes of a load are averages.
func (c *checked) largeItems(found report) {
	seen := map[string]bool{}
	c.eachRequest(func(_ simulate.Pattern, r simulate.Request, at place) {
		if r.Op == "write" && r.Units == 0 && r.Bytes >= maxItem/2 && !seen[at.text] {
			seen[at.text] = true
			found(at, "It writes an item of %d KB on average, and an item has 400 KB at most.", r.Bytes>>10)
		}
	})
}

// wide finds indexes with entries of several write units that need not have all attributes.
func (c *checked) wide(found report) {
	worst, by := map[string]int{}, map[string]string{}
	c.eachRequest(func(p simulate.Pattern, r simulate.Request, _ place) {
		for _, x := range r.Indexes {
			if x.Bytes > 1024 && x.Bytes >= r.Bytes && x.Bytes > worst[x.In] {
				worst[x.In], by[x.In] = x.Bytes, p.Name
			}
		}
	})
	for i, x := range c.table.Indexes {
		if bytes := worst[x.Name]; bytes > 0 && x.Projection == types.ProjectionTypeAll {
			found(indexPlace(i, x), "Index %s has whole items: %q writes entries of %d bytes into it, %d write units each, and one of up to 1 KB takes 1.",
				x.Name, by[x.Name], bytes, (bytes+1023)/1024)
		}
	}
}

// expiresInLoad finds patterns that count on TTL.
func (c *checked) expiresInLoad(found report) {
	c.eachRequest(func(_ simulate.Pattern, r simulate.Request, at place) {
		if r.Op == "expire" {
			found(at, "Items expire in the load, and the schema has no ttl, so DynamoDB deletes none.")
		}
	})
}

// largeTransactions finds patterns whose transaction has more items or bytes than one takes.
func (c *checked) largeTransactions(found report) {
	for i, p := range c.Load.Patterns {
		var items, bytes float64
		for _, r := range p.Requests {
			if r.Transaction && r.Op != "get" {
				items, bytes = items+r.Times, bytes+r.Times*float64(r.Bytes)
			}
		}
		if items > maxTransaction || bytes > maxTransactionBytes {
			found(place{fmt.Sprintf("pattern %q", p.Name), fmt.Sprintf("patterns[%d]", i), true},
				"It writes %.0f items and %.1f MB in transactions each time, and one takes %d items and 4 MB.", items, bytes/(1<<20), maxTransaction)
		}
	}
}
