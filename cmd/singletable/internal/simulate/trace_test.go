package simulate_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/singletable/singletable/cmd/singletable/internal/simulate"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
	"github.com/singletable/singletable/table/telemetry"
)

func fromTrace(t *testing.T, text string) simulate.Load {
	t.Helper()
	l, err := simulate.FromTrace(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// traceOf returns a trace of ten seconds whose requests are a tenth of all.
func traceOf(lines ...string) string {
	head := fmt.Sprintf(`{"version":1,"begin":1000,"end":11000,"requests":%d,"sampled":%d}`, 10*len(lines), len(lines))
	return head + "\n" + strings.Join(lines, "\n") + "\n"
}

// line returns the line of a request for keys of the form KIND#number.
func line(operation, rest string, all ...string) string {
	var texts []string
	for _, key := range all {
		kind, number, _ := strings.Cut(key, "#")
		texts = append(texts, fmt.Sprintf(`"%s#%016s"`, kind, number))
	}
	text := fmt.Sprintf(`{"at":5,"operation":%q`, operation)
	if len(texts) > 0 {
		text += `,"keys":[` + strings.Join(texts, ",") + `]`
	}
	if rest != "" {
		text += "," + rest
	}
	return text + "}"
}

func numbered(kind string, n int) string { return fmt.Sprintf("%s#%x", kind, n) }

func names(l simulate.Load) (all []string) {
	for _, p := range l.Patterns {
		all = append(all, p.Name)
	}
	slices.Sort(all)
	return all
}

// TestLoadOfTrace has one request of each form, and the load that they make.
func TestLoadOfTrace(t *testing.T) {
	t.Parallel()
	get := func(units string) string { return line("GetItem", `"pattern":"profile","units":`+units, "USER#1") }
	l := fromTrace(t, traceOf(
		get("0.5"), get("1.5"), line("GetItem", `"pattern":"profile","failed":"transient","throttled":3`, "USER#2"),
		line("TransactWriteItems", `"pattern":"pay","batch":3,"units":6`, "USER#1", "TX#1", "TX#2"),
		line("TransactWriteItems", `"pattern":"pay","batch":1,"units":2`, "USER#1"),
		line("Query", `"pattern":"pay","index":"GSI1","units":4`, "ORG#7"),
		line("Query", `"units":2`, "USER#3"),
		line("UpdateItem", `"failed":"permanent"`, "#1"),
		line("Scan", `"units":128`),
		line("SearchVectors", `"index":"V"`, "ORG#7"),
	))
	if l.Name != "trace of 1970-01-01T00:00:01Z" {
		t.Error(l.Name)
	}
	want := []simulate.Pattern{
		{Name: "profile", Rate: 3, Measured: simulate.Units{Read: 1}, Requests: []simulate.Request{{Op: "get", Keys: "USER", Units: 1, Times: 1}}},
		{Name: "pay: TransactWriteItems", Rate: 2, Measured: simulate.Units{Write: 4}, Requests: []simulate.Request{
			{Op: "write", Keys: "TX", Units: 2, Times: 1, Transaction: true},
			{Op: "write", Keys: "USER", Units: 2, Times: 1, Transaction: true},
		}},
		{Name: "Query USER", Rate: 1, Measured: simulate.Units{Read: 2}, Requests: []simulate.Request{{Op: "query", Keys: "USER", Units: 2, Times: 1}}},
		{Name: "Scan (scan)", Rate: 1, Measured: simulate.Units{Read: 128}, Requests: []simulate.Request{{Op: "query", Keys: "(scan)", Units: 128, Times: 1}}},
		{Name: "UpdateItem (other)", Rate: 1, Requests: []simulate.Request{{Op: "write", Keys: "(other)", Times: 1}}},
		{Name: "pay: Query in GSI1", Rate: 1, Measured: simulate.Units{Read: 4}, Requests: []simulate.Request{{Op: "query", Keys: "ORG in GSI1", In: "GSI1", Units: 4, Times: 1}}},
	}
	for i := range want {
		for j := range want[i].Requests {
			want[i].Requests[j].Bytes, want[i].Requests[j].Items = 1000, 1
		}
	}
	if !reflect.DeepEqual(l.Patterns, want) {
		t.Errorf("patterns are\n%+v\nwant\n%+v", l.Patterns, want)
	}
	counts := map[string]int64{}
	for name, k := range l.Keys {
		counts[name] = k.Count
	}
	// USER#1 is there four times, the two others once: 3 keys, and 1 that Chao1 adds.
	wantCounts := map[string]int64{"USER": 4, "TX": 3, "ORG in GSI1": 1, "(other)": 1, "(scan)": 1_000_000}
	if !reflect.DeepEqual(counts, wantCounts) {
		t.Errorf("keys are %v, want %v", counts, wantCounts)
	}
	again(t, l)
}

// again writes a load as JSON, and reads it.
func again(t *testing.T, l simulate.Load) {
	t.Helper()
	text, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	got, err := simulate.Read(bytes.NewReader(text))
	if err != nil || !reflect.DeepEqual(got, l) {
		t.Errorf("%v\n%+v\nwant\n%+v", err, got, l)
	}
	for _, x := range simulate.Limits(l) {
		if !(x.Factor > 0) || math.IsInf(x.Factor, 0) {
			t.Errorf("%+v", x)
		}
	}
}

// TestHotKeysOfTrace has keys with a known distribution. A key that is in the sample a few
// times by chance is not hot.
func TestHotKeysOfTrace(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	for name, tt := range map[string]struct {
		requests int
		key      func() int
		hot      []float64
		least    int64
		most     int64
	}{
		"a million keys, even":    {10_000, func() int { return random.IntN(1_000_000) }, nil, 500_000, 2_000_000},
		"a thousand keys, even":   {10_000, func() int { return random.IntN(1000) }, nil, 990, 1050},
		"five thousand keys":      {10_000, func() int { return random.IntN(5000) }, nil, 4500, 5500},
		"ten keys, even":          {10_000, func() int { return random.IntN(10) }, nil, 10, 10},
		"one key":                 {100, func() int { return 1 }, nil, 1, 1},
		"each nine times":         {900, func() int { return random.IntN(900) / 9 }, nil, 90, 110},
		"a third, and a million":  {10_000, func() int { return max(0, random.IntN(1_500_000)-500_000) }, []float64{1. / 3}, 400_000, 2_000_000},
		"two hot, of a hundred":   {10_000, func() int { return []int{0, 1, 2 + random.IntN(98), 2 + random.IntN(98)}[random.IntN(4)] }, []float64{.25, .25}, 95, 105},
		"one in a thousand, even": {1000, func() int { return random.IntN(10_000) }, nil, 5000, 20_000},
	} {
		var lines []string
		for range tt.requests {
			lines = append(lines, line("PutItem", `"units":1`, numbered("USER", tt.key())))
		}
		l := fromTrace(t, traceOf(lines...))
		k := l.Keys["USER"]
		if k.Count < tt.least || k.Count > tt.most {
			t.Errorf("%s: %d keys, want %d to %d", name, k.Count, tt.least, tt.most)
		}
		if len(k.Shares) != len(tt.hot) {
			t.Errorf("%s: shares are %g, want %g", name, k.Shares, tt.hot)
			continue
		}
		for i, want := range tt.hot {
			// Four standard errors of a share.
			if most := 4 * math.Sqrt(want*(1-want)/float64(tt.requests)); math.Abs(k.Shares[i]-want) > most {
				t.Errorf("%s: share %d is %g, want %g ± %g", name, i, k.Shares[i], want, most)
			}
		}
		again(t, l)
	}
}

// TestKindsOfTrace has prefixes that were hashed. Those of few keys are no kind.
func TestKindsOfTrace(t *testing.T) {
	t.Parallel()
	var lines []string
	for i := range 200 {
		lines = append(lines,
			line("PutItem", "", numbered("kind-000000aa", i)),                  // a kind of entity
			line("PutItem", "", numbered(fmt.Sprintf("kind-%08x", i), 1000+i)), // keys that begin with an id
			line("Query", `"index":"GSI1"`, numbered("kind-000000aa", 7)),
			line("PutItem", `"pattern":"id `+fmt.Sprint(i)+`"`, "USER#1"))
	}
	l := fromTrace(t, traceOf(lines...))
	got := names(l)
	if !slices.Contains(got, "PutItem kind-000000aa") || !slices.Contains(got, "PutItem (other)") || !slices.Contains(got, "Query (other) in GSI1") {
		t.Error(got)
	}
	if n := l.Keys["(other)"].Count; n < 199 {
		t.Errorf("%d other keys", n)
	}
	if len(got) != 3+100+1 || !slices.Contains(got, "(other)") {
		t.Errorf("%d patterns: %s", len(got), got)
	}
	lines = nil
	for i := range 50 {
		lines = append(lines, line("PutItem", "", numbered(fmt.Sprint("K", i%30), i)))
	}
	if l = fromTrace(t, traceOf(lines...)); len(l.Keys) != 21 {
		t.Errorf("%d kinds of keys", len(l.Keys))
	}
}

// A load that is more than a new table takes was taken by the table.
func TestWarmOfTrace(t *testing.T) {
	t.Parallel()
	l := fromTrace(t, traceOf(line("PutItem", `"units":50000`, "A#1"), line("GetItem", `"units":20000`, "A#1")))
	if l.Warm.Write != 50_000 || l.Quota.Write != 50_000 || l.Warm.Read != 20_000 || l.Quota.Read != 40_000 {
		t.Errorf("warm %v, quota %v", l.Warm, l.Quota)
	}
}

func TestInvalidTraces(t *testing.T) {
	t.Parallel()
	put := line("PutItem", "", "A#1")
	good := traceOf(put, put)
	replace := func(old, with string) string { return strings.Replace(good, old, with, 1) }
	request := func(text string) string { return traceOf(put, text) }
	for text, says := range map[string]string{
		"":                         "is empty",
		"\n":                       "line 1 of the trace: is no JSON of this form",
		"{}":                       "line 1 of the trace: version 0 of the format is not known",
		"null":                     "version 0",
		put:                        `line 1 of the trace: is no JSON of this form: json: unknown field "at"`,
		good + put:                 "line 4 of the trace: there are more than the 2 requests",
		good + "\n":                "line 4",
		replace("1000,", "-1,"):    "begin and end are no times",
		replace("11000", "999"):    "not in this order",
		replace("11000", "1000"):   "tells no rate",
		replace("11000", "1e30"):   "line 1",
		replace(`ed":2`, `ed":9`):  "the trace ends after line 3, with 2 requests, and the header says 9",
		replace(`ed":2`, `ed":0`):  "has no requests",
		replace(`ts":20`, `ts":1`): "at most the number of requests",
		replace(`"requests":20`, `"requests":9000000000000000`): "needs a printable name, a rate",
		replace(`"sampled":2`, `"sampled":2000000`):             "at most",
		request(""):                                                              "line 3 of the trace: is no JSON of this form",
		request(put + put):                                                       "line 3 of the trace: has more than one value",
		request("{"):                                                             "line 3",
		request(line("Drop\x1b[2J", "")):                                         `line 3`,
		request(line("ExecuteStatement", "")):                                    `operation: "ExecuteStatement" is not known`,
		request(line("PutItem", `"x":1`)):                                        "unknown field",
		request(line("PutItem", `"index":"GSI1"`)):                               "PutItem reads no index",
		request(line("PutItem", `"units":-1`)):                                   "units: must be 0 to",
		request(line("PutItem", `"units":1e12`)):                                 "units: must be 0 to",
		request(line("PutItem", `"units":1e999`)):                                "line 3",
		request(line("PutItem", `"batch":-1`)):                                   "batch, throttled",
		request(line("PutItem", `"throttled":-1`)):                               "batch, throttled",
		request(line("PutItem", `"failed":"no"`)):                                `failed: "no" is not transient, permanent or unclassified`,
		request(strings.Replace(put, ":5", ":-5", 1)):                            "at: -5 is not between begin and end",
		request(strings.Replace(put, ":5", ":10001", 1)):                         "at: 10001 is not",
		request(strings.Replace(put, "A#0", "A", 1)):                             "keys[0]",
		request(strings.Replace(put, "A#0", "A#g", 1)):                           "is not a prefix, '#' and 16 hexadecimal digits",
		request(strings.Replace(put, "A#0", "A#00", 1)):                          "keys[0]",
		request(strings.Replace(put, "A#0", "A#+", 1)):                           "keys[0]",
		request(line("PutItem", "", slices.Repeat([]string{"A#1"}, 101)...)):     "keys: there are 101",
		request(line("PutItem", `"pattern":"`+strings.Repeat("x", 1001)+`"`)):    "a name has more than 1000 bytes",
		request(line("PutItem", `"pattern":"`+strings.Repeat("x", 200_000)+`"`)): "line 3 of the trace: has more than 131072 bytes",
		traceOf(line("SearchVectors", "")):                                       "only searches of vectors",
	} {
		l, err := simulate.FromTrace(strings.NewReader(text))
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "\x1b") || len(err.Error()) > 500 {
			t.Errorf("%.200s: %v, want %q", text, err, says)
		}
		if !reflect.DeepEqual(l, simulate.Load{}) {
			t.Errorf("%.200s: has a load", text)
		}
	}
	var many []string
	for i := range 65 {
		many = append(many, line("Query", `"index":"I`+fmt.Sprint(i)+`"`, "A#1"))
	}
	if _, err := simulate.FromTrace(strings.NewReader(traceOf(many...))); err == nil || !strings.Contains(err.Error(), "line 66 of the trace: there are more than 64 indexes") {
		t.Error(err)
	}
	broken := io.MultiReader(strings.NewReader(good[:100]), iotest.ErrReader(os.ErrClosed))
	if _, err := simulate.FromTrace(broken); !errors.Is(err, os.ErrClosed) {
		t.Error(err)
	}
}

// TestInvalidShares has loads with measured shares and units, as a person edits them.
func TestInvalidShares(t *testing.T) {
	t.Parallel()
	count := func(n int, shares string) string {
		return strings.Replace(writes, `"count": 1000000`, fmt.Sprintf(`"count": %d, "shares": %s`, n, shares), 1)
	}
	for text, says := range map[string]string{
		count(5, "[0.5, 0.2]"):  "",
		count(2, "[0.5, 0.5]"):  "",
		count(1000, "[0.1]"):    "",
		count(5, "[0.2, 0.5]"):  "descend",
		count(5, "[0.2, 0]"):    "above 0",
		count(5, "[1.1]"):       "at most 1",
		count(5, "[-0.5]"):      "above 0",
		count(5, "[0.9, 0.9]"):  "come to 1.8",
		count(2, "[0.5, 0.2]"):  "come to 0.7",
		count(1, "[0.5, 0.2]"):  "there are 2 shares",
		count(5, "[0.5, 0.01]"): "more than a hottest one",
		count(1e6, "["+strings.Repeat("0.001,", 600)+"0.001]"):                   "there are 601 shares",
		count(5, `[0.5], "distribution": "zipf:1"`):                              "has no place next to shares",
		strings.Replace(writes, `"keys": "k"}`, `"keys": "k", "units": -1}`, 1):  "units must be",
		strings.Replace(writes, `"keys": "k"}`, `"keys": "k", "units": 7.5}`, 1): "",
	} {
		l, err := simulate.Read(strings.NewReader(text))
		if says == "" && err != nil || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("%s: %v, want %q", text, err, says)
		}
		if err == nil {
			again(t, l)
		}
	}
}

// TestMeasuredLoad has the closed forms of a hot key with a measured share, and of measured
// units.
func TestMeasuredLoad(t *testing.T) {
	t.Parallel()
	l := read(t, `{"name": "M", "quota": {"read": 1e8, "write": 1e8}, "keys": {"k": {"count": 1000, "sortKeys": "one", "shares": [0.25, 0.05]}}, "patterns": [
		{"name": "put", "rate": 100, "requests": [{"op": "write", "keys": "k", "bytes": 100000, "units": 2}]},
		{"name": "get", "rate": 100, "requests": [{"op": "get", "keys": "k", "consistent": true, "units": 12, "transaction": true}]}]}`)
	all := simulate.Limits(l)
	near(t, "the hottest key, writes", all[1].Factor, 1000/(0.25*200), 1e-9)
	near(t, "the hottest key, reads", all[0].Factor, 3000/(0.25*1200), 1e-9)
	if end, _ := refused(l, 3600, 600, 8); end > 0.01 { // of 10
		t.Errorf("%g are refused", end)
	}
	// The hottest key of these is asked for 4,000 writes, and takes 1,000.
	only := read(t, `{"name": "M", "quota": {"write": 1e8}, "warm": {"write": 1e6}, "keys": {"k": {"count": 1000, "sortKeys": "one", "shares": [0.25]}},
		"patterns": [{"name": "put", "rate": 16000, "requests": [{"op": "write", "keys": "k"}]}]}`)
	end, _ := refused(only, 3600, 600, 1)
	near(t, "refused", end, 0.25*0.75, 0.02)
	shards := read(t, `{"name": "S", "keys": {"k": {"count": 1, "shards": 8}}, "patterns": [{"name": "list", "rate": 1, "requests": [{"op": "query", "keys": "k", "units": 10}]},
		{"name": "short", "rate": 1, "requests": [{"op": "query", "keys": "k", "units": 1}]}]}`)
	c := simulate.Month(shards, 1, simulate.USEast())
	near(t, "a list over shards", c.Patterns[0].Units.Read, 10, 1e-9)
	near(t, "a short list over shards", c.Patterns[1].Units.Read, 4, 1e-9)
}

// workload sends 600 requests to a table, of which 300 are for one user.
func workload(ctx context.Context, t *testing.T, tbl *table.Table) {
	t.Helper()
	do := func(pattern string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", pattern, err)
		}
	}
	key := func(user int, sk keys.SK) keys.Key {
		return keys.Key{PK: keys.User.PK(fmt.Sprint("ana-", user)), SK: sk}
	}
	profile := map[string]string{"gsi1pk": "ORG#acme", "gsi1sk": "x", "text": strings.Repeat("x", 900)}
	for i := range 100 {
		for range 3 {
			ctx := telemetry.WithPattern(ctx, "profile")
			_, err := table.Get[table.Item](ctx, tbl, key(0, keys.Profile))
			if err != nil && !errors.Is(err, table.ErrNotFound) {
				do("profile", err)
			}
		}
		do("register", tbl.Do(telemetry.WithPattern(ctx, "register"), table.Put(key(1+i, keys.Profile), profile)))
		pay := telemetry.WithPattern(ctx, "pay")
		do("pay", tbl.Transact(pay, table.Put(key(1+i, "TX#1"), nil), table.Put(keys.Key{PK: keys.Tx.PK(fmt.Sprint(i)), SK: keys.Metadata}, nil)))
		_, err := table.QueryPage[table.Item](ctx, tbl, table.Query{Index: "GSI1", PK: "ORG#acme", Limit: 2})
		do("list", err)
	}
}

// TestTraceOfRealTable runs a workload on an engine, with a trace of all requests and one of
// a fifth of them, and finds in both what the workload was.
func TestTraceOfRealTable(t *testing.T) {
	t.Parallel()
	prefixes := []keys.Prefix{keys.User, keys.Tx}
	whole, part := telemetry.Trace{Prefixes: prefixes}, telemetry.Trace{Sample: 120, Prefixes: prefixes}
	tbl := tabletest.New(t, schema.Table{Indexes: []schema.Index{{Name: "GSI1", PK: "gsi1pk", SK: "gsi1sk"}}},
		&table.Options{Observe: telemetry.Join(whole.Observe, part.Observe)})
	workload(t.Context(), t, tbl)
	for name, trace := range map[string]*telemetry.Trace{"whole": &whole, "part": &part} {
		var file bytes.Buffer
		if _, err := trace.WriteTo(&file); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(file.String(), "ana") || strings.Contains(file.String(), "acme") {
			t.Errorf("%s: a key is in the trace", name)
		}
		l := fromTrace(t, file.String())
		again(t, l)
		users := l.Keys["USER"]
		if len(users.Shares) != 1 {
			t.Fatalf("%s: %+v", name, users)
		}
		// 300 of the 500 keys of users. Of the part, four standard errors of about 100 keys.
		near(t, name+": the hot key", users.Shares[0], 0.6, map[string]float64{"whole": 1e-9, "part": 4 * math.Sqrt(0.6*0.4/100) / 0.6}[name])
		if name == "part" {
			continue
		}
		if got := names(l); !slices.Equal(got, []string{"Query (other) in GSI1", "pay", "profile", "register"}) {
			t.Error(got)
		}
		if users.Count < 101 || l.Keys["TX"].Count < 100 || l.Keys["(other) in GSI1"].Count != 1 {
			t.Errorf("%+v", l.Keys)
		}
		for _, p := range l.Patterns {
			// A write of 900 bytes, and of its entry in the index; two items of a transaction.
			want := map[string]simulate.Units{"profile": {Read: 0.5}, "register": {Write: 2}, "pay": {Write: 4}, "Query (other) in GSI1": {Read: 0.5}}[p.Name]
			near(t, p.Name+", reads", p.Measured.Read, want.Read, 0.01)
			near(t, p.Name+", writes", p.Measured.Write, want.Write, 0.01)
			near(t, p.Name+", rate", p.Rate, l.Patterns[0].Rate*map[bool]float64{true: 1, false: 1. / 3}[p.Name == "profile"], 1e-4)
		}
	}
}

func FuzzFromTrace(f *testing.F) {
	put := line("PutItem", `"units":1`, "USER#1")
	f.Add(traceOf(put, put))
	f.Add(traceOf(slices.Repeat([]string{put}, 30)...))
	f.Add(traceOf(put, line("Query", `"index":"GSI1","pattern":"list","units":0.5`, "#1"), line("Scan", `"failed":"transient","throttled":1`)))
	f.Add(traceOf(line("TransactWriteItems", `"batch":2,"units":1e-300`, "A#1", "kind-12345678#2"), line("SearchVectors", "")))
	f.Fuzz(func(t *testing.T, text string) {
		l, err := simulate.FromTrace(strings.NewReader(text))
		if err != nil {
			return
		}
		again(t, l)
	})
}
