package hedge_test

import (
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptrace"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/hedge"
	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/internal/group"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// network is a transport that lets an empty response, or what next makes of it, come
// after a time.
type network struct {
	hedges *hedge.Client

	mu   sync.Mutex
	next func() (time.Duration, tabletest.Fault)
	// connect is how long a request waits for a new connection; 0 means none is new.
	connect time.Duration
	// sent are the times at which requests were sent.
	sent []time.Time
	// open is how many bodies of responses were not closed.
	open int
}

// newNetwork returns a network and a plain client of the SDK that hedges its reads.
func newNetwork() (*network, *dynamodb.Client) {
	n := &network{}
	n.hedges = hedge.New(&http.Client{Transport: n})
	return n, dynamodb.New(dynamodb.Options{
		Region: "eu-west-1", HTTPClient: n.hedges, Credentials: aws.AnonymousCredentials{},
		BaseEndpoint: aws.String("http://127.0.0.1:1"),
	})
}

func (n *network) RoundTrip(r *http.Request) (*http.Response, error) {
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
	}
	response, err := fault(r, http.DefaultTransport)
	if err == nil {
		n.count(1)
		response.Body = &counted{response.Body, n}
	}
	return response, err
}

func (n *network) count(open int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.open += open
}

// counted is a body that is closed once.
type counted struct {
	io.ReadCloser
	*network
}

func (c *counted) Close() error {
	c.count(-1)
	return c.ReadCloser.Close()
}

// hedged runs test on a clock of its own, with a plain client of the SDK whose reads are
// hedged.
func hedged(t *testing.T, test func(t *testing.T, n *network, get func())) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n, client := newNetwork()
		test(t, n, func() { _, _ = client.GetItem(t.Context(), getItem) })
		expect.Equal(t, "bodies that are not closed", n.open, 0)
	})
}

var (
	name    = aws.String("App")
	key     = map[string]types.AttributeValue{"PK": &types.AttributeValueMemberS{Value: "USER#1"}}
	getItem = &dynamodb.GetItemInput{TableName: name, Key: key}
)

// respond is a fault that responds with a status and a body.
func respond(status int, body string) tabletest.Fault {
	return func(r *http.Request, _ http.RoundTripper) (*http.Response, error) {
		return &http.Response{
			StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)),
			ContentLength: int64(len(body)), Request: r,
		}, nil
	}
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

// TestDelay shows that a hedge is sent when its read is later than 97 % of the
// recent ones, to an eighth, and that the recent ones are at most 1,000.
func TestDelay(t *testing.T) {
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

// TestDelayAfterConnection shows that the wait for a connection is not part of a
// read's time, and that a read which is late after it is hedged.
func TestDelayAfterConnection(t *testing.T) {
	t.Parallel()
	hedged(t, func(t *testing.T, n *network, get func()) {
		const read = 10 * time.Millisecond
		n.next = func() (time.Duration, tabletest.Fault) { return read, empty }
		readTimes(100, get)
		n.connect = time.Second
		readTimes(10, get)
		expect.Equal(t, "hedges of reads that waited for a connection", n.hedges.Stats().Hedges, 0)
		n.sent, n.next = nil, func() (time.Duration, tabletest.Fault) {
			if len(n.sent) == 1 {
				return time.Hour, empty
			}
			return 0, empty
		}
		readTimes(1, get)
		expect.Equal(t, "hedges of one that is late then", n.hedges.Stats().Hedges, 1)
	})
}

// TestOutage shows that few hedges are sent when all requests are late or
// fail, and never more than a twentieth of the reads that succeeded.
func TestOutage(t *testing.T) {
	t.Parallel()
	const late = 300 * time.Millisecond
	internal := tabletest.Status(http.StatusInternalServerError, "InternalServerError", "Injected.")
	for name, tt := range map[string]struct {
		next func(i int) (time.Duration, tabletest.Fault)
		most int64 // hedges of 1,000 reads
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
				expect.Equal(t, "hedges of reads that all took the same time", n.hedges.Stats().Hedges, 0)
				i := 0
				n.next = func() (time.Duration, tabletest.Fault) {
					i++
					return tt.next(i)
				}
				readTimes(1000, get)
				stats := n.hedges.Stats()
				if stats.Hedges > tt.most {
					t.Errorf("%d hedges", stats.Hedges)
				}
				expect.Equal(t, "requests", int64(len(n.sent)), stats.Reads+stats.Hedges)
			})
		})
	}
}

// TestPanic shows that a panic of the HTTP client reaches the caller, and does
// not end the process.
func TestPanic(t *testing.T) {
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
			var wait sync.WaitGroup
			for range 16 {
				wait.Go(get)
			}
			wait.Wait()
			if stats := n.hedges.Stats(); stats.Hedges > stats.Reads/20 {
				t.Fatalf("%+v", stats)
			}
		}
		if n.hedges.Stats().Hedges == 0 {
			t.Error("no hedges")
		}
	})
}

// TestFates gives a late read and its hedge each combination of fates. The first
// success is the result; a request that has failed is repeated and not hedged. The reads
// are those of a table, which repeats more than the SDK does.
func TestFates(t *testing.T) {
	t.Parallel()
	const soon, later = time.Second, 2 * time.Second
	fails := tabletest.Status(http.StatusInternalServerError, "InternalServerError", "Injected.")
	answers := func(name string) tabletest.Fault { return respond(http.StatusOK, `{"Item":{"name":{"S":"`+name+`"}}}`) }
	cutOff := func(r *http.Request, _ http.RoundTripper) (*http.Response, error) {
		return tabletest.Truncate()(r, tripper(func(r *http.Request) (*http.Response, error) { return answers("nobody")(r, nil) }))
	}
	type fate struct {
		after time.Duration
		fault tabletest.Fault
	}
	for name, tt := range map[string]struct {
		fates  [3]fate // of the first request, of the second, and of a third one
		result string
		want   hedge.Stats
	}{
		"the first never comes":     {[3]fate{{time.Hour, fails}, {0, answers("b")}}, "b", hedge.Stats{Reads: 1, Hedges: 1, Won: 1}},
		"the hedge never comes":     {[3]fate{{soon, answers("a")}, {time.Hour, fails}}, "a", hedge.Stats{Reads: 1, Hedges: 1}},
		"the hedge is faster":       {[3]fate{{later, answers("a")}, {0, answers("b")}}, "b", hedge.Stats{Reads: 1, Hedges: 1, Won: 1}},
		"the first fails":           {[3]fate{{soon, fails}, {later, answers("b")}}, "b", hedge.Stats{Reads: 1, Hedges: 1, Won: 1}},
		"the hedge fails":           {[3]fate{{later, answers("a")}, {0, fails}}, "a", hedge.Stats{Reads: 1, Hedges: 1}},
		"the hedge is cut off":      {[3]fate{{later, answers("a")}, {0, cutOff}}, "a", hedge.Stats{Reads: 1, Hedges: 1}},
		"both fail":                 {[3]fate{{later, fails}, {0, fails}, {0, answers("c")}}, "c", hedge.Stats{Reads: 2, Hedges: 1}},
		"it fails, late again":      {[3]fate{{0, fails}, {later, answers("b")}}, "b", hedge.Stats{Reads: 2}},
		"throttled, late again":     {[3]fate{{0, tabletest.Throttle()}, {later, answers("b")}}, "b", hedge.Stats{Reads: 2}},
		"it is lost, late again":    {[3]fate{{0, tabletest.DropRequest()}, {later, answers("b")}}, "b", hedge.Stats{Reads: 2}},
		"unreadable, late again":    {[3]fate{{0, respond(http.StatusOK, `{"Item":{"n`)}, {later, answers("b")}}, "b", hedge.Stats{Reads: 2}},
		"it is cut off, late again": {[3]fate{{0, cutOff}, {later, answers("b")}}, "b", hedge.Stats{Reads: 2}},
		"the context ends for all":  {[3]fate{{time.Hour, fails}, {time.Hour, fails}}, "", hedge.Stats{Reads: 1, Hedges: 1}},
	} {
		synctest.Test(t, func(t *testing.T) {
			n, client := newNetwork()
			tbl := expect.Value(table.New(client, schema.Table{Name: "App"}, nil))(t)
			get := func(ctx context.Context) (string, error) {
				item, err := table.Get[table.Item](ctx, tbl, keys.Key{PK: "USER#1", SK: "METADATA"})
				text, _ := item["name"].(*types.AttributeValueMemberS)
				if text == nil {
					return "", err
				}
				return text.Value, err
			}
			n.next = func() (time.Duration, tabletest.Fault) { return 5 * time.Millisecond, answers("") }
			readTimes(200, func() { expect.Value(get(t.Context()))(t) })
			n.sent, n.next = nil, func() (time.Duration, tabletest.Fault) {
				i := len(n.sent) - 1
				if i >= len(tt.fates) || tt.fates[i].fault == nil {
					return 0, answers("of a request too many")
				}
				return tt.fates[i].after, tt.fates[i].fault
			}
			before := n.hedges.Stats()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			got, err := get(ctx)
			if got != tt.result || (err == nil) != (tt.result != "") {
				t.Errorf("%s: %v, %v", name, got, err)
			}
			stats := n.hedges.Stats()
			stats.Reads -= before.Reads
			expect.Equal(t, name, stats, tt.want)
			expect.Equal(t, name+": requests", int64(len(n.sent)), tt.want.Reads+tt.want.Hedges)
			expect.Equal(t, name+": bodies that are not closed", n.open, 0)
		})
	}
}

type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// late lets the first request of what comes now be late, and returns how many were sent.
func (n *network) late(read func()) int {
	n.sent, n.next = nil, func() (time.Duration, tabletest.Fault) {
		if len(n.sent) == 1 {
			return time.Second, empty
		}
		return 0, empty
	}
	read()
	return len(n.sent)
}

// TestWhatIsHedged shows which calls of a plain client are hedged: reads that somebody
// waits for.
func TestWhatIsHedged(t *testing.T) {
	t.Parallel()
	put := types.PutRequest{Item: key}
	for operation, tt := range map[string]struct {
		call func(context.Context, *dynamodb.Client) error
		want int // requests
	}{
		"GetItem": {func(ctx context.Context, c *dynamodb.Client) error { return expect.ErrOf(c.GetItem(ctx, getItem)) }, 2},
		"BatchGetItem": {func(ctx context.Context, c *dynamodb.Client) error {
			return expect.ErrOf(c.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{
				RequestItems: map[string]types.KeysAndAttributes{*name: {Keys: []map[string]types.AttributeValue{key}}},
			}))
		}, 2},
		"TransactGetItems": {func(ctx context.Context, c *dynamodb.Client) error {
			get := types.Get{TableName: name, Key: key}
			return expect.ErrOf(c.TransactGetItems(ctx, &dynamodb.TransactGetItemsInput{TransactItems: []types.TransactGetItem{{Get: &get}}}))
		}, 2},
		"Query": {func(ctx context.Context, c *dynamodb.Client) error {
			return expect.ErrOf(c.Query(ctx, &dynamodb.QueryInput{TableName: name, KeyConditionExpression: aws.String("PK = :pk")}))
		}, 2},
		"SearchVectors": {func(ctx context.Context, c *dynamodb.Client) error {
			return expect.ErrOf(c.SearchVectors(ctx, &dynamodb.SearchVectorsInput{
				TableName: name, IndexName: name, TopK: aws.Int32(1), SearchVector: []types.AttributeValue{key["PK"]},
			}))
		}, 2},
		"Scan": {func(ctx context.Context, c *dynamodb.Client) error {
			return expect.ErrOf(c.Scan(ctx, &dynamodb.ScanInput{TableName: name}))
		}, 1},
		"DescribeTable": {func(ctx context.Context, c *dynamodb.Client) error {
			return expect.ErrOf(c.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: name}))
		}, 1},
		"ExecuteStatement": {func(ctx context.Context, c *dynamodb.Client) error {
			return expect.ErrOf(c.ExecuteStatement(ctx, &dynamodb.ExecuteStatementInput{Statement: name}))
		}, 1},
		"PutItem": {func(ctx context.Context, c *dynamodb.Client) error {
			return expect.ErrOf(c.PutItem(ctx, &dynamodb.PutItemInput{TableName: name, Item: key}))
		}, 1},
		"UpdateItem": {func(ctx context.Context, c *dynamodb.Client) error {
			return expect.ErrOf(c.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: name, Key: key}))
		}, 1},
		"DeleteItem": {func(ctx context.Context, c *dynamodb.Client) error {
			return expect.ErrOf(c.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: name, Key: key}))
		}, 1},
		"BatchWriteItem": {func(ctx context.Context, c *dynamodb.Client) error {
			return expect.ErrOf(c.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{*name: {{PutRequest: &put}}}}))
		}, 1},
		"TransactWriteItems": {func(ctx context.Context, c *dynamodb.Client) error {
			put := types.Put{TableName: name, Item: key}
			return expect.ErrOf(c.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{{Put: &put}}}))
		}, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			n, client := newNetwork()
			call := func() {
				if err := tt.call(t.Context(), client); err != nil {
					t.Errorf("%s: %v", operation, err)
				}
			}
			n.next = func() (time.Duration, tabletest.Fault) { return 5 * time.Millisecond, empty }
			readTimes(200, call)
			expect.Equal(t, operation, n.late(call), tt.want)
			expect.Equal(t, operation+": bodies that are not closed", n.open, 0)
		})
	}
}

// TestWhichAttempts shows that nothing is hedged but a read of DynamoDB whose header says
// that it is the SDK's first attempt.
func TestWhichAttempts(t *testing.T) {
	t.Parallel()
	const get = "DynamoDB_20120810.GetItem"
	for name, tt := range map[string]struct {
		target, attempt string
		want            int // requests
	}{
		"first":             {get, "attempt=1; max=4", 2},
		"without max":       {get, "attempt=1", 2},
		"with a deadline":   {get, "attempt=1; max=4; ttl=20240115T100000Z", 2},
		"in another order":  {get, "ttl=20240115T100000Z; max=4; attempt=1", 2},
		"second":            {get, "attempt=2; max=4", 1},
		"tenth":             {get, "attempt=10; max=20", 1},
		"unknown":           {get, "", 1},
		"max only":          {get, "max=1", 1},
		"of streams":        {"DynamoDBStreams_20120810.GetRecords", "attempt=1; max=4", 1},
		"of another API":    {"Other_20120810.GetItem", "attempt=1; max=4", 1},
		"without operation": {"", "attempt=1; max=4", 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			n, _ := newNetwork()
			do := func(target, attempt string) func() {
				return func() {
					r := expect.Value(http.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1:1", strings.NewReader("{}")))(t)
					r.Header.Set("X-Amz-Target", target)
					r.Header.Set("Amz-Sdk-Request", attempt)
					response := expect.Value(n.hedges.Do(r))(t)
					expect.OK(t, response.Body.Close())
				}
			}
			n.next = func() (time.Duration, tabletest.Fault) { return 5 * time.Millisecond, empty }
			readTimes(200, do(get, "attempt=1"))
			readTimes(200, do(tt.target, tt.attempt))
			expect.Equal(t, name, n.late(do(tt.target, tt.attempt)), tt.want)
		})
	}
}
