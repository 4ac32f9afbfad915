package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/stream"
	"github.com/singletable/singletable/stream/streamtest"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

func streamTests() tests {
	return tests{
		"delivers every change as it was written":          streamsAll,
		"keeps the order of an item under a failure":       streamOrder,
		"another process takes over from one that is dead": streamKilled,
		"an idle minute costs what the documentation says": streamIdle,
	}
}

// streamed is the table of these tests.
func streamed() schema.Table {
	s := appCore()
	s.Stream = types.StreamViewTypeNewAndOldImages
	return s
}

// coupon is an entity of one item, without a version.
type coupon struct {
	ID string `dynamodbav:"id"`
	N  int    `dynamodbav:"n"`
}

// voucher is another type of entity, under the keys of coupons.
type voucher struct {
	ID   string `dynamodbav:"id"`
	Cent int    `dynamodbav:"cent"`
}

func couponKey(id string) keys.Key {
	return keys.Key{PK: keys.Prefix("COUPON").PK(id), SK: keys.Metadata}
}

var (
	couponEntity  = repo.Entity[coupon]{Type: "COUPON", Key: func(v coupon) keys.Key { return couponKey(v.ID) }}
	voucherEntity = repo.Entity[voucher]{Type: "VOUCHER", Key: func(v voucher) keys.Key { return couponKey(v.ID) }}
)

// streamOrder has a handler fail once at each record of a batch. The record and
// those behind it come again; until then, no change of an item overtakes an
// earlier one.
func streamOrder(t *testing.T, h Harness) {
	const items, each = 3, 4
	client := h.Client(t)
	tbl := h.newTableWith(t, client, streamed(), options())
	coupons := newRepo(t, tbl, couponEntity)
	var batch []json.RawMessage // records of the events
	r := rand.New(rand.NewPCG(1, 1))
	for last := [items]int{}; len(batch) < items*each; {
		i := r.IntN(items)
		if last[i] == each {
			continue
		}
		last[i]++
		event := expect.Value(streamtest.Transact(t.Context(), client, tbl, coupons.PutOps(&coupon{fmt.Sprint(i), last[i]})...))(t)
		batch = append(batch, recordsOf(t, event)...)
	}
	for _, concurrency := range []int{1, 8} {
		for position := range items * each {
			for source, read := range map[string]func(*testing.T, *stream.Router, func() bool){
				"Lambda": func(t *testing.T, router *stream.Router, _ func() bool) {
					lambda(t, router, batch)
				},
				"a reader": func(t *testing.T, router *stream.Router, done func() bool) {
					name := fmt.Sprintf("%d %d", concurrency, position)
					readUntil(t, stream.Reader{Name: name, Router: router, Client: streamtest.Client(client)}, done)
				},
			} {
				t.Run(fmt.Sprintf("%s, concurrency %d, position %d", source, concurrency, position), func(t *testing.T) {
					t.Parallel()
					o := ordered{last: map[string]int{}, failAt: position}
					router := expect.Value(stream.New(tbl, &stream.Options{Concurrency: concurrency}, stream.On(coupons, o.handle)))(t)
					read(t, router, func() bool { return o.done(items, each) })
					if !o.done(items, each) || !o.failed || len(o.problems) > 0 {
						t.Errorf("delivered up to %v, failed once: %t, problems: %q", o.last, o.failed, o.problems)
					}
				})
			}
		}
	}
}

// ordered checks that the changes of each coupon come in order, numbered from
// 1, except for repeated ones. One call fails.
type ordered struct {
	mu       sync.Mutex
	last     map[string]int // the number that was handled last, by coupon
	calls    int
	failAt   int
	failed   bool
	problems []string
}

var errHandler = errors.New("the handler fails")

func (o *ordered) handle(_ context.Context, c stream.Change[coupon]) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.calls++
	if !o.failed && o.calls > o.failAt {
		o.failed = true
		return errHandler
	}
	last, n := o.last[c.New.ID], c.New.N
	if n > last+1 {
		o.problems = append(o.problems, fmt.Sprintf("coupon %s: %d after %d", c.New.ID, n, last))
	}
	if n > 1 && (c.Kind != stream.Modify || c.Old.N != n-1) {
		o.problems = append(o.problems, fmt.Sprintf("coupon %s: %s of %+v to %d", c.New.ID, c.Kind, c.Old, n))
	}
	o.last[c.New.ID] = n
	return nil
}

// done reports whether the last change of each coupon was handled, or there is
// a problem.
func (o *ordered) done(items, each int) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.problems) > 0 {
		return true
	}
	for _, last := range o.last {
		if last != each {
			return false
		}
	}
	return len(o.last) == items
}

// recordsOf returns the records of an event.
func recordsOf(t *testing.T, event json.RawMessage) []json.RawMessage {
	t.Helper()
	var e struct{ Records []json.RawMessage }
	must(t, json.Unmarshal(event, &e))
	return e.Records
}

// lambda gives records to a router as Lambda does: after a failure again from the
// record that is named.
func lambda(t *testing.T, router *stream.Router, records []json.RawMessage) {
	t.Helper()
	for len(records) > 0 {
		event := expect.Value(json.Marshal(map[string]any{"Records": records}))(t)
		response := expect.Value(router.Handle(t.Context(), event))(t)
		if len(response.BatchItemFailures) == 0 {
			return
		}
		from := slices.IndexFunc(records, func(r json.RawMessage) bool {
			var record struct {
				Dynamodb struct{ SequenceNumber string } `json:"dynamodb"`
			}
			must(t, json.Unmarshal(r, &record))
			return record.Dynamodb.SequenceNumber == response.BatchItemFailures[0].ItemIdentifier
		})
		if from < 0 || !errors.Is(response.Err, errHandler) {
			t.Fatalf("response %+v", response)
		}
		records = records[from:]
	}
}

// readUntil runs a reader until a batch ends after which done is true.
func readUntil(t *testing.T, r stream.Reader, done func() bool) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
	defer stop()
	r.Progress = func(stream.Progress) {
		if done() {
			stop()
		}
	}
	if err := r.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Run: %v", err)
	}
}

// streamProcess is a process that reads a stream by the clock of a bubble, and dies
// after some requests.
type streamProcess struct {
	kill   killed
	faults *tabletest.Faults
	client *dynamodb.Client
	table  *table.Table
}

func newStreamProcess(t *testing.T, h Harness, spec schema.Table, clock func() time.Time, requests int) *streamProcess {
	t.Helper()
	p := &streamProcess{faults: &tabletest.Faults{}}
	p.kill.left.Store(int64(requests))
	p.faults.Always("", p.kill.fault)
	var x outside
	p.client = h.prompt(t, promptRetries, x.install(t), p.faults.Install)
	opts := options()
	opts.Now = clock
	p.table = expect.Value(table.New(p.client, spec, opts))(t)
	return p
}

// bubbleClock returns the clock of tables in bubbles, which the engine's own time
// does not matter to.
func bubbleClock() func() time.Time {
	return func() time.Time { return now.Add(time.Since(bubbleEpoch)) }
}

// bubbleEpoch is when the time of every bubble begins.
var bubbleEpoch = time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)

// streamKilled kills one of two processes after each number of requests.
func streamKilled(t *testing.T, h Harness) {
	const items, each = 3, 5
	for after := 0; ; after += 2 {
		plain := h.newTable(t, streamed())
		coupons := newRepo(t, plain, couponEntity)
		for n := range each {
			for i := range items {
				must(t, plain.Transact(t.Context(), coupons.PutOps(&coupon{fmt.Sprint(i), 1 + n})...))
			}
		}
		dying := newStreamProcess(t, h, plain.Schema(), bubbleClock(), after)
		other := newStreamProcess(t, h, plain.Schema(), bubbleClock(), 1<<30)
		o := ordered{last: map[string]int{}, failed: true}
		var took time.Duration
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			var group sync.WaitGroup
			for _, p := range []*streamProcess{dying, other} {
				reader := streamCounter(t, p, &o)
				reader.Progress = func(stream.Progress) {
					if o.done(items, each) {
						stop()
					}
				}
				ctx, die := context.WithCancel(ctx)
				p.faults.Always("", func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
					resp, err := p.kill.fault(r, next)
					if errors.Is(err, errKilled) {
						die()
					}
					return resp, err
				})
				group.Go(func() {
					defer die()
					if err := reader.Run(ctx); !errors.Is(err, context.Canceled) {
						t.Errorf("Run: %v", err)
					}
				})
				time.Sleep(time.Millisecond) // the first one has the shard, if it lives
			}
			group.Wait()
			took = time.Since(begun)
		})
		if len(o.problems) > 0 || !o.done(items, each) {
			t.Errorf("killed after %d requests: delivered up to %v, problems: %q", after, o.last, o.problems)
		}
		for i := range items {
			effects := expect.Value(table.Get[note](t.Context(), plain.Consistent(), effectKey(fmt.Sprint(i))))(t)
			equal(t, fmt.Sprintf("effects, killed after %d requests", after), effects.N, each)
		}
		// Half a minute for the lease, ten seconds for the next look.
		if took > 45*time.Second {
			t.Errorf("killed after %d requests: it took %v", after, took)
		}
		if dying.kill.left.Load() >= 0 {
			if after < 20 {
				t.Errorf("a run of %d requests", after)
			}
			return
		}
	}
}

func effectKey(id string) keys.Key {
	return keys.Key{PK: keys.Prefix("EFFECT").PK(id), SK: keys.Metadata}
}

// streamCounter returns a reader that counts the changes of coupons in the table.
func streamCounter(t *testing.T, p *streamProcess, o *ordered) stream.Reader {
	t.Helper()
	store := expect.Value(idempotency.New(p.table, nil))(t)
	router := expect.Value(stream.New(p.table, nil, stream.IgnoreOther(),
		stream.On(newRepo(t, p.table, couponEntity), func(ctx context.Context, c stream.Change[coupon]) error {
			_, err := idempotency.Exec(ctx, store, c.Request("counter"), func(context.Context) ([]table.Op, error) {
				return []table.Op{table.Update(effectKey(c.New.ID), expression.Add(expression.Name("n"), expression.Value(1)))}, nil
			})
			if err != nil {
				return err
			}
			return o.handle(ctx, c)
		})))(t)
	return stream.Reader{Name: "counter", Router: router, Client: streamtest.Client(p.client)}
}

// streamIdle counts the requests of a reader of a stream to which nothing else is
// written.
func streamIdle(t *testing.T, h Harness) {
	const minutes = 10
	plain := h.newTable(t, streamed())
	p := newStreamProcess(t, h, plain.Schema(), bubbleClock(), 1<<30)
	o := ordered{last: map[string]int{}, failed: true}
	counts := map[string]int{}
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		reader := streamCounter(t, p, &o)
		var group sync.WaitGroup
		group.Go(func() { _ = reader.Run(ctx) })
		time.Sleep(time.Minute)
		before := len(p.faults.Requests())
		time.Sleep(minutes * time.Minute)
		for _, r := range p.faults.Requests()[before:] {
			counts[r.Operation]++
		}
		stop()
		group.Wait()
	})
	// The figures of the package's documentation. A reader of an idle stream reads its
	// own writes: each of them can cost another GetRecords.
	writes := counts["PutItem"] + counts["UpdateItem"]
	t.Logf("in %d minutes: %v", minutes, counts)
	if n := counts["GetRecords"]; n < 59*minutes || n > 60*minutes+writes+1 {
		t.Errorf("%d GetRecords and %d writes in %d minutes", n, writes, minutes)
	}
	for what, tt := range map[string]struct{ got, want int }{
		"descriptions":           {counts["DescribeStream"], 6 * minutes},
		"queries":                {counts["Query"], 12 * minutes},
		"reads of the lease":     {counts["GetItem"], 3 * minutes},
		"writes, of both leases": {writes, (6 + 3) * minutes},
	} {
		if tt.got > tt.want+1 || tt.got < tt.want*9/10 {
			t.Errorf("%s: %d in %d minutes, want about %d", what, tt.got, minutes, tt.want)
		}
	}
}
