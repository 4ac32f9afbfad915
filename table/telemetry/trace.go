package telemetry

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"hash"
	"io"
	"math"
	mathrand "math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// traceVersion is the version of the format that [Trace.WriteTo] writes.
const traceVersion = 1

const (
	defaultSample = 10_000
	// maxTracedKeys is the greatest number of items in a request of DynamoDB, and
	// maxTracedPattern a length in bytes. They bound the memory of a request.
	maxTracedKeys    = 100
	maxTracedPattern = 200
)

// Trace keeps a uniform random sample of the requests of a table. Written to a file,
// it is an input of the simulator: the command singletable simulate. Its
// method Observe is for the Observe option of a table. Several tables need
// several of them.
//
// Each request is in the sample with the same probability, failed and throttled
// requests too. The memory is bounded: a request takes about 150 bytes, and 60 more
// for each of its partition keys. The default sample of requests for one key takes
// 2 MB.
//
// A trace has no partition keys. It has the first 64 bits of their HMAC-SHA-256, under
// a random secret that each Trace makes and never writes. So no reader of the file
// can find out whether a known key is in it, and the same key has different hashes
// in two traces. The file does show how often each hash was requested and when, and
// the names of indexes and access patterns.
//
// The zero value is ready for use and must not be copied after that. It is safe for
// concurrent use.
type Trace struct {
	// Sample is the greatest number of requests that are kept. It is 10,000 if it is
	// not positive. Set it before the first request.
	Sample int
	// Prefixes are the prefixes of partition keys that are written as they are: those
	// that name a kind of entity, such as USER in USER#ana. A prefix is the text before
	// the first '#', or a whole key without '#' that is in the list. All other prefixes
	// are hashed under the same secret, because some programs begin a key with an id.
	// Other keys without '#' have no prefix. By default the list is empty. Set it
	// before the first request.
	Prefixes []keys.Prefix

	mu      sync.Mutex
	begin   time.Time
	sample  reservoir
	kept    []tracedRequest
	mac     hash.Hash
	scratch []byte
}

// tracedRequest is a line of a trace.
type tracedRequest struct {
	At        int64    `json:"at"`
	Operation string   `json:"operation"`
	Index     string   `json:"index,omitempty"`
	Pattern   string   `json:"pattern,omitempty"`
	Keys      []string `json:"keys,omitempty"`
	Units     float64  `json:"units,omitempty"`
	Batch     int      `json:"batch,omitempty"`
	Throttled int      `json:"throttled,omitempty"`
	Failed    string   `json:"failed,omitempty"`
}

// traceHeader is the first line.
type traceHeader struct {
	Version  int   `json:"version"`
	Begin    int64 `json:"begin"`
	End      int64 `json:"end"`
	Requests int64 `json:"requests"`
	Sampled  int   `json:"sampled"`
}

// Observe counts the event of one request, and keeps it with the probability that
// makes the sample uniform. It is for Observe of [table.Options].
func (t *Trace) Observe(ctx context.Context, e table.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mac == nil {
		t.start()
	}
	place, ok := t.sample.take()
	if !ok {
		return
	}
	r := t.traced(ctx, e)
	if place == len(t.kept) {
		t.kept = append(t.kept, r)
	} else {
		t.kept[place] = r
	}
}

func (t *Trace) start() {
	var secret [sha256.Size]byte
	_, _ = rand.Read(secret[:]) // it never fails
	t.mac, t.begin = hmac.New(sha256.New, secret[:]), time.Now()
	t.sample.size = t.Sample
	if t.sample.size <= 0 {
		t.sample.size = defaultSample
	}
	if t.sample.random == nil {
		t.sample.random = mathrand.Float64
	}
}

// traced returns the line of an event.
func (t *Trace) traced(ctx context.Context, e table.Event) tracedRequest {
	r := tracedRequest{
		At: time.Since(t.begin).Milliseconds(), Operation: e.Operation, Index: e.Index, Pattern: Pattern(ctx),
		Units: e.Capacity, Batch: e.Batch, Throttled: len(e.Throttles),
	}
	if len(r.Pattern) > maxTracedPattern {
		r.Pattern = otherPatterns
	}
	if !(r.Units >= 0 && r.Units <= math.MaxFloat64) { // which JSON has no text for
		r.Units = 0
	}
	if e.Err != nil {
		r.Failed = table.Classify(e.Err).String()
	}
	if n := min(len(e.Partitions), maxTracedKeys); n > 0 {
		r.Keys = make([]string, n)
		for i, key := range e.Partitions[:n] {
			r.Keys[i] = t.hidden(key)
		}
	}
	return r
}

// hidden returns what a trace has of a partition key.
func (t *Trace) hidden(key keys.PK) string {
	prefix, _, found := strings.Cut(string(key), "#")
	name := t.hash("key", string(key))
	switch {
	case slices.Contains(t.Prefixes, keys.Prefix(prefix)):
		return prefix + "#" + name
	case found:
		return "kind-" + t.hash("prefix", prefix)[:8] + "#" + name
	}
	return "#" + name
}

// hash returns 64 bits of the keyed hash of a text, in hexadecimal. The hash of a
// prefix tells nothing about a key with the same text.
func (t *Trace) hash(of, text string) string {
	t.scratch = append(append(append(t.scratch[:0], of...), 0), text...)
	t.mac.Reset()
	_, _ = t.mac.Write(t.scratch) // it never fails
	t.scratch = t.mac.Sum(t.scratch[:0])
	return hex.EncodeToString(t.scratch[:8])
}

// WriteTo writes the trace so far as lines of JSON, the requests in the order of their
// time. It implements [io.WriterTo]. The trace goes on; it ends when the program
// drops it.
//
// The first line is a header:
//
//	version    1
//	begin      the time of the first request, in milliseconds since 1970 UTC
//	end        the time of this call
//	requests   how many requests there were
//	sampled    how many of them follow
//
// Each further line is a request. What is zero or empty is left out:
//
//	at         milliseconds from begin to the end of the request; always there
//	operation  GetItem, Query, …; always there
//	index      the index that was read; none for the table
//	pattern    the access pattern, see [WithPattern]; "(other)" if the name is over 200 bytes
//	keys       one text for each item, at most 100: the prefix, '#' and the hash of the key.
//	           A hashed prefix begins with "kind-"
//	units      the read or write units of the request
//	batch      how many keys or writes a batch or a transaction had
//	throttled  how many attempts were refused for lack of capacity
//	failed     what table.Classify says of the error: transient, permanent or unclassified
func (t *Trace) WriteTo(w io.Writer) (int64, error) {
	head, kept := t.read()
	slices.SortStableFunc(kept, func(a, b tracedRequest) int { return cmp.Compare(a.At, b.At) })
	var b bytes.Buffer
	var written int64
	lines := json.NewEncoder(&b)
	_ = lines.Encode(head) // which has JSON, as all requests do
	for _, r := range kept {
		_ = lines.Encode(r)
		if b.Len() > 1<<16 {
			n, err := b.WriteTo(w)
			written += n
			if err != nil {
				return written, err
			}
		}
	}
	n, err := b.WriteTo(w)
	return written + n, err
}

// read returns the header, and a copy of what is kept.
func (t *Trace) read() (traceHeader, []tracedRequest) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	head := traceHeader{Version: traceVersion, Begin: now.UnixMilli(), End: now.UnixMilli(), Requests: t.sample.seen, Sampled: len(t.kept)}
	if t.mac != nil {
		head.Begin = t.begin.UnixMilli()
		// The clock of the wall may have been set back.
		head.End = head.Begin + now.Sub(t.begin).Milliseconds()
	}
	return head, slices.Clone(t.kept)
}

// reservoir chooses a uniform random sample of a sequence whose length is not known. It
// draws how many elements it skips, so most elements take no random number: this is
// Algorithm L.
//
// K.-H. Li: "Reservoir-Sampling Algorithms of Time Complexity O(n(1+log(N/n)))", ACM
// Transactions on Mathematical Software 20(4), 1994.
type reservoir struct {
	size   int
	seen   int64
	next   int64 // the number of the next element that is kept, from 1
	weight float64
	random func() float64 // at least 0, and less than 1
}

// take reports whether the next element is kept, and in which place.
func (r *reservoir) take() (place int, ok bool) {
	r.seen++
	switch {
	case r.seen < int64(r.size):
		return int(r.seen) - 1, true
	case r.seen == int64(r.size):
		place, r.weight = r.size-1, 1
	case r.seen == r.next:
		place = int(r.random() * float64(r.size))
	default:
		return 0, false
	}
	// The weight is that of the largest of size random numbers, those of the sample, as
	// if each element had one and the smallest were kept.
	r.weight *= math.Exp(math.Log(1-r.random()) / float64(r.size))
	skip := math.Floor(math.Log(1-r.random()) / math.Log1p(-r.weight))
	r.next = r.seen + 1 + int64(min(skip, 1<<62))
	return place, true
}
