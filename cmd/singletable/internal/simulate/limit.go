package simulate

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Limit is what refuses requests from a factor of today's load on.
type Limit struct {
	Factor float64 `json:"factor"`
	// Place is an index, or the table if it is empty. Keys is the kind of keys, empty for the
	// place as a whole.
	Place string `json:"place"`
	Keys  string `json:"keys,omitempty"`
	// Write is true for write units. Asked is what is asked for today, and Most what is taken,
	// in units a second.
	Write bool    `json:"write"`
	Asked float64 `json:"asked"`
	Most  float64 `json:"most"`
	// Adapts means that DynamoDB adapts by itself: it divides the key by its sort keys, or scales
	// the table. Until it has, it refuses requests.
	Adapts bool `json:"adapts,omitempty"`
	// Patterns have a part in it, the greatest first.
	Patterns []string `json:"patterns"`
	// Why says it in a sentence.
	Why string `json:"why"`
}

// Limits returns what refuses requests from which factor of today's load on, at the peak of
// its shape, the first one first. It takes no steps.
func Limits(l Load) []Limit {
	var all []Limit
	for _, d := range l.demands() {
		all = append(all, l.wholeLimits(d)...)
		names, of := d.kinds()
		for _, name := range names {
			all = append(all, l.keyLimits(d, name, of[name].units)...)
		}
	}
	for i := range all {
		all[i].Factor /= l.peak()
	}
	// What DynamoDB divides by itself comes last.
	slices.SortStableFunc(all, func(a, b Limit) int {
		if a.Adapts != b.Adapts {
			return map[bool]int{false: -1, true: 1}[a.Adapts]
		}
		return cmp.Compare(a.Factor, b.Factor)
	})
	return all
}

// Peaks returns what the table, under the name "", and each index are asked for in a second, on
// average at the peak of the load's shape.
func Peaks(l Load) map[string]Units {
	all := map[string]Units{}
	for _, d := range l.demands() {
		all[d.place] = Units{}.add(d.total(), l.peak())
	}
	return all
}

// wholeLimits are the capacity, or the quota and the warm throughput, of a place.
func (l Load) wholeLimits(d demand) (all []Limit) {
	total := d.total()
	add := func(have Units, adapts bool, what string) {
		for _, write := range []bool{false, true} {
			x := Limit{Place: d.place, Write: write, Asked: of(total, write), Most: of(have, write), Adapts: adapts, Patterns: l.parts(d, "", write)}
			if x.Asked == 0 || adapts && x.Most >= of(l.Quota, write) {
				continue
			}
			x.Factor = x.Most / x.Asked
			x.Why = fmt.Sprintf("%s takes %s in all: %s", placeText(d.place), unitsText(x.Most, write), what)
			all = append(all, x)
		}
	}
	if l.Provisioned.Read > 0 {
		add(l.Provisioned, false, "the provisioned capacity")
		return all
	}
	add(l.Quota, false, "the quota, which AWS raises on request")
	add(l.Warm, true, "its warm throughput, if the load does not grow slowly")
	return all
}

// keyLimits are those of the hottest key of a kind.
func (l Load) keyLimits(d demand, name string, total Units) (all []Limit) {
	k := l.Keys[name]
	s, _ := newShares(k) // which was checked
	share := s.of(0) / float64(k.Shards)
	for _, write := range []bool{false, true} {
		x := Limit{Place: d.place, Keys: name, Write: write, Asked: of(total, write) * share, Patterns: l.parts(d, name, write)}
		x.Most = map[bool]float64{false: partitionReads, true: partitionWrites}[write]
		if x.Asked == 0 {
			continue
		}
		x.Factor = x.Most / x.Asked
		x.Adapts = k.SortKeys == spread || k.SortKeys == growing && !write
		where := fmt.Sprintf("the hottest of the keys %q in %s", name, placeText(d.place))
		if k.Shards > 1 {
			where += fmt.Sprintf(", over %d shards,", k.Shards)
		}
		switch {
		case x.Adapts:
			x.Why = fmt.Sprintf("%s is asked for more than %s", where, unitsText(x.Most, write))
		case k.SortKeys == growing:
			x.Why = fmt.Sprintf("%s takes %s: its sort keys grow, so all writes are in one partition", where, unitsText(x.Most, write))
		default:
			x.Why = fmt.Sprintf("%s takes %s: it is one item, which nothing divides", where, unitsText(x.Most, write))
		}
		all = append(all, x)
	}
	return all
}

// parts returns the patterns that ask for keys of a kind, or of all, the greatest part first.
func (l Load) parts(d demand, keys string, write bool) (names []string) {
	units := make([]float64, len(l.Patterns))
	for _, u := range d.uses {
		if keys == "" || u.keys == keys {
			units[u.pattern] += u.rate * of(u.units, write)
		}
	}
	return l.greatest(units)
}

// greatest returns the patterns that have a part, the greatest one first.
func (l Load) greatest(units []float64) (names []string) {
	order := make([]int, len(units))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(units[b], units[a]) })
	for _, i := range order {
		if units[i] > 0 {
			names = append(names, l.Patterns[i].Name)
		}
	}
	return names
}

// Holds returns the factor of today's load up to which nothing is refused for good, and what
// refuses then.
func Holds(l Load) (factor float64, first Limit) {
	for _, x := range Limits(l) {
		if !x.Adapts {
			return x.Factor, x
		}
	}
	return math.Inf(1), Limit{}
}

// Adapting returns the first limit to which DynamoDB adapts by itself.
func Adapting(l Load) (first Limit, ok bool) {
	for _, x := range Limits(l) {
		if x.Adapts {
			return x, true
		}
	}
	return Limit{}, false
}

// WithShards returns a load whose keys of a kind have so many shards.
func (l Load) WithShards(keys string, shards int) Load {
	changed := l
	changed.Keys = map[string]Keys{}
	for name, k := range l.Keys {
		if name == keys {
			k.Shards = shards
		}
		changed.Keys[name] = k
	}
	return changed
}

func of(u Units, write bool) float64 {
	if write {
		return u.Write
	}
	return u.Read
}

func placeText(name string) string {
	if name == "" {
		return "the table"
	}
	return "index " + name
}

func unitsText(units float64, write bool) string {
	return number(units) + map[bool]string{false: " read units a second", true: " write units a second"}[write]
}
