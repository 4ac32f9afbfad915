package simulate

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Handler handles the records of the table's stream: a Lambda function with an event source
// mapping, or a Reader of package stream. It is one reader of every shard.
type Handler struct {
	Name string `json:"name"`
	// Source is lambda, the default, or reader, a Reader of package stream.
	Source string `json:"source,omitzero"`
	// Keys are the kinds of partition keys whose records it handles, by default all. The others
	// are filtered out, and take no time.
	Keys []string `json:"keys,omitempty"`
	// PerRecord is how many seconds a record takes, and PerBatch how many a batch takes in
	// addition.
	PerRecord float64 `json:"perRecord,omitzero"`
	PerBatch  float64 `json:"perBatch,omitzero"`
	// BatchSize is how many records of a shard are a batch; 100 by default. A reader's batch is
	// what a GetRecords returns.
	BatchSize int `json:"batchSize,omitzero"`
	// Parallel is how many batches of a shard are handled at once, ParallelizationFactor of an
	// event source mapping; 1 by default, and always of a reader.
	Parallel int `json:"parallel,omitzero"`
	// Concurrency is how many items of a batch are handled at once, stream.Options.Concurrency;
	// 1 by default.
	Concurrency int `json:"concurrency,omitzero"`
}

const (
	lambda = "lambda"
	reader = "reader"
)

// What a batch has at most. AWS: "Lambda parameters for Amazon DynamoDB event source mappings"
// and "Using AWS Lambda with Amazon DynamoDB", AWS Lambda Developer Guide; GetRecords, Amazon
// DynamoDB Streams API Reference.
const (
	lambdaRecords  = 10_000
	lambdaBytes    = 6 << 20
	lambdaParallel = 10
	gotRecords     = 1000
	gotBytes       = 1 << 20
)

const (
	// retention is for how many seconds a stream keeps a record. AWS: "Change data capture for
	// DynamoDB Streams", Amazon DynamoDB Developer Guide.
	retention = 24 * 3600
	// readers is how many processes should read a shard. AWS: "Quotas in Amazon DynamoDB",
	// Amazon DynamoDB Developer Guide.
	readers = 2
	// keyPart is the part of a shard's records that a key has at least, to be named for it.
	keyPart = 0.1
	// images are those that a record has of its item: how it was, and how it is.
	images = 2

	maxHandlers    = 10
	maxPerRecord   = 900 // seconds, as long as a function can run
	minPerRecord   = 1e-6
	maxConcurrency = 1000
)

// completeHandlers fills in the defaults of the handlers, and checks them.
func (l *Load) completeHandlers(bad func(string, ...any)) {
	if len(l.Handlers) > maxHandlers {
		bad("handlers: at most %d have a place", maxHandlers)
	}
	names := map[string]bool{}
	for i := range l.Handlers {
		h, at := &l.Handlers[i], fmt.Sprintf("handlers[%d]", i)
		set(&h.Source, lambda)
		set(&h.Parallel, 1)
		set(&h.Concurrency, 1)
		most, parallel := lambdaRecords, lambdaParallel
		switch h.Source {
		case lambda:
			set(&h.BatchSize, 100)
		case reader:
			set(&h.BatchSize, gotRecords)
			most, parallel = gotRecords, 1
		default:
			bad("%s.source: %q is not lambda or reader", at, h.Source)
		}
		if !isName(h.Name) || names[h.Name] {
			bad("%s.name: is empty, not printable, or that of another one", at)
		}
		names[h.Name] = true
		if !within(h.PerRecord, maxPerRecord) || !within(h.PerBatch, maxPerRecord) || h.PerRecord+h.PerBatch < minPerRecord {
			bad("%s: perRecord and perBatch must be 0 to %d seconds, and not both 0", at, maxPerRecord)
		}
		if h.BatchSize < 1 || h.BatchSize > most || h.Parallel < 1 || h.Parallel > parallel {
			bad("%s: batchSize must be 1 to %d, and parallel 1 to %d, of a %s", at, most, parallel, h.Source)
		}
		if h.Source == reader && h.BatchSize != gotRecords {
			bad("%s.batchSize: has no place, since a reader takes what GetRecords returns", at)
		}
		if h.Concurrency < 1 || h.Concurrency > maxConcurrency {
			bad("%s.concurrency: must be 1 to %d", at, maxConcurrency)
		}
		for _, name := range h.Keys {
			if _, ok := l.Keys[name]; !ok {
				bad("%s.keys: there are no keys %q", at, name)
			}
		}
	}
}

// records are those that a handler gets in a second, at factor 1.
type records struct {
	kinds map[string]float64 // of each kind of keys
	uses  []recordUse
	total float64
	bytes float64 // of one, on average
}

// recordUse is how many of them one request of a pattern writes.
type recordUse struct {
	pattern int
	keys    string
	rate    float64
}

// records returns those of a handler. A write or an expiry of an item has one, also in a
// transaction; a write that changes nothing has none. AWS: "Change data capture for DynamoDB
// Streams", Amazon DynamoDB Developer Guide.
func (l Load) records(h Handler) records {
	r := records{kinds: map[string]float64{}}
	for i, p := range l.Patterns {
		for _, q := range p.Requests {
			n := p.Rate * q.Times * q.records()
			if n == 0 || len(h.Keys) > 0 && !slices.Contains(h.Keys, q.Keys) {
				continue
			}
			r.kinds[q.Keys] += n
			r.total += n
			r.bytes += n * images * float64(q.Bytes)
			r.uses = append(r.uses, recordUse{i, q.Keys, n})
		}
	}
	if r.total > 0 {
		r.bytes /= r.total
	}
	return r
}

// records returns how many records of the stream one time of a request writes.
func (r Request) records() float64 {
	switch r.Op {
	case "write":
		return 1 - r.Unchanged
	case expire:
		return 1
	}
	return 0
}

// rate returns how many records a second are handled by one batch after the other. share is
// that of the records of one item, which are handled one after the other. bytes are those of a
// record, and polls how many GetRecords a function sends in a second for a shard.
func (h Handler) rate(bytes, share float64, polls int) float64 {
	size := func(records int, most float64) float64 {
		return math.Max(1, math.Min(float64(records), math.Floor(most/math.Max(bytes, 1))))
	}
	got := size(gotRecords, gotBytes)
	n := got
	if h.Source == lambda {
		n = size(h.BatchSize, lambdaBytes)
	}
	rate := n / (h.PerBatch + n*h.PerRecord*math.Max(share, 1/float64(h.Concurrency)))
	if h.Source == lambda {
		rate = math.Min(rate, float64(polls)*got/float64(h.Parallel))
	}
	return rate
}

// Behind says from which factor of today's load on a handler falls behind, and where.
type Behind struct {
	Factor float64 `json:"factor"`
	// Until is the factor from which on DynamoDB has divided the key, so that two shards keep up;
	// 0 if they do not.
	Until float64 `json:"until,omitzero"`
	// Keys is the kind of keys whose hottest one it is, empty if it is any shard.
	Keys string `json:"keys,omitempty"`
	// Asked is how many records a second there are today, and Most how many are handled.
	Asked float64 `json:"asked"`
	Most  float64 `json:"most"`
	// Patterns have a part in it, the greatest first.
	Patterns []string `json:"patterns"`
	// Why says it in a sentence.
	Why string `json:"why"`
}

// Falls returns where a handler falls behind from which factor of today's load on, at the peak
// of its shape, the first one first. What the table refuses before is left out. It takes no
// steps.
func Falls(l Load, h Handler) (all []Behind) {
	r := l.records(h)
	if r.total == 0 {
		return nil
	}
	demands := l.demands()
	table := tableSize{l, demands[0].total(), l.StoredGB / float64(len(demands))}
	_, units := demands[0].kinds()
	for name, rate := range r.kinds {
		k := l.Keys[name]
		s, _ := newShares(k) // which was checked
		share := s.of(0) / float64(k.Shards)
		x := limited{handler: h, records: r, table: table, own: rate * share, others: r.total - rate*share, lanes: float64(h.Parallel)}
		x.item = k.SortKeys == oneItem
		if x.item {
			x.others, x.lanes = x.others/x.lanes, 1
		}
		x.units = Units{}.add(units[name].units, share)
		found := x.behind()
		if x.isolated(found.Factor) { // and has no others in its shard
			x.others = 0
			found = x.behind()
		}
		takes := x.takes(k.SortKeys)
		if found.Factor > takes || x.refused(found.Factor) || !x.named(found.Factor) {
			continue
		}
		found.Keys, found.Patterns, found.Why = name, l.writers(r, name), x.why(name, found.Most)
		if k.SortKeys == spread && found.Factor > takes/2 {
			found.Until = takes / l.peak()
			found.Why += fmt.Sprintf(", until DynamoDB divides the key at %s times", number(found.Until))
		}
		all = append(all, found)
	}
	whole := limited{handler: h, records: r, table: table, others: r.total, lanes: float64(h.Parallel)}
	if found := whole.behind(); !whole.refused(found.Factor) {
		found.Patterns, found.Why = l.writers(r, ""), whole.why("", found.Most)
		all = append(all, found)
	}
	for i := range all {
		all[i].Factor /= l.peak()
	}
	slices.SortFunc(all, func(a, b Behind) int {
		return cmp.Or(cmp.Compare(a.Factor, b.Factor), strings.Compare(a.Keys, b.Keys))
	})
	return all
}

// limited is a shard in which a handler falls behind: that of a key, or any.
type limited struct {
	handler Handler
	records records
	table   tableSize
	// own are the records a second of the key at factor 1, and others those of which each shard
	// has its part. lanes is how many batches handle them at once.
	own, others, lanes float64
	// item is true for a key with one item, and units what the key is asked for.
	item  bool
	units Units
}

// behind returns the factor at which the shard has more records than are handled. The table can
// have more shards then.
func (x limited) behind() (b Behind) {
	for shards := x.table.partitions(0); ; { // at most as often as there can be partitions
		load, share := x.own+x.others/shards, 0.0
		if x.item { // the items under another key are many, and none has a share to speak of
			share = x.own / load
		}
		b.Most = x.lanes * x.handler.rate(x.records.bytes, share, x.table.load.Assumptions.Polls)
		b.Factor, b.Asked = b.Most/load, load
		now := x.table.partitions(b.Factor)
		if now <= shards {
			return b
		}
		shards = now
	}
}

// isolated reports whether DynamoDB has divided the partition of the key, since that is over its
// limits.
func (x limited) isolated(factor float64) bool {
	n := x.table.partitions(factor)
	asked := x.units.add(x.table.asked.add(x.units, -1), 1/n)
	return factor*asked.Read > partitionReads || factor*asked.Write > partitionWrites
}

// takes returns the factor from which on DynamoDB refuses writes of the key, or divides it.
func (x limited) takes(sortKeys string) float64 {
	factor := partitionWrites / x.units.Write
	if sortKeys == spread {
		factor = math.Min(factor, partitionReads/x.units.Read)
	}
	return factor
}

// refused reports whether the table refuses writes as a whole.
func (x limited) refused(factor float64) bool {
	return factor*x.table.asked.Write > x.table.mostWrites()
}

// named reports whether the key has so many of its shard's records that it is the reason.
func (x limited) named(factor float64) bool {
	return x.own >= keyPart*(x.own+x.others/x.table.partitions(factor))
}

// why says the limit in a sentence.
func (x limited) why(keys string, most float64) string {
	at := number(most) + " records a second"
	if most == 1 {
		at = "1 record a second"
	}
	switch {
	case x.item && x.handler.Parallel > 1:
		return fmt.Sprintf("the hottest of the keys %q is one item: the batch that it is in is handled at %s", keys, at)
	case x.item:
		return fmt.Sprintf("the hottest of the keys %q is one item: its shard is handled at %s", keys, at)
	case keys != "":
		return fmt.Sprintf("the hottest of the keys %q is in one shard, which is handled at %s", keys, at)
	}
	return "each shard is handled at " + at
}

// keepsUp returns the factor of today's load up to which a handler does not fall behind, and
// where it does then.
func keepsUp(l Load, h Handler) (factor float64, first Behind) {
	if all := Falls(l, h); len(all) > 0 {
		return all[0].Factor, all[0]
	}
	return math.Inf(1), Behind{}
}

// writers returns the patterns that write records of a kind of keys, or all, the greatest part
// first.
func (l Load) writers(r records, keys string) (names []string) {
	rates := make([]float64, len(l.Patterns))
	for _, u := range r.uses {
		if keys == "" || u.keys == keys {
			rates[u.pattern] += u.rate
		}
	}
	return l.greatest(rates)
}

// tableSize is the table, with what it is asked for today.
type tableSize struct {
	load  Load
	asked Units
	gb    float64
}

// mostWrites is what the table takes, in write units a second.
func (t tableSize) mostWrites() float64 {
	if t.load.Provisioned.Write > 0 {
		return t.load.Provisioned.Write
	}
	return t.load.Quota.Write
}

// partitions returns how many partitions the table has at a factor of today's load, once an
// on-demand table is scaled for it. Its stream has a shard for each.
func (t tableSize) partitions(factor float64) float64 {
	p := place{provisioned: t.load.Provisioned, warm: t.load.Warm}
	n := math.Ceil(math.Max(p.capacity(), t.gb/partitionGB))
	taken := Units{math.Min(factor*t.asked.Read, t.load.Quota.Read), math.Min(factor*t.asked.Write, t.load.Quota.Write)}
	if !p.isProvisioned() && (2*taken.Read > p.warm.Read || 2*taken.Write > p.warm.Write) {
		p.warm = Units{math.Max(p.warm.Read, 2*taken.Read), math.Max(p.warm.Write, 2*taken.Write)}
		n = math.Max(n, math.Floor(p.capacity()))
	}
	return math.Min(maxParts, n)
}
