package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

func hedgeTests() tests {
	return tests{
		"the first success is the result":          hedgeResults,
		"not after a failure":                      hedgeNotAfterFailure,
		"only for reads that somebody waits for":   hedgeOnlyReads,
		"the end of the context ends both":         hedgeContext,
		"a page counts them, and so does an event": hedgeStats,
	}
}

// outside sends requests from goroutines outside of the synctest bubble that the
// caller is in: the clock of the bubble stands until the response is there, and
// goes on when requests are held.
type outside struct{ workers chan *sender }

type sender struct {
	request  chan *http.Request
	response chan *http.Response
	err      error
}

// install must be called outside of the bubble.
func (x *outside) install(t *testing.T) func(*dynamodb.Options) {
	const most = 16
	x.workers = make(chan *sender, most)
	return func(o *dynamodb.Options) {
		next := o.HTTPClient
		o.HTTPClient = x
		for range most {
			s := &sender{request: make(chan *http.Request), response: make(chan *http.Response)}
			x.workers <- s
			go func() {
				for r := range s.request {
					var response *http.Response
					response, s.err = next.Do(r)
					if s.err == nil {
						var body []byte
						body, s.err = io.ReadAll(response.Body)
						response.Body.Close()
						response.Body = io.NopCloser(bytes.NewReader(body))
					}
					s.response <- response
				}
			}()
			t.Cleanup(func() { close(s.request) })
		}
	}
}

// Do sends a request, which does not end with its context.
func (x *outside) Do(r *http.Request) (*http.Response, error) {
	s := <-x.workers
	defer func() { x.workers <- s }()
	s.request <- r.WithContext(context.Background())
	response := <-s.response
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return response, s.err
}

// hedged is a table whose reads are hedged.
type hedged struct {
	*table.Table
	faults *tabletest.Faults
	events *events
}

// inBubble runs test in a bubble with a table of five transactions, of which
// enough reads were made that the late ones are known and there are tokens.
func (h Harness) inBubble(t *testing.T, test func(*testing.T, hedged)) {
	t.Helper()
	plain := h.newTable(t, appCore())
	seed(t, plain, 5)
	var x outside
	d := hedged{faults: &tabletest.Faults{}, events: &events{}}
	// The wait after writes would send requests from inside of the bubble.
	client := h.prompt(t, promptRetries, x.install(t), d.faults.Install)
	opts := options()
	opts.HedgeReads, opts.Observe = true, d.events.observe
	var err error
	d.Table, err = table.New(client, plain.Schema(), opts)
	expect.OK(t, err)
	synctest.Test(t, func(t *testing.T) {
		for _, read := range hedgedReads {
			d.calm(t, read, 100)
		}
		test(t, d)
	})
}

// calm reads n times without faults, which earns a token for 20, and makes one late
// read in 34 a rare one. It forgets the requests so far.
func (d hedged) calm(t *testing.T, read read, n int) {
	t.Helper()
	for range n {
		_, err := read.run(t.Context(), d.Table)
		expect.OK(t, err)
	}
	d.events.take()
}

// total returns the sum of the events since the last time.
func (d hedged) total() (requests, sent, won int) {
	for _, e := range d.events.take() {
		requests, sent, won = requests+e.Attempts, sent+e.Hedges, won+e.HedgesWon
	}
	return requests, sent, won
}

// read is a read of one request.
type read struct {
	operation string
	run       func(context.Context, *table.Table) (any, error)
}

var hedgedReads = map[string]read{
	"Get": {"GetItem", func(ctx context.Context, tbl *table.Table) (any, error) {
		return table.Get[note](ctx, tbl, txKey(1))
	}},
	"BatchGet": {"BatchGetItem", func(ctx context.Context, tbl *table.Table) (any, error) {
		return table.BatchGet[note](ctx, tbl, []keys.Key{txKey(3), txKey(1), user})
	}},
	"TransactGet": {"TransactGetItems", func(ctx context.Context, tbl *table.Table) (any, error) {
		return table.TransactGet[note](ctx, tbl, []keys.Key{txKey(3), user})
	}},
	"QueryPage": {"Query", func(ctx context.Context, tbl *table.Table) (any, error) {
		page, err := table.QueryPage[note](ctx, tbl, table.Query{PK: user.PK, Limit: 3})
		return page.Items, err
	}},
}

// slow is a fault that a request meets after a time. None means that it passes.
func slow(d time.Duration, fault tabletest.Fault) tabletest.Fault {
	return func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		select {
		case <-r.Context().Done():
			return nil, r.Context().Err()
		case <-time.After(d):
		}
		if fault == nil {
			return next.RoundTrip(r)
		}
		return fault(r, next)
	}
}

// failures are the faults from which the SDK or the library recovers by a
// retry.
func failures() map[string]tabletest.Fault {
	return map[string]tabletest.Fault{
		"dropped response": tabletest.DropResponse(),
		"cut off":          tabletest.Truncate(),
		"throttled":        tabletest.Throttle(),
		"internal":         tabletest.Status(http.StatusInternalServerError, "InternalServerError", "Injected."),
	}
}

// hedgeResults gives the first request and its hedge each combination of fates.
func hedgeResults(t *testing.T, h Harness) {
	const soon, later = time.Second, 2 * time.Second
	type tt struct {
		first, hedge   tabletest.Fault
		requests, wins int // of the attempts of the SDK, and of the hedge
	}
	cases := map[string]tt{
		"the first never comes": {tabletest.Block(nil), nil, 1, 1},
		"the hedge never comes": {slow(soon, nil), tabletest.Block(nil), 1, 0},
		"the hedge is faster":   {slow(later, nil), slow(soon, nil), 1, 1},
	}
	for name, fault := range failures() {
		cases["the first: "+name] = tt{slow(soon, fault), slow(later, nil), 1, 1}
		cases["the hedge: "+name] = tt{slow(later, nil), fault, 1, 0}
		cases["both: "+name] = tt{slow(later, fault), fault, 2, 0}
	}
	h.inBubble(t, func(t *testing.T, d hedged) {
		for _, call := range slices.Sorted(maps.Keys(hedgedReads)) {
			read := hedgedReads[call]
			want, err := read.run(t.Context(), d.Table)
			expect.OK(t, err)
			for _, name := range slices.Sorted(maps.Keys(cases)) {
				d.calm(t, read, 50)
				tt, before := cases[name], sent(d.faults)
				d.faults.Next(read.operation, tt.first, tt.hedge)
				got, err := read.run(t.Context(), d.Table)
				expect.OK(t, err)
				what := call + ", " + name
				expect.Equal(t, what, got, want)
				requests, hedges, wins := d.total()
				expect.Equal(t, what+": attempts, hedges, won", [3]int{requests, hedges, wins}, [3]int{tt.requests, 1, tt.wins})
				expect.Equal(t, what+": requests", sent(d.faults)-before, tt.requests+1)
			}
		}
	})
}

// hedgeNotAfterFailure has a retry be late.
func hedgeNotAfterFailure(t *testing.T, h Harness) {
	h.inBubble(t, func(t *testing.T, d hedged) {
		late := slow(time.Second, nil)
		for call, read := range hedgedReads {
			want, err := read.run(t.Context(), d.Table)
			expect.OK(t, err)
			faults := failures()
			if read.operation == "BatchGetItem" {
				faults["unprocessed"] = tabletest.Unprocessed(1)
			}
			if read.operation == "TransactGetItems" {
				faults["conflict"] = tabletest.CancelTransaction("TransactionConflict", "None")
			}
			for name, fault := range faults {
				d.calm(t, read, 50)
				d.faults.Next(read.operation, fault, late)
				got, err := read.run(t.Context(), d.Table)
				expect.OK(t, err)
				expect.Equal(t, call+", "+name, got, want)
				requests, hedges, _ := d.total()
				expect.Equal(t, call+", "+name+": attempts and hedges", [2]int{requests, hedges}, [2]int{2, 0})
			}
		}
	})
}

func hedgeOnlyReads(t *testing.T, h Harness) {
	h.inBubble(t, func(t *testing.T, d hedged) {
		scan := func() error {
			_, err := table.ScanPage[note](t.Context(), d.Table, table.Scan{})
			return err
		}
		others := calls(d.Table)
		for name := range hedgedReads {
			delete(others, name)
		}
		for _, name := range []string{"All", "Create", "Check"} { // a read, and refusals, which cost tokens
			delete(others, name)
		}
		all := func() {
			expect.OK(t, scan())
			for name, call := range others {
				if err := call(t.Context()); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
		for range 101 { // enough to tell which are late
			all()
		}
		d.events.take()
		d.faults.Always("", slow(time.Second, nil))
		all()
		_, hedges, _ := d.total()
		expect.Equal(t, "hedges", hedges, 0)
	})
}

func hedgeContext(t *testing.T, h Harness) {
	h.inBubble(t, func(t *testing.T, d hedged) {
		for call, read := range hedgedReads {
			d.calm(t, read, 50)
			ctx, cancel := context.WithCancelCause(t.Context())
			d.faults.Next(read.operation, tabletest.Block(nil), func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
				cancel(errGone)
				return tabletest.Block(nil)(r, next)
			})
			if _, err := read.run(ctx, d.Table); !errors.Is(err, context.Canceled) || !errors.Is(err, errGone) {
				t.Errorf("%s: %v", call, err)
			}
			requests, hedges, wins := d.total()
			expect.Equal(t, call+": attempts, hedges, won", [3]int{requests, hedges, wins}, [3]int{1, 1, 0})
		}
	})
}

func hedgeStats(t *testing.T, h Harness) {
	h.inBubble(t, func(t *testing.T, d hedged) {
		q := table.Query{PK: user.PK, Limit: 1}
		pages := func() (sum table.Stats) {
			for range 5 {
				page, err := table.QueryPage[note](t.Context(), d.Table, q)
				expect.OK(t, err)
				sum = sum.Add(page.Stats)
				q.After = page.Next
			}
			return sum
		}
		want := pages()
		q.After = ""
		d.faults.Next("Query", tabletest.Block(nil), nil, nil, slow(time.Second, nil), tabletest.Block(nil))
		want.Hedges, want.HedgesWon = 2, 1
		d.events.take()
		expect.Equal(t, "stats", pages(), want)
		requests, hedges, wins := d.total()
		expect.Equal(t, "events", fmt.Sprint(requests, hedges, wins), "5 2 1")
	})
}
