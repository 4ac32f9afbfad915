package simulate

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// Second is what happened in one second.
type Second struct {
	Second int     `json:"second"`
	Factor float64 `json:"factor"`
	// Taken and Partitions are of the table and its indexes together.
	Taken      Units `json:"taken"`
	Partitions int   `json:"partitions"`
	// Refused is how many of all times that a pattern happens are refused, and by pattern.
	Refused   float64   `json:"refused"`
	ByPattern []float64 `json:"byPattern"`
	// Handlers has each handler of the stream.
	Handlers []Reading `json:"handlers,omitempty"`
}

// Run simulates so many seconds of a load, times a factor. The same seed gives the same
// result. each is given every second; it must not keep it.
func Run(l Load, seconds int, factor float64, seed uint64, each func(Second)) {
	random := rand.New(rand.NewPCG(seed, 1))
	demands := l.demands()
	places := make([]*place, len(demands))
	for i, d := range demands {
		places[i] = newPlace(l, d, l.StoredGB/float64(len(demands)), random)
	}
	var backlogs []*backlog
	for _, h := range l.Handlers {
		backlogs = append(backlogs, newBacklog(l, h, places[0]))
	}
	s := Second{ByPattern: make([]float64, len(l.Patterns)), Handlers: make([]Reading, len(backlogs))}
	passes := make([]float64, len(l.Patterns))
	for s.Second = range seconds {
		s.Factor, s.Taken, s.Partitions, s.Refused = factor*l.at(s.Second), Units{}, 0, 0
		for i := range passes {
			passes[i] = 1
		}
		for i, p := range places {
			taken := p.step(s.Second, s.Factor, l.Assumptions)
			s.Taken.Read, s.Taken.Write = s.Taken.Read+taken.Read, s.Taken.Write+taken.Write
			for n := range p.parts {
				s.Partitions += p.parts[n].pieces
			}
			for _, u := range demands[i].uses {
				passes[u.pattern] *= p.pass(u)
			}
		}
		for i, b := range backlogs {
			s.Handlers[i] = b.step(places[0], s.Second, s.Factor)
		}
		for i, pattern := range l.Patterns {
			s.ByPattern[i] = (1 - passes[i]) * pattern.Rate * s.Factor
			s.Refused += s.ByPattern[i]
		}
		each(s)
	}
}

// pass returns the share of the times that a pattern is not refused for a request. A write of
// an index that is over its limits is: it holds back the write of the table. AWS: "Using Global
// Secondary Indexes in DynamoDB", Amazon DynamoDB Developer Guide.
func (p *place) pass(u use) float64 {
	refused := p.refused[slices.Index(p.kinds, u.keys)]
	if u.units == (Units{}) { // DynamoDB deletes the item
		return 1
	}
	share := min(1, refused.Read)
	if u.units.Write > 0 {
		share = min(1, refused.Write)
	}
	if u.times < 1 {
		return 1 - u.times*share
	}
	return math.Pow(1-share, u.times)
}

// peak returns the greatest factor of the shape.
func (l Load) peak() float64 {
	if len(l.Shape) == 0 {
		return 1
	}
	return slices.MaxFunc(l.Shape, func(a, b Point) int { return cmp.Compare(a.Factor, b.Factor) }).Factor
}

// Length returns how many seconds a simulation should have by default: an hour, and the whole
// shape.
func (l Load) Length() int {
	const hour = 3600
	if len(l.Shape) == 0 {
		return hour
	}
	return max(hour, l.Shape[len(l.Shape)-1].Second+1)
}

// at returns the factor of the shape at a second.
func (l Load) at(second int) float64 {
	if len(l.Shape) == 0 {
		return 1
	}
	before := Point{0, l.Shape[0].Factor}
	for _, p := range l.Shape {
		if p.Second >= second {
			if p.Second == before.Second {
				return p.Factor
			}
			part := float64(second-before.Second) / float64(p.Second-before.Second)
			return before.Factor + part*(p.Factor-before.Factor)
		}
		before = p
	}
	return before.Factor
}
