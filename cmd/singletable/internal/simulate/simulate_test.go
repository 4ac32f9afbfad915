package simulate_test

import (
	"math"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/singletable/singletable/cmd/singletable/internal/simulate"
)

func read(t *testing.T, text string) simulate.Load {
	t.Helper()
	l, err := simulate.Read(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// refused runs a load and returns the share of the times that patterns were refused, in the
// last seconds and in all.
func refused(l simulate.Load, seconds, last int, factor float64) (end, all float64) {
	var times, at, lastTimes, lastAt float64
	simulate.Run(l, seconds, factor, 7, func(s simulate.Second) {
		n := 0.0
		for _, p := range l.Patterns {
			n += p.Rate * s.Factor
		}
		times, at = times+n, at+s.Refused
		if s.Second >= seconds-last {
			lastTimes, lastAt = lastTimes+n, lastAt+s.Refused
		}
	})
	return lastAt / lastTimes, at / times
}

func near(t *testing.T, what string, got, want, most float64) {
	t.Helper()
	if math.Abs(got-want) > most*want {
		t.Errorf("%s: %g, want %g", what, got, want)
	}
}

// handled returns a load with handlers.
func handled(handlers string) string {
	return strings.Replace(writes, `"name": "W"`, `"name": "W", "handlers": [`+handlers+`]`, 1)
}

const writes = `{"name": "W", "keys": {"k": {"count": 1000000}}, "patterns": [{"name": "put", "rate": 1, "requests": [{"op": "write", "keys": "k"}]}]}`

// A new on-demand table sustains 4,000 writes and 12,000 reads a second. AWS: "DynamoDB
// on-demand capacity mode", Amazon DynamoDB Developer Guide.
func TestNewTable(t *testing.T) {
	t.Parallel()
	reads := strings.ReplaceAll(writes, `"write"`, `"get", "consistent": true`)
	for name, tt := range map[string]struct {
		load   string
		factor float64
		holds  bool
	}{
		"3,900 writes":  {writes, 3800, true},
		"6,000 writes":  {writes, 6000, false},
		"11,500 reads":  {reads, 11_500, true},
		"18,000 reads":  {reads, 18_000, false},
		"40,000 halves": {strings.ReplaceAll(reads, `, "consistent": true`, ``), 23_000, true},
	} {
		if _, got := refused(read(t, tt.load), 120, 60, tt.factor); (got < 0.001) != tt.holds {
			t.Errorf("%s: %g are refused", name, got)
		}
	}
}

// A table whose peak was 50,000 reads a second takes 100,000 at once, and more after 30
// minutes at the new peak. AWS: "DynamoDB on-demand capacity mode", Amazon
// DynamoDB Developer Guide.
func TestTwiceThePeak(t *testing.T) {
	t.Parallel()
	l := read(t, `{"name": "R", "warm": {"read": 100000}, "quota": {"read": 1000000}, "keys": {"k": {"count": 100000000}},
		"patterns": [{"name": "get", "rate": 1, "requests": [{"op": "get", "keys": "k", "consistent": true}]}]}`)
	if _, got := refused(l, 300, 60, 97_000); got > 0.01 {
		t.Errorf("100,000 reads: %g are refused", got)
	}
	if end, _ := refused(l, 300, 60, 150_000); end < 0.2 {
		t.Errorf("150,000 reads: %g are refused", end)
	}
	if end, _ := refused(l, 3600, 600, 150_000); end > 0.001 {
		t.Errorf("150,000 reads, an hour later: %g are refused", end)
	}
}

// A key takes 1,000 writes a second, whatever the table takes: of one item, and of sort keys
// that grow, for good; of others until DynamoDB has divided it.
func TestHotKey(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]float64{"one": 0.5, "growing": 0.5, "spread": 0} {
		l := read(t, `{"name": "H", "warm": {"write": 40000}, "keys": {"day": {"count": 1, "sortKeys": "`+kind+`"}},
			"patterns": [{"name": "put", "rate": 2000, "requests": [{"op": "write", "keys": "day"}]}]}`)
		first, all := refused(l, 3600, 600, 1)
		near(t, kind, first+1, want+1, 0.01)
		if all < 0.02 {
			t.Errorf("%s: nothing is refused before the key is divided", kind)
		}
		factor, limit := simulate.Holds(l)
		if kind == "spread" {
			near(t, "the quota", factor, 20, 0.001)
			continue
		}
		near(t, kind+" holds", factor, 0.5, 0.001)
		if limit.Keys != "day" || !limit.Write || limit.Patterns[0] != "put" {
			t.Errorf("%s: %+v", kind, limit)
		}
	}
}

// Shards multiply what a key that grows takes.
func TestShards(t *testing.T) {
	t.Parallel()
	text := `{"name": "S", "warm": {"write": 40000}, "keys": {"all": {"count": 1, "sortKeys": "growing", "shards": 16}},
		"patterns": [{"name": "put", "rate": 1000, "requests": [{"op": "write", "keys": "all"}]}]}`
	factor, _ := simulate.Holds(read(t, text))
	near(t, "16 shards", factor, 16, 0.001)
	factor, _ = simulate.Holds(read(t, text).WithShards("all", 1))
	near(t, "one", factor, 1, 0.001)
	if end, _ := refused(read(t, text), 3600, 600, 14); end > 0.01 {
		t.Errorf("14,000 writes over 16 shards: %g are refused", end)
	}
	if end, _ := refused(read(t, text), 3600, 600, 32); end < 0.4 {
		t.Errorf("32,000 writes over 16 shards: %g are refused", end)
	}
}

// The hottest key of a zipf distribution has 1/H(n, s) of the requests.
func TestZipf(t *testing.T) {
	t.Parallel()
	for exponent, want := range map[string]float64{"1": 1 / (math.Log(1e6) + 0.5772157), "2": 6 / (math.Pi * math.Pi), "0.5": 1 / (2*math.Sqrt(1e6) - 1.4603545)} {
		l := read(t, `{"name": "Z", "quota": {"write": 1e8}, "keys": {"user": {"count": 1000000, "distribution": "zipf:`+exponent+`", "sortKeys": "one"}},
			"patterns": [{"name": "put", "rate": 1, "requests": [{"op": "write", "keys": "user"}]}]}`)
		factor, _ := simulate.Holds(l)
		near(t, exponent, 1000/factor, want, 1e-3)
	}
}

// A provisioned table keeps unused capacity for 300 seconds. AWS: "DynamoDB burst and adaptive
// capacity", Amazon DynamoDB Developer Guide.
func TestBurst(t *testing.T) {
	t.Parallel()
	l := read(t, `{"name": "P", "provisioned": {"read": 100, "write": 100}, "keys": {"k": {"count": 1000000}},
		"patterns": [{"name": "put", "rate": 100, "requests": [{"op": "write", "keys": "k"}]}],
		"shape": [{"second": 0, "factor": 0}, {"second": 400, "factor": 0}, {"second": 401, "factor": 2}]}`)
	until := 0
	simulate.Run(l, 1200, 1, 1, func(s simulate.Second) {
		if s.Refused == 0 {
			until = s.Second
		}
	})
	near(t, "the end of the burst", float64(until), 400+300, 0.05)
}

// A write that an index holds back is refused, though the table has capacity left.
func TestBackPressure(t *testing.T) {
	t.Parallel()
	l := read(t, `{"name": "B", "warm": {"write": 40000}, "keys": {"user": {"count": 1000000}, "status": {"count": 1, "sortKeys": "growing"}},
		"patterns": [{"name": "put", "rate": 2000, "requests": [{"op": "write", "keys": "user", "indexes": [{"in": "byStatus", "keys": "status"}]}]}]}`)
	end, _ := refused(l, 1800, 600, 1)
	near(t, "held back", end, 0.5, 0.02)
	if _, first := simulate.Holds(l); first.Place != "byStatus" {
		t.Errorf("%+v", first)
	}
	r := simulate.New(l, 600, 1, 1, simulate.USEast())
	for _, want := range []string{`B holds 0.5 times today's load`, `the hottest of the keys "status" in index byStatus takes 1,000 write units a second`, `without index byStatus and its queries: holds 20 times`, `16 shards for "status": holds 8 times`} {
		if !strings.Contains(r.Text(), want) {
			t.Errorf("the report lacks %q:\n%s", want, r.Text())
		}
	}
}

func TestMonth(t *testing.T) {
	t.Parallel()
	l := read(t, `{"name": "M", "storedGB": 100, "keys": {"k": {"count": 10}}, "patterns": [
		{"name": "pay", "rate": 10, "requests": [{"op": "write", "keys": "k", "bytes": 1500, "transaction": true, "indexes": [{"in": "GSI1", "keys": "k", "bytes": 300, "moves": true}]}, {"op": "check", "keys": "k", "bytes": 100, "transaction": true}]},
		{"name": "list", "rate": 5, "requests": [{"op": "query", "keys": "k", "items": 20, "bytes": 1000, "times": 2}]}]}`)
	c := simulate.Month(l, 2, simulate.USEast())
	// 4 units of the write and 2 of the check, and 2 of the index.
	near(t, "units of pay", c.Patterns[0].Units.Write, 8, 1e-9)
	near(t, "units of list", c.Patterns[1].Units.Read, 5, 1e-9)
	month := 730 * 3600.0
	near(t, "pay", c.Patterns[0].Dollars, 2*10*8*month/1e6*0.625, 1e-9)
	near(t, "list", c.Patterns[1].Dollars, 2*5*5*month/1e6*0.125, 1e-9)
	near(t, "all", c.Total, c.Patterns[0].Dollars+c.Patterns[1].Dollars+25, 1e-9)
}

// The same seed gives the same result, and 278,000 requests a second for an hour take seconds.
func TestDeterministic(t *testing.T) {
	t.Parallel()
	l := read(t, `{"name": "D", "warm": {"read": 200000, "write": 200000}, "quota": {"read": 1e7, "write": 1e7},
		"keys": {"user": {"count": 50000000, "distribution": "zipf:1.05"}, "all": {"count": 1, "sortKeys": "growing", "shards": 64}}, "patterns": [
		{"name": "read", "rate": 200000, "requests": [{"op": "query", "keys": "user", "items": 10, "bytes": 300}]},
		{"name": "write", "rate": 78000, "requests": [{"op": "write", "keys": "user", "bytes": 400, "indexes": [{"in": "GSI1", "keys": "all"}]}]}]}`)
	sum := func() (sum float64) {
		simulate.Run(l, 3600, 1, 3, func(s simulate.Second) { sum += s.Refused + s.Taken.Read })
		return sum
	}
	if a, b := sum(), sum(); a != b || a == 0 {
		t.Errorf("%g and %g", a, b)
	}
}

func TestInvalidLoads(t *testing.T) {
	t.Parallel()
	for says, text := range map[string]string{
		"no JSON of this form":         `{"nmae": "x"}`,
		"name: is empty":               `{"patterns": []}`,
		"there are none":               `{"name": "x"}`,
		"is not uniform, zipf":         strings.Replace(writes, `"count": 1000000`, `"count": 5, "distribution": "zipf:x"`, 1),
		"count must be at least 1":     strings.Replace(writes, `"count": 1000000`, `"count": 0`, 1),
		"is not spread, growing":       strings.Replace(writes, `"count": 1000000`, `"count": 5, "sortKeys": "x"`, 1),
		"there are no keys \"z\"":      strings.Replace(writes, `"keys": "k"}`, `"keys": "z"}`, 1),
		"is not get, query, write":     strings.Replace(writes, `"write"`, `"scan"`, 1),
		"an index takes queries":       strings.Replace(writes, `"op": "write"`, `"op": "get", "in": "GSI1"`, 1),
		"needs the name of an index":   strings.Replace(writes, `"op": "write"`, `"op": "write", "indexes": [{"keys": "k"}]`, 1),
		"seconds must ascend":          strings.Replace(writes, `"name": "W"`, `"name": "W", "shape": [{"second": 1, "factor": 1}, {"second": 1, "factor": 2}]`, 1),
		"needs read and write units":   strings.Replace(writes, `"name": "W"`, `"name": "W", "provisioned": {"read": 1}`, 1),
		"warm: units a second must be": strings.Replace(writes, `"name": "W"`, `"name": "W", "warm": {"read": -1}`, 1),
		"come to 0 read and 1 write units, and it is measured at 0 and 1.2": strings.Replace(writes, `"rate": 1`, `"rate": 1, "measured": {"write": 1.2}`, 1),
		"there is more after":             writes + "{}",
		"is not lambda or reader":         handled(`{"name": "h", "perRecord": 1, "source": "x"}`),
		"or that of another one":          handled(`{"name": "h", "perRecord": 1}, {"name": "h", "perRecord": 1}`),
		"and not both 0":                  handled(`{"name": "h"}`),
		"batchSize must be 1 to 10000":    handled(`{"name": "h", "perRecord": 1, "batchSize": 10001}`),
		"parallel 1 to 10, of a lambda":   handled(`{"name": "h", "perRecord": 1, "parallel": 11}`),
		"parallel 1 to 1, of a reader":    handled(`{"name": "h", "perRecord": 1, "source": "reader", "parallel": 2}`),
		"a reader takes what GetRecords":  handled(`{"name": "h", "perRecord": 1, "source": "reader", "batchSize": 10}`),
		"handlers[0].keys: there are no":  handled(`{"name": "h", "perRecord": 1, "keys": ["z"]}`),
		"concurrency: must be 1 to 1000":  handled(`{"name": "h", "perRecord": 1, "concurrency": 1001}`),
		"kinesis.shards: must be 1":       strings.Replace(writes, `"name": "W"`, `"name": "W", "kinesis": {"consumers": 1}`, 1),
		"and fanOut 0 to 50":              strings.Replace(writes, `"name": "W"`, `"name": "W", "kinesis": {"shards": 1, "fanOut": 51}`, 1),
		"polls 1 to 1000":                 strings.Replace(writes, `"name": "W"`, `"name": "W", "assumptions": {"polls": -1}`, 1),
		"unchanged: is a share of writes": strings.Replace(writes, `"keys": "k"}`, `"keys": "k", "unchanged": 2}`, 1),
		"an expiry is in no transaction":  strings.Replace(writes, `"write"`, `"expire", "transaction": true`, 1),
	} {
		if _, err := simulate.Read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
}

// docs/simulate.md has a load with each member that there is.
func TestMembers(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../../docs/simulate.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "```jsonc\n")
	text, _, _ = strings.Cut(text, "```")
	text = regexp.MustCompile(` // ?.*`).ReplaceAllString(text, "")
	read(t, text) // which refuses unknown members
	for _, of := range []any{
		simulate.Load{},
		simulate.Keys{},
		simulate.Pattern{},
		simulate.Request{},
		simulate.IndexWrite{},
		simulate.Point{},
		simulate.Units{},
		simulate.Assumptions{},
		simulate.Handler{},
		simulate.Kinesis{},
	} {
		for f := range reflect.TypeOf(of).Fields() {
			if member, _, _ := strings.Cut(f.Tag.Get("json"), ","); !strings.Contains(text, `"`+member+`": `) {
				t.Errorf("the page lacks %s of %T", member, of)
			}
		}
	}
}

// load returns one with a kind of keys and a request.
func load(t *testing.T, top, keys string, rate string, requests string) simulate.Load {
	t.Helper()
	return read(t, `{"name": "L", `+top+`"keys": {"k": {`+keys+`}}, "patterns": [{"name": "p", "rate": `+rate+`, "requests": [`+requests+`]}]}`)
}

const write = `{"op": "write", "keys": "k"}`

// A partition that is a little over its limits is divided, too: one quiet second does not count
// as an end of the heat.
func TestALittleHeatIsHeat(t *testing.T) {
	t.Parallel()
	l := load(t, `"warm": {"write": 40000}, `, `"count": 1`, "970", write)
	for _, factor := range []float64{1.1, 1.2, 2} {
		if end, _ := refused(l, 3600, 600, factor); end > 0.01 {
			t.Errorf("factor %g: %g are refused at the end", factor, end)
		}
	}
}

// Beyond its warm throughput a table refuses requests until it is scaled, which the assumption
// says.
func TestWarmThroughputIsALimit(t *testing.T) {
	t.Parallel()
	for _, after := range []string{"300", "1800"} {
		l := load(t, `"assumptions": {"growAfter": `+after+`}, `, `"count": 1000000`, "7000", write)
		last := 0
		simulate.Run(l, 3000, 1, 1, func(s simulate.Second) {
			if s.Refused > 100 {
				last = s.Second
			}
		})
		want, _ := strconv.Atoi(after)
		near(t, after, float64(last), float64(want), 0.02)
	}
	l := load(t, "", `"count": 1000000`, "1000", write)
	first, ok := simulate.Adapting(l)
	if !ok || first.Keys != "" || first.Factor != 4 {
		t.Errorf("%+v", first)
	}
}

// What one key refuses leaves capacity to the others.
func TestAHotKeyDoesNotUseUpTheTable(t *testing.T) {
	t.Parallel()
	for _, top := range []string{`"warm": {"write": 40000}, `, `"provisioned": {"read": 5000, "write": 5000}, `} {
		l := read(t, `{"name": "L", `+top+`"keys": {"hot": {"count": 1, "sortKeys": "one"}, "cold": {"count": 1000000}}, "patterns": [
			{"name": "hot", "rate": 80000, "requests": [{"op": "write", "keys": "hot"}]},
			{"name": "cold", "rate": 10, "requests": [{"op": "write", "keys": "cold"}]}]}`)
		cold := 0.0
		simulate.Run(l, 1200, 1, 1, func(s simulate.Second) {
			if s.Second > 700 { // the hot key is isolated
				cold += s.ByPattern[1]
			}
		})
		if cold > 50 {
			t.Errorf("%s: %g of 5000 cold writes are refused", top, cold)
		}
	}
}

// Requests arrive independently of each other: of 10 reads of 250 units a second, more than
// twelve come in a second in 21 of 100, by Poisson's distribution.
func TestLargeRequestsComeInBursts(t *testing.T) {
	t.Parallel()
	_, got := refused(load(t, `"warm": {"read": 40000}, `, `"count": 1, "sortKeys": "one"`, "10", `{"op": "get", "keys": "k", "units": 250}`), 3600, 60, 1)
	near(t, "refused", got, 0.053, 0.3)
}

// A request that is sent once in a hundred times is refused for one of them.
func TestTimesOfRequests(t *testing.T) {
	t.Parallel()
	hot := `"count": 1, "sortKeys": "one"`
	_, rare := refused(load(t, `"warm": {"write": 40000}, `, hot, "200000", `{"op": "write", "keys": "k", "times": 0.01}`), 1200, 60, 1)
	near(t, "once in a hundred", rare, 0.005, 0.1)
	_, often := refused(load(t, `"warm": {"write": 40000}, `, hot, "250", `{"op": "write", "keys": "k", "times": 8}`), 1200, 60, 1)
	near(t, "eight times", often, 1-math.Pow(0.5, 8), 0.02)
}

// Each of many items has the limit of its partition, also if they are too many to be looked at
// one by one.
func TestManyHotItems(t *testing.T) {
	t.Parallel()
	for _, n := range []string{"500", "600"} {
		l := load(t, `"warm": {"write": 4e6}, "quota": {"write": 4e6}, `, `"count": `+n+`, "sortKeys": "one"`, n, write)
		end, _ := refused(l, 3600, 600, 2000)
		near(t, n, end, 0.5, 0.1)
	}
}

// The peak of a shape counts, and the default length has all of it.
func TestShape(t *testing.T) {
	t.Parallel()
	l := read(t, `{"name": "N", "keys": {"k": {"count": 1, "sortKeys": "growing"}}, "patterns": [{"name": "sell", "rate": 10, "requests": [{"op": "write", "keys": "k"}]}],
		"shape": [{"second": 0, "factor": 1}, {"second": 43200, "factor": 20}, {"second": 43203, "factor": 1}]}`)
	if holds, _ := simulate.Holds(l); holds != 5 || l.Length() != 43204 {
		t.Errorf("holds %g, %d seconds", holds, l.Length())
	}
	r := simulate.New(l, l.Length(), 10, 1, simulate.USEast())
	most := 0.0
	for _, s := range r.Seconds {
		most = max(most, s.Refused)
	}
	if len(r.Seconds) > 600 || most < 800 {
		t.Errorf("%d seconds with at most %g refused", len(r.Seconds), most)
	}
}

// The shards of one item are read together.
func TestShardsOfOneItem(t *testing.T) {
	t.Parallel()
	l := load(t, "", `"count": 1, "sortKeys": "one", "shards": 16`, "1", `{"op": "get", "keys": "k"}`)
	near(t, "units", simulate.Month(l, 1, simulate.USEast()).Patterns[0].Units.Read, 8, 1e-9)
}
