package replay

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"
	smithyrand "github.com/aws/smithy-go/rand"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// template is a request that the SDK's client has sent, without what varies.
type template struct {
	url     url.URL
	host    string
	header  http.Header
	service string // with region, what the signature is for
	region  string
	account string
	// token means that the credentials have a session token.
	token bool
	// agreed means that two requests in a row were the same. Before, nothing is sent by
	// the template, and after the time until the SDK's client sends one again.
	agreed bool
	until  time.Time
	// differing is how many requests in a row were not as the one before.
	differing int
	// values are what the SDK's client tells HTTP clients by the context.
	values context.Context
}

// lifetime is how long a template is used before the SDK's client sends a request again, which
// may have changed.
const lifetime = time.Hour

const (
	headerID    = "Amz-Sdk-Invocation-Id"
	headerTry   = "Amz-Sdk-Request"
	headerDate  = "X-Amz-Date"
	headerToken = "X-Amz-Security-Token"
	headerAuth  = "Authorization"
	headerTrace = "X-Amzn-Trace-Id"
	timeFormat  = "20060102T150405Z"
)

// varying are the headers that each request has for itself.
var varying = [...]string{headerID, headerTry, headerDate, headerToken, headerAuth, headerTrace, "Content-Length"}

// template returns the one to send a request by, nil without one.
func (c *Client) template(operation string) *template {
	v, _ := c.templates.Load(operation)
	t, _ := v.(*template)
	if t == nil || !t.agreed || c.off.Load() || time.Now().After(t.until) {
		return nil
	}
	return t
}

// fits reports whether requests with these credentials are those of the template.
func (t *template) fits(creds *aws.Credentials) bool {
	//mutants:guard a template is for one account | TestCredentialsChange ./table | t.account == creds.AccountID && =>
	return t.account == creds.AccountID && t.token == (creds.SessionToken != "")
}

// learn makes a template of the first attempt of a call, which the SDK's client is about to send.
// Where requests keep differing, it rests until the time when a template would be renewed.
func (c *Client) learn(operation string, r *http.Request, body []byte, creds *aws.Credentials) {
	const most = 10
	v, _ := c.templates.Load(operation)
	last, _ := v.(*template)
	if last != nil && last.differing >= most && time.Now().Before(last.until) {
		return
	}
	t := c.templateOf(operation, r, body, creds)
	fit := t != nil
	if !fit {
		t = &template{}
	}
	t.until = time.Now().Add(lifetime)
	//mutants:guard two requests have to agree before a template is used | TestTwoRequestsAgree ./table | last != nil && => last == nil ||
	t.agreed = fit && last != nil && last.same(t)
	if last != nil && !t.agreed {
		t.differing = last.differing%most + 1
	}
	c.templates.Store(operation, t)
}

func (t *template) same(other *template) bool {
	return t.url == other.url && t.host == other.host && t.account == other.account && t.token == other.token &&
		t.service == other.service && t.region == other.region && maps.EqualFunc(t.header, other.header, slices.Equal)
}

// templateOf returns nil for a request that cannot be repeated exactly.
func (c *Client) templateOf(operation string, r *http.Request, body []byte, creds *aws.Credentials) *template {
	if r.Method != http.MethodPost || r.URL.User != nil || r.GetBody != nil || len(r.TransferEncoding) > 0 || len(r.Trailer) > 0 || r.ContentLength != int64(len(body)) {
		return nil
	}
	t := &template{
		url: *r.URL, host: r.Host, header: http.Header{},
		account: creds.AccountID, token: creds.SessionToken != "",
	}
	for name, values := range r.Header {
		if !slices.Contains(varying[:], name) {
			t.header[name] = slices.Clone(values)
		}
	}
	sent := r.Header.Get(headerAuth)
	_, scope, _ := strings.Cut(sent, "AWS4-HMAC-SHA256 Credential="+creds.AccessKeyID+"/")
	scope, _, _ = strings.Cut(scope, ",")
	if parts := strings.Split(scope, "/"); len(parts) == 4 {
		t.region, t.service = parts[1], parts[2]
	}
	at, err := time.Parse(timeFormat, r.Header.Get(headerDate))
	if err != nil || (r.Header.Get(headerToken) != "") != t.token || !strings.HasPrefix(r.Header.Get(headerTry), c.first()) {
		return nil
	}
	t.values = middleware.WithOperationName(middleware.WithServiceID(context.Background(), dynamodb.ServiceID), operation)
	t.values = awsmiddleware.SetServiceID(t.values, dynamodb.ServiceID)
	if c.options.Region != "" {
		t.values = awsmiddleware.SetRegion(t.values, c.options.Region)
	}
	t.values = awsmiddleware.SetOperationName(t.values, operation)
	again, err := t.request(r.Context(), body, r.Header.Get(headerID), r.Header.Get(headerTry))
	if err == nil {
		err = c.sign(r.Context(), t, again, body, creds, at)
	}
	//mutants:guard the signature of what was learned is the SDK's | TestForeignSignature ./table | || again.Header.Get(headerAuth) != sent =>
	if err != nil || again.Header.Get(headerAuth) != sent {
		return nil
	}
	return t
}

// attempt returns what the first attempt says of itself. Code: aws-sdk-go-v2,
// aws/retry/middleware.go, setRetryMetricsHeader.
func (c *Client) attempt(ctx context.Context, skew time.Duration) string {
	if deadline, ok := ctx.Deadline(); ok && skew > 0 {
		return c.first() + "; ttl=" + deadline.Add(skew).Format(timeFormat)
	}
	return c.first()
}

// first is what all first attempts say of themselves.
func (c *Client) first() string {
	if most := c.retryer.MaxAttempts(); most != 0 {
		return "attempt=1; max=" + strconv.Itoa(most)
	}
	return "attempt=1"
}

// request returns a request that is not signed yet.
func (t *template) request(ctx context.Context, body []byte, id, attempt string) (*http.Request, error) {
	// The id and the number of the attempt, and what the signer adds: the time, the
	// signature and the token.
	size := len(t.header) + 4
	if t.token {
		size++
	}
	header := make(http.Header, size)
	values := make([]string, 0, len(t.header)+2)
	set := func(name string, value string) {
		values = append(values, value)
		header[name] = values[len(values)-1 : len(values) : len(values)]
	}
	for name, all := range t.header {
		if len(all) == 1 {
			set(name, all[0])
		} else {
			header[name] = slices.Clone(all)
		}
	}
	set(headerID, id)
	set(headerTry, attempt)
	to := t.url
	r := post.WithContext(&valued{ctx, t.values, body})
	r.URL, r.Host, r.Header = &to, t.host, header
	r.ContentLength, r.Body = int64(len(body)), io.NopCloser(bytes.NewReader(body))
	// The SDK's own code adds the id of the trace in Lambda.
	_, _, err := (&awsmiddleware.RecursionDetection{}).HandleBuild(ctx,
		middleware.BuildInput{Request: &smithyhttp.Request{Request: r}}, built{})
	return r, err
}

// post is what all requests have.
var post = http.Request{Method: http.MethodPost}

// built is the end of the SDK's middleware.
type built struct{}

func (built) HandleBuild(context.Context, middleware.BuildInput) (out middleware.BuildOutput, m middleware.Metadata, err error) {
	return out, m, nil
}

// sign signs a request by the client's own signer.
func (c *Client) sign(ctx context.Context, t *template, r *http.Request, body []byte, creds *aws.Credentials, at time.Time) error {
	return c.options.HTTPSignerV4.SignHTTP(ctx, *creds, r, hashOf(body), t.service, t.region, at)
}

// hashOf returns the hash of a body as signatures have it.
func hashOf(body []byte) string {
	sum := sha256.Sum256(body)
	var text [2 * len(sum)]byte
	hex.Encode(text[:], sum[:])
	return string(text[:])
}

// newID returns an id of a call.
func newID() (string, error) { return smithyrand.NewUUID(rand.Reader).GetUUID() }
