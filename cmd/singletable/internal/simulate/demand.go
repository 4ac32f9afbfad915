package simulate

import (
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strconv"
)

// use is what one request asks of one kind of keys in one place.
type use struct {
	pattern int
	keys    string
	// rate is how often a key is asked in a second, for all of them together, times how often
	// for one time of the pattern, and units what each time costs.
	rate, times float64
	units       Units
}

// demand is what is asked of a place: the table, or an index.
type demand struct {
	place string // "" for the table
	uses  []use
}

// demands returns those of all places, the table first.
func (l Load) demands() []demand {
	byPlace := map[string]*demand{"": {}}
	var order []string
	add := func(place string, u use) {
		if byPlace[place] == nil {
			byPlace[place] = &demand{place: place}
			order = append(order, place)
		}
		byPlace[place].uses = append(byPlace[place].uses, u)
	}
	for i, p := range l.Patterns {
		for _, r := range p.Requests {
			units, keys := r.cost(l.Keys[r.Keys])
			times := r.Times * float64(keys)
			add(r.In, use{i, r.Keys, p.Rate * times, times, units})
			for _, x := range r.Indexes {
				add(x.In, use{i, x.Keys, p.Rate * r.Times, r.Times, Units{Write: indexUnits(x)}})
			}
		}
	}
	slices.Sort(order)
	all := []demand{*byPlace[""]}
	for _, place := range order {
		all = append(all, *byPlace[place])
	}
	return all
}

// total returns what a place is asked for in a second.
func (d demand) total() (u Units) {
	for _, x := range d.uses {
		u = u.add(x.units, x.rate)
	}
	return u
}

// kindUnits is what all keys of a kind are asked for, and its variance: requests come
// independently of each other, and each asks for all of its units.
type kindUnits struct{ units, variance Units }

// kinds returns the kinds of keys of a place.
func (d demand) kinds() (names []string, of map[string]kindUnits) {
	of = map[string]kindUnits{}
	for _, x := range d.uses {
		k, known := of[x.keys]
		if !known {
			names = append(names, x.keys)
		}
		k.units = k.units.add(x.units, x.rate)
		k.variance = k.variance.add(Units{x.units.Read * x.units.Read, x.units.Write * x.units.Write}, x.rate)
		of[x.keys] = k
	}
	slices.Sort(names)
	return names, of
}

// add returns the units with some others, so many times.
func (u Units) add(other Units, times float64) Units {
	return Units{u.Read + times*other.Read, u.Write + times*other.Write}
}

// hotKey is a partition key that is looked at by itself.
type hotKey struct {
	kind  int // of the place
	share float64
	at    float64 // its hash, from 0 to 1
}

// hotKeys returns the keys of a kind that have more than their part, the hottest first, and
// the share of all others.
func hotKeys(kind int, name string, k Keys, random *rand.Rand) (hot []hotKey, rest float64) {
	s, _ := newShares(k) // which was checked
	rest = 1
	even := 1 / (s.count * float64(k.Shards))
	for rank := 0; rank < maxHot/k.Shards || rank == 0; rank++ {
		share := s.of(rank) / float64(k.Shards)
		if share == 0 || s.even() && s.count*float64(k.Shards) > maxHot || share < 2*even && s.count > maxHot {
			break
		}
		for shard := range k.Shards {
			h := fnv.New64a()
			h.Write([]byte(name + "#" + strconv.Itoa(rank) + "#" + strconv.Itoa(shard) + "#" + strconv.FormatUint(random.Uint64(), 36)))
			hot = append(hot, hotKey{kind, share, float64(h.Sum64()>>11) / (1 << 53)})
			rest -= share
		}
	}
	return hot, max(rest, 0)
}
