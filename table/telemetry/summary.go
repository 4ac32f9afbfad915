package telemetry

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/singletable/singletable/table"
)

// maxRows bounds the memory of a [Summary] whose patterns have ids in their names.
const maxRows = 1000

// otherPatterns is the pattern of rows that sum up all patterns for which a [Summary]
// has no room.
const otherPatterns = "(other)"

// Summary adds up what requests cost, by access pattern (see [WithPattern]),
// operation and index. Its method Observe is for the Observe option of a table.
// Several tables need several of them.
//
// It has room for 1,000 rows; what comes after that is added to rows of the
// pattern "(other)". The zero value is ready for use and must not be copied
// after that. It is safe for concurrent use.
//
// It also counts the requests by partition key, in 40 KB whatever the number of
// keys: see [Summary.Hottest].
type Summary struct {
	// PlainKeys keeps the partition keys themselves, which can be personal data. By
	// default a key is known by its hash only. Set it before the first request.
	PlainKeys bool

	mu   sync.Mutex
	rows map[rowKey]Row
	hot  *sketch
}

// Row is the sum over the requests of one access pattern with one operation.
type Row struct {
	// Pattern is the name of the access pattern; empty for requests without.
	Pattern string
	// Operation is the name of the DynamoDB operation: GetItem, Query, …
	Operation string
	// Index is the index that was read; empty for the table.
	Index string

	// Requests is how many requests were made, Attempts how often they were
	// sent with the SDK's retries, and Errors how many of them failed.
	Requests, Attempts, Errors int
	// ReadUnits and WriteUnits are what the successful ones consumed.
	ReadUnits, WriteUnits float64
	// VectorBytes is what searches of vectors consumed, or writes in vector indexes.
	VectorBytes float64
	// Duration is how long all of them took together, and Slowest the longest.
	Duration, Slowest time.Duration
}

type rowKey struct{ pattern, operation, index string }

// Observe adds the event of one request. It is for Observe of [table.Options].
func (s *Summary) Observe(ctx context.Context, e table.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rows == nil {
		s.rows, s.hot = make(map[rowKey]Row), new(sketch)
	}
	read, write := units(e)
	// DynamoDB reports the units of a batch or transaction together, so each item is taken to
	// have an equal part. AWS: BatchGetItem, Amazon DynamoDB API Reference.
	items, now := float64(len(e.Partitions)), time.Now()
	for _, key := range e.Partitions {
		s.hot.add(use{e.Index, key, len(e.Throttles), read / items, write / items}, now, s.PlainKeys)
	}
	key := rowKey{Pattern(ctx), e.Operation, e.Index}
	if _, ok := s.rows[key]; !ok && len(s.rows) >= maxRows {
		key.pattern = otherPatterns
	}
	failed := 0
	if e.Err != nil {
		failed = 1
	}
	s.rows[key] = s.rows[key].plus(Row{
		Pattern: key.pattern, Operation: key.operation, Index: key.index,
		Requests: 1, Attempts: e.Attempts, Errors: failed,
		ReadUnits: read, WriteUnits: write, VectorBytes: e.VectorBytes,
		Duration: e.Duration, Slowest: e.Duration,
	})
}

// plus adds to r what was counted in other, and takes over its names.
func (r Row) plus(other Row) Row {
	other.Requests += r.Requests
	other.Attempts += r.Attempts
	other.Errors += r.Errors
	other.ReadUnits += r.ReadUnits
	other.WriteUnits += r.WriteUnits
	other.VectorBytes += r.VectorBytes
	other.Duration += r.Duration
	other.Slowest = max(r.Slowest, other.Slowest)
	return other
}

// Rows returns what was added up so far, in the order of pattern, operation and
// index.
func (s *Summary) Rows() []Row {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.SortedFunc(maps.Values(s.rows), func(a, b Row) int {
		return cmp.Or(
			strings.Compare(a.Pattern, b.Pattern),
			strings.Compare(a.Operation, b.Operation),
			strings.Compare(a.Index, b.Index),
		)
	})
}

// WriteTo writes the rows as a table for people to read, with a last line for
// the total. Keys that were throttled or need more than one shard follow. It
// implements [io.WriterTo].
func (s *Summary) WriteTo(w io.Writer) (int64, error) {
	var b bytes.Buffer
	tw := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	rows := s.Rows()
	var total Row
	for _, r := range rows {
		total = total.plus(r)
	}
	total.Pattern, total.Operation, total.Index = "total", "", ""
	head := "pattern\toperation\tindex\trequests\tattempts\terrors\tread units\twrite units\tmean\tslowest"
	if total.VectorBytes > 0 {
		head += "\tvector bytes"
	}
	fmt.Fprintln(tw, head)
	for _, r := range append(rows, total) {
		mean := r.Duration / time.Duration(max(r.Requests, 1))
		fmt.Fprintf(tw, "%s\t%s\t%s\t%d\t%d\t%d\t%g\t%g\t%v\t%v", cmp.Or(r.Pattern, "-"), cmp.Or(r.Operation, "-"), cmp.Or(r.Index, "-"),
			r.Requests, r.Attempts, r.Errors, r.ReadUnits, r.WriteUnits, mean.Round(time.Microsecond), r.Slowest.Round(time.Microsecond))
		if total.VectorBytes > 0 {
			fmt.Fprintf(tw, "\t%.0f", r.VectorBytes)
		}
		fmt.Fprintln(tw)
	}
	_ = tw.Flush() // to memory
	s.writeHot(&b)
	return b.WriteTo(w)
}

// writeHot writes the keys that were throttled or need several shards.
func (s *Summary) writeHot(b *bytes.Buffer) {
	hot := slices.DeleteFunc(s.Hottest(shownKeys), func(k HotKey) bool { return k.Throttled == 0 && k.Shards == 1 })
	if len(hot) == 0 {
		return
	}
	tw := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "\nhot partition key\tindex\trequests\tthrottled\tpeak read units/s\tpeak write units/s\tshards")
	for _, k := range hot {
		name := cmp.Or(string(k.Key), fmt.Sprintf("%016x", k.Hash))
		fmt.Fprintf(tw, "%s\t%s\t%d\t%d\t%g\t%g\t%d\n", oneLine(name), cmp.Or(k.Index, "-"), k.Requests, k.Throttled, k.PeakRead, k.PeakWrite, k.Shards)
	}
	_ = tw.Flush()
}

// shownKeys bounds the keys in a text.
const shownKeys = 10

// Hottest returns the n partition keys with the most requests, the hottest first.
// Keys with less than about a hundredth of the requests may be missing.
func (s *Summary) Hottest(n int) []HotKey {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hot == nil {
		return nil
	}
	return s.hot.hottest(max(n, 0))
}

// oneLine quotes a key that would break the table or control a terminal.
func oneLine(name string) string {
	if quoted := strconv.Quote(name); quoted != `"`+name+`"` {
		return quoted
	}
	return name
}

// String returns the table that [Summary.WriteTo] writes.
func (s *Summary) String() string {
	var b strings.Builder
	_, _ = s.WriteTo(&b) // a Builder has no errors
	return b.String()
}
