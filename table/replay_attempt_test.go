package table_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// TestCredentialsChange shows by which credentials requests are signed, and that those of another
// account, or with a session token, are learned for themselves.
func TestCredentialsChange(t *testing.T) {
	t.Parallel()
	w, ring := &wire{}, &keyring{creds: own}
	call := everyCall(w.table(t, nil, func(o *dynamodb.Options) { o.Credentials = ring }))["Put"]
	const usual, ofAccount = "dynamodb.eu-west-1.amazonaws.com", ".ddb.eu-west-1.amazonaws.com"
	for _, tt := range []struct {
		name     string
		change   func()
		replayed []bool
		host     string
	}{
		{"the first", func() {}, learned, usual},
		{"keys are rotated", func() { ring.creds.AccessKeyID, ring.creds.SecretAccessKey = "AKIDNEXT", "next" }, []bool{true}, usual},
		{"a token", func() { ring.creds.SessionToken = "token" }, learned, usual},
		{"another token", func() { ring.creds.SessionToken = "next" }, []bool{true}, usual},
		{"an account", func() { ring.creds.AccountID = "111111111111" }, learned, "111111111111" + ofAccount},
		{"another account", func() { ring.creds.AccountID = "222222222222" }, learned, "222222222222" + ofAccount},
		{"no token", func() { ring.creds.SessionToken = "" }, learned, "222222222222" + ofAccount},
		{"no account", func() { ring.creds.AccountID = "" }, learned, usual},
	} {
		tt.change()
		for n, want := range tt.replayed {
			what := fmt.Sprintf("%s, call %d", tt.name, n+1)
			equal(t, what, succeeds(t, 1, call), []bool{want})
			r := w.last()
			equal(t, what+": host", r.URL.Host, tt.host)
			equal(t, what+": token", r.Header.Get("X-Amz-Security-Token"), ring.creds.SessionToken)
			equal(t, what+": signature", r.Header.Get("Authorization"), signature(t, r, ring.creds))
		}
	}
}

// TestReplayedCredentials shows how often credentials are asked for, and what a provider that
// fails means for a call.
func TestReplayedCredentials(t *testing.T) {
	t.Parallel()
	failed := errors.New("no credentials")
	synctest.Test(t, func(t *testing.T) {
		for operation := range eachOperation(nil) {
			var both [2]outcome
			for i, o := range []*table.Options{nil, bySDK} {
				w, ring := &wire{}, &keyring{creds: own}
				call := eachOperation(w.table(t, o, func(o *dynamodb.Options) { o.Credentials = ring }))[operation]
				succeeds(t, 4, call)
				equal(t, operation+": one Retrieve for a call", ring.calls, 4)
				w.next(respond(http.StatusServiceUnavailable, ""))
				succeeds(t, 1, call)
				equal(t, operation+": one Retrieve for an attempt", ring.calls, 6)

				// Nothing is sent without credentials.
				ring.err = failed
				got, _ := outcomeOf(t.Context(), w, call)
				both[i] = got
				equal(t, operation+": requests", len(got.Requests), 0)
				ring.err = nil
				succeeds(t, 1, call)

				// They are gone after the attempt was sent, whose response counts.
				w.next(func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
					ring.err = failed
					return refusal(http.StatusBadRequest, "ValidationException")(r, next)
				})
				got, _ = outcomeOf(t.Context(), w, call)
				equal(t, operation+": id of the response", got.RequestID, "REQUEST")
			}
			equal(t, operation, both[0], both[1])
		}
	})
}

// tokens is a retryer that counts the tokens of attempts, and has only one at a time.
type tokens struct {
	aws.RetryerV2
	t     *testing.T
	mu    sync.Mutex
	given int
	open  bool
	ends  []string // the errors that came with tokens
	err   error
}

func (k *tokens) GetAttemptToken(ctx context.Context) (func(error) error, error) {
	release, err := k.RetryerV2.GetAttemptToken(ctx)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.err != nil {
		return func(error) error { return nil }, k.err
	}
	if err != nil {
		return release, err
	}
	if k.open {
		k.t.Error("a token was taken before the one before it was given back")
	}
	k.given++
	k.open = true
	return func(err error) error {
		k.mu.Lock()
		defer k.mu.Unlock()
		if !k.open {
			k.t.Error("a token was given back twice")
		}
		k.open = false
		k.ends = append(k.ends, fmt.Sprint(err))
		return release(err)
	}, nil
}

// bucket counts the tokens that the SDK's standard retryer takes and gives.
type bucket struct{ taken, added []uint }

func (b *bucket) GetToken(_ context.Context, n uint) (func() error, error) {
	b.taken = append(b.taken, n)
	return func() error {
		b.added = append(b.added, n)
		return nil
	}, nil
}

func (b *bucket) AddTokens(n uint) error {
	b.added = append(b.added, n)
	return nil
}

// TestReplayedTokens shows that a call takes the tokens of the client's retryer that it takes
// from the SDK's client, one for each attempt, and gives each back once, with the same errors.
func TestReplayedTokens(t *testing.T) {
	t.Parallel()
	unavailable := respond(http.StatusServiceUnavailable, "")
	refused := errors.New("no token")
	type counts struct {
		Given        int
		Ends         []string
		Taken, Added []uint
		Outcome      outcome
	}
	for mode, newRetryer := range map[string]func(*bucket) aws.RetryerV2{
		"standard": func(b *bucket) aws.RetryerV2 {
			return retry.NewStandard(func(o *retry.StandardOptions) { o.RateLimiter = b })
		},
		"adaptive": func(b *bucket) aws.RetryerV2 {
			return retry.NewAdaptiveMode(func(o *retry.AdaptiveModeOptions) {
				o.StandardOptions = append(o.StandardOptions, func(o *retry.StandardOptions) { o.RateLimiter = b })
			})
		},
	} {
		for name, tt := range map[string]struct {
			faults []tabletest.Fault
			begin  func(context.Context, *tokens, *keyring) (context.Context, func())
			// unused are the tokens of attempts that were not sent.
			unused int
		}{
			"success":          {nil, nil, 0},
			"one failure":      {[]tabletest.Fault{unavailable}, nil, 0},
			"two failures":     {[]tabletest.Fault{unavailable, tabletest.DropRequest()}, nil, 0},
			"throttled":        {[]tabletest.Fault{tabletest.Throttle(), tabletest.Throttle()}, nil, 0},
			"invalid":          {[]tabletest.Fault{refusal(http.StatusBadRequest, "ValidationException")}, nil, 0},
			"garbled":          {[]tabletest.Fault{respond(http.StatusOK, "<html>")}, nil, 0},
			"sent again whole": {[]tabletest.Fault{refusal(http.StatusBadRequest, "SerializationException")}, nil, 0},
			"ended before": {nil, func(ctx context.Context, _ *tokens, _ *keyring) (context.Context, func()) {
				ctx, cancel := context.WithCancel(ctx)
				cancel()
				return ctx, func() {}
			}, 0},
			"ended in flight": {[]tabletest.Fault{tabletest.Block(nil)}, func(ctx context.Context, _ *tokens, _ *keyring) (context.Context, func()) {
				return context.WithTimeout(ctx, time.Second)
			}, 0},
			"no credentials": {nil, func(ctx context.Context, _ *tokens, ring *keyring) (context.Context, func()) {
				ring.err = refused
				return ctx, func() { ring.err = nil }
			}, 1},
			"another account": {nil, func(ctx context.Context, _ *tokens, ring *keyring) (context.Context, func()) {
				ring.creds.AccountID = "222222222222"
				return ctx, func() { ring.creds.AccountID = "" }
			}, 0},
			"no token": {nil, func(ctx context.Context, k *tokens, _ *keyring) (context.Context, func()) {
				k.err = refused
				return ctx, func() { k.err = nil }
			}, 0},
		} {
			if mode == "adaptive" && name == "throttled" {
				continue // after it the retryer waits for ever on a clock that does not go on by itself
			}
			synctest.Test(t, func(t *testing.T) {
				var both [2]counts
				for i, o := range []*table.Options{nil, bySDK} {
					w, ring, b := &wire{}, &keyring{creds: own}, &bucket{}
					k := &tokens{RetryerV2: newRetryer(b), t: t}
					call := everyCall(w.table(t, o, func(o *dynamodb.Options) { o.Retryer, o.Credentials = k, ring }))["Put"]
					succeeds(t, 3, call)
					before := k.given
					ctx, end := t.Context(), func() {}
					if tt.begin != nil {
						ctx, end = tt.begin(ctx, k, ring)
					}
					w.next(tt.faults...)
					got, _ := outcomeOf(ctx, w, call)
					equal(t, mode+", "+name+": tokens", k.given-before, len(got.Requests)+tt.unused)
					end()
					w.next()
					succeeds(t, 2, call)
					if k.open {
						t.Errorf("%s, %s: a token was not given back", mode, name)
					}
					both[i] = counts{k.given, k.ends, b.taken, b.added, got}
				}
				if name == "sent again whole" { // which only a replay sends again
					return
				}
				equal(t, mode+", "+name, both[0], both[1])
			})
		}
	}
}

// turnstile is a retryer that refuses every second attempt, without a wait.
type turnstile struct {
	aws.RetryerV2
	asked int
}

var errTurnstile = errors.New("not now")

func (s *turnstile) GetAttemptToken(ctx context.Context) (func(error) error, error) {
	if s.asked++; s.asked%2 == 0 {
		return nil, errTurnstile
	}
	return s.RetryerV2.GetAttemptToken(ctx)
}

// TestRefusedTokens shows that what a retryer refuses is not sent, and that it is asked once.
func TestRefusedTokens(t *testing.T) {
	t.Parallel()
	for _, o := range []*table.Options{nil, bySDK} {
		w, gate := &wire{}, &turnstile{RetryerV2: retry.NewStandard()}
		call := everyCall(w.table(t, o, func(o *dynamodb.Options) { o.Retryer = gate }))["Put"]
		refused := 0
		for range 10 {
			if err := call(t.Context()); errors.Is(err, errTurnstile) {
				refused++
			} else if err != nil {
				t.Error(err)
			}
		}
		equal(t, "asked, refused, sent", []int{gate.asked, refused, len(w.sent)}, []int{10, 5, 5})
	}
}

// waiting is a provider, and a retryer, that wait for the end of the context.
type waiting struct {
	aws.RetryerV2
	token, waits bool
}

func (w *waiting) Retrieve(ctx context.Context) (aws.Credentials, error) {
	if !w.token && w.waits {
		<-ctx.Done()
		return aws.Credentials{}, fmt.Errorf("no credentials came: %w", ctx.Err())
	}
	return own, nil
}

func (w *waiting) GetAttemptToken(ctx context.Context) (func(error) error, error) {
	if w.token && w.waits {
		<-ctx.Done()
		return nil, fmt.Errorf("no token came: %w", ctx.Err())
	}
	return w.RetryerV2.GetAttemptToken(ctx)
}

// TestEndsBeforeTheAttempt shows that the error says what the call has waited for when its context
// ended, before anything was sent.
func TestEndsBeforeTheAttempt(t *testing.T) {
	t.Parallel()
	for _, token := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var texts [2]string
			for i, o := range []*table.Options{nil, bySDK} {
				w, slow := &wire{}, &waiting{RetryerV2: retry.NewStandard(), token: token}
				call := everyCall(w.table(t, o, func(o *dynamodb.Options) { o.Retryer, o.Credentials = slow, slow }))["Get"]
				succeeds(t, 3, call)
				slow.waits = true
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				err := call(ctx)
				cancel()
				if !errors.Is(err, context.DeadlineExceeded) || len(w.sent) != 3 {
					t.Errorf("%v, %d requests", err, len(w.sent))
				}
				texts[i] = err.Error()
			}
			if texts[0] != texts[1] || !strings.Contains(texts[0], " came: ") {
				t.Errorf("%q, want %q", texts[0], texts[1])
			}
		})
	}
}

// TestTokenOfAnEndedCall shows that a token is given back when the context ends before the
// request is sent, while credentials are asked for.
func TestTokenOfAnEndedCall(t *testing.T) {
	t.Parallel()
	w, ring := &wire{}, &keyring{creds: own}
	k := &tokens{RetryerV2: retry.NewStandard(), t: t}
	call := everyCall(w.table(t, nil, func(o *dynamodb.Options) { o.Retryer, o.Credentials = k, ring }))["Put"]
	equal(t, "replayed", succeeds(t, 3, call), learned)
	ctx, cancel := context.WithCancel(t.Context())
	ring.asked, ring.err = cancel, context.Canceled
	if err := call(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	ring.asked, ring.err = nil, nil
	equal(t, "requests", len(w.sent), 3)
	equal(t, "afterwards", succeeds(t, 1, call), []bool{true}) // fails if there is no token
}

// TestReplayedAttempts shows that all attempts of a call have one id, and say which they are.
func TestReplayedAttempts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for operation := range eachOperation(nil) {
			w := &wire{}
			call := eachOperation(w.table(t, nil, func(o *dynamodb.Options) { o.RetryMaxAttempts = 3 }))[operation]
			equal(t, operation, succeeds(t, 3, call), learned)
			before := w.last().Header.Get("Amz-Sdk-Invocation-Id")
			w.next(respond(http.StatusServiceUnavailable, ""), tabletest.DropRequest())
			got, _ := outcomeOf(t.Context(), w, call)
			equal(t, operation+": attempts", got.Requests, []string{"attempt=1; max=3", "attempt=2; max=3", "attempt=3; max=3"})
			var ids []string
			for _, s := range w.sent[len(w.sent)-3:] {
				ids = append(ids, s.Header.Get("Amz-Sdk-Invocation-Id"))
				equal(t, operation+": signature", s.Header.Get("Authorization"), signature(t, s, own))
				equal(t, operation+": body", string(s.body), string(w.last().body))
			}
			if ids = slices.Compact(ids); len(ids) != 1 || ids[0] == before {
				t.Errorf("%s: ids %v after %s", operation, ids, before)
			}
			w.always = respond(http.StatusServiceUnavailable, "")
			got, _ = outcomeOf(t.Context(), w, everyCall(w.table(t, nil))["ADD"])
			equal(t, "without a template", len(got.Requests), 1)
		}
	})
}

// TestReplayedOutputs shows that what responses say besides items is read without the client:
// capacity, keys and writes that a batch left over, and attributes that an update returns.
func TestReplayedOutputs(t *testing.T) {
	t.Parallel()
	const consumed = `{"TableName":"AppCore","CapacityUnits":2.5}`
	one, many := `{"ConsumedCapacity":`+consumed+`}`, `{"Responses":[{}],"ConsumedCapacity":[`+consumed+`,`+consumed+`]}`
	batch := `{"ConsumedCapacity":[` + consumed + `,` + consumed + `]}`
	w := &wire{}
	var events []table.Event
	tbl := w.table(t, &table.Options{Observe: func(_ context.Context, e table.Event) { events = append(events, e) }})
	for operation, tt := range map[string]struct {
		body     string
		capacity float64
	}{
		"GetItem": {one, 2.5}, "Query": {one, 2.5}, "Scan": {one, 2.5},
		"PutItem": {one, 2.5}, "UpdateItem": {one, 2.5}, "DeleteItem": {one, 2.5},
		"BatchGetItem": {batch, 5}, "BatchWriteItem": {batch, 5}, "TransactGetItems": {many, 5}, "TransactWriteItems": {batch, 5},
	} {
		w.always = respond(http.StatusOK, tt.body)
		equal(t, operation, succeeds(t, 3, eachOperation(tbl)[operation]), learned)
		last := events[len(events)-1]
		equal(t, operation+": event", []any{last.Operation, last.Capacity, last.Attempts, last.Err}, []any{operation, tt.capacity, 1, error(nil)})
	}
	w.always = respond(http.StatusOK, `{"ConsumedCapacity":{"VectorSearchRequestBytes":7}}`)
	equal(t, "SearchVectors", succeeds(t, 3, eachOperation(tbl)["SearchVectors"]), learned)
	equal(t, "SearchVectors: bytes", events[len(events)-1].VectorBytes, 7)

	w.always = respond(http.StatusOK, `{"Attributes":{"n":{"N":"7"}},"ConsumedCapacity":`+consumed+`}`)
	for _, op := range []table.Op{table.Update(user, setN(1)), table.Delete(user)} {
		equal(t, "DoReturning", succeeds(t, 2, func(ctx context.Context) error {
			got, err := table.DoReturning[account](ctx, tbl, op)
			equal(t, "returned", got, account{N: 7})
			return err
		}), []bool{true, true})
		equal(t, "DoReturning: capacity", events[len(events)-1].Capacity, 2.5)
	}
}

// TestReplayedBatches shows that what a batch left over is sent again, also if only the first
// request was replayed.
func TestReplayedBatches(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &wire{}
		tbl := w.table(t, nil)
		calls := eachOperation(tbl)
		var ops []table.Op
		for _, key := range someKeys(5) {
			ops = append(ops, table.Put(key, nil))
		}
		for operation, tt := range map[string]struct {
			call     func(context.Context) error
			replayed []bool
		}{
			// The client reads which writes are left.
			"BatchWriteItem": {func(ctx context.Context) error { return tbl.BatchWrite(ctx, ops...) }, []bool{false, false, true}},
			"BatchGetItem": {
				func(ctx context.Context) error { return second(table.BatchGet[account](ctx, tbl, someKeys(5))) },
				[]bool{true, true, true},
			},
		} {
			equal(t, operation, succeeds(t, 3, calls[operation]), learned)
			half := unprocessed(func(n int) int { return n / 2 })
			w.next(half, half)
			before := len(w.sent)
			equal(t, operation, succeeds(t, 1, tt.call), tt.replayed)
			equal(t, operation+": requests", len(w.sent)-before, 3)
		}
	})
}
