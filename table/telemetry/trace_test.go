package telemetry_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/telemetry"
)

// traceLine has the names of a header and of a request.
type traceLine struct {
	Version, Sampled int
	Begin, End       int64
	Requests         int64

	At                        int64
	Operation, Index, Pattern string
	Keys                      []string
	Units                     float64
	Batch, Throttled          int
	Failed                    string
}

// readTrace returns the header and the requests of a trace, and its text.
func readTrace(t testing.TB, trace io.WriterTo) (head traceLine, requests []traceLine, text string) {
	t.Helper()
	var b bytes.Buffer
	n := expect.Value(trace.WriteTo(&b))(t)
	expect.Equal(t, "bytes", n, int64(b.Len()))
	text = b.String()
	for line := range strings.Lines(text) {
		var l traceLine
		d := json.NewDecoder(strings.NewReader(line))
		d.DisallowUnknownFields()
		expect.OK(t, d.Decode(&l))
		requests = append(requests, l)
	}
	return requests[0], requests[1:], text
}

// TestTraceIsUniform takes samples of 50 of 1,000 requests, 2,000 times, and counts how
// often each request is in one: 100 times on average. The sum of the squared
// deviations, by their variance, is about chi-squared with 999 degrees of freedom: its
// mean is 999, and its standard deviation the root of 2·999, 44.7. The test allows
// four of them. The random numbers have a fixed seed.
func TestTraceIsUniform(t *testing.T) {
	t.Parallel()
	const requests, sample, times = 1000, 50, 2000
	random := rand.New(rand.NewPCG(1, 2))
	var counts [requests]float64
	for range times {
		trace := telemetry.Trace{Sample: sample}
		trace.DrawFrom(random.Float64)
		for i := range requests {
			trace.Observe(t.Context(), table.Event{Operation: "Query", Capacity: float64(i)})
		}
		_, kept, _ := readTrace(t, &trace)
		expect.Equal(t, "sampled", len(kept), sample)
		for _, r := range kept {
			counts[int(r.Units)]++
		}
	}
	const share = float64(sample) / requests
	// A sample has a fixed size, so the variance of all counts together is greater by
	// this factor than that of independent ones.
	const variance = times * share * (1 - share) * requests / (requests - 1)
	sum := 0.0
	for _, n := range counts {
		sum += (n - times*share) * (n - times*share) / variance
	}
	if math.Abs(sum-(requests-1)) > 4*math.Sqrt(2*(requests-1)) {
		t.Errorf("chi-squared is %.0f, want about %d", sum, requests-1)
	}
	// The sum does not see a slow trend, such as a sample that prefers what is late.
	trend := 0.0
	for i, n := range counts {
		trend += (n - times*share) * (2*float64(i)/(requests-1) - 1)
	}
	if limit := 4 * math.Sqrt(variance*requests/3); math.Abs(trend) > limit {
		t.Errorf("the trend is %.0f, want at most %.0f from 0", trend, limit)
	}
}

// TestTraceIsBounded has more requests, more keys in a request and longer names than a
// trace keeps.
func TestTraceIsBounded(t *testing.T) {
	t.Parallel()
	trace := telemetry.Trace{Sample: 100}
	many := table.Event{Operation: "BatchGetItem", Batch: 1000}
	for i := range 1000 {
		many.Partitions = append(many.Partitions, keys.PK(fmt.Sprint("USER#", i)))
	}
	ctx := telemetry.WithPattern(t.Context(), strings.Repeat("x", 5000))
	for range 50_000 {
		trace.Observe(ctx, many)
	}
	head, kept, text := readTrace(t, &trace)
	expect.Equal(t, "requests", head.Requests, 50_000)
	expect.Equal(t, "sampled", []int{head.Sampled, len(kept)}, []int{100, 100})
	expect.Equal(t, "keys", len(kept[0].Keys), 100)
	expect.Equal(t, "batch", kept[0].Batch, 1000)
	expect.Equal(t, "pattern", kept[0].Pattern, "(other)")
	if most := 100 * 5000; len(text) > most {
		t.Errorf("the trace has %d bytes, want at most %d", len(text), most)
	}
	for _, size := range []int{0, -1} {
		trace := telemetry.Trace{Sample: size}
		for range 11_000 {
			trace.Observe(t.Context(), table.Event{})
		}
		head, _, _ := readTrace(t, &trace)
		expect.Equal(t, "by default", head.Sampled, 10_000)
	}
}

// TestTraceHidesKeys has keys of all forms. Only the prefixes that are listed are in the
// trace.
func TestTraceHidesKeys(t *testing.T) {
	t.Parallel()
	unlisted := []keys.PK{
		secret, secret + "#ORDERS", "#" + secret, "a#" + secret, "USER" + secret + "#1", "user#" + secret,
		secret + "\x00\n\"\\", secret + "\xff\xfe#1", keys.PK(strings.Repeat(secret, 340)),
	}
	listed := []keys.PK{"USER#" + secret, "USER##" + secret, "USER", "GLOBAL#1"}
	for _, nasty := range expect.Nasty() {
		unlisted = append(unlisted, keys.PK(secret+"-"+nasty))
	}
	trace := telemetry.Trace{Prefixes: []keys.Prefix{"USER", "GLOBAL", "ORDERS"}}
	again := telemetry.Trace{}
	event := func(key keys.PK) table.Event {
		err := &table.Error{Key: keys.Key{PK: key}, Err: errors.New(string(key))}
		return table.Event{Operation: "PutItem", Partitions: []keys.PK{key}, Err: err}
	}
	for _, key := range slices.Concat(unlisted, listed) {
		trace.Observe(t.Context(), event(key))
		again.Observe(t.Context(), event(key))
	}
	_, first, text := readTrace(t, &trace)
	_, second, other := readTrace(t, &again)
	if strings.Contains(text+other, secret) {
		t.Errorf("a key is in the trace:\n%s%s", text, other)
	}
	form := regexp.MustCompile(`^(USER|GLOBAL|kind-[0-9a-f]{8}|)#[0-9a-f]{16}$`)
	seen := map[string]bool{}
	for i, key := range slices.Concat(unlisted, listed) {
		got := first[i].Keys[0]
		prefix, hash, _ := strings.Cut(got, "#")
		if !form.MatchString(got) || seen[hash] {
			t.Errorf("%q: %s", key, got)
		}
		seen[hash] = true
		if isListed := prefix == "USER" || prefix == "GLOBAL"; isListed != slices.Contains(listed, key) {
			t.Errorf("%q: %s", key, got)
		}
		if !strings.Contains(string(key), "#") && prefix != "" && key != "USER" {
			t.Errorf("%q has no prefix: %s", key, got)
		}
		plain := sha256.Sum256([]byte(key))
		for _, guess := range []string{fmt.Sprintf("%016x", telemetry.HashKey(key)), hex.EncodeToString(plain[:8])} {
			if strings.Contains(text, guess) {
				t.Errorf("%q has a hash without a secret", key)
			}
		}
		if strings.HasSuffix(second[i].Keys[0], hash) {
			t.Errorf("%q has the same hash in two traces", key)
		}
	}
	trace.Observe(t.Context(), event(unlisted[0]))
	_, first, _ = readTrace(t, &trace)
	expect.Equal(t, "the same key", first[len(first)-1].Keys, first[0].Keys)
}

// TestTraceOfTable has requests of a real table that succeed and fail.
func TestTraceOfTable(t *testing.T) {
	t.Parallel()
	trace := telemetry.Trace{Prefixes: []keys.Prefix{keys.User}}
	f := open(t, trace.Observe, 1)
	expect.OK(t, f.Get(telemetry.WithPattern(t.Context(), "profile")))
	failures := f.failures()
	for name, fail := range failures {
		if fail(telemetry.WithPattern(t.Context(), name)) == nil {
			t.Errorf("%s: no error", name)
		}
	}
	head, kept, text := readTrace(t, &trace)
	expect.Equal(t, "requests", head.Requests, int64(1+len(failures)))
	if strings.Contains(text, secret) {
		t.Errorf("a key is in the trace:\n%s", text)
	}
	for _, r := range kept {
		if (r.Failed != "") != (r.Pattern != "profile") || len(r.Keys) == 0 || !strings.HasPrefix(r.Keys[0], "USER#") {
			t.Errorf("%+v", r)
		}
		switch r.Pattern {
		case "profile":
			expect.Equal(t, "units", r.Units, 0.5)
		case "TransactionCanceledException":
			expect.Equal(t, r.Pattern, []int{r.Batch, len(r.Keys)}, []int{2, 2})
		case "ProvisionedThroughputExceededException":
			expect.Equal(t, r.Pattern, []any{r.Throttled, r.Failed}, []any{1, "transient"})
		case "ConditionalCheckFailedException":
			expect.Equal(t, r.Pattern, r.Failed, "permanent")
		}
	}
}

// TestTraceFormat has the text of a trace, with a clock that the test moves.
func TestTraceFormat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		trace := telemetry.Trace{Prefixes: []keys.Prefix{"USER"}}
		trace.Observe(telemetry.WithPattern(t.Context(), "pay"), table.Event{
			Operation: "TransactWriteItems", Table: "T", Batch: 2, Capacity: 4, Partitions: []keys.PK{"USER#1", "x"},
			Throttles: []types.ThrottlingReason{{}}, Duration: time.Second,
		})
		time.Sleep(1500 * time.Millisecond)
		trace.Observe(t.Context(), table.Event{Operation: "Query", Index: "GSI1", Partitions: []keys.PK{"ORG#1"}, Err: context.Canceled})
		time.Sleep(500 * time.Millisecond)
		trace.Observe(t.Context(), table.Event{Operation: "Scan", Capacity: math.Inf(1)})
		trace.Observe(t.Context(), table.Event{Operation: "Scan", Capacity: math.NaN()})
		trace.Observe(t.Context(), table.Event{Operation: "Scan", Capacity: -1})
		_, _, text := readTrace(t, &trace)
		expect.Equal(t, "trace", regexp.MustCompile(`#[0-9a-f]{16}|kind-[0-9a-f]{8}`).ReplaceAllStringFunc(text, func(s string) string {
			return s[:1] + "…"
		}), `{"version":1,"begin":946684800000,"end":946684802000,"requests":5,"sampled":5}
{"at":0,"operation":"TransactWriteItems","pattern":"pay","keys":["USER#…","#…"],"units":4,"batch":2,"throttled":1}
{"at":1500,"operation":"Query","index":"GSI1","keys":["k…#…"],"failed":"transient"}
{"at":2000,"operation":"Scan"}
{"at":2000,"operation":"Scan"}
{"at":2000,"operation":"Scan"}
`)
	})
}

func TestTraceIsEmpty(t *testing.T) {
	t.Parallel()
	var trace telemetry.Trace
	head, kept, _ := readTrace(t, &trace)
	if head.Version != 1 || head.Begin == 0 || head.End != head.Begin || head.Requests != 0 || head.Sampled != 0 || len(kept) != 0 {
		t.Errorf("%+v %v", head, kept)
	}
}

// TestTraceConcurrently writes a trace while goroutines add to it.
func TestTraceConcurrently(t *testing.T) {
	t.Parallel()
	trace := telemetry.Trace{Sample: 64}
	var group sync.WaitGroup
	for g := range 8 {
		group.Go(func() {
			for i := range 2000 {
				trace.Observe(t.Context(), put(keys.PK(fmt.Sprintf("USER#%d-%d", g, i)), 1))
				if i%500 == 0 {
					_, _ = trace.WriteTo(io.Discard)
				}
			}
		})
	}
	group.Wait()
	head, kept, _ := readTrace(t, &trace)
	expect.Equal(t, "requests", head.Requests, 16_000)
	expect.Equal(t, "sampled", len(kept), 64)
}

// full is a writer that takes a number of bytes.
type full int

func (f *full) Write(p []byte) (int, error) {
	n := min(len(p), int(*f))
	*f -= full(n)
	if n < len(p) {
		return n, io.ErrShortWrite
	}
	return n, nil
}

func TestTraceWriteFails(t *testing.T) {
	t.Parallel()
	var trace telemetry.Trace
	for range 5000 {
		trace.Observe(t.Context(), put("USER#1", 1))
	}
	for _, room := range []int{0, 10, 100_000} {
		left := full(room)
		n, err := trace.WriteTo(&left)
		expect.Err(t, err, io.ErrShortWrite)
		expect.Equal(t, "written", n, int64(room))
	}
}

// BenchmarkTrace has the cost of an event: of one that is skipped, which nearly all are
// after the first million, and of one that is kept, as the first are.
func BenchmarkTrace(b *testing.B) {
	event := put("TENANT#00000001", 1)
	ctx := telemetry.WithPattern(context.Background(), "list transactions")
	b.Run("skipped", func(b *testing.B) {
		var trace telemetry.Trace
		for range 5_000_000 {
			trace.Observe(ctx, event)
		}
		b.ReportAllocs()
		for b.Loop() {
			trace.Observe(ctx, event)
		}
	})
	b.Run("parallel", func(b *testing.B) {
		var trace telemetry.Trace
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				trace.Observe(ctx, event)
			}
		})
	})
	b.Run("kept", func(b *testing.B) {
		trace := telemetry.Trace{Sample: math.MaxInt32}
		b.ReportAllocs()
		for b.Loop() {
			trace.Observe(ctx, event)
		}
	})
	b.Run("kept, 100 keys", func(b *testing.B) {
		trace := telemetry.Trace{Sample: math.MaxInt32}
		batch := event
		for i := range 100 {
			batch.Partitions = append(batch.Partitions, keys.PK(fmt.Sprintf("TENANT#%08d", i)))
		}
		b.ReportAllocs()
		for b.Loop() {
			trace.Observe(ctx, batch)
		}
	})
}
