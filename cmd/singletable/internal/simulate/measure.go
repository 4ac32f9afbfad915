package simulate

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// FromTrace returns the load of a trace, a file that telemetry.Trace has written. It is the load
// of one process: if several share it, multiply the rates.
//
// An access pattern is a pattern of the load, one for each operation and index that it uses.
// Requests without one are told apart by operation, index and kinds of keys. The 100 most
// frequent names are kept, the others become "(other)". Rates are those of all requests,
// failed and throttled ones too, of which the trace is a sample: a pattern that has n requests
// in the sample has a standard error of about 1/√n.
//
// Units are means of the requests whose units are known; DynamoDB reports none of failed ones.
// An item of a batch or of a transaction has an equal part of them.
//
// Kinds of keys are the prefixes of a table or an index. Prefixes that were hashed, with less
// than ten keys in the sample, and all beyond twenty in one place, are the kind "(other)"
// together. A scan is an even load, of the kind "(scan)". A key is hot if it is in the sample
// at least ten times, and more often than chance explains if all keys of the kind were
// requested equally; the others have an even share. So a key that a small sample has twice by
// chance is no hot key, and a hot key can be missing if the sample is small. The number of keys
// is the estimate Chao1, which is rather too low.
//
// What a trace does not tell has its default, and is for people to edit:
//
//   - which indexes a write changes. The units of a write are with those of all its indexes,
//     in one number: add Indexes to the request, and take their units off it;
//   - whether sort keys grow, or are one item: SortKeys. Each shard is a key of its own;
//   - bytes, numbers of items, and consistent reads: the units stand for them;
//   - warm throughput and quota, which are raised to the load if they are below it; provisioned
//     capacity, stored GB, and how the load changes over time;
//   - searches of vectors, which are left out.
//
// Errors: a line that is no line of a trace, with its number; a trace that was cut off; a trace
// with more than a million requests.
//
// AWS: ConsumedCapacity, Amazon DynamoDB API Reference.
func FromTrace(r io.Reader) (Load, error) {
	t, err := readTrace(r)
	if err != nil {
		return Load{}, err
	}
	l := Load{
		Name: "trace of " + time.UnixMilli(t.head.Begin).UTC().Format(time.RFC3339),
		Keys: map[string]Keys{},
	}
	t.mergePatterns()
	names := t.kindNames()
	l.Patterns = t.patterns(names)
	switch {
	case len(l.Patterns) == 0:
		return Load{}, errors.New("the trace has only searches of vectors")
	case len(l.Patterns) > maxMeasured:
		return Load{}, fmt.Errorf("the trace has %d patterns, and at most %d have a place", len(l.Patterns), maxMeasured)
	}
	for name, counts := range t.counts(names) {
		l.Keys[name] = measuredKeys(counts)
	}
	for _, p := range l.Patterns {
		for _, r := range p.Requests {
			if _, ok := l.Keys[r.Keys]; !ok {
				l.Keys[r.Keys] = Keys{Count: evenKeys}
			}
		}
	}
	if err := l.complete(); err != nil {
		return Load{}, err
	}
	for _, d := range l.demands() {
		total := d.total()
		l.Warm = Units{max(l.Warm.Read, total.Read), max(l.Warm.Write, total.Write)}
		l.Quota = Units{max(l.Quota.Read, total.Read), max(l.Quota.Write, total.Write)}
	}
	return l, l.complete()
}

const (
	other = "(other)"
	// maxMeasured bounds the patterns, maxNames their names, and maxKinds the kinds of keys of
	// a place.
	maxMeasured = 1000
	maxNames    = 100
	maxKinds    = 20
	// minKeys is how many keys make a kind of a hashed prefix, and minSeen how often a key is
	// in the sample if it is hot.
	minKeys = 10
	minSeen = 10
	// evenKeys is the number of keys of a scan: so many that none is hot.
	evenKeys = 1_000_000
)

// mergePatterns keeps the names of the most frequent patterns.
func (t *trace) mergePatterns() {
	times := map[string]int{}
	for _, r := range t.requests {
		times[r.pattern]++
	}
	delete(times, "") // which is no name
	kept := map[string]bool{"": true}
	for _, name := range frequent(times, maxNames) {
		kept[name] = true
	}
	for i := range t.requests {
		if r := &t.requests[i]; !kept[r.pattern] {
			r.pattern = other
		}
	}
}

// frequent returns the most frequent names, at most so many.
func frequent(times map[string]int, most int) []string {
	names := slices.SortedFunc(maps.Keys(times), func(a, b string) int {
		return cmp.Or(cmp.Compare(times[b], times[a]), strings.Compare(a, b))
	})
	return names[:min(most, len(names))]
}

// placeKind is a kind of keys of the table or an index.
type placeKind struct{ index, kind string }

// in names what is in a place.
func (p placeKind) in(name string) string {
	if p.index == "" {
		return name
	}
	return name + " in " + p.index
}

// kindNames returns the names of the kinds of keys in the load.
func (t *trace) kindNames() map[placeKind]string {
	times := map[string]map[string]int{}          // by index and kind
	hashes := map[placeKind]map[uint64]struct{}{} // the first ones of each kind
	for _, r := range t.requests {
		for _, k := range r.keys {
			at := placeKind{r.index, k.kind}
			if times[r.index] == nil {
				times[r.index] = map[string]int{}
			}
			if hashes[at] == nil {
				hashes[at] = map[uint64]struct{}{}
			}
			times[r.index][k.kind]++
			if len(hashes[at]) < minKeys {
				hashes[at][k.hash] = struct{}{}
			}
		}
	}
	names := map[placeKind]string{}
	for index, of := range times {
		for kind := range of {
			at := placeKind{index, kind}
			names[at] = at.in(other)
			if kind == "" || strings.HasPrefix(kind, hashedPrefix) && len(hashes[at]) < minKeys {
				delete(of, kind)
			}
		}
		for _, kind := range frequent(of, maxKinds) {
			at := placeKind{index, kind}
			names[at] = at.in(kind)
		}
	}
	return names
}

// counts returns how often each key of a kind is in the trace.
func (t *trace) counts(names map[placeKind]string) map[string]map[uint64]int {
	counts := map[string]map[uint64]int{}
	for _, r := range t.requests {
		if operations[r.operation] == "" {
			continue
		}
		for i, k := range r.keys {
			name := names[placeKind{r.index, k.kind}]
			if counts[name] == nil {
				counts[name] = map[uint64]int{}
			}
			if !slices.Contains(r.keys[:i], k) { // they are not there by chance
				counts[name][k.hash]++
			}
		}
	}
	return counts
}

// measuredKeys returns the keys of a kind, of which the trace has some so often each.
//
// A. Chao: "Nonparametric Estimation of the Number of Classes in a Population", Scandinavian
// Journal of Statistics 11, 1984; in its form without bias.
func measuredKeys(counts map[uint64]int) Keys {
	var all, once, twice float64
	for _, n := range counts {
		all += float64(n)
		switch n {
		case 1:
			once++
		case 2:
			twice++
		}
	}
	keys := math.Round(float64(len(counts)) + once*(once-1)/(2*(twice+1)))
	// Of so many random numbers, the largest is about √(2·ln) standard deviations above the
	// mean. Two more make it unlikely. The variance of a number of requests is its mean.
	mean := all / keys
	least := max(minSeen, mean+(2+math.Sqrt(2*math.Log(keys)))*math.Sqrt(mean))
	k := Keys{Count: int64(keys)}
	for _, n := range counts {
		if float64(n) >= least {
			k.Shares = append(k.Shares, digits(float64(n)/all))
		}
	}
	slices.SortFunc(k.Shares, func(a, b float64) int { return cmp.Compare(b, a) })
	k.Shares = k.Shares[:min(len(k.Shares), maxHot)]
	return k
}

// digits rounds a number to what a person can read.
func digits(f float64) float64 {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(f, 'g', 5, 64), 64) // it was just formatted
	return rounded
}

// group is the requests that make a pattern of the load.
type group struct{ pattern, operation, index, kinds string }

// sum is what the requests of a group ask of one kind of keys, together.
type sum struct {
	keys float64
	// units are those of measured keys.
	units, measured float64
}

// patterns returns those of the load, the most frequent first.
func (t *trace) patterns(names map[placeKind]string) []Pattern {
	times := map[group]float64{}
	sums := map[group]map[string]*sum{}
	for _, r := range t.requests {
		if operations[r.operation] == "" {
			continue
		}
		kinds := r.kinds(names)
		g := group{r.pattern, r.operation, r.index, ""}
		if r.pattern == "" {
			g.kinds = strings.Join(slices.Compact(slices.Sorted(slices.Values(kinds))), ", ")
		}
		if times[g]++; sums[g] == nil {
			sums[g] = map[string]*sum{}
		}
		for _, kind := range kinds {
			if sums[g][kind] == nil {
				sums[g][kind] = &sum{}
			}
			sums[g][kind].add(r.units / float64(len(kinds)))
		}
	}
	labels := labels(times)
	var all []Pattern
	for g, n := range times {
		all = append(all, newPattern(labels[g], g, n, t.scale(), sums[g]))
	}
	slices.SortFunc(all, func(a, b Pattern) int {
		return cmp.Or(cmp.Compare(b.Rate, a.Rate), strings.Compare(a.Name, b.Name))
	})
	return all
}

// kinds returns the name of the kind of each key.
func (r tracedRequest) kinds(names map[placeKind]string) []string {
	if len(r.keys) == 0 {
		return []string{placeKind{index: r.index}.in("(scan)")}
	}
	kinds := make([]string, len(r.keys))
	for i, k := range r.keys {
		kinds[i] = names[placeKind{r.index, k.kind}]
	}
	return kinds
}

func (s *sum) add(units float64) {
	s.keys++
	if units > 0 {
		s.units += units
		s.measured++
	}
}

// labels returns a name for each group. The operation is in it where a pattern has several.
func labels(times map[group]float64) map[group]string {
	groups := map[string]int{}
	for g := range times {
		groups[g.pattern]++
	}
	names := map[group]string{}
	for g := range times {
		switch {
		case g.pattern == "":
			names[g] = g.operation + " " + g.kinds
		case groups[g.pattern] == 1:
			names[g] = g.pattern
		default:
			names[g] = placeKind{index: g.index}.in(g.pattern + ": " + g.operation)
		}
	}
	return names
}

// newPattern returns the pattern of a group that has n requests in the sample.
func newPattern(name string, g group, n, scale float64, sums map[string]*sum) Pattern {
	p := Pattern{Name: name, Rate: digits(n * scale)}
	whole := true
	for _, kind := range slices.Sorted(maps.Keys(sums)) {
		s := sums[kind]
		r := Request{
			Op: operations[g.operation], Keys: kind, In: g.index, Times: digits(s.keys / n),
			Transaction: strings.HasPrefix(g.operation, "Transact"),
		}
		if s.measured > 0 {
			r.Units = digits(s.units / s.measured)
		}
		whole = whole && r.Units > 0
		if r.Op == "write" {
			p.Measured.Write += r.Times * r.Units
		} else {
			p.Measured.Read += r.Times * r.Units
		}
		p.Requests = append(p.Requests, r)
	}
	if !whole { // then it is not known
		p.Measured = Units{}
	}
	p.Measured = Units{digits(p.Measured.Read), digits(p.Measured.Write)}
	return p
}
