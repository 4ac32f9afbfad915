// Package simulate says what a table's design does at a load: which key is refused first,
// and what it costs.
//
// # The model
//
// Requests become read and write units on partition keys, of the table and of each index.
// A partition takes 3,000 read units and 1,000 write units a second; it holds a range of
// hashed keys. The hottest keys are looked at one by one, all others as an even load. A step
// is a second. Each rule names its source where it stands; what AWS does not document is in
// [Assumptions], with the range that the results should be tried for.
//
// Writes are records of the table's stream, which has a shard for each partition. Each
// [Handler] has the records of a shard that wait for it.
//
// It does not model retries, global tables, DAX, the time a request takes, or other tables of
// the account.
//
// AWS: "Best practices for designing and using partition keys effectively in DynamoDB",
// Amazon DynamoDB Developer Guide.
//
// # Reading the code
//
//	load.go    what the table is asked to do
//	shares.go  how requests choose among keys
//	units.go   what a request costs
//	demand.go  the load of each key
//	trace.go   what a running service did
//	measure.go the load that this makes
//	place.go   the partitions of the table or an index
//	backlog.go the records that wait for a handler
//	run.go     the steps
//	limit.go   what is refused first, without steps
//	handler.go who handles the stream, and falls behind first
//	kinesis.go and what a Kinesis data stream takes
//	price.go   dollars a month
//	handled.go what is said of a handler
//	report.go  the results as text
//	page.go    and as a page with plots
package simulate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode"
)

// Load is what a table is asked to do today. It is a plain value, and a JSON file.
type Load struct {
	Name string `json:"name"`
	// Provisioned is the capacity of a provisioned table, in units a second. Zero means on
	// demand.
	Provisioned Units `json:"provisioned,omitzero"`
	// Warm is what the table and each index take at once on demand, in units a second: the warm
	// throughput that DescribeTable returns. By default it is that of a new table, 12,000 and
	// 4,000.
	Warm Units `json:"warm,omitzero"`
	// Quota is the most that the table and each index take; 40,000 of each by default.
	Quota Units `json:"quota,omitzero"`
	// StoredGB is the size of the table with its indexes, which are taken to be of equal size.
	StoredGB float64 `json:"storedGB,omitzero"`
	// Keys are the kinds of partition keys, by a name: "user", "day".
	Keys map[string]Keys `json:"keys"`
	// Patterns are what the application does.
	Patterns []Pattern `json:"patterns"`
	// Handlers handle the records of the table's stream.
	Handlers []Handler `json:"handlers,omitempty"`
	// Kinesis is the Kinesis data stream that the table streams to; none by default.
	Kinesis Kinesis `json:"kinesis,omitzero"`
	// Shape is how the load changes in the time that is simulated: by default it is the same.
	Shape []Point `json:"shape,omitempty"`
	// Assumptions are what AWS does not document.
	Assumptions Assumptions `json:"assumptions,omitzero"`
}

// Units are read and write units, a second or in all.
type Units struct {
	Read  float64 `json:"read,omitzero"`
	Write float64 `json:"write,omitzero"`
}

// Keys are partition keys of one kind.
type Keys struct {
	// Count is how many there are.
	Count int64 `json:"count"`
	// Distribution says how requests choose one: "uniform" by default; "zipf:1.1", where the
	// nth key is asked for in proportion to 1/n to this power; "one:0.5", where one key has
	// this share of the requests, and the others an even one.
	Distribution string `json:"distribution,omitzero"`
	// Shares are the shares of the requests that the hottest keys have, the hottest first, at
	// most 512 of them. The other keys have an even share of the rest. They take the place of
	// Distribution.
	Shares []float64 `json:"shares,omitempty"`
	// Shards is over how many partition keys the items of each are spread.
	Shards int `json:"shards,omitzero"`
	// SortKeys says what is under a key: "spread", which DynamoDB can split, by default;
	// "growing", as of times, where all writes are at the end; "one" item. AWS: "Scaling
	// DynamoDB: How partitions, hot keys, and split for heat impact performance", AWS
	// Database Blog.
	SortKeys string `json:"sortKeys,omitzero"`
}

// Pattern is an access pattern.
type Pattern struct {
	Name string `json:"name"`
	// Rate is how often it happens today, in a second.
	Rate     float64   `json:"rate"`
	Requests []Request `json:"requests"`
	// Measured is what one time consumes, as the events of package table say. A load whose
	// requests come to another sum is refused: a request is missing, or a size is wrong.
	Measured Units `json:"measured,omitzero"`
}

// Request is a request of a pattern, or an item of a transaction.
type Request struct {
	// Op is get, query, write (put, create, update or delete), check, of a transaction, or
	// expire, where DynamoDB deletes an item by its TTL, for nothing.
	Op string `json:"op"`
	// Keys is the kind of the partition key, and In the index; the table by default.
	Keys string `json:"keys"`
	In   string `json:"in,omitzero"`
	// Bytes is the size of an item, 1,000 by default, and Items how many a query reads.
	Bytes int `json:"bytes,omitzero"`
	Items int `json:"items,omitzero"`
	// Units are the read or write units of one time, as measured. They win over Bytes, Items,
	// Consistent and Transaction. Zero means that these say it.
	Units float64 `json:"units,omitzero"`
	// Consistent is a consistent read, and Transaction an item of a transaction.
	Consistent  bool `json:"consistent,omitzero"`
	Transaction bool `json:"transaction,omitzero"`
	// Times is how often it is sent for one time that the pattern happens; 1 by default.
	Times float64 `json:"times,omitzero"`
	// Unchanged is the share of the writes that change nothing, and so write no record of the
	// stream.
	Unchanged float64 `json:"unchanged,omitzero"`
	// Indexes are the writes of indexes that a write causes.
	Indexes []IndexWrite `json:"indexes,omitempty"`
}

// IndexWrite is a write of an index.
type IndexWrite struct {
	In   string `json:"in"`
	Keys string `json:"keys"`
	// Bytes is the size of the item in the index; that of the item by default.
	Bytes int `json:"bytes,omitzero"`
	// Moves means that the key in the index changes: one entry is deleted, another written.
	Moves bool `json:"moves,omitzero"`
}

// Point is a factor of the load at a time. Between points it changes evenly.
type Point struct {
	Second int     `json:"second"`
	Factor float64 `json:"factor"`
}

// Assumptions are what AWS does not document. Zero is the default.
type Assumptions struct {
	// SplitAfter is for how many seconds a partition is over its limits until DynamoDB splits
	// it: 300 by default, and 60 to 900 should be tried.
	SplitAfter int `json:"splitAfter,omitzero"`
	// GrowAfter is how many seconds an on-demand table takes until it is scaled for twice a new
	// peak: 1,800 by default, and 300 to 1,800 should be tried. AWS says that requests can be
	// refused beyond twice the peak within 30 minutes.
	GrowAfter int `json:"growAfter,omitzero"`
	// Polls is how many GetRecords a function sends in a second for a shard: 4 by default, and 1
	// to 10 should be tried. AWS calls 4 the base rate.
	Polls int `json:"polls,omitzero"`
}

const (
	uniform = "uniform"
	spread  = "spread"
	growing = "growing"
	oneItem = "one"
	// expire is an op of a request.
	expire = "expire"
)

// What a new on-demand table takes at once. AWS: "Understanding DynamoDB warm throughput",
// Amazon DynamoDB Developer Guide.
const (
	newReads  = 12_000
	newWrites = 4_000
)

// The default quota of a table. AWS: "Quotas in Amazon DynamoDB", Amazon DynamoDB Developer
// Guide.
const defaultQuota = 40_000

// Read reads a load and fills in its defaults. An error lists everything that is wrong.
func Read(r io.Reader) (Load, error) {
	var l Load
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	if err := d.Decode(&l); err != nil {
		return Load{}, fmt.Errorf("the load is no JSON of this form: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Load{}, errors.New("there is more after the load")
	}
	if err := l.complete(); err != nil {
		return Load{}, err
	}
	return l, l.checkMeasured()
}

// checkMeasured compares the patterns with what was measured of them.
func (l Load) checkMeasured() error {
	for i, c := range Month(l, 1, Prices{}).Patterns {
		m := l.Patterns[i].Measured
		if m != (Units{}) && (differ(m.Read, c.Units.Read) || differ(m.Write, c.Units.Write)) {
			return fmt.Errorf("patterns[%d] (%s): its requests come to %s read and %s write units, and it is measured at %s and %s",
				i, c.Name, number(c.Units.Read), number(c.Units.Write), number(m.Read), number(m.Write))
		}
	}
	return nil
}

// differ reports whether two numbers of units are not the same within a tenth.
func differ(measured, sum float64) bool { return math.Abs(measured-sum) > measured/10 }

// complete fills in defaults and checks the load.
func (l *Load) complete() error {
	var problems []string
	bad := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	set(&l.Warm.Read, newReads)
	set(&l.Warm.Write, newWrites)
	set(&l.Quota.Read, defaultQuota)
	set(&l.Quota.Write, defaultQuota)
	set(&l.Assumptions.SplitAfter, 300)
	set(&l.Assumptions.GrowAfter, 1800)
	set(&l.Assumptions.Polls, 4)
	if !isName(l.Name) {
		bad("name: is empty, or not printable")
	}
	if len(l.Keys) > maxKeys || len(l.Patterns) > maxPatterns {
		bad("keys, patterns: at most %d and %d have a place", maxKeys, maxPatterns)
	}
	if a := l.Assumptions; a.SplitAfter < 1 || a.GrowAfter < 1 || a.Polls < 1 || a.Polls > maxPolls {
		bad("assumptions: seconds must be above 0, and polls 1 to %d", maxPolls)
	}
	for name, u := range map[string]Units{"provisioned": l.Provisioned, "warm": l.Warm, "quota": l.Quota} {
		if !within(u.Read, maxUnits) || !within(u.Write, maxUnits) {
			bad("%s: units a second must be 0 to %d", name, maxUnits)
		}
	}
	if !within(l.StoredGB, maxGB) {
		bad("storedGB: must be 0 to %d", maxGB)
	}
	if (l.Provisioned.Read == 0) != (l.Provisioned.Write == 0) {
		bad("provisioned: needs read and write units")
	}
	l.completeKeys(bad)
	l.completeHandlers(bad)
	l.completeKinesis(bad)
	if len(l.Patterns) == 0 {
		bad("patterns: there are none")
	}
	for i := range l.Patterns {
		l.Patterns[i].complete(l, fmt.Sprintf("patterns[%d]", i), bad)
	}
	for i, p := range l.Shape {
		if !within(p.Factor, maxRate) || i > 0 && p.Second <= l.Shape[i-1].Second || p.Second < 0 {
			bad("shape[%d]: seconds must ascend, and factors be 0 to %d", i, maxRate)
		}
	}
	if len(problems) == 0 && len(l.demands()) > maxPlaces {
		bad("indexes: at most %d have a place", maxPlaces-1)
	}
	if len(problems) > 0 {
		slices.Sort(problems) // maps have no order
		return errors.New(strings.Join(problems, "; "))
	}
	return nil
}

// completeKeys fills in the defaults of the kinds of keys, and checks them.
func (l *Load) completeKeys(bad func(string, ...any)) {
	for name, k := range l.Keys {
		if !isName(name) {
			bad("keys[%q]: the name is empty, or not printable", name)
		}
		set(&k.Shards, 1)
		set(&k.SortKeys, spread)
		set(&k.Distribution, uniform)
		if _, err := newShares(k); err != nil {
			bad("keys[%q].distribution: %v", name, err)
		}
		if k.Count < 1 || k.Shards < 1 || k.Shards > maxShards {
			bad("keys[%q]: count must be at least 1, and shards 1 to %d", name, maxShards)
		}
		if !slices.Contains([]string{spread, growing, oneItem}, k.SortKeys) {
			bad("keys[%q].sortKeys: %q is not spread, growing or one", name, k.SortKeys)
		}
		l.Keys[name] = k
	}
}

// What a load may have. Beyond it, the result would be of no use, or its numbers not exact.
const (
	maxShards = 256 // of package shard
	maxBytes  = 400 * 1024
	maxItems  = 1_000_000
	maxUnits  = 100_000_000 // in a second
	maxRate   = 100_000_000
	minRate   = 1e-9
	maxGB     = 1_000_000
	// A table has 20 global indexes, unless AWS raises its quota.
	maxPlaces   = 100
	maxKeys     = 200
	maxPatterns = 1000
	// maxHot bounds the hot keys of one kind. The load of the others is even to some permille.
	maxHot   = 512
	maxPolls = 1000
)

func (p *Pattern) complete(l *Load, at string, bad func(string, ...any)) {
	if !isName(p.Name) || !within(p.Rate, maxRate) || p.Rate < minRate || len(p.Requests) == 0 {
		bad("%s: needs a printable name, a rate of %g to %d, and requests", at, minRate, maxRate)
	}
	for i := range p.Requests {
		r := &p.Requests[i]
		set(&r.Bytes, 1000)
		set(&r.Items, 1)
		set(&r.Times, 1)
		where := fmt.Sprintf("%s.requests[%d]", at, i)
		if !slices.Contains([]string{"get", "query", "write", "check", expire}, r.Op) {
			bad("%s.op: %q is not get, query, write, check or expire", where, r.Op)
		}
		r.checkRecords(where, bad)
		if _, ok := l.Keys[r.Keys]; !ok {
			bad("%s.keys: there are no keys %q", where, r.Keys)
		}
		if r.Bytes < 1 || r.Bytes > maxBytes || r.Items < 1 || r.Items > maxItems || !within(r.Times, maxItems) {
			bad("%s: bytes must be 1 to %d, items 1 to %d, and times at most that", where, maxBytes, maxItems)
		}
		if r.Op != "query" && r.Items > 1 || r.Op == "query" && r.Transaction {
			bad("%s: queries read items, and are not in a transaction; times is how often a request is sent", where)
		}
		if !within(r.Units, maxUnits) {
			bad("%s: units must be 0 to %d", where, maxUnits)
		}
		if r.In != "" && r.Op != "query" || r.Op != "write" && len(r.Indexes) > 0 {
			bad("%s: an index takes queries, and writes have indexes", where)
		}
		r.completeIndexes(l, where, bad)
	}
}

// checkRecords checks what a request writes into the stream.
func (r *Request) checkRecords(where string, bad func(string, ...any)) {
	if r.Op == expire && (r.Units > 0 || r.Transaction) {
		bad("%s: an expiry is in no transaction, and takes no units", where)
	}
	if !within(r.Unchanged, 1) || r.Op != "write" && r.Unchanged > 0 {
		bad("%s.unchanged: is a share of writes", where)
	}
}

// completeIndexes fills in the defaults of the writes of indexes, and checks them.
func (r *Request) completeIndexes(l *Load, where string, bad func(string, ...any)) {
	for j := range r.Indexes {
		x := &r.Indexes[j]
		set(&x.Bytes, r.Bytes)
		if _, ok := l.Keys[x.Keys]; !ok || !isName(x.In) || x.Bytes < 1 || x.Bytes > maxBytes {
			bad("%s.indexes[%d]: needs the name of an index, keys that there are, and bytes", where, j)
		}
	}
}

// set sets a default.
func set[T comparable](v *T, to T) {
	var zero T
	if *v == zero {
		*v = to
	}
}

// isName reports whether a text can be in a line of the output.
func isName(text string) bool {
	return text != "" && len(text) <= maxName && !strings.ContainsFunc(text, unicode.IsControl)
}

const maxName = 255

func within(f float64, most float64) bool { return f >= 0 && f <= most }
