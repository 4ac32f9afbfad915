package simulate

import (
	"math"
	"math/rand/v2"
	"slices"
)

// What a partition takes in a second. AWS: "Best practices for designing and using partition
// keys effectively in DynamoDB", Amazon DynamoDB Developer Guide.
const (
	partitionReads  = 3000
	partitionWrites = 1000
)

// A partition holds 10 GB. AWS: "Partitions and data distribution in DynamoDB",
// Amazon DynamoDB Developer Guide.
const partitionGB = 10

// burst is for how many seconds unused capacity of a provisioned table is kept. AWS: "DynamoDB
// burst and adaptive capacity", Amazon DynamoDB Developer Guide.
const burst = 300

// partition is a range of hashes, or one key that DynamoDB has isolated.
type partition struct {
	from, to float64
	hot      []int // of the place
	// pieces is over how many partitions an isolated key is split by its sort keys.
	pieces int
	// over is for how many seconds it was over its limits.
	over int
	// shard is the number of its shard of the stream. accepted is what it took of writes in the
	// last second, as a part of what it is asked for on average.
	shard    int
	accepted float64
}

func (p *partition) isolated() bool { return p.from == p.to }

// maxParts bounds the partitions of a place. Beyond it, each has only a small part of its limits.
const maxParts = 20_000

// place is the table or an index in the simulation.
type place struct {
	kinds  []string
	keys   []Keys
	asked  []kindUnits // of each kind, at factor 1
	rest   []float64
	hot    []hotKey
	parts  []partition
	quota  Units
	random *rand.Rand
	// warm is what an on-demand place takes at once, and due since when it should take more, -1
	// if it need not.
	warm Units
	due  int
	// provisioned is the capacity of another one, and bucket what of it is unused so far.
	provisioned, bucket Units
	// refused are the shares that are refused of each kind, in the last second.
	refused []Units
	// parents has the parent of each shard of the stream, -1 if it has none.
	parents []int
}

func newPlace(l Load, d demand, storedGB float64, random *rand.Rand) *place {
	p := &place{quota: l.Quota, random: random, due: -1, provisioned: l.Provisioned, warm: l.Warm}
	names, of := d.kinds()
	for i, name := range names {
		hot, rest := hotKeys(i, d.place+" "+name, l.Keys[name], random)
		p.kinds, p.keys, p.asked = append(p.kinds, name), append(p.keys, l.Keys[name]), append(p.asked, of[name])
		p.hot, p.rest = append(p.hot, hot...), append(p.rest, rest)
	}
	p.refused = make([]Units, len(p.kinds))
	n := int(min(maxParts, math.Ceil(math.Max(p.capacity(), storedGB/partitionGB))))
	for i := range n {
		p.parts = append(p.parts, partition{from: float64(i) / float64(n), to: float64(i+1) / float64(n), pieces: 1, shard: i})
		p.parents = append(p.parents, -1)
	}
	for i, h := range p.hot {
		at := &p.parts[min(int(h.at*float64(n)), n-1)]
		at.hot = append(at.hot, i)
	}
	return p
}

func (p *place) isProvisioned() bool { return p.provisioned.Read > 0 }

// capacity returns how many partitions the capacity or the warm throughput needs.
func (p *place) capacity() float64 {
	if p.isProvisioned() {
		return p.provisioned.Read/partitionReads + p.provisioned.Write/partitionWrites
	}
	return math.Max(p.warm.Read/partitionReads, p.warm.Write/partitionWrites)
}

// step is a second at a factor of the load. It returns what was taken. First each partition
// takes what it can of what arrives; then the place does, as a whole.
func (p *place) step(second int, factor float64, a Assumptions) (taken Units) {
	clear(p.refused)
	arrived, takes := make([]Units, len(p.parts)), make([]Units, len(p.parts))
	var accepted Units
	for i := range p.parts {
		part := &p.parts[i]
		arrived[i] = p.arriving(part, factor)
		takes[i] = Units{
			math.Min(arrived[i].Read, partitionReads*p.pieces(part, false)),
			math.Min(arrived[i].Write, partitionWrites*p.pieces(part, true)),
		}
		accepted = accepted.add(takes[i], 1)
	}
	through := p.through(accepted)
	for i := range arrived { // a split adds parts
		part := &p.parts[i]
		mean := p.askedOf(part, factor).units
		part.accepted = 1
		if mean.Write > 0 {
			part.accepted = takes[i].Write * through.Write / mean.Write
		}
		p.refuse(part, Units{
			lost(arrived[i].Read-takes[i].Read*through.Read, mean.Read),
			lost(arrived[i].Write-takes[i].Write*through.Write, mean.Write),
		})
		if takes[i] == arrived[i] {
			part.over = max(0, part.over-1)
		} else if part.over++; part.over >= a.SplitAfter {
			p.split(i, factor)
		}
	}
	p.refuseEven(factor)
	taken = Units{accepted.Read * through.Read, accepted.Write * through.Write}
	p.grow(second, taken, a)
	return taken
}

// lost returns what is refused as a share of what is asked for on average.
func lost(refused, mean float64) float64 {
	if mean <= 0 {
		return 0
	}
	return math.Max(0, refused/mean)
}

// refuseEven adds what the keys refuse that are not looked at one by one, if each of them is
// over the limits of a partition and cannot be divided.
func (p *place) refuseEven(factor float64) {
	for i, k := range p.keys {
		n := float64(k.Count) * float64(k.Shards)
		each := Units{}.add(p.asked[i].units, p.rest[i]*factor/n)
		var share Units
		if k.SortKeys == oneItem {
			share.Read = over(each.Read, partitionReads)
		}
		if k.SortKeys != spread {
			share.Write = over(each.Write, partitionWrites)
		}
		p.refused[i] = p.refused[i].add(share, p.rest[i])
	}
}

// through returns the share that the place takes, of what its partitions would take.
func (p *place) through(accepted Units) Units {
	have := Units{math.Min(p.quota.Read, p.warm.Read), math.Min(p.quota.Write, p.warm.Write)}
	if p.isProvisioned() {
		have = p.provisioned.add(p.bucket, 1)
		p.bucket.Read = math.Min(burst*p.provisioned.Read, math.Max(0, have.Read-accepted.Read))
		p.bucket.Write = math.Min(burst*p.provisioned.Write, math.Max(0, have.Write-accepted.Write))
	}
	return Units{1 - over(accepted.Read, have.Read), 1 - over(accepted.Write, have.Write)}
}

// over returns the share that is refused.
func over(asked, have float64) float64 {
	if asked <= have {
		return 0
	}
	return 1 - have/asked
}

// askedOf returns what a partition is asked for, on average.
func (p *place) askedOf(part *partition, factor float64) (k kindUnits) {
	add := func(kind int, share float64) {
		k.units = k.units.add(p.asked[kind].units, share*factor)
		k.variance = k.variance.add(p.asked[kind].variance, share*factor)
	}
	for i := range p.asked {
		add(i, p.rest[i]*(part.to-part.from))
	}
	for _, i := range part.hot {
		add(p.hot[i].kind, p.hot[i].share)
	}
	return k
}

// arriving is what a partition is asked for in one second.
func (p *place) arriving(part *partition, factor float64) Units {
	asked := p.askedOf(part, factor)
	noise := func(mean, variance float64) float64 {
		return math.Max(0, mean+math.Sqrt(variance)*p.random.NormFloat64())
	}
	return Units{noise(asked.units.Read, asked.variance.Read), noise(asked.units.Write, asked.variance.Write)}
}

// pieces returns over how many partitions an isolated key is. Writes of sort keys that only
// grow go to the last one.
func (p *place) pieces(part *partition, write bool) float64 {
	if write && part.isolated() && p.keys[p.hot[part.hot[0]].kind].SortKeys == growing {
		return 1
	}
	return float64(part.pieces)
}

// refuse adds the shares that a partition refuses to those of its kinds.
func (p *place) refuse(part *partition, share Units) {
	if share == (Units{}) {
		return
	}
	for i := range p.kinds {
		p.refused[i] = p.refused[i].add(share, p.rest[i]*(part.to-part.from))
	}
	for _, i := range part.hot {
		h := p.hot[i]
		p.refused[h.kind] = p.refused[h.kind].add(share, h.share)
	}
}

// split divides a partition that is over its limits: it isolates a hot key, divides a range of
// hashes, or an isolated key by its sort keys. Of one item, and of writes at the end of sort
// keys that grow, nothing can be divided. AWS: "Scaling DynamoDB: How partitions, hot keys, and
// split for heat impact performance", AWS Database Blog.
func (p *place) split(i int, factor float64) {
	part := &p.parts[i]
	part.over = 0
	if part.isolated() {
		h := p.hot[part.hot[0]]
		kind := p.keys[h.kind].SortKeys
		reads := p.asked[h.kind].units.Read * h.share * factor / (partitionReads * float64(part.pieces))
		if kind == spread || kind == growing && reads > 1 {
			part.pieces *= 2
			p.reshard(i)
		}
		return
	}
	if len(p.parts) >= maxParts {
		return
	}
	if n := p.hottest(part, factor); n >= 0 {
		part.hot = slices.DeleteFunc(part.hot, func(at int) bool { return at == n })
		p.parts = append(p.parts, partition{hot: []int{n}, pieces: 1, accepted: part.accepted})
		p.reshard(i, len(p.parts)-1)
		return
	}
	if p.keysIn(part) > 1 {
		p.divide(i)
	}
}

// keysIn returns how many keys a range of hashes has, on average.
func (p *place) keysIn(part *partition) (n float64) {
	for _, k := range p.keys {
		n += float64(k.Count) * float64(k.Shards) * (part.to - part.from)
	}
	return n
}

// divide divides a range of hashes in the middle.
func (p *place) divide(i int) {
	part := &p.parts[i]
	middle := (part.from + part.to) / 2
	upper := partition{from: middle, to: part.to, pieces: 1, accepted: part.accepted}
	upper.hot = slices.DeleteFunc(slices.Clone(part.hot), func(n int) bool { return p.hot[n].at < middle })
	part.hot = slices.DeleteFunc(part.hot, func(n int) bool { return p.hot[n].at >= middle })
	part.to = middle
	p.parts = append(p.parts, upper)
	p.reshard(i, len(p.parts)-1)
}

// reshard gives new shards of the stream to what a partition was divided into. The first one
// is that partition.
func (p *place) reshard(parts ...int) {
	parent := p.parts[parts[0]].shard
	for _, i := range parts {
		p.parts[i].shard = len(p.parents)
		p.parents = append(p.parents, parent)
	}
}

// hottest returns the hot key that has at least half of what a partition is asked for, -1 if
// none has.
func (p *place) hottest(part *partition, factor float64) int {
	load := func(u Units) float64 { return u.Read/partitionReads + u.Write/partitionWrites }
	asked := load(p.askedOf(part, factor).units)
	for _, n := range part.hot {
		h := p.hot[n]
		if load(Units{}.add(p.asked[h.kind].units, h.share*factor)) >= asked/2 {
			return n
		}
	}
	return -1
}

// grow scales an on-demand place for twice its peak. AWS: "DynamoDB on-demand capacity mode",
// Amazon DynamoDB Developer Guide.
func (p *place) grow(second int, taken Units, a Assumptions) {
	if p.isProvisioned() || 2*taken.Read <= p.warm.Read && 2*taken.Write <= p.warm.Write {
		p.due = -1
		return
	}
	if p.due < 0 {
		p.due = second
	}
	if second-p.due < a.GrowAfter {
		return
	}
	p.due = -1
	p.warm = Units{math.Max(p.warm.Read, 2*taken.Read), math.Max(p.warm.Write, 2*taken.Write)}
	wanted := int(math.Max(p.warm.Read/partitionReads, p.warm.Write/partitionWrites))
	for i := range len(p.parts) {
		if len(p.parts) < min(wanted, maxParts) && !p.parts[i].isolated() {
			p.divide(i)
		}
	}
}
