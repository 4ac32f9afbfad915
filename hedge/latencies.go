package hedge

import (
	"math/bits"
	"time"
)

// latencies are how long the last 500 to 1,000 reads of one kind took, as two
// histograms of fixed size: the earlier one is dropped when the recent one is
// full. The zero value is empty. It is not safe for concurrent use.
type latencies struct {
	recent, earlier histogram
}

// histogram counts durations. Each power of two microseconds has eight buckets,
// so a bucket's bounds are at most 12.5 % apart. The last one, 63 to 67 seconds,
// holds all that are longer.
type histogram struct {
	counts [192]uint16
	total  int
}

const (
	// fullHistogram is the number of reads of a histogram.
	fullHistogram = 500
	// fewestReads is how many there must be for a percentile.
	fewestReads = 100
	// latePercent is the share of reads that are late.
	latePercent = 3
)

func (l *latencies) add(d time.Duration) {
	if l.recent.total == fullHistogram {
		l.earlier, l.recent = l.recent, histogram{}
	}
	l.recent.counts[bucket(d)]++
	l.recent.total++
}

// late returns the duration after which a read is late: at most latePercent took
// longer, and it is half as long again as the median or more, since a second
// request takes a median too. It is false after too few reads.
func (l *latencies) late() (time.Duration, bool) {
	if l.recent.total+l.earlier.total < fewestReads {
		return 0, false
	}
	return max(l.exceededBy(latePercent), l.exceededBy(50)*3/2), true
}

// exceededBy returns a duration that at most so many percent of the reads exceed.
func (l *latencies) exceededBy(percent int) time.Duration {
	longer, i := 0, len(l.recent.counts)
	for longer*100 <= (l.recent.total+l.earlier.total)*percent {
		i--
		longer += int(l.recent.counts[i]) + int(l.earlier.counts[i])
	}
	return upperBound(i)
}

// bucket returns the number of a duration's bucket. Those below 8 are a
// microsecond wide.
func bucket(d time.Duration) int {
	us := uint64(max(d, 0) / time.Microsecond)
	shift := max(bits.Len64(us)-4, 0)
	return min(8*shift+int(us>>shift), len(histogram{}.counts)-1)
}

// upperBound returns the duration that ends a bucket.
func upperBound(bucket int) time.Duration {
	shift := max(bucket/8-1, 0)
	return time.Duration(bucket-8*shift+1) << shift * time.Microsecond
}
