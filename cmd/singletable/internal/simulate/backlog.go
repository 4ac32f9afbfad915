package simulate

import (
	"math"
	"slices"
)

// backlog is what a handler has not handled yet, in the simulation.
type backlog struct {
	handler Handler
	// asked is how many records a second there are of each kind of keys of the table, at factor
	// 1. bytes is the size of one, and polls how often a function asks for them.
	asked []float64
	bytes float64
	polls int
	// shards are those of the stream, by their numbers; nil before they have records, and once
	// they are closed and read to their end.
	shards []*shard
}

// shard is a shard of the stream, as a handler sees it.
type shard struct {
	lanes []lane
	// last is the last second in which the shard was open, and come the factor of what came.
	last int
	come float64
}

// lane is the part of a shard that is handled by one batch after the other. Items are spread
// over the lanes by their hash, so that the records of an item stay in order. AWS documents the
// order, "Using AWS Lambda with Amazon DynamoDB", AWS Lambda Developer Guide; it does not
// document the hash.
type lane struct {
	// times is how many lanes are like this one.
	times float64
	// asked is how many records a second it gets at factor 1, and rate how many it handles.
	asked, rate float64
	waiting     []stretch
	// every is how many seconds a new stretch has.
	every float64
}

// stretch are records that came one after the other, and those of them that are left.
type stretch struct {
	from, to      float64 // seconds
	records, left float64
}

// maxStretches bounds what a lane remembers. Ages are exact to a few percent.
const maxStretches = 64

// Reading is what a handler did in a second.
type Reading struct {
	// Oldest is the age of the oldest record that was not handled, in seconds. It is 0 if all
	// were.
	Oldest float64 `json:"oldest"`
	// Running is how many batches are handled at once at most.
	Running float64 `json:"running"`
	// Lost is how many records the stream deleted before they were handled.
	Lost float64 `json:"lost,omitzero"`
}

func newBacklog(l Load, h Handler, p *place) *backlog {
	r := l.records(h)
	b := &backlog{handler: h, bytes: r.bytes, polls: l.Assumptions.Polls}
	for _, kind := range p.kinds {
		b.asked = append(b.asked, r.kinds[kind])
	}
	return b
}

// step is a second in which the table has taken writes. First the records come, then they are
// handled: those of a shard not before those of its parent. AWS: "Change data capture for
// DynamoDB Streams", Amazon DynamoDB Developer Guide.
func (b *backlog) step(p *place, second int, factor float64) (r Reading) {
	b.shards = append(b.shards, make([]*shard, len(p.parents)-len(b.shards))...)
	for i := range p.parts {
		part := &p.parts[i]
		if b.shards[part.shard] == nil {
			b.shards[part.shard] = b.open(p, part)
		}
		b.shards[part.shard].last, b.shards[part.shard].come = second, factor*part.accepted
	}
	for n, s := range b.shards { // parents are before their children
		if s == nil {
			continue
		}
		closed := s.last < second
		if closed {
			s.come = 0
		}
		waits, waiting := p.parents[n] >= 0 && b.shards[p.parents[n]] != nil, false
		for i := range s.lanes {
			l := &s.lanes[i]
			r.Lost += l.times * l.step(second, l.asked*s.come, waits)
			r.Oldest = math.Max(r.Oldest, l.oldest(float64(second+1)))
			waiting = waiting || len(l.waiting) > 0
			if !waits {
				r.Running += l.times
			}
		}
		if closed && !waiting {
			b.shards[n] = nil
		}
	}
	return r
}

// open returns the shard of a partition. An item that is looked at by itself makes its lane a
// lane of its own kind.
func (b *backlog) open(p *place, part *partition) *shard {
	rest := 0.0
	own, hottest := make([]float64, b.handler.Parallel), make([]float64, b.handler.Parallel)
	for i, asked := range b.asked {
		rest += asked * p.rest[i] * (part.to - part.from)
	}
	for _, i := range part.hot {
		h := p.hot[i]
		asked := b.asked[h.kind] * h.share
		if p.keys[h.kind].SortKeys != oneItem {
			rest += asked
			continue
		}
		n := int(math.Mod(h.at*1e6, 1) * float64(b.handler.Parallel))
		own[n] += asked
		hottest[n] = math.Max(hottest[n], asked)
	}
	pieces := p.pieces(part, true)
	each := rest / float64(b.handler.Parallel) / pieces
	s := &shard{}
	alike := lane{asked: each, rate: b.handler.rate(b.bytes, 0, b.polls)}
	for i := range own {
		if own[i] == 0 {
			alike.times += pieces
			continue
		}
		asked := own[i] + each
		s.lanes = append(s.lanes, lane{times: 1, asked: asked, rate: b.handler.rate(b.bytes, hottest[i]/asked, b.polls)})
	}
	if alike.times > 0 && each > 0 {
		s.lanes = append(s.lanes, alike)
	}
	return s
}

// step is a second in which records come. They are not handled while the shard waits for its
// parent. It returns how many are lost.
func (l *lane) step(second int, come float64, waits bool) (lost float64) {
	handles := l.rate
	if waits {
		handles = 0
	}
	if len(l.waiting) == 0 && come <= handles {
		return 0
	}
	if come > 0 {
		l.push(stretch{float64(second), float64(second + 1), come, come})
	}
	done := 0
	for ; done < len(l.waiting) && handles > 0; done++ {
		s := &l.waiting[done]
		n := math.Min(s.left, handles)
		handles -= n
		if s.left -= n; s.left > 0 {
			break
		}
	}
	kept := float64(second + 1 - retention)
	for ; done < len(l.waiting) && l.waiting[done].to <= kept; done++ {
		lost += l.waiting[done].left
	}
	l.waiting = slices.Delete(l.waiting, 0, done)
	if len(l.waiting) > 0 {
		lost += l.waiting[0].trim(kept)
	}
	return lost
}

// trim drops the records from before a second, and returns how many of them were left.
func (s *stretch) trim(from float64) (lost float64) {
	if s.from >= from {
		return 0
	}
	left := math.Min(s.left, s.records*(s.to-from)/(s.to-s.from))
	lost, s.left = s.left-left, left
	return lost
}

// push adds the records of a second. If there are too many stretches, each has twice as many
// seconds from then on.
func (l *lane) push(s stretch) {
	n := len(l.waiting)
	if n == 0 {
		l.every = 1
	}
	if n > 1 && s.to-l.waiting[n-1].from <= l.every {
		l.waiting[n-1] = l.waiting[n-1].and(s)
		return
	}
	l.waiting = append(l.waiting, s)
	if len(l.waiting) <= maxStretches {
		return
	}
	l.every *= 2
	all := l.waiting[:1] // of which some may be handled
	for i := 1; i < len(l.waiting); i += 2 {
		made := l.waiting[i]
		if i+1 < len(l.waiting) {
			made = made.and(l.waiting[i+1])
		}
		all = append(all, made)
	}
	l.waiting = all
}

// and returns a stretch with the one behind it.
func (s stretch) and(next stretch) stretch {
	return stretch{s.from, next.to, s.records + next.records, s.left + next.left}
}

// oldest returns the age of the oldest record that waits.
func (l *lane) oldest(now float64) float64 {
	if len(l.waiting) == 0 {
		return 0
	}
	s := l.waiting[0]
	return now - (s.from + (s.to-s.from)*(1-s.left/s.records))
}
