package main

import (
	"cmp"
	"context"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/singletable/singletable/cmd/singletable/internal/dynamojson"
	"github.com/singletable/singletable/cmd/singletable/internal/kinds"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// amount is a number of items with their size.
type amount struct {
	Items int `json:"items"`
	Bytes int `json:"bytes"`
}

func (a amount) add(b amount) amount { return amount{a.Items + b.Items, a.Bytes + b.Bytes} }

// segmentSample is what was read of one segment of a scan.
type segmentSample struct {
	number int
	after  string // the cursor to continue from, "" at the end
	amount
	types map[string]amount
}

// sample is a part of a table: the items of random segments of a scan. All items of a
// partition are in one segment.
type sample struct {
	segments   []*segmentSample
	of         int // segments
	total      amount
	partitions map[string]*partitionSample
	readUnits  float64
	kinds      kinds.Finder
}

// partitionSample is what was read of one partition.
type partitionSample struct {
	amount
	key     table.Item // the partition key attributes
	segment *segmentSample
}

const (
	// perSegment is about how many items a segment has: few, so that a sample is from
	// many places, and not so few that most requests give nothing.
	perSegment = 50
	// unknownSegments is the number of segments of a table that DynamoDB has not counted.
	unknownSegments = 20
	// mostSegments is the most that DynamoDB takes.
	mostSegments = 1_000_000
)

// segmentsFor returns the number of segments of a table with about so many items.
func segmentsFor(items int64) int {
	if items == 0 {
		return unknownSegments
	}
	return int(min(max(items/perSegment, 1), mostSegments))
}

// takeSample reads about so many items of a table or an index.
func takeSample(ctx context.Context, tbl *table.Table, index string, items, segments int) (*sample, error) {
	s := &sample{of: segments, partitions: map[string]*partitionSample{}}
	// One segment must not be the whole sample: a large partition shows in a quarter, too.
	// If the table has fewer items than DynamoDB's count says, most segments are empty.
	most, visits := max(items/4, 1), unknownSegments+10*items/perSegment
	for _, number := range rand.Perm(segments)[:min(segments, visits)] {
		if s.total.Items >= items {
			return s, nil
		}
		segment := &segmentSample{number: number, types: map[string]amount{}}
		s.segments = append(s.segments, segment)
		if err := s.read(ctx, tbl, index, segment, most); err != nil {
			return s, err
		}
	}
	for _, segment := range s.segments {
		for segment.after != "" && s.total.Items < items {
			if err := s.read(ctx, tbl, index, segment, items-s.total.Items); err != nil {
				return s, err
			}
		}
	}
	return s, nil
}

// read reads at most so many items of a segment.
func (s *sample) read(ctx context.Context, tbl *table.Table, index string, segment *segmentSample, most int) error {
	spec := tbl.Schema()
	names := partitionAttributes(spec, index)
	page, err := table.ScanPage[table.Item](ctx, tbl, table.Scan{
		Index: index, Segment: segment.number, Segments: s.of, Limit: min(most, maxScanPage), After: segment.after,
	})
	if err != nil {
		return err
	}
	segment.after = page.Next
	s.readUnits += page.Stats.Capacity
	s.kinds.Add(spec, page.Items...)
	for _, item := range page.Items {
		one := amount{1, item.Size()}
		s.total = s.total.add(one)
		segment.amount = segment.add(one)
		kind := spec.TypeOf(item)
		segment.types[kind] = segment.types[kind].add(one)
		key := table.Item{}
		for _, name := range names {
			key[name] = item[name]
		}
		id := keyID(key)
		if s.partitions[id] == nil {
			s.partitions[id] = &partitionSample{key: key, segment: segment}
		}
		s.partitions[id].amount = s.partitions[id].add(one)
	}
	return nil
}

// keyID returns a text that is the same for equal keys.
func keyID(key table.Item) string {
	text, _ := dynamojson.Append(nil, key) // DynamoDB's values have no error.
	return string(text)
}

// partitionAttributes returns the names of the attributes that are the partition key.
func partitionAttributes(spec schema.Table, index string) []string {
	for _, x := range spec.Indexes {
		if x.Name == index && !x.Local {
			attributes, _ := x.Keys()
			return attributeNames(attributes)
		}
	}
	return []string{spec.PK}
}

// whole reports whether the sample is the whole table.
func (s *sample) whole() bool {
	return len(s.segments) == s.of && !slices.ContainsFunc(s.segments, func(x *segmentSample) bool { return x.after != "" })
}

// largest returns the n partitions with the greatest share of items or of bytes.
func (s *sample) largest(n int) []*partitionSample {
	all := slices.SortedFunc(maps.Values(s.partitions), func(a, b *partitionSample) int {
		return cmp.Or(cmp.Compare(s.share(b.amount), s.share(a.amount)), cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(keyID(a.key), keyID(b.key)))
	})
	return all[:min(n, len(all))]
}

// share returns the greater share of an amount, of items and of bytes.
func (s *sample) share(a amount) float64 { return max(s.itemShare(a), s.byteShare(a)) }

func (s *sample) itemShare(a amount) float64 {
	return float64(a.Items) / float64(max(s.total.Items, 1))
}

func (s *sample) byteShare(a amount) float64 {
	return float64(a.Bytes) / float64(max(s.total.Bytes, 1))
}

// typeAmounts returns the amount of each type.
func (s *sample) typeAmounts() map[string]amount {
	all := map[string]amount{}
	for _, segment := range s.segments {
		for kind, a := range segment.types {
			all[kind] = all[kind].add(a)
		}
	}
	return all
}

// minSegments is how many segments a margin needs.
const minSegments = 10

// margin returns how far a type's share of the items may be off, with a confidence of
// about 95 % if the other segments are like these: twice the standard error of a ratio
// from clusters, which the segments are. It is not ok for too few segments.
//
// W. G. Cochran: Sampling Techniques, 3rd edition, chapter 6.
func (s *sample) margin(kind string) (margin float64, ok bool) {
	n := float64(len(s.segments))
	if s.whole() {
		return 0, true
	}
	if n < minSegments || s.total.Items == 0 {
		return 0, false
	}
	ratio := s.itemShare(s.typeAmounts()[kind])
	squares := 0.0
	for _, segment := range s.segments {
		off := float64(segment.types[kind].Items) - ratio*float64(segment.Items)
		squares += off * off
	}
	mean := float64(s.total.Items) / n
	return 2 * math.Sqrt((1-n/float64(s.of))*squares/(n-1)/n) / mean, true
}

// unseen returns the share of a table's items that are in partitions which the sample did
// not see, or not whole: DynamoDB's own count of the items, compared with what the
// sample lets expect. It is 0 if the difference can be chance.
func (s *sample) unseen(about int64) float64 {
	n := float64(len(s.segments))
	if s.whole() || n < minSegments || about == 0 {
		return 0
	}
	mean, squares := float64(s.total.Items)/n, 0.0
	for _, segment := range s.segments {
		off := float64(segment.Items) - mean
		squares += off * off
	}
	margin := 2 * math.Sqrt((1-n/float64(s.of))*squares/(n-1)/n)
	if most := (mean + margin) * float64(s.of); most >= float64(about) {
		return 0
	}
	return 1 - mean*float64(s.of)/float64(about)
}
