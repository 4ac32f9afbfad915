package table_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/logging"

	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// with adds a header to a response.
func with(name, value string, fault tabletest.Fault) tabletest.Fault {
	return func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		response, err := fault(r, next)
		if err == nil {
			response.Header.Set(name, value)
		}
		return response, err
	}
}

// refusal is a response of DynamoDB with the id of its request.
func refusal(status int, code string) tabletest.Fault {
	return with("X-Amzn-Requestid", "REQUEST", tabletest.Status(status, code, "Injected."))
}

// bodied responds with success and that body.
func bodied(body io.Reader) tabletest.Fault {
	return func(r *http.Request, _ http.RoundTripper) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(body), ContentLength: -1, Request: r}, nil
	}
}

// brokenOff responds with success, and a body that breaks off.
func brokenOff(r *http.Request, next http.RoundTripper) (*http.Response, error) {
	return bodied(io.MultiReader(strings.NewReader(`{"Item":{"n":{`), iotest.ErrReader(io.ErrUnexpectedEOF)))(r, next)
}

// outcome is what a caller learns of a call that failed or not.
type outcome struct {
	Err       string
	Class     table.Class
	Is        []string
	RequestID string
	Attempts  []int
	Throttles []string
	Requests  []string // how each says which attempt it is
}

// outcomeOf makes a call, and returns its outcome and which of its requests were replayed.
func outcomeOf(ctx context.Context, w *wire, call func(context.Context) error) (o outcome, replayed []bool) {
	before := len(w.sent)
	err := call(table.WithObserver(ctx, func(_ context.Context, e table.Event) {
		o.Attempts = append(o.Attempts, e.Attempts)
		replayed = append(replayed, e.Replayed)
		for _, reason := range e.Throttles {
			o.Throttles = append(o.Throttles, aws.ToString(reason.Reason))
		}
	}))
	for _, s := range w.sent[before:] {
		o.Requests = append(o.Requests, s.Header.Get("Amz-Sdk-Request"))
	}
	if err == nil {
		return o, replayed
	}
	o.Err, o.Class = err.Error(), table.Classify(err)
	for _, target := range []error{
		table.ErrOutcomeUnknown, table.ErrThrottled, table.ErrNotFound, table.ErrConflict, context.Canceled, context.DeadlineExceeded,
		io.ErrUnexpectedEOF,
	} {
		if errors.Is(err, target) {
			o.Is = append(o.Is, target.Error())
		}
	}
	if response, ok := errors.AsType[*awshttp.ResponseError](err); ok {
		o.RequestID = response.ServiceRequestID()
	}
	return o, replayed
}

// TestReplayedResponse shows that a response which is no plain success has the outcome that it has
// from the SDK's client: the same error, attempts, delays and events, for each operation.
func TestReplayedResponse(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]tabletest.Fault{
		"invalid":                 refusal(http.StatusBadRequest, "ValidationException"),
		"denied":                  refusal(http.StatusForbidden, "AccessDeniedException"),
		"throttled":               with("X-Amz-Retry-After", "3000", tabletest.Throttle("TableWriteKeyRangeThroughputExceeded")),
		"throttled, door":         refusal(http.StatusBadRequest, "ThrottlingException"),
		"413":                     respond(http.StatusRequestEntityTooLarge, ""),
		"429":                     respond(http.StatusTooManyRequests, ""),
		"408":                     respond(http.StatusRequestTimeout, ""),
		"500":                     refusal(http.StatusInternalServerError, "InternalServerError"),
		"503":                     respond(http.StatusServiceUnavailable, "<html>Unavailable"),
		"broken off":              brokenOff,
		"wrong checksum":          with("X-Amz-Crc32", "1", succeed),
		"unreadable checksum":     with("X-Amz-Crc32", "x", succeed),
		"empty":                   respond(http.StatusOK, ""),
		"HTML":                    respond(http.StatusOK, "<html>Sign in"),
		"not as DynamoDB does it": respond(http.StatusOK, `{"Item":1,"Items":1,"Responses":1,"SearchResults":1,"Attributes":1,"UnprocessedItems":1,"ConsumedCapacity":1}`),
		"201":                     respond(http.StatusCreated, "{}"),
		"redirected":              with("Location", "http://other.example", respond(http.StatusTemporaryRedirect, "")),
		"lost":                    tabletest.DropRequest(),
		"unreachable":             unreachable,
		"conflict":                refusal(http.StatusBadRequest, "TransactionConflictException"),
		"cancelled":               tabletest.CancelTransaction("TransactionConflict"),
		"in progress":             refusal(http.StatusBadRequest, "TransactionInProgressException"),
		"condition":               refusal(http.StatusBadRequest, "ConditionalCheckFailedException"),
		"no response":             func(*http.Request, http.RoundTripper) (*http.Response, error) { return nil, io.EOF },
	} {
		for place, faults := range map[string][]tabletest.Fault{
			"first": {fault}, "second": {respond(http.StatusServiceUnavailable, ""), fault}, "all": nil,
		} {
			synctest.Test(t, func(t *testing.T) {
				for operation := range eachOperation(nil) {
					what := fmt.Sprintf("%s, %s, %s", name, place, operation)
					replays, direct := &wire{}, &wire{}
					call, other := eachOperation(replays.table(t, nil))[operation], eachOperation(direct.table(t, bySDK))[operation]
					equal(t, what, succeeds(t, 3, call), learned)
					for _, w := range []*wire{replays, direct} {
						w.next(faults...)
						if len(faults) == 0 {
							w.always = fault
						}
					}
					want, _ := outcomeOf(t.Context(), direct, other)
					got, replayed := outcomeOf(t.Context(), replays, call)
					if name == "in progress" { // which is sent at random times
						for _, o := range []*outcome{&want, &got} {
							o.Attempts, o.Requests = slices.Compact(o.Attempts), slices.Compact(o.Requests)
						}
					}
					equal(t, what, got, want)
					// What the table itself sends again can succeed without the client.
					if first := replayed[0]; first {
						t.Errorf("%s: replayed %v", what, replayed)
					}
					replays.next()
					direct.next()
					equal(t, what+": the next", succeeds(t, 1, call), []bool{true})
				}
			})
		}
	}
}

// TestReplayedSize shows that a response which is too large is one also without the client.
func TestReplayedSize(t *testing.T) {
	t.Parallel()
	for _, operation := range []string{"GetItem", "PutItem"} {
		var both [2]outcome
		for i, o := range []*table.Options{{MaxAttempts: 1}, {MaxAttempts: 1, DisableReplay: true}} {
			w := &wire{}
			call := eachOperation(w.table(t, o))[operation]
			succeeds(t, 2, call)
			w.next(bodied(io.MultiReader(strings.NewReader(`{"Item":{"a":{"S":"`), &endless{})))
			both[i], _ = outcomeOf(t.Context(), w, call)
		}
		equal(t, operation, both[0], both[1])
		equal(t, operation+": requests", len(both[0].Requests), 1)
	}
}

// readerFunc is a body.
type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// blockedBody is a body that does not come before the context of the request ends.
func blockedBody(r *http.Request, next http.RoundTripper) (*http.Response, error) {
	return bodied(readerFunc(func([]byte) (int, error) {
		<-r.Context().Done()
		return 0, r.Context().Err()
	}))(r, next)
}

// TestReplayedContext shows that the end of a context is what it is to the SDK's client, whenever
// it comes, and that no goroutine is left.
func TestReplayedContext(t *testing.T) {
	t.Parallel()
	wait := with("X-Amz-Retry-After", "4000", refusal(http.StatusInternalServerError, "InternalServerError"))
	for name, tt := range map[string]struct {
		after time.Duration // 0: before the call
		fault tabletest.Fault
		sent  int
	}{
		"before":       {0, succeed, 0},
		"in flight":    {time.Second, tabletest.Block(nil), 1},
		"in the body":  {time.Second, blockedBody, 1},
		"in the delay": {time.Second, wait, 1},
		"in the second attempt": {5 * time.Second, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
			if strings.HasPrefix(r.Header.Get("Amz-Sdk-Request"), "attempt=1") {
				return wait(r, next)
			}
			return tabletest.Block(nil)(r, next)
		}, 2},
	} {
		gone := errors.New("the client has gone")
		for end, begin := range map[string]func(context.Context) (context.Context, func()){
			"canceled": func(ctx context.Context) (context.Context, func()) {
				ctx, cancel := context.WithCancelCause(ctx)
				if tt.after == 0 {
					cancel(gone)
				}
				timer := time.AfterFunc(tt.after, func() { cancel(gone) })
				return ctx, func() { timer.Stop() }
			},
			"deadline": func(ctx context.Context) (context.Context, func()) {
				return context.WithTimeoutCause(ctx, tt.after, gone)
			},
		} {
			synctest.Test(t, func(t *testing.T) {
				replays, direct := &wire{}, &wire{}
				calls, others := eachOperation(replays.table(t, nil)), eachOperation(direct.table(t, bySDK))
				for operation, call := range calls {
					what := fmt.Sprintf("%s, %s, %s", name, end, operation)
					equal(t, what, succeeds(t, 3, call), learned)
					var both [2]outcome
					for i, w := range []*wire{replays, direct} {
						w.always = tt.fault
						ctx, stop := begin(t.Context())
						both[i], _ = outcomeOf(ctx, w, []func(context.Context) error{call, others[operation]}[i])
						stop()
						w.always = nil
					}
					equal(t, what, both[0], both[1])
					equal(t, what+": requests", len(both[0].Requests), tt.sent)
					equal(t, what+": the next", succeeds(t, 1, call), []bool{true})
				}
			})
		}
	}
}

// formal are the codes of refusals that can be about the form of a request.
var formal = []string{
	"SerializationException", "UnknownOperationException", "IncompleteSignatureException",
	"MissingAuthenticationTokenException", "InvalidSignatureException",
}

// TestRefusedForm shows when a request whose form was refused is sent again whole, and when that
// ends all replays.
func TestRefusedForm(t *testing.T) {
	t.Parallel()
	type test struct {
		name   string
		faults []tabletest.Fault
		counts bool // an update that counts
		// sent are the attempts, on is whether there are replays after it, and is what the error is.
		sent []string
		on   bool
		code string
		// unknown means that an attempt may have taken effect.
		unknown bool
	}
	var tests []test
	throttled := refusal(http.StatusBadRequest, "ThrottlingException")
	for _, code := range formal {
		refused := refusal(http.StatusBadRequest, code)
		tests = append(tests,
			test{code, []tabletest.Fault{refused}, false, []string{"1", "1"}, false, "", false},
			test{code + ", the same", []tabletest.Fault{refused, refused}, false, []string{"1", "1"}, true, code, false},
			test{code + ", another", []tabletest.Fault{refused, refusal(http.StatusBadRequest, "ValidationException")}, false, []string{"1", "1"}, false, "ValidationException", false},
			test{code + ", then lost", []tabletest.Fault{refused, tabletest.DropRequest(), refused}, false, []string{"1", "1", "2"}, true, code, true},
			test{code + ", then lost for good", append([]tabletest.Fault{refused}, slices.Repeat([]tabletest.Fault{tabletest.DropRequest()}, 4)...), false, []string{"1", "1", "2", "3", "4"}, true, "", true},
			test{code + ", then throttled", []tabletest.Fault{refused, tabletest.Throttle(), refused}, false, []string{"1", "1", "2"}, true, code, false},
			test{code + ", then throttled for good", append([]tabletest.Fault{refused}, slices.Repeat([]tabletest.Fault{throttled}, 4)...), false, []string{"1", "1", "2", "3", "4"}, true, "ThrottlingException", false},
			test{code + ", counts", []tabletest.Fault{refused}, true, []string{"1"}, true, code, false},
			test{code + ", no id", []tabletest.Fault{tabletest.Status(http.StatusBadRequest, code, "Injected.")}, false, []string{"1"}, true, code, false},
			test{code + ", 408", []tabletest.Fault{refusal(http.StatusRequestTimeout, code), refusal(http.StatusRequestTimeout, code)}, false, nil, true, "", false},
			test{code + ", 500", []tabletest.Fault{refusal(http.StatusInternalServerError, code)}, false, []string{"1", "2"}, true, "", false},
		)
	}
	for _, code := range []string{"AccessDeniedException", "ExpiredTokenException", "UnrecognizedClientException", "ValidationException"} {
		tests = append(tests, test{code, []tabletest.Fault{refusal(http.StatusBadRequest, code)}, false, []string{"1"}, true, code, false})
	}
	tests = append(tests, test{"throttled", []tabletest.Fault{throttled}, false, []string{"1", "2"}, true, "", false})
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			w := &wire{}
			tbl := w.table(t, nil)
			call := eachOperation(tbl)["UpdateItem"]
			if tt.counts {
				w.always = respond(http.StatusOK, `{"Attributes":{"n":{"N":"1"}}}`)
				call = func(ctx context.Context) error {
					return second(table.DoReturning[account](ctx, tbl, table.Update(user, expression.Add(expression.Name("n"), expression.Value(1)))))
				}
			}
			equal(t, tt.name, succeeds(t, 3, call), learned)
			w.line = tt.faults
			before := len(w.sent)
			err := call(t.Context())
			var got []string
			for _, s := range w.sent[before:] {
				got = append(got, strings.TrimPrefix(strings.Split(s.Header.Get("Amz-Sdk-Request"), ";")[0], "attempt="))
			}
			if tt.sent != nil {
				equal(t, tt.name+": attempts", got, tt.sent)
			}
			var code string
			if api, ok := errors.AsType[smithy.APIError](err); ok {
				code = api.ErrorCode()
			}
			if code != tt.code && tt.sent != nil || tt.sent != nil && errors.Is(err, table.ErrOutcomeUnknown) != tt.unknown {
				t.Errorf("%s: %v", tt.name, err)
			}
			if slices.Equal(got, []string{"1", "1"}) && w.sent[before].Header.Get("Amz-Sdk-Invocation-Id") == w.last().Header.Get("Amz-Sdk-Invocation-Id") {
				t.Errorf("%s: the same call", tt.name)
			}
			w.line = nil
			equal(t, tt.name+": afterwards", succeeds(t, 3, call), slices.Repeat([]bool{tt.on}, 3))
		})
	}
}

// TestRefusedFormWithinTheBudget shows that a request is not sent again whole where no attempt is left, nor
// again and again where the client's own requests are refused as well, nor where the client
// itself has made what was refused.
func TestRefusedFormWithinTheBudget(t *testing.T) {
	t.Parallel()
	refused := refusal(http.StatusBadRequest, "InvalidSignatureException")
	for name, tt := range map[string]struct {
		attempts int
		faults   []tabletest.Fault
		sent     []int // by each call
	}{
		"one attempt":          {1, slices.Repeat([]tabletest.Fault{refused}, 3), []int{1, 1, 1}},
		"all are refused":      {0, slices.Repeat([]tabletest.Fault{refused}, 4), []int{2, 1, 1, 1, 1}},
		"refused, then not":    {0, []tabletest.Fault{refused, refused, refused, succeed, refused, refused}, []int{2, 1, 1, 2}},
		"the client's attempt": {0, []tabletest.Fault{refusal(http.StatusInternalServerError, "InternalServerError"), refused}, []int{2}},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := &wire{}
			call := everyCall(w.table(t, &table.Options{MaxAttempts: tt.attempts}))["Put"]
			equal(t, name, succeeds(t, 3, call), learned)
			w.next(tt.faults...)
			var got []int
			for range tt.sent {
				before := len(w.sent)
				_ = call(t.Context())
				got = append(got, len(w.sent)-before)
			}
			equal(t, name+": requests", got, tt.sent)
		})
	}
}

// TestSignatures shows that the signer is used for a replay, and once more for a request that is
// learned, but not when there are no more replays. The signatures of the SDK's client are not
// logged: it sets these options of a signer by its own.
func TestSignatures(t *testing.T) {
	t.Parallel()
	signed := 0
	counted := v4.NewSigner(func(o *v4.SignerOptions) {
		o.LogSigning = true
		o.Logger = logging.LoggerFunc(func(logging.Classification, string, ...any) { signed++ })
	})
	w := &wire{}
	call := everyCall(w.table(t, nil, func(o *dynamodb.Options) { o.HTTPSignerV4 = counted }))["Put"]
	check := func(what string, replayed bool, want int) {
		t.Helper()
		signed = 0
		equal(t, what, succeeds(t, 1, call), []bool{replayed})
		equal(t, what+": signatures", signed, want)
	}
	check("the first", false, 1)
	check("the second", false, 1)
	check("a replay", true, 1)
	w.next(refusal(http.StatusBadRequest, "SerializationException"))
	if err := call(t.Context()); err != nil {
		t.Error(err)
	}
	check("without replays", false, 0)

	// The account changes with each request.
	accounts := 0
	call = everyCall(w.table(t, nil, func(o *dynamodb.Options) {
		o.HTTPSignerV4 = counted
		o.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			accounts++
			return aws.Credentials{AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: "example", AccountID: strconv.Itoa(100000000000 + accounts)}, nil
		})
	}))["Put"]
	for range 11 {
		check("another account", false, 1)
	}
	check("requests that keep differing", false, 0)
}

// clock is that of a DynamoDB which refuses signatures of another time.
type clock struct {
	ahead time.Duration
}

func (c *clock) respond(r *http.Request, next http.RoundTripper) (*http.Response, error) {
	at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	if err != nil {
		return nil, err
	}
	if at.Sub(time.Now().Add(c.ahead)).Abs() > 5*time.Minute {
		return dated(c.ahead, refusal(http.StatusBadRequest, "InvalidSignatureException"))(r, next)
	}
	return dated(c.ahead, succeed)(r, next)
}

// TestReplayedClock shows that requests are signed at the time of DynamoDB's clock, and that a jump
// of a clock costs one more attempt.
func TestReplayedClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, c := &wire{}, &clock{}
		w.always = c.respond
		call := everyCall(w.table(t, nil))["Put"]
		for _, tt := range []struct {
			ahead    time.Duration
			replayed []bool
			requests int
		}{
			{time.Hour, learned, 4},
			{time.Hour + 4*time.Minute, []bool{true, true}, 2},
			{0, []bool{false, true}, 3},
			{-3 * time.Hour, []bool{false, true}, 3},
			{-time.Second, []bool{false, true}, 3},
			{time.Second, []bool{true, true}, 2},
		} {
			c.ahead = tt.ahead
			before := len(w.sent)
			equal(t, tt.ahead.String(), succeeds(t, len(tt.replayed), call), tt.replayed)
			equal(t, tt.ahead.String()+": requests", len(w.sent)-before, tt.requests)
		}
		equal(t, "id of a replay", uuid.MatchString(w.last().Header.Get("Amz-Sdk-Invocation-Id")), true)
	})
	synctest.Test(t, func(t *testing.T) {
		w, c := &wire{}, &clock{}
		w.always = c.respond
		call := everyCall(w.table(t, nil, func(o *dynamodb.Options) { o.DisableClockSkewCorrection = true }))["Put"]
		equal(t, "without a correction", succeeds(t, 3, call), learned)
		c.ahead = time.Hour
		if err := call(t.Context()); err == nil {
			t.Error("without a correction: no error")
		}
		c.ahead = 0
		equal(t, "without a correction, afterwards", succeeds(t, 1, call), []bool{true})
	})
}
