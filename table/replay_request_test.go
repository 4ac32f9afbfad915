package table_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// signature returns the value of Authorization by the SDK's signer, for a request as it was sent.
func signature(t *testing.T, s sent, creds aws.Credentials) string {
	t.Helper()
	r := expect.Value(http.NewRequest(s.Method, s.URL.String(), bytes.NewReader(s.body)))(t)
	r.Host, r.Header = s.Host, s.Header.Clone()
	at := expect.Value(time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date")))(t)
	_, scope, _ := strings.Cut(r.Header.Get("Authorization"), "Credential="+creds.AccessKeyID+"/")
	parts := strings.Split(scope, "/") // date/region/service/aws4_request, …
	if len(parts) != 4 {
		t.Fatalf("scope %q", scope)
	}
	for _, name := range []string{"Authorization", "X-Amz-Date", "X-Amz-Security-Token"} {
		r.Header.Del(name)
	}
	sum := sha256.Sum256(s.body)
	expect.OK(t, v4.NewSigner().SignHTTP(t.Context(), creds, r, hex.EncodeToString(sum[:]), parts[2], parts[1], at))
	return r.Header.Get("Authorization")
}

// comparable is what two requests of the same call have in common.
type comparable struct {
	Method, URL, Host string
	Header            http.Header
	Length            int64
	Encoding          []string
	Body              map[string]any
	GetBody, Close    bool
	Values            []string
}

func comparableOf(t *testing.T, s sent) comparable {
	t.Helper()
	ctx := s.Context()
	deadline, _ := ctx.Deadline()
	header := s.Header.Clone()
	for _, name := range []string{"Amz-Sdk-Invocation-Id", "X-Amz-Date", "Authorization"} {
		if len(header[name]) != 1 || header.Get(name) == "" {
			t.Errorf("%s is %q", name, header[name])
		}
		header.Del(name)
	}
	c := comparable{
		Method: s.Method, URL: s.URL.String(), Host: s.Host, Header: header, Length: s.ContentLength,
		Encoding: s.TransferEncoding, GetBody: s.GetBody != nil, Close: s.Close,
		Values: []string{
			awsmiddleware.GetServiceID(ctx), awsmiddleware.GetOperationName(ctx), awsmiddleware.GetRegion(ctx),
			middleware.GetServiceID(ctx), middleware.GetOperationName(ctx), fmt.Sprint(v4.GetPayloadHash(ctx) == fmt.Sprintf("%x", sha256.Sum256(s.body))), fmt.Sprint(ctx.Value(callersKey{})), deadline.String(),
		},
	}
	expect.OK(t, json.Unmarshal(s.body, &c.Body))
	delete(c.Body, "ClientRequestToken")
	return c
}

// callersKey is that of a value in the context of the caller.
type callersKey struct{}

var uuid = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

// TestReplayedRequest shows that a request without the client is the one that the client sends.
func TestReplayedRequest(t *testing.T) {
	t.Parallel()
	temporary, account := own, own
	temporary.SessionToken, account.AccountID = "token", "123456789012"
	by := func(creds aws.Credentials) func(*dynamodb.Options) {
		return func(o *dynamodb.Options) { o.Credentials = &keyring{creds: creds} }
	}
	for name, tt := range map[string]struct {
		creds aws.Credentials
		set   func(*dynamodb.Options)
		host  string
	}{
		"usual":   {own, func(*dynamodb.Options) {}, "dynamodb.eu-west-1.amazonaws.com"},
		"token":   {temporary, by(temporary), "dynamodb.eu-west-1.amazonaws.com"},
		"account": {account, by(account), "123456789012.ddb.eu-west-1.amazonaws.com"},
		"account disabled": {account, func(o *dynamodb.Options) {
			by(account)(o)
			o.AccountIDEndpointMode = aws.AccountIDEndpointModeDisabled
		}, "dynamodb.eu-west-1.amazonaws.com"},
		"account required": {account, func(o *dynamodb.Options) {
			by(account)(o)
			o.AccountIDEndpointMode = aws.AccountIDEndpointModeRequired
		}, "123456789012.ddb.eu-west-1.amazonaws.com"},
		"base endpoint": {own, func(o *dynamodb.Options) {
			o.BaseEndpoint = aws.String("http://proxy.example:8000/to/dynamo%20db?z=2&a=1%2F2")
		}, "proxy.example:8000"},
		"FIPS": {own, func(o *dynamodb.Options) {
			o.EndpointOptions.UseFIPSEndpoint = aws.FIPSEndpointStateEnabled
			o.Region = "us-gov-west-1"
		}, "dynamodb.us-gov-west-1.amazonaws.com"},
		"dual stack": {own, func(o *dynamodb.Options) {
			o.EndpointOptions.UseDualStackEndpoint = aws.DualStackEndpointStateEnabled
		}, "dynamodb.eu-west-1.api.aws"},
		"AppID, sources": {own, func(o *dynamodb.Options) {
			o.AppID, o.RetryMaxAttempts = "shop", 7
			o.Credentials = &keyring{creds: own, sources: []aws.CredentialSource{aws.CredentialSourceCode, aws.CredentialSourceIMDS}}
		}, "dynamodb.eu-west-1.amazonaws.com"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			of := func(o *table.Options) (*wire, map[string]func(context.Context) error) {
				w := &wire{}
				return w, eachOperation(w.table(t, o, tt.set))
			}
			replayed, calls := of(nil)
			direct, others := of(bySDK)
			deadline := time.Now().Add(time.Hour)
			run := func(call func(context.Context) error) func(context.Context) error {
				return func(ctx context.Context) error {
					ctx, cancel := context.WithDeadline(context.WithValue(ctx, callersKey{}, name), deadline)
					defer cancel()
					return call(ctx)
				}
			}
			for operation, call := range calls {
				equal(t, operation, succeeds(t, 3, run(call)), learned)
				succeeds(t, 3, run(others[operation]))
				got, want := replayed.last(), direct.last()
				equal(t, operation, comparableOf(t, got), comparableOf(t, want))
				// Searches have an endpoint of their own.
				equal(t, operation+": host", strings.Replace(got.URL.Host, "search-", "", 1), tt.host)
				for _, s := range []sent{got, want} {
					equal(t, operation+": signature", s.Header.Get("Authorization"), signature(t, s, tt.creds))
				}
				if id := got.Header.Get("Amz-Sdk-Invocation-Id"); !uuid.MatchString(id) {
					t.Errorf("%s: id %q", operation, id)
				}
			}
			ids := map[string]bool{}
			for _, s := range replayed.sent {
				ids[s.Header.Get("Amz-Sdk-Invocation-Id")] = true
			}
			equal(t, "ids of calls", len(ids), len(replayed.sent))
		})
	}
}

// dated adds the time by the clock of DynamoDB to a response, which is ahead of ours.
func dated(ahead time.Duration, fault tabletest.Fault) tabletest.Fault {
	return func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		response, err := fault(r, next)
		if err == nil {
			response.Header.Set("Date", time.Now().Add(ahead).UTC().Format(http.TimeFormat))
		}
		return response, err
	}
}

// TestReplayedAttempt shows what a request says of its attempt: the time until the context ends by
// the clock of DynamoDB, if that is ahead, as the SDK says it. The signature has that time, too.
func TestReplayedAttempt(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		ahead, timeout time.Duration
		set            func(*dynamodb.Options)
		want           string
	}{
		"ahead":                       {90 * time.Second, time.Minute, func(*dynamodb.Options) {}, "attempt=1; max=4; ttl=20000101T000230Z"},
		"ahead, attempts":             {90 * time.Second, time.Minute, func(o *dynamodb.Options) { o.RetryMaxAttempts = 2 }, "attempt=1; max=2; ttl=20000101T000230Z"},
		"ahead, without a deadline":   {90 * time.Second, 0, func(*dynamodb.Options) {}, "attempt=1; max=4"},
		"the same":                    {0, time.Minute, func(*dynamodb.Options) {}, "attempt=1; max=4"},
		"behind":                      {-time.Second, time.Minute, func(*dynamodb.Options) {}, "attempt=1; max=4"},
		"ahead, without a correction": {90 * time.Second, time.Minute, func(o *dynamodb.Options) { o.DisableClockSkewCorrection = true }, "attempt=1; max=4"},
		"unlimited":                   {0, 0, func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} }, "attempt=1; max=1"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var both [2]sent
			for i, o := range []*table.Options{nil, bySDK} {
				w := &wire{always: dated(tt.ahead, succeed)}
				call := everyCall(w.table(t, o, tt.set))["Get"]
				want := map[bool][]bool{true: learned, false: withoutReplay}[o == nil]
				equal(t, name, succeeds(t, 3, func(ctx context.Context) error {
					if tt.timeout == 0 {
						return call(ctx)
					}
					ctx, cancel := context.WithTimeout(ctx, tt.timeout)
					defer cancel()
					return call(ctx)
				}), want)
				both[i] = w.last()
				equal(t, name+": signature", both[i].Header.Get("Authorization"), signature(t, both[i], own))
				for _, random := range []string{"Amz-Sdk-Invocation-Id", "Authorization"} {
					both[i].Header.Del(random)
				}
			}
			equal(t, name, both[0].Header, both[1].Header)
			equal(t, name, both[0].Header.Get("Amz-Sdk-Request"), tt.want)
		})
	}
}

// TestReplayedTrace shows that a request in AWS Lambda has the id of its own invocation's trace.
func TestReplayedTrace(t *testing.T) {
	for _, o := range []*table.Options{nil, bySDK} {
		w := &wire{}
		call := everyCall(w.table(t, o))["Get"]
		var got []string
		for _, id := range []string{"", "Root=1;Parent=2", "Root=1;Parent=3", "Root=é/4", ""} {
			t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "shop")
			t.Setenv("_X_AMZN_TRACE_ID", id)
			if id == "" {
				expect.OK(t, os.Unsetenv("_X_AMZN_TRACE_ID"))
			}
			succeeds(t, 1, call)
			got = append(got, strings.Join(w.last().Header["X-Amzn-Trace-Id"], ", "))
		}
		equal(t, "traces", got, []string{"", "Root=1;Parent=2", "Root=1;Parent=3", "Root=%C3%A9%2F4", ""})
		equal(t, "replayed", succeeds(t, 1, call), []bool{o == nil})
	}
}

// TestChangedRequests shows that nothing that an HTTP client makes of a request is in the next one.
func TestChangedRequests(t *testing.T) {
	t.Parallel()
	for _, all := range []bool{false, true} { // values of headers, or whole headers
		w := &wire{}
		change := changing{w, all}
		call := everyCall(w.table(t, nil, func(o *dynamodb.Options) { o.HTTPClient = change }))["Get"]
		equal(t, "replayed", succeeds(t, 4, call), []bool{false, false, true, true})
		for _, s := range w.sent {
			got, want := comparableOf(t, s), comparableOf(t, w.sent[0])
			equal(t, "request", got, want)
			equal(t, "signature", s.Header.Get("Authorization"), signature(t, s, own))
		}
	}
}

// changing changes requests after they were sent, and appends to the values of their headers.
type changing struct {
	*wire
	all bool
}

func (c changing) Do(r *http.Request) (*http.Response, error) {
	response, err := c.wire.Do(r)
	for name, values := range r.Header {
		r.Header[name] = append(values, "another")
		values[0] = "changed"
		if c.all {
			delete(r.Header, name)
		}
	}
	r.URL.Host, r.URL.Path, r.URL.RawQuery, r.Host, r.Method = "other.example", "/other", "a=b", "other.example", http.MethodGet
	return response, err
}

// TestLateBodies shows that a request has its own body also after the call has ended.
func TestLateBodies(t *testing.T) {
	t.Parallel()
	w := &wire{}
	late := &readingLate{wire: w}
	tbl := w.table(t, nil, func(o *dynamodb.Options) { o.HTTPClient = late })
	equal(t, "replayed", succeeds(t, 3, everyCall(tbl)["Put"]), learned)
	late.on = true
	for n := range 20 {
		expect.OK(t, tbl.Do(t.Context(), table.Put(user, account{N: n})))
	}
	for n, r := range late.unread {
		var in struct{ Item map[string]map[string]string }
		expect.OK(t, json.NewDecoder(r.Body).Decode(&in))
		equal(t, "n", in.Item["n"]["N"], fmt.Sprint(n))
	}
}

// readingLate is an HTTP client that responds before it has read a request.
type readingLate struct {
	*wire
	on     bool
	unread []*http.Request
}

func (l *readingLate) Do(r *http.Request) (*http.Response, error) {
	if !l.on {
		return l.wire.Do(r)
	}
	l.unread = append(l.unread, r)
	return succeed(r, nil)
}

// TestReplayedTransport shows that over a real connection a request says how long it is, and that
// calls with and without the client share one connection, also after failures.
func TestReplayedTransport(t *testing.T) {
	t.Parallel()
	var connections atomic.Int64
	status := http.StatusOK
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || int64(len(body)) != r.ContentLength || len(body) == 0 || len(r.TransferEncoding) > 0 {
			t.Errorf("a request of length %d, encoding %v: %q, %v", r.ContentLength, r.TransferEncoding, body, err)
		}
		w.Header().Set("X-Amzn-Requestid", "REQUEST")
		w.WriteHeader(status)
		if status == http.StatusOK {
			_, _ = io.WriteString(w, `{"Item":{"n":{"N":"7"}}}`)
			return
		}
		_, _ = io.WriteString(w, `{"__type":"com.amazonaws.dynamodb.v20120810#ValidationException","message":"Injected."}`)
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	client := dynamodb.New(dynamodb.Options{Region: "eu-west-1", Credentials: &keyring{creds: own}, BaseEndpoint: aws.String(server.URL)})
	call := everyCall(expect.Value(table.New(client, appCore(), nil))(t))["Get"]
	equal(t, "replayed", succeeds(t, 4, call), []bool{false, false, true, true})
	status = http.StatusBadRequest
	for range 3 {
		if err := call(t.Context()); err == nil {
			t.Error("no error")
		}
	}
	status = http.StatusOK
	equal(t, "replayed", succeeds(t, 1, call), []bool{true})
	equal(t, "connections", connections.Load(), 1)
}
