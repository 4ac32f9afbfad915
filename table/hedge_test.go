package table_test

import (
	"context"
	"math/rand/v2"
	"net/http"
	"net/http/httptrace"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/internal/group"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// network is a fault that lets an empty response, or what next makes of it, come
// after a time.
type network struct {
	mu   sync.Mutex
	next func() (time.Duration, tabletest.Fault)
	// connect is how long a request waits for a new connection; 0 means none is new.
	connect time.Duration
	// sent are the times at which requests were sent.
	sent []time.Time
	// attempts, hedges and won are the sums of what was observed.
	attempts, hedges, won int
}

func (n *network) fault(r *http.Request, next http.RoundTripper) (*http.Response, error) {
	if trace := httptrace.ContextClientTrace(r.Context()); trace != nil && n.connect > 0 {
		trace.GetConn("")
		time.Sleep(n.connect)
		trace.GotConn(httptrace.GotConnInfo{})
	}
	n.mu.Lock()
	n.sent = append(n.sent, time.Now())
	d, fault := n.next()
	n.mu.Unlock()
	select {
	case <-r.Context().Done():
		return nil, r.Context().Err()
	case <-time.After(d):
		return fault(r, next)
	}
}

// hedged runs test on a clock of its own, with a table whose reads are hedged.
func hedged(t *testing.T, test func(t *testing.T, n *network, get func())) {
	t.Helper()
	n := &network{}
	outage(t, n.fault, &table.Options{HedgeReads: true, Observe: n.observe}, func(t *testing.T, tbl *table.Table, _ *tabletest.Faults) {
		test(t, n, func() { _ = get(t.Context(), tbl, user) })
	})
}

func (n *network) observe(_ context.Context, e table.Event) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.attempts += e.Attempts
	n.hedges += e.Hedges
	n.won += e.HedgesWon
}

var empty = respond(http.StatusOK, "{}")

// readTimes makes n reads and returns how long each took.
func readTimes(n int, get func()) []time.Duration {
	all := make([]time.Duration, n)
	for i := range all {
		start := time.Now()
		get()
		all[i] = time.Since(start)
	}
	return all
}

// TestHedgeDelay shows that a hedge is sent when its read is later than 97 % of the
// recent ones, to an eighth, and that the recent ones are at most 1,000.
func TestHedgeDelay(t *testing.T) {
	t.Parallel()
	hedged(t, func(t *testing.T, n *network, get func()) {
		for _, unit := range []time.Duration{time.Millisecond, 30 * time.Millisecond, 10 * time.Microsecond} {
			n.next = func() (time.Duration, tabletest.Fault) { return 2 * time.Hour, empty } // longer than a histogram counts
			readTimes(1, get)
			order := rand.New(rand.NewPCG(1, 1)).Perm(100)
			i := 0
			n.next = func() (time.Duration, tabletest.Fault) {
				i++
				return unit * time.Duration(1+order[i%100]), empty
			}
			readTimes(1000, get)
			never := true
			n.sent, n.next = nil, func() (time.Duration, tabletest.Fault) {
				defer func() { never = false }()
				if never {
					return time.Hour, empty
				}
				return 0, empty
			}
			readTimes(1, get)
			if len(n.sent) != 2 {
				t.Fatalf("%v: %d requests", unit, len(n.sent))
			}
			if d := n.sent[1].Sub(n.sent[0]); d < 97*unit || d > 97*unit*9/8+time.Microsecond {
				t.Errorf("%v: hedged after %v", unit, d)
			}
		}
	})
}

// TestHedgeAfterConnection shows that the wait for a connection is not part of a
// read's time, and that a read which is late after it is hedged.
func TestHedgeAfterConnection(t *testing.T) {
	t.Parallel()
	hedged(t, func(t *testing.T, n *network, get func()) {
		const read = 10 * time.Millisecond
		n.next = func() (time.Duration, tabletest.Fault) { return read, empty }
		readTimes(100, get)
		n.connect = time.Second
		readTimes(10, get)
		equal(t, "hedges of reads that waited for a connection", n.hedges, 0)
		n.sent, n.next = nil, func() (time.Duration, tabletest.Fault) {
			if len(n.sent) == 1 {
				return time.Hour, empty
			}
			return 0, empty
		}
		readTimes(1, get)
		equal(t, "hedges of one that is late then", n.hedges, 1)
	})
}

// TestHedgeOutage shows that few hedges are sent when all requests are late or
// fail, and never more than a twentieth of the reads that succeeded.
func TestHedgeOutage(t *testing.T) {
	t.Parallel()
	const late = 300 * time.Millisecond
	internal := tabletest.Status(http.StatusInternalServerError, "InternalServerError", "Injected.")
	for name, tt := range map[string]struct {
		next func(i int) (time.Duration, tabletest.Fault)
		most int // hedges of 1,000 reads
	}{
		"all late":        {func(int) (time.Duration, tabletest.Fault) { return late, empty }, 12},
		"later and later": {func(i int) (time.Duration, tabletest.Fault) { return time.Duration(i) * time.Millisecond, empty }, 10 + 50},
		"all throttled":   {func(int) (time.Duration, tabletest.Fault) { return late, tabletest.Throttle() }, 10},
		"all failing":     {func(int) (time.Duration, tabletest.Fault) { return late, internal }, 10},
		"some throttled": {func(i int) (time.Duration, tabletest.Fault) {
			if i%10 == 0 {
				return time.Millisecond, tabletest.Throttle()
			}
			return time.Duration(i) * time.Millisecond, empty
		}, 10},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hedged(t, func(t *testing.T, n *network, get func()) {
				n.next = func() (time.Duration, tabletest.Fault) { return 5 * time.Millisecond, empty }
				readTimes(1000, get)
				expect.Equal(t, "hedges of reads that all took the same time", n.hedges, 0)
				i := 0
				n.next = func() (time.Duration, tabletest.Fault) {
					i++
					return tt.next(i)
				}
				readTimes(1000, get)
				if n.hedges > tt.most {
					t.Errorf("%d hedges", n.hedges)
				}
				expect.Equal(t, "requests", len(n.sent), n.attempts+n.hedges)
			})
		})
	}
}

// TestHedgePanic shows that a panic of the HTTP client reaches the caller, and does
// not end the process.
func TestHedgePanic(t *testing.T) {
	t.Parallel()
	type response struct {
		after time.Duration
		fault tabletest.Fault
	}
	const ms = time.Millisecond
	failing := func(*http.Request, http.RoundTripper) (*http.Response, error) { panic("injected") }
	exiting := func(*http.Request, http.RoundTripper) (*http.Response, error) { runtime.Goexit(); return nil, nil }
	cancelled := func(r *http.Request, _ http.RoundTripper) (*http.Response, error) {
		<-r.Context().Done()
		panic("injected")
	}
	for name, tt := range map[string]struct {
		first, hedge response
		hedges       int
		want         any
	}{
		"before a hedge":       {response{1 * ms, failing}, response{}, 0, "injected"},
		"of the first request": {response{50 * ms, failing}, response{time.Hour, empty}, 1, "injected"},
		"of the hedge":         {response{time.Hour, empty}, response{1 * ms, failing}, 1, "injected"},
		"when it is cancelled": {response{0, cancelled}, response{1 * ms, empty}, 1, "injected"},
		"exit":                 {response{50 * ms, exiting}, response{time.Hour, empty}, 1, nil},
		"exit of the hedge":    {response{time.Hour, empty}, response{1 * ms, exiting}, 1, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hedged(t, func(t *testing.T, n *network, get func()) {
				n.next = func() (time.Duration, tabletest.Fault) { return 5 * ms, empty }
				readTimes(1000, get)
				n.sent = nil
				n.next = func() (time.Duration, tabletest.Fault) {
					if len(n.sent) == 1 {
						return tt.first.after, tt.first.fault
					}
					return tt.hedge.after, tt.hedge.fault
				}
				returned, recovered := false, make(chan any)
				go func() {
					defer func() {
						value := recover()
						if p, ok := value.(*group.Panic); ok { // with the stack of the HTTP client's goroutine
							value = p.Value
						}
						recovered <- value
					}()
					get()
					returned = true
				}()
				expect.Equal(t, "recovered", <-recovered, tt.want)
				expect.Equal(t, "returned", returned, false)
				expect.Equal(t, "requests", len(n.sent), 1+tt.hedges)
			})
		})
	}
}

// TestHedgesOfConcurrentReads shows that the budget holds for all of them together.
func TestHedgesOfConcurrentReads(t *testing.T) {
	t.Parallel()
	hedged(t, func(t *testing.T, n *network, get func()) {
		r := rand.New(rand.NewPCG(1, 3))
		n.next = func() (time.Duration, tabletest.Fault) {
			if r.IntN(50) == 0 {
				return time.Second, empty
			}
			return time.Millisecond, empty
		}
		for range 200 {
			_ = inParallel(16, func(int) error {
				get()
				return nil
			})
			if n.hedges > n.attempts/20 {
				t.Fatalf("%d hedges of %d reads", n.hedges, n.attempts)
			}
		}
		if n.hedges == 0 {
			t.Error("no hedges")
		}
	})
}

// TestHedgeFates gives a late read and its hedge each combination of fates. The first
// success is the result; a request that has failed is repeated and not hedged.
func TestHedgeFates(t *testing.T) {
	t.Parallel()
	const soon, later = time.Second, 2 * time.Second
	fails := tabletest.Status(http.StatusInternalServerError, "InternalServerError", "Injected.")
	cutOff := func(r *http.Request, _ http.RoundTripper) (*http.Response, error) {
		return tabletest.Truncate()(r, &tabletest.Faults{Base: nobody{}})
	}
	answers := func(name string) tabletest.Fault { return respond(http.StatusOK, `{"Item":{"name":{"S":"`+name+`"}}}`) }
	type fate struct {
		after time.Duration
		fault tabletest.Fault
	}
	for name, tt := range map[string]struct {
		fates  [3]fate // of the first request, of the second, and of a third one
		result string
		// attempts, hedges, and hedges that won.
		want [3]int
	}{
		"the first never comes":     {[3]fate{{time.Hour, fails}, {0, answers("b")}}, "b", [3]int{1, 1, 1}},
		"the hedge never comes":     {[3]fate{{soon, answers("a")}, {time.Hour, fails}}, "a", [3]int{1, 1, 0}},
		"the hedge is faster":       {[3]fate{{later, answers("a")}, {0, answers("b")}}, "b", [3]int{1, 1, 1}},
		"the first fails":           {[3]fate{{soon, fails}, {later, answers("b")}}, "b", [3]int{1, 1, 1}},
		"the hedge fails":           {[3]fate{{later, answers("a")}, {0, fails}}, "a", [3]int{1, 1, 0}},
		"both fail":                 {[3]fate{{later, fails}, {0, fails}, {0, answers("c")}}, "c", [3]int{2, 1, 0}},
		"it fails, late again":      {[3]fate{{0, fails}, {later, answers("b")}}, "b", [3]int{2, 0, 0}},
		"throttled, late again":     {[3]fate{{0, tabletest.Throttle()}, {later, answers("b")}}, "b", [3]int{2, 0, 0}},
		"it is lost, late again":    {[3]fate{{0, tabletest.DropRequest()}, {later, answers("b")}}, "b", [3]int{2, 0, 0}},
		"unreadable, late again":    {[3]fate{{0, respond(http.StatusOK, `{"Item":{"n`)}, {later, answers("b")}}, "b", [3]int{2, 0, 0}},
		"it is cut off, late again": {[3]fate{{0, cutOff}, {later, answers("b")}}, "b", [3]int{2, 0, 0}},
		"the context ends for all":  {[3]fate{{time.Hour, fails}, {time.Hour, fails}}, "", [3]int{1, 1, 0}},
	} {
		n := &network{}
		outage(t, n.fault, &table.Options{HedgeReads: true, Observe: n.observe}, func(t *testing.T, tbl *table.Table, _ *tabletest.Faults) {
			n.next = func() (time.Duration, tabletest.Fault) { return 5 * time.Millisecond, answers("") }
			readTimes(200, func() { must(t, get(t.Context(), tbl, user)) })
			n.sent, n.attempts, n.hedges, n.won = nil, 0, 0, 0
			n.next = func() (time.Duration, tabletest.Fault) {
				i := len(n.sent) - 1
				if i >= len(tt.fates) || tt.fates[i].fault == nil {
					return 0, answers("of a request too many")
				}
				return tt.fates[i].after, tt.fates[i].fault
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			got, err := table.Get[account](ctx, tbl, user)
			if got.Name != tt.result || (err == nil) != (tt.result != "") {
				t.Errorf("%s: %v, %v", name, got, err)
			}
			equal(t, name, [3]int{n.attempts, n.hedges, n.won}, tt.want)
			equal(t, name+": requests", len(n.sent), tt.want[0]+tt.want[1])
		})
	}
}

// nobody responds that there is no item.
type nobody struct{}

func (nobody) RoundTrip(r *http.Request) (*http.Response, error) {
	return respond(http.StatusOK, `{"Item":{"name":{"S":"nobody"}}}`)(r, nil)
}

// TestWhatIsHedged shows which calls are hedged: reads that somebody waits for. A page and
// an event count it.
func TestWhatIsHedged(t *testing.T) {
	t.Parallel()
	hedged := map[string]bool{"Get": true, "BatchGet": true, "TransactGet": true, "QueryPage": true, "All": true, "SearchVectors": true}
	n := &network{}
	outage(t, n.fault, &table.Options{HedgeReads: true, Observe: n.observe}, func(t *testing.T, tbl *table.Table, _ *tabletest.Faults) {
		calls := everyCall(tbl)
		delete(calls, "Retry") // a read and a write
		var stats table.Stats
		calls["QueryPage"] = func(ctx context.Context) error {
			page, err := table.QueryPage[account](ctx, tbl, table.Query{PK: user.PK})
			stats = page.Stats
			return err
		}
		for call, run := range calls {
			n.next = func() (time.Duration, tabletest.Fault) { return 5 * time.Millisecond, succeed }
			readTimes(200, func() { _ = run(t.Context()) })
			n.sent, n.hedges, n.won = nil, 0, 0
			n.next = func() (time.Duration, tabletest.Fault) {
				if len(n.sent) == 1 {
					return time.Second, succeed
				}
				return 0, succeed
			}
			_ = run(t.Context())
			want := [3]int{1, 0, 0}
			if hedged[call] {
				want = [3]int{2, 1, 1}
			}
			equal(t, call+": requests, hedges, won", [3]int{len(n.sent), n.hedges, n.won}, want)
		}
		equal(t, "statistics", [3]int{stats.Requests, stats.Hedges, stats.HedgesWon}, [3]int{1, 1, 1})
	})
}
