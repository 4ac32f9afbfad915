package table_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// outage runs test on a clock of its own, with a table of which every request
// meets the fault. No engine is there, and the SDK's retryer is its own.
func outage(t *testing.T, fault tabletest.Fault, o *table.Options, test func(*testing.T, *table.Table, *tabletest.Faults)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var faults tabletest.Faults
		faults.Always("", fault)
		client := dynamodb.New(dynamodb.Options{
			Region: "eu-west-1", HTTPClient: &http.Client{Transport: &faults}, Credentials: aws.AnonymousCredentials{},
			BaseEndpoint: aws.String("http://127.0.0.1:1"),
		})
		tbl := expect.Value(table.New(client, searchable(), o))(t)
		test(t, tbl, &faults)
	})
}

// respond is a fault that responds with a status and a body.
func respond(status int, body string) tabletest.Fault {
	return func(r *http.Request, _ http.RoundTripper) (*http.Response, error) {
		return &http.Response{
			StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)),
			ContentLength: int64(len(body)), Request: r,
		}, nil
	}
}

// unprocessed responds to a batch with what keep returns of its n entries as
// unprocessed.
func unprocessed(keep func(n int) int) tabletest.Fault {
	return func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		var in struct {
			RequestItems map[string]json.RawMessage
		}
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			return nil, err
		}
		member := "UnprocessedItems"
		var left any
		for name, entries := range in.RequestItems {
			var writes []json.RawMessage
			var read struct{ Keys []json.RawMessage }
			if json.Unmarshal(entries, &writes) == nil {
				if n := keep(len(writes)); n > 0 {
					left = map[string]any{name: writes[len(writes)-n:]}
				}
				continue
			}
			if err := json.Unmarshal(entries, &read); err != nil {
				return nil, err
			}
			member = "UnprocessedKeys"
			if n := keep(len(read.Keys)); n > 0 {
				left = map[string]any{name: map[string]any{"Keys": read.Keys[len(read.Keys)-n:]}}
			}
		}
		body, err := json.Marshal(map[string]any{member: left})
		if err != nil {
			return nil, err
		}
		return respond(http.StatusOK, string(body))(r, next)
	}
}

// searchable is appCore with a vector index.
func searchable() schema.Table {
	s := appCore()
	s.Vectors = []schema.VectorIndex{{Name: "similar", Attribute: "embedding", Dimensions: 1}}
	return s
}

// everyCall are the calls that send requests, of a table with the schema searchable.
func everyCall(tbl *table.Table) map[string]func(context.Context) error {
	q := table.Query{PK: user.PK}
	return map[string]func(context.Context) error{
		"Get":         func(ctx context.Context) error { return get(ctx, tbl, user) },
		"BatchGet":    func(ctx context.Context) error { return second(table.BatchGet[account](ctx, tbl, []keys.Key{user})) },
		"TransactGet": func(ctx context.Context) error { return second(table.TransactGet[account](ctx, tbl, []keys.Key{user})) },
		"QueryPage":   func(ctx context.Context) error { return second(table.QueryPage[account](ctx, tbl, q)) },
		"All":         func(ctx context.Context) error { return second(table.Collect(table.All[account](ctx, tbl, q))) },
		"SearchVectors": func(ctx context.Context) error {
			_, _, err := table.SearchVectors[account](ctx, tbl, table.Search{Index: "similar", Near: []float32{1}})
			return err
		},
		"ScanPage": func(ctx context.Context) error { return second(table.ScanPage[account](ctx, tbl, table.Scan{})) },
		"Put":      func(ctx context.Context) error { return tbl.Do(ctx, table.Put(user, nil)) },
		"ADD": func(ctx context.Context) error {
			return tbl.Do(ctx, table.Update(user, expression.Add(expression.Name("n"), expression.Value(1))))
		},
		"Check":      func(ctx context.Context) error { return tbl.Do(ctx, table.Check(user, nIs(1))) },
		"Transact":   func(ctx context.Context) error { return tbl.Transact(ctx, table.Put(user, nil)) },
		"BatchWrite": func(ctx context.Context) error { return tbl.BatchWrite(ctx, table.Put(user, nil)) },
		"Retry": func(ctx context.Context) error {
			return tbl.Retry(ctx, func(ctx context.Context) error {
				if err := get(ctx, tbl, user); err != nil && !errors.Is(err, table.ErrNotFound) {
					return err
				}
				return tbl.Transact(ctx, table.Put(user, nil))
			})
		},
	}
}

// TestBudget shows that a call gives up after MaxAttempts requests, those of the
// SDK included, and within MaxElapsed.
func TestBudget(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]tabletest.Fault{
		"500":       tabletest.Status(http.StatusInternalServerError, "InternalServerError", "Injected."),
		"HTML":      respond(http.StatusBadGateway, "<html>Bad gateway"),
		"throttled": tabletest.Throttle(),
		"dropped":   tabletest.DropRequest(),
		"conflict":  tabletest.CancelTransaction("TransactionConflict"),
		"one write": tabletest.Status(http.StatusBadRequest, "TransactionConflictException", "Injected."),
		"empty":     respond(http.StatusOK, ""),
		"slow":      slow(9*time.Second, tabletest.CancelTransaction("TransactionConflict")),
	} {
		for _, most := range []int{0, 1, 2} {
			outage(t, fault, &table.Options{MaxAttempts: most}, func(t *testing.T, tbl *table.Table, faults *tabletest.Faults) {
				for call, run := range everyCall(tbl) {
					before, start := len(faults.Requests()), time.Now()
					if err := run(t.Context()); err == nil {
						t.Errorf("%s, %s: no error", name, call)
					}
					bound := most
					if most == 0 {
						bound = 10
					}
					if n := len(faults.Requests()) - before; n > bound {
						t.Errorf("%s, %s, MaxAttempts %d: %d requests", name, call, most, n)
					}
					// What is in flight is not cut off.
					if took := time.Since(start); took > 39*time.Second {
						t.Errorf("%s, %s: %v", name, call, took)
					}
				}
			})
		}
	}
}

// TestTransactionInProgress shows that a transaction which DynamoDB still works on is sent
// again with its token until more than 5 seconds have passed, whatever MaxAttempts is.
func TestTransactionInProgress(t *testing.T) {
	t.Parallel()
	start := time.Time{}
	busyUntil := func(end time.Duration) tabletest.Fault {
		return func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
			if time.Since(start) < end {
				return tabletest.Status(http.StatusBadRequest, "TransactionInProgressException", "Injected.")(r, next)
			}
			return respond(http.StatusOK, "{}")(r, next)
		}
	}
	for name, tt := range map[string]struct {
		fault   tabletest.Fault
		options table.Options
		timeout time.Duration
		want    error
		// least and most are the bounds of the time of the call.
		least, most time.Duration
	}{
		"soon done":              {busyUntil(100 * time.Millisecond), table.Options{}, time.Hour, nil, 0, time.Second},
		"done by the last":       {busyUntil(5 * time.Second), table.Options{MaxAttempts: 1}, time.Hour, nil, 5 * time.Second, 5501 * time.Millisecond},
		"never done":             {busyUntil(time.Hour), table.Options{}, time.Hour, table.ErrOutcomeUnknown, 5 * time.Second, 5501 * time.Millisecond},
		"MaxElapsed":             {busyUntil(time.Hour), table.Options{MaxElapsed: 2 * time.Second}, time.Hour, table.ErrOutcomeUnknown, 0, 2 * time.Second},
		"the context ends":       {busyUntil(time.Hour), table.Options{}, time.Second, context.DeadlineExceeded, time.Second, time.Second},
		"a slow response before": {slow(6*time.Second, busyUntil(7*time.Second)), table.Options{}, time.Hour, nil, 12 * time.Second, 13 * time.Second},
	} {
		outage(t, tt.fault, &tt.options, func(t *testing.T, tbl *table.Table, faults *tabletest.Faults) {
			start = time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), tt.timeout)
			defer cancel()
			err := tbl.Transact(ctx, table.Delete(user).IfExists())
			if !errors.Is(err, tt.want) || err != nil && !errors.Is(err, table.ErrOutcomeUnknown) {
				t.Errorf("%s: %v, want %v", name, err, tt.want)
			}
			if took := time.Since(start); took < tt.least || took > tt.most {
				t.Errorf("%s: took %v", name, took)
			}
			all := map[string]int{}
			for _, r := range faults.Requests() {
				all[string(r.Body)]++ // with its token
			}
			for _, n := range all {
				if len(all) != 1 || n < 2 || n > 6 {
					t.Errorf("%s: requests by body: %v", name, all)
				}
			}
		})
	}
}

// repeated are what the SDK repeats: how long all delays of a call are at most, how many
// retries the SDK's tokens are enough for, and how the library's error says so.
var repeated = map[string]struct {
	fault   tabletest.Fault
	longest time.Duration
	retries int
	why     error
}{
	"500":                   {tabletest.Status(http.StatusInternalServerError, "InternalServerError", "Injected."), 175 * time.Millisecond, 500 / 14, nil},
	"lost":                  {tabletest.DropRequest(), 175 * time.Millisecond, 500 / 14, nil},
	"throttled":             {tabletest.Throttle(), 7 * time.Second, 500 / 5, table.ErrThrottled},
	"429 of a proxy":        {respond(http.StatusTooManyRequests, "<html>Slow down"), 7 * time.Second, 500 / 5, table.ErrThrottled},
	"429 with another code": {tabletest.Status(http.StatusTooManyRequests, "SlowlyException", "Injected."), 7 * time.Second, 500 / 5, table.ErrThrottled},
}

// TestRetryRules shows that a request which fails is sent as often as the SDK's rules say,
// until the SDK's tokens are used up: docs/network.md has the numbers.
func TestRetryRules(t *testing.T) {
	t.Parallel()
	const attempts = 4
	for name, f := range repeated {
		outage(t, f.fault, nil, func(t *testing.T, tbl *table.Table, faults *tabletest.Faults) {
			var events []table.Event
			ctx := table.WithObserver(t.Context(), func(_ context.Context, e table.Event) { events = append(events, e) })
			call := func() (sent int, err error) {
				before, start := len(faults.Requests()), time.Now()
				err = get(ctx, tbl, user)
				if took := time.Since(start); took > f.longest {
					t.Errorf("%s: took %v", name, took)
				}
				if f.why != nil && !errors.Is(err, f.why) || table.Classify(err) != table.Transient {
					t.Errorf("%s: %v is %v", name, err, table.Classify(err))
				}
				sent = len(faults.Requests()) - before
				e := events[len(events)-1]
				if e.Attempts != sent || len(e.Throttles) > 0 != (f.why != nil) {
					t.Errorf("%s: %d requests, event %+v", name, sent, e)
				}
				return sent, err
			}
			left := f.retries
			for left > 0 {
				sent, _ := call()
				equal(t, name+": attempts", sent, min(attempts, 1+left))
				left -= sent - 1
			}
			sent, err := call()
			equal(t, name+": attempts without tokens", sent, 1)
			if !strings.HasSuffix(err.Error(), "no retry after attempt 1, since failures have used up the retries of the client") {
				t.Errorf("%s: %v", name, err)
			}
			if !errors.As(err, new(ratelimit.QuotaExceededError)) {
				t.Errorf("%s: %v does not have the SDK's error", name, err)
			}
			// What the table itself repeats needs no tokens.
			faults.Always("TransactWriteItems", tabletest.CancelTransaction("TransactionConflict"))
			before := len(faults.Requests())
			expect.Err(t, tbl.Transact(ctx, table.Put(user, nil)), table.ErrConflict)
			equal(t, name+": transactions", len(faults.Requests())-before, 10)
			// Each success gives a token back.
			faults.Next("GetItem", slices.Repeat([]tabletest.Fault{succeed}, 14)...)
			for range 14 {
				expect.Err(t, get(ctx, tbl, user), table.ErrNotFound)
			}
			if sent, _ := call(); sent < 2 {
				t.Errorf("%s: %d attempts after successes", name, sent)
			}
		})
	}
}

// TestRetryAfter shows that a call waits as long as a response asks for, and not beyond
// MaxElapsed.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		milliseconds string
		elapsed      time.Duration
		least, most  time.Duration
		attempts     int
	}{
		"in time":                  {"300", time.Minute, 900 * time.Millisecond, 900 * time.Millisecond, 4},
		"the time ends before":     {"300", 700 * time.Millisecond, 600 * time.Millisecond, 600 * time.Millisecond, 3},
		"it is over with it":       {"300", 300 * time.Millisecond, 0, 0, 1},
		"more than the SDK's most": {"3600000", 16 * time.Second, 15 * time.Second, 16 * time.Second, 4},
		"and hardly in time":       {"3600000", 5001 * time.Millisecond, 5 * time.Second, 5001 * time.Millisecond, 2},
		"longer than there is":     {"3600000", 4 * time.Second, 0, 0, 1},
		"not a number":             {"soon", 4 * time.Second, 0, 175 * time.Millisecond, 4},
		"negative":                 {"-1", 4 * time.Second, 0, 175 * time.Millisecond, 4},
	} {
		fault := func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
			response, err := tabletest.Status(http.StatusInternalServerError, "InternalServerError", "Injected.")(r, next)
			response.Header.Set("X-Amz-Retry-After", tt.milliseconds)
			return response, err
		}
		outage(t, fault, &table.Options{MaxElapsed: tt.elapsed}, func(t *testing.T, tbl *table.Table, faults *tabletest.Faults) {
			start := time.Now()
			if err := get(t.Context(), tbl, user); err == nil {
				t.Errorf("%s: no error", name)
			}
			equal(t, name+": attempts", len(faults.Requests()), tt.attempts)
			if took := time.Since(start); took < tt.least || took > tt.most {
				t.Errorf("%s: took %v", name, took)
			}
		})
	}
}

// slow lets a fault take a time.
func slow(d time.Duration, fault tabletest.Fault) tabletest.Fault {
	return func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		time.Sleep(d)
		return fault(r, next)
	}
}

// TestMaxElapsed shows that no retry begins after it, nor at its very end.
func TestMaxElapsed(t *testing.T) {
	t.Parallel()
	const elapsed = 1500 * time.Millisecond
	for name, fault := range map[string]tabletest.Fault{
		"by the SDK":    tabletest.Status(http.StatusInternalServerError, "InternalServerError", "Injected."),
		"throttled":     tabletest.Throttle(),
		"by the table":  tabletest.CancelTransaction("TransactionConflict"),
		"one write":     tabletest.Status(http.StatusBadRequest, "TransactionConflictException", "Injected."),
		"in progress":   tabletest.Status(http.StatusBadRequest, "TransactionInProgressException", "Injected."),
		"of some kinds": unprocessed(func(n int) int { return n }),
	} {
		for _, takes := range []time.Duration{0, time.Second} {
			var start, last time.Time
			noted := func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
				last = time.Now()
				return slow(takes, fault)(r, next)
			}
			outage(t, noted, &table.Options{MaxElapsed: elapsed, MaxAttempts: 1000}, func(t *testing.T, tbl *table.Table, _ *tabletest.Faults) {
				for call, run := range everyCall(tbl) {
					start = time.Now()
					_ = run(t.Context())
					if began := last.Sub(start); began >= elapsed {
						t.Errorf("%s, %s: the last retry began after %v", name, call, began)
					}
				}
			})
		}
	}
}

func someKeys(n int) []keys.Key {
	ks := make([]keys.Key, n)
	for i := range ks {
		ks[i] = keys.Key{PK: user.PK, SK: keys.SK(fmt.Sprint("k-", i))}
	}
	return ks
}

// TestBatchProgress shows how long a batch goes on that is done bit by bit.
func TestBatchProgress(t *testing.T) {
	t.Parallel()
	ks := someKeys(2000)
	ops := make([]table.Op, len(ks))
	for i, k := range ks {
		ops[i] = table.Put(k, nil)
	}
	oneByOne := unprocessed(func(n int) int { return n - 1 })
	outage(t, oneByOne, nil, func(t *testing.T, tbl *table.Table, faults *tabletest.Faults) {
		start := time.Now()
		must(t, second(table.BatchGet[account](t.Context(), tbl, ks[:25])))
		must(t, tbl.BatchWrite(t.Context(), ops[:25]...))
		equal(t, "requests", len(faults.Requests()), 50)
		// Progress does not bring the first, short delays back.
		if took := time.Since(start); took < 8*time.Second || took > 40*time.Second {
			t.Errorf("%v", took)
		}
	})
	outage(t, oneByOne, &table.Options{MaxAttempts: 2}, func(t *testing.T, tbl *table.Table, faults *tabletest.Faults) {
		err := second(table.BatchGet[account](t.Context(), tbl, ks[:40]))
		b, ok := errors.AsType[*table.Error](err)
		if !ok || !errors.Is(err, table.ErrThrottled) {
			t.Fatal(err)
		}
		equal(t, "requests", len(faults.Requests()), 16)
		equal(t, "remaining", b.Remaining, ks[16:40])
	})
	// Each request of a large batch has a budget of its own.
	outage(t, unprocessed(func(n int) int { return n / 2 }), nil, func(t *testing.T, tbl *table.Table, faults *tabletest.Faults) {
		must(t, tbl.BatchWrite(t.Context(), ops...))
		equal(t, "requests", len(faults.Requests()), 5*len(ops)/25)
	})
}

// TestRetry shows when an optimistic loop gives up.
func TestRetry(t *testing.T) {
	t.Parallel()
	stale := tabletest.Status(http.StatusBadRequest, "ConditionalCheckFailedException", "Injected.")
	atVersion := func(v int64) table.Op { return table.Put(user, nil).IfVersion("version", v) }
	conflict := fmt.Errorf("somebody else: %w", table.ErrConflict)
	for name, tt := range map[string]struct {
		options *table.Options
		do      func(ctx context.Context, tbl *table.Table, run int) error
		runs    int
		want    error
	}{
		"success":       {nil, func(context.Context, *table.Table, int) error { return nil }, 1, nil},
		"another error": {nil, func(context.Context, *table.Table, int) error { return io.EOF }, 1, io.EOF},
		"unknown": {nil, func(context.Context, *table.Table, int) error {
			return fmt.Errorf("%w: %w", table.ErrOutcomeUnknown, conflict)
		}, 1, table.ErrOutcomeUnknown},
		"then success":   {nil, func(_ context.Context, _ *table.Table, run int) error { return []error{conflict, nil}[run] }, 2, nil},
		"conflict":       {nil, func(context.Context, *table.Table, int) error { return conflict }, 10, table.ErrConflict},
		"one attempt":    {&table.Options{MaxAttempts: 1}, func(context.Context, *table.Table, int) error { return conflict }, 1, table.ErrConflict},
		"hopeless":       {nil, func(ctx context.Context, tbl *table.Table, _ int) error { return tbl.Do(ctx, atVersion(7)) }, 10, table.ErrStale},
		"contended":      {&table.Options{MaxElapsed: time.Hour}, func(ctx context.Context, tbl *table.Table, run int) error { return tbl.Do(ctx, atVersion(int64(run))) }, 80, table.ErrStale},
		"contended, two": {&table.Options{MaxAttempts: 2}, func(ctx context.Context, tbl *table.Table, run int) error { return tbl.Do(ctx, atVersion(int64(run))) }, 16, table.ErrStale},
		"slow": {nil, func(context.Context, *table.Table, int) error {
			time.Sleep(14 * time.Second)
			return conflict
		}, 3, table.ErrConflict},
		"nested": {nil, func(ctx context.Context, tbl *table.Table, _ int) error {
			return tbl.Retry(ctx, func(context.Context) error { return conflict })
		}, 1, table.ErrConflict},
	} {
		outage(t, stale, tt.options, func(t *testing.T, tbl *table.Table, _ *tabletest.Faults) {
			runs := 0
			start := time.Now()
			err := tbl.Retry(t.Context(), func(ctx context.Context) error {
				defer func() { runs++ }()
				return tt.do(ctx, tbl, runs)
			})
			if !errors.Is(err, tt.want) {
				t.Errorf("%s: %v", name, err)
			}
			equal(t, name+": runs", runs, tt.runs)
			if ran := fmt.Sprintf("gave up after %d runs", tt.runs); err != nil && strings.Contains(err.Error(), "gave up") && !strings.Contains(err.Error(), ran) {
				t.Errorf("%s: %v", name, err)
			}
			if took := time.Since(start); tt.options == nil && took > 45*time.Second {
				t.Errorf("%s: %v", name, took)
			}
			// The same call reads again, and may succeed.
			if errors.Is(err, table.ErrConflict) && table.Classify(err) != table.Transient {
				t.Errorf("%s: %v is %v", name, err, table.Classify(err))
			}
		})
	}
}

// TestDelays shows that the bound of the delays doubles from 25 milliseconds to a second.
func TestDelays(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	outage(t, tabletest.Throttle(), &table.Options{MaxElapsed: time.Hour}, func(t *testing.T, tbl *table.Table, _ *tabletest.Faults) {
		longest := make([]time.Duration, 9)
		for range 200 {
			var last time.Time
			runs := 0
			_ = tbl.Retry(t.Context(), func(context.Context) error {
				if runs > 0 {
					longest[runs-1] = max(longest[runs-1], time.Since(last))
				}
				runs, last = runs+1, time.Now()
				return table.ErrConflict
			})
		}
		for i, bound := range []time.Duration{25 * ms, 50 * ms, 100 * ms, 200 * ms, 400 * ms, 800 * ms, time.Second, time.Second, time.Second} {
			if longest[i] > bound || longest[i] < bound*3/4 {
				t.Errorf("delay %d: the longest of 200 is %v, want up to %v", i+1, longest[i], bound)
			}
		}
	})
}

// TestRetryEnds shows that the end of the context ends a wait, and is told.
func TestRetryEnds(t *testing.T) {
	t.Parallel()
	outage(t, tabletest.Throttle(), nil, func(t *testing.T, tbl *table.Table, _ *tabletest.Faults) {
		gone := errors.New("the client has gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		err := tbl.Retry(ctx, func(context.Context) error {
			cancel(gone)
			return table.ErrConflict
		})
		for _, want := range []error{context.Canceled, gone, table.ErrConflict} {
			if !errors.Is(err, want) {
				t.Errorf("%v is not %v", err, want)
			}
		}
		if strings.Contains(err.Error(), "\n") || table.Classify(err) != table.Transient {
			t.Errorf("%q is %v", err, table.Classify(err))
		}
	})
}

func TestRetryOfNothing(t *testing.T) {
	t.Parallel()
	tbl, _ := newTable(t, appCore())
	expect.Err(t, tbl.Retry(t.Context(), nil), table.ErrInvalid)
}

// TestRetryOfAnUnknownOutcome shows that a conflict is not retried whose write may
// have taken effect.
func TestRetryOfAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	tbl, _ := newTable(t, appCore())
	runs := 0
	err := tbl.Retry(t.Context(), func(context.Context) error {
		runs++
		return errors.Join(table.ErrConflict, table.ErrOutcomeUnknown)
	})
	expect.Err(t, err, table.ErrOutcomeUnknown)
	expect.Equal(t, "runs", runs, 1)
}
