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

// A partition holds 10 GB. AWS: "Partitions and data distribution in DynamoDB".
const partitionGB = 10

// burst is for how many seconds unused capacity of a provisioned table is kept. AWS: "DynamoDB
// burst and adaptive capacity".
const burst = 300

// partition is a range of hashes, or one key that DynamoDB has isolated.
type partition struct {
	from, to float64
	hot      []int // of the place
	// pieces is over how many partitions an isolated key is split by its sort keys.
	pieces int
	// over is for how many seconds it was over its limits.
	over int
}

func (p *partition) isolated() bool { return p.from == p.to }

// place is the table or an index in the simulation.
type place struct {
	name  string
	kinds []string
	keys  []Keys
	asked []Units // of each kind, at factor 1
	rest  []float64
	hot   []hotKey
	parts []partition
	// warm is what an on-demand place takes at once.
	warm   Units
	quota  Units
	random *rand.Rand
	// bucket has the capacity of a provisioned table that is unused so far.
	provisioned, bucket Units
	// asking is since when it should grow, -1 if it need not.
	asking int
	// refused are the shares that are refused of each kind, in the last second.
	refused []Units
	// stuck are the hot keys that nothing can be done for.
	stuck map[int]bool
}

func newPlace(l Load, d demand, random *rand.Rand) *place {
	p := &place{name: d.place, quota: l.Quota, random: random, asking: -1, stuck: map[int]bool{}}
	names, of := d.kinds()
	for i, name := range names {
		hot, rest := hotKeys(i, d.place+" "+name, l.Keys[name], random)
		p.kinds, p.keys, p.asked = append(p.kinds, name), append(p.keys, l.Keys[name]), append(p.asked, of[name])
		p.hot, p.rest = append(p.hot, hot...), append(p.rest, rest)
	}
	p.refused = make([]Units, len(p.kinds))
	n := 0
	if l.Provisioned.Read > 0 {
		p.provisioned = l.Provisioned
		n = int(math.Ceil(l.Provisioned.Read/partitionReads + l.Provisioned.Write/partitionWrites))
	}
	if n == 0 {
		p.warm = l.Warm
		n = p.wanted()
	}
	n = max(n, int(math.Ceil(l.StoredGB/partitionGB)))
	for i := range n {
		p.parts = append(p.parts, partition{from: float64(i) / float64(n), to: float64(i+1) / float64(n), pieces: 1})
	}
	for i, h := range p.hot {
		at := &p.parts[min(int(h.at*float64(n)), n-1)]
		at.hot = append(at.hot, i)
	}
	return p
}

// wanted returns how many partitions take what the place should take at once.
func (p *place) wanted() int {
	return int(math.Ceil(math.Max(p.warm.Read/partitionReads, p.warm.Write/partitionWrites)))
}

// step is a second at a factor of the load. It returns what was taken.
func (p *place) step(second int, factor float64, a Assumptions) (taken Units) {
	for i := range p.refused {
		p.refused[i] = Units{}
	}
	limit := p.limit(factor)
	for i := 0; i < len(p.parts); i++ { // splits add parts
		part := &p.parts[i]
		asked := p.noisy(p.askedOf(part, factor))
		take := Units{partitionReads * p.pieces(part, false), partitionWrites * p.pieces(part, true)}
		refused := Units{over(asked.Read, take.Read), over(asked.Write, take.Write)}
		taken.Read += asked.Read * (1 - refused.Read) * limit.Read
		taken.Write += asked.Write * (1 - refused.Write) * limit.Write
		p.refuse(part, Units{1 - (1-refused.Read)*limit.Read, 1 - (1-refused.Write)*limit.Write})
		if refused.Read > 0 || refused.Write > 0 {
			if part.over++; part.over >= a.SplitAfter {
				p.split(i, factor)
			}
		} else {
			part.over = 0
		}
	}
	p.grow(second, taken, a)
	return taken
}

// limit returns the shares of all requests that the capacity of a provisioned table and the
// quota let through.
func (p *place) limit(factor float64) Units {
	var asked Units
	for _, u := range p.asked {
		asked.Read, asked.Write = asked.Read+u.Read*factor, asked.Write+u.Write*factor
	}
	have := p.quota
	if p.provisioned.Read > 0 {
		have = Units{p.provisioned.Read + p.bucket.Read, p.provisioned.Write + p.bucket.Write}
		p.bucket.Read = math.Min(burst*p.provisioned.Read, math.Max(0, have.Read-asked.Read))
		p.bucket.Write = math.Min(burst*p.provisioned.Write, math.Max(0, have.Write-asked.Write))
	}
	return Units{1 - over(asked.Read, have.Read), 1 - over(asked.Write, have.Write)}
}

// over returns the share that is refused.
func over(asked, have float64) float64 {
	if asked <= have {
		return 0
	}
	return 1 - have/asked
}

// askedOf returns what a partition is asked for.
func (p *place) askedOf(part *partition, factor float64) (u Units) {
	for i, asked := range p.asked {
		share := p.rest[i] * (part.to - part.from)
		u.Read, u.Write = u.Read+asked.Read*share*factor, u.Write+asked.Write*share*factor
	}
	for _, i := range part.hot {
		h := p.hot[i]
		u.Read, u.Write = u.Read+p.asked[h.kind].Read*h.share*factor, u.Write+p.asked[h.kind].Write*h.share*factor
	}
	return u
}

// noisy is what arrives in one second: requests come independently of each other.
func (p *place) noisy(u Units) Units {
	noise := func(mean float64) float64 { return math.Max(0, mean+math.Sqrt(mean)*p.random.NormFloat64()) }
	return Units{noise(u.Read), noise(u.Write)}
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
		of := p.rest[i] * (part.to - part.from)
		p.refused[i].Read += of * share.Read
		p.refused[i].Write += of * share.Write
	}
	for _, i := range part.hot {
		h := p.hot[i]
		p.refused[h.kind].Read += h.share * share.Read
		p.refused[h.kind].Write += h.share * share.Write
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
		reads := p.asked[h.kind].Read * h.share * factor / (partitionReads * float64(part.pieces))
		if kind == oneItem || kind == growing && reads <= 1 {
			p.stuck[part.hot[0]] = true
			return
		}
		part.pieces *= 2
		return
	}
	if n := p.hottest(part, factor); n >= 0 {
		part.hot = slices.DeleteFunc(part.hot, func(at int) bool { return at == n })
		p.parts = append(p.parts, partition{hot: []int{n}, pieces: 1})
		return
	}
	middle := (part.from + part.to) / 2
	upper := partition{from: middle, to: part.to, pieces: 1}
	var lower []int
	for _, n := range part.hot {
		if p.hot[n].at < middle {
			lower = append(lower, n)
		} else {
			upper.hot = append(upper.hot, n)
		}
	}
	part.to, part.hot = middle, lower
	p.parts = append(p.parts, upper)
}

// hottest returns the hot key that has at least half of what a partition is asked for, -1 if
// none has.
func (p *place) hottest(part *partition, factor float64) int {
	asked := p.askedOf(part, factor)
	load := func(u Units) float64 { return u.Read/partitionReads + u.Write/partitionWrites }
	for _, n := range part.hot {
		h := p.hot[n]
		if u := p.asked[h.kind]; load(Units{u.Read * h.share * factor, u.Write * h.share * factor}) >= load(asked)/2 {
			return n
		}
	}
	return -1
}

// grow scales an on-demand place for twice its peak. AWS: "DynamoDB on-demand capacity mode".
func (p *place) grow(second int, taken Units, a Assumptions) {
	p.warm = Units{math.Max(p.warm.Read, 2*taken.Read), math.Max(p.warm.Write, 2*taken.Write)}
	ranges := 0
	for i := range p.parts {
		if !p.parts[i].isolated() {
			ranges++
		}
	}
	if p.provisioned.Read > 0 || ranges >= p.wanted() {
		p.asking = -1
		return
	}
	if p.asking < 0 {
		p.asking = second
	}
	if second-p.asking < a.GrowAfter {
		return
	}
	p.asking = -1
	for i := range len(p.parts) {
		part := &p.parts[i]
		if part.isolated() {
			continue
		}
		middle := (part.from + part.to) / 2
		upper := partition{from: middle, to: part.to, pieces: 1}
		upper.hot = slices.DeleteFunc(slices.Clone(part.hot), func(n int) bool { return p.hot[n].at < middle })
		part.hot = slices.DeleteFunc(part.hot, func(n int) bool { return p.hot[n].at >= middle })
		part.to = middle
		p.parts = append(p.parts, upper)
	}
}
