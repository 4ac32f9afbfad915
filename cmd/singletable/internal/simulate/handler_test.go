package simulate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/singletable/singletable/cmd/singletable/internal/simulate"
)

// one has a key with writes, and one handler.
func one(t *testing.T, keys string, rate float64, handler string) simulate.Load {
	t.Helper()
	return load(t, `"handlers": [{"name": "h", `+handler+`}], "warm": {"write": 40000}, `, keys, fmt.Sprint(rate), write)
}

// keepsUp returns the factor up to which the first handler of a load keeps up, and why not
// then.
func keepsUp(t *testing.T, l simulate.Load) (float64, simulate.Behind) {
	t.Helper()
	all := simulate.Falls(l, l.Handlers[0])
	if len(all) == 0 {
		t.Fatal("the handler never falls behind")
	}
	return all[0].Factor, all[0]
}

// ages runs a load, and returns the age of the oldest record that waits for its first handler,
// by second.
func ages(l simulate.Load, seconds int, factor float64) (all []float64) {
	simulate.Run(l, seconds, factor, 7, func(s simulate.Second) { all = append(all, s.Handlers[0].Oldest) })
	return all
}

// An item with R records a second, each of which takes h seconds, is behind if R·h > 1, whatever
// is handled at the same time. A key with many items is behind if R·h is more than the number of
// batches of a shard, times the number of items of a batch.
func TestOneKeyFallsBehind(t *testing.T) {
	t.Parallel()
	const rate, h = 20.0, 0.01
	for name, tt := range map[string]struct {
		sortKeys, handler string
		times             float64
	}{
		"an item":                     {"one", `"perRecord": 0.01`, 1},
		"an item, ten batches":        {"one", `"perRecord": 0.01, "parallel": 10`, 1},
		"an item, ten items":          {"one", `"perRecord": 0.01, "concurrency": 10`, 1},
		"a reader":                    {"one", `"perRecord": 0.01, "source": "reader"`, 1},
		"many items":                  {"growing", `"perRecord": 0.01`, 1},
		"many items, four batches":    {"growing", `"perRecord": 0.01, "parallel": 4`, 4},
		"many items of a reader":      {"growing", `"perRecord": 0.01, "source": "reader", "concurrency": 4`, 4},
		"two items of four batches":   {"growing", `"perRecord": 0.01, "parallel": 2, "concurrency": 2`, 4},
		"100 records of a batch":      {"one", `"perBatch": 1`, 1},
		"10 records, and their batch": {"one", `"perRecord": 0.005, "perBatch": 0.05, "batchSize": 10`, 1},
	} {
		l := one(t, `"count": 1, "sortKeys": "`+tt.sortKeys+`"`, rate, tt.handler)
		factor, first := keepsUp(t, l)
		near(t, name, factor*rate*h, tt.times, 1e-9)
		if first.Keys != "k" || first.Patterns[0] != "p" {
			t.Errorf("%s: %+v", name, first)
		}
		if late := ages(l, 600, 0.8*factor)[599]; late > 5 {
			t.Errorf("%s: at 0.8 times, a record is %g seconds old", name, late)
		}
		near(t, name, ages(l, 2000, 2*factor)[1999], 1000, 0.05)
	}
}

// An even load over P shards is behind if R·h > P. A new table has four.
func TestEvenLoadFallsBehind(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		top    string
		shards float64
	}{
		"a new table":        {``, 4},
		"a warm table":       {`"warm": {"write": 40000}, `, 40},
		"a provisioned one":  {`"provisioned": {"read": 15000, "write": 5000}, `, 10},
		"one that is stored": {`"storedGB": 200, `, 20},
	} {
		l := load(t, tt.top+`"handlers": [{"name": "h", "perRecord": 0.1}], `, `"count": 1000000`, "1", write)
		factor, first := keepsUp(t, l)
		near(t, name, factor*0.1, tt.shards, 1e-9)
		if first.Keys != "" {
			t.Errorf("%s: %+v", name, first)
		}
		if late := ages(l, 600, 0.7*factor)[599]; late > 5 {
			t.Errorf("%s: at 0.7 times, a record is %g seconds old", name, late)
		}
		near(t, name, ages(l, 2000, 2*factor)[1999], 1000, 0.15)
	}
	// A table that grows has a shard for 500 to 625 writes a second, so that faster handlers
	// keep up.
	fast := load(t, `"handlers": [{"name": "h", "perRecord": 0.0015}], `, `"count": 1000000`, "1", write)
	if all := simulate.Falls(fast, fast.Handlers[0]); len(all) != 0 {
		t.Errorf("%+v", all)
	}
}

// What has come in a peak is handled at the capacity that the load leaves.
func TestBacklogDrains(t *testing.T) {
	t.Parallel()
	text := `"handlers": [{"name": "h", "perRecord": 0.01}], "shape": [{"second": 0, "factor": 2}, {"second": 600, "factor": 2}, {"second": 601, "factor": 0.5}], `
	l := load(t, text, `"count": 1, "sortKeys": "one"`, "100", write)
	// Of 200 records a second, 100 are handled: at the end of the peak the oldest is half as old
	// as the peak. The other 60,000 take 1,200 seconds at 50 a second.
	all, last := ages(l, 3600, 1), 0
	for second, age := range all {
		if age > 1 {
			last = second
		}
	}
	near(t, "the end of the peak", all[600], 300, 0.02)
	near(t, "the end of the backlog", float64(last), 1800, 0.02)
	r := simulate.New(l, 3600, 1, 1, simulate.USEast())
	near(t, "the end of the backlog, as reported", float64(r.Handlers[0].Waited), 1800, 0.02)
	if r.Handlers[0].Waits || r.Handlers[0].Lost > 0 || !strings.Contains(r.Text(), "and none was late after second 1,") {
		t.Errorf("%+v\n%s", r.Handlers[0], r.Text())
	}
}

// If half of the records are handled, the oldest is 24 hours old after 48, and half of what
// comes is lost from there on.
func TestRecordsAreLost(t *testing.T) {
	t.Parallel()
	l := one(t, `"count": 1, "sortKeys": "one"`, 100, `"perRecord": 0.02`)
	const hour = 3600
	first, lost, oldest := 0, 0.0, 0.0
	simulate.Run(l, 72*hour, 1, 1, func(s simulate.Second) {
		h := s.Handlers[0]
		if h.Lost > 0 && first == 0 {
			first = s.Second
		}
		lost, oldest = lost+h.Lost, max(oldest, h.Oldest)
	})
	near(t, "the first loss", float64(first), 48*hour, 0.02)
	near(t, "lost", lost, 24*hour*50, 0.05)
	near(t, "the oldest", oldest, 24*hour, 0.001)
	r := simulate.New(l, 60, 1, 1, simulate.USEast())
	near(t, "predicted", r.Handlers[0].LostAfter, 48, 1e-9)
}

// A write has a record for each item that changes. A check, an index, and a write that changes
// nothing have none, and an expiry has one for no units.
func TestRecordsOfTheStream(t *testing.T) {
	t.Parallel()
	for requests, want := range map[string]float64{
		write: 1,
		`{"op": "write", "keys": "k", "transaction": true, "times": 3}`:                  3,
		`{"op": "write", "keys": "k", "indexes": [{"in": "G", "keys": "k"}]}`:            1,
		write + `, {"op": "check", "keys": "k"}, {"op": "get", "keys": "k"}`:             1,
		write + `, {"op": "write", "keys": "k", "unchanged": 0.5}`:                       1.5,
		`{"op": "expire", "keys": "k"}`:                                                  1,
		`{"op": "write", "keys": "k"}, {"op": "write", "keys": "other"}`:                 1,
		`{"op": "write", "keys": "k", "bytes": 2000}, {"op": "expire", "keys": "other"}`: 1,
	} {
		l := read(t, `{"name": "L", "handlers": [{"name": "h", "keys": ["k"], "perRecord": 1}], "keys": {"k": {"count": 1, "sortKeys": "one"}, "other": {"count": 9}},
			"patterns": [{"name": "p", "rate": 1, "requests": [`+requests+`]}]}`)
		factor, _ := keepsUp(t, l)
		near(t, requests, 1/factor, want, 1e-9)
	}
	l := load(t, `"handlers": [{"name": "h", "perRecord": 1}], `, `"count": 1`, "5000", `{"op": "expire", "keys": "k"}`)
	if c := simulate.Month(l, 1, simulate.USEast()); c.Total != 0 {
		t.Errorf("an expiry costs %g", c.Total)
	}
	if _, all := refused(l, 60, 60, 1); all != 0 {
		t.Errorf("%g of the expiries are refused", all)
	}
}

// A batch has at most 6 MB, a GetRecords 1 MB or 1,000 records, and a function sends four of
// them in a second for a shard.
func TestBatchesHaveAMostSize(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		handler string
		bytes   int
		want    float64 // records a second
	}{
		"1,000 records":             {`"perRecord": 0.000001`, 100, 4000},
		"1 MB":                      {`"perRecord": 0.000001`, 1 << 15, 64},
		"two batches at once":       {`"perRecord": 0.000001, "parallel": 2`, 1 << 15, 64},
		"6 MB of 10,000 records":    {`"perBatch": 10, "batchSize": 10000`, 1 << 15, 9.6},
		"1 MB of a reader":          {`"perBatch": 10, "source": "reader"`, 1 << 15, 1.6},
		"10,000 records":            {`"perBatch": 100, "batchSize": 10000`, 100, 100},
		"one that is larger":        {`"perBatch": 1, "source": "reader"`, 400 << 10, 1},
		"1,000 records of a reader": {`"perBatch": 10, "source": "reader"`, 100, 100},
	} {
		// Expiries are not refused.
		l := load(t, `"handlers": [{"name": "h", `+tt.handler+`}], `, `"count": 1, "sortKeys": "growing"`, "1", fmt.Sprintf(`{"op": "expire", "keys": "k", "bytes": %d}`, tt.bytes))
		factor, _ := keepsUp(t, l)
		near(t, name, factor, tt.want, 1e-9)
	}
}

// A shard that is divided is read to its end before those that it was divided into.
func TestChildrenWaitForTheirParent(t *testing.T) {
	t.Parallel()
	// A shard takes 1,000 writes a second of 2,000, until it is divided after 300 seconds. Of
	// 1,000, 500 are handled: the other 150,000 take 300 seconds more.
	l := one(t, `"count": 1`, 2000, `"perRecord": 0.002`)
	all := ages(l, 700, 1)
	for second := 310; second < 590; second++ {
		if all[second] < all[second-1] {
			t.Fatalf("in second %d the oldest record is %g seconds old, after %g", second, all[second], all[second-1])
		}
	}
	near(t, "as the parent ends", all[590], 295, 0.05)
}

// More at once helps a key with many items, not one item.
func TestMoreAtOnce(t *testing.T) {
	t.Parallel()
	for handler, want := range map[string]string{
		`"perRecord": 0.01`:                                       "10 batches of a shard at once: keeps up with 10 times",
		`"perRecord": 0.01, "parallel": 4`:                        "10 batches of a shard at once: keeps up with 10 times",
		`"perRecord": 0.01, "source": "reader"`:                   "4 items of a batch at once: keeps up with 4 times",
		`"perRecord": 0.01, "source": "reader", "concurrency": 2`: "8 items of a batch at once: keeps up with 8 times",
	} {
		r := simulate.New(one(t, `"count": 1, "sortKeys": "growing"`, 100, handler), 60, 1, 1, simulate.USEast())
		if !strings.Contains(r.Text(), want) {
			t.Errorf("the report lacks %q:\n%s", want, r.Text())
		}
		r = simulate.New(one(t, `"count": 1, "sortKeys": "one"`, 100, handler), 60, 1, 1, simulate.USEast())
		for _, m := range r.Handlers[0].More {
			near(t, handler, m.KeepsUp, 1, 1e-9)
		}
	}
}

// A load of 278,000 requests a second has hundreds of shards.
func TestManyShards(t *testing.T) {
	t.Parallel()
	l := read(t, `{"name": "L", "warm": {"read": 400000, "write": 160000}, "quota": {"read": 400000, "write": 160000},
		"handlers": [{"name": "a", "perRecord": 0.01, "parallel": 10}, {"name": "b", "perRecord": 0.0015, "source": "reader", "keys": ["user"]}, {"name": "c", "perRecord": 1}],
		"keys": {"user": {"count": 10000000, "distribution": "zipf:0.6"}, "meter": {"count": 1000, "sortKeys": "one"}}, "patterns": [
		{"name": "get", "rate": 200000, "requests": [{"op": "get", "keys": "user"}]},
		{"name": "write", "rate": 77000, "requests": [{"op": "write", "keys": "user"}]},
		{"name": "count", "rate": 1000, "requests": [{"op": "write", "keys": "meter"}]}]}`)
	r := simulate.New(l, 1200, 1, 1, simulate.USEast())
	a, b, c := r.Handlers[0], r.Handlers[1], r.Handlers[2]
	if a.Waited >= 0 || b.Waited >= 0 || !c.Waits {
		t.Errorf("%+v\n%+v\n%+v", a, b, c)
	}
	near(t, "batches of a", a.Running, 1600, 0.1)
	near(t, "batches of b", b.Running, 160, 0.1)
	near(t, "the age for c", c.Oldest, 1200, 0.01)
	for _, want := range []string{
		"3 read each shard, and AWS advises at most 2", "10 batches of a shard at once: keeps up with", "at most 1,6",
		"some were waiting at the end", "A function asks a shard for records 4 times a second",
	} {
		if !strings.Contains(r.Text(), want) {
			t.Errorf("the report lacks %q:\n%s", want, r.Text())
		}
	}
	var page strings.Builder
	if err := r.Page(&page); err != nil || !strings.Contains(page.String(), "the oldest record that waits for c, in seconds; at most 1,1") {
		t.Errorf("the page: %v", err)
	}
}
