package simulate

import "math/rand/v2"

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
}

// Run simulates so many seconds of a load, times a factor. The same seed gives the same
// result. each is given every second; it must not keep it.
func Run(l Load, seconds int, factor float64, seed uint64, each func(Second)) {
	random := rand.New(rand.NewPCG(seed, 1))
	demands := l.demands()
	places := make([]*place, len(demands))
	for i, d := range demands {
		places[i] = newPlace(l, d, random)
	}
	s := Second{ByPattern: make([]float64, len(l.Patterns))}
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
		for i, pattern := range l.Patterns {
			s.ByPattern[i] = (1 - passes[i]) * pattern.Rate * s.Factor
			s.Refused += s.ByPattern[i]
		}
		each(s)
	}
}

// pass returns the share of the times that a request is not refused. A write of an index that
// is over its limits is: it holds back the write of the table. AWS: "Using Global Secondary
// Indexes in DynamoDB", on throttling of the base table.
func (p *place) pass(u use) float64 {
	for i, kind := range p.kinds {
		if kind != u.keys {
			continue
		}
		if u.units.Write > 0 {
			return 1 - min(1, p.refused[i].Write)
		}
		return 1 - min(1, p.refused[i].Read)
	}
	return 1
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
