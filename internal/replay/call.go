package replay

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/auth"
	smithyendpoints "github.com/aws/smithy-go/endpoints"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/singletable/singletable/internal/response"
)

// Call is one call of an operation. It is used by one goroutine. Get one from [Client.Call].
type Call struct {
	client    *Client
	operation string
	body      []byte
	// release gives back the token of the first attempt, or refused is why the retryer gives
	// none. The SDK's client is given what it was not given yet.
	release func(error) error
	refused error
	// creds, or why there are none, is what the provider has returned last. asked means that
	// the SDK's client was not given it yet.
	creds    aws.Credentials
	credsErr error
	asked    bool
	id       string // of the call
	// sent means that the first attempt was sent by a template, to that URL, and received is what
	// came of it. handed means that the SDK's client has made its first attempt, or was given
	// that, and later that it has made another one.
	sent, handed, later bool
	to                  *url.URL
	received            receipt
	resumed             *resumed
	next                aws.HTTPClient
}

// receipt is what came of a request.
type receipt struct {
	response *http.Response
	err      error
}

func (c *Client) do(client aws.HTTPClient, r *http.Request) receipt {
	begun := time.Now()
	received, err := client.Do(r)
	got := receipt{received, err}
	c.observe(got, begun, time.Now())
	return got
}

// Call begins a call of an operation, whose request has that body.
func (c *Client) Call(operation string, body []byte) Call {
	return Call{client: c, operation: operation, body: body}
}

// HTTPClient returns that of the SDK's client.
func (c *Client) HTTPClient() aws.HTTPClient { return c.options.HTTPClient }

// Send sends the request by a template, and returns the body of the response if its status is
// 200 and it has at most so many bytes. The caller reads it and calls Accept, or Return. In all
// other cases, and if there is no template yet, the SDK's client has to make the call, with
// Options and the context of Resume.
func (c *Call) Send(ctx context.Context, client aws.HTTPClient, most int64) (body response.Body, ok bool) {
	t := c.client.template(c.operation)
	if t == nil || ctx.Err() != nil {
		return body, false
	}
	r := c.request(ctx, t)
	if r == nil {
		return body, false
	}
	//mutants:guard a replayed request is the client's first attempt | TestTransact ./suites/schedules | true, => false,
	c.sent, c.to = true, &t.url
	c.received = c.client.do(client, r)
	if got := c.received; got.err != nil || got.response == nil || got.response.StatusCode != http.StatusOK {
		return body, false
	}
	body, err := response.ReceivePlain(&smithyhttp.Response{Response: c.received.response}, most, !c.client.options.DisableValidateResponseChecksum)
	return body, err == nil
}

// request returns the request of the first attempt, nil if the SDK's client has to make it.
func (c *Call) request(ctx context.Context, t *template) *http.Request {
	var err error
	if c.release, c.refused = c.client.retryer.GetAttemptToken(ctx); c.refused != nil {
		return nil
	}
	c.creds, c.credsErr = c.client.options.Credentials.Retrieve(ctx)
	if c.asked = true; c.credsErr != nil || !t.fits(&c.creds) {
		return nil
	}
	if c.id, err = newID(); err != nil {
		return nil
	}
	skew := time.Duration(c.client.skew.Load())
	r, err := t.request(ctx, c.body, c.id, c.client.attempt(ctx, skew))
	if err != nil || c.client.sign(ctx, t, r, c.body, &c.creds, time.Now().Add(skew)) != nil {
		return nil
	}
	return r
}

// Accept ends the call, whose response was read, and gives the memory of its body back.
func (c *Call) Accept(body response.Body) {
	body.Release()
	_ = c.release(nil)
	if c.client.alike.Load() { // rarely: all calls share it
		c.client.alike.Store(false)
	}
}

// Return gives back the body of a response that is for the SDK's client.
func (c *Call) Return(body response.Body) {
	body.Return(&smithyhttp.Response{Response: c.received.response})
}

// Lost reports whether the SDK's client has never taken over what came of the first attempt.
func (c *Call) Lost() bool { return c.sent && !c.handed }

// Options has the SDK's client go on where the call is. HTTPClient and Retryer of o are those
// that it would use.
func (c *Call) Options(o *dynamodb.Options) {
	c.next, o.HTTPClient = o.HTTPClient, c
	o.Credentials = &credentials{o.Credentials, c}
	if v2, ok := o.Retryer.(aws.RetryerV2); ok && c.began() {
		o.Retryer = &retryer{v2, c}
	}
	if c.sent {
		o.EndpointResolverV2 = &endpoints{o.EndpointResolverV2, c}
		o.AuthSchemes = []smithyhttp.AuthScheme{&scheme{o.AuthSchemes[0], c}}
	}
}

// Do is what the SDK's client sends its attempts by. The first one was sent already, or a
// template is made of it.
func (c *Call) Do(r *http.Request) (*http.Response, error) {
	first := !c.handed
	c.handed, c.later = true, !first
	if first && c.sent {
		c.resumed.start()
		return c.received.response, c.received.err
	}
	if first && !c.client.off.Load() {
		c.client.learn(c.operation, r, c.body, &c.creds)
	}
	got := c.client.do(c.next, r)
	return got.response, got.err
}

// credentials are the client's, which it is asked for once for an attempt.
type credentials struct {
	aws.CredentialsProvider
	call *Call
}

// Retrieve is called by the SDK for each attempt.
func (c *credentials) Retrieve(ctx context.Context) (aws.Credentials, error) {
	switch {
	case !c.call.asked:
		c.call.creds, c.call.credsErr = c.CredentialsProvider.Retrieve(ctx)
	case !c.call.sent:
		c.call.resumed.start()
	}
	c.call.asked = false
	return c.call.creds, c.call.credsErr
}

// ProviderSources are the client's, which a header has.
func (c *credentials) ProviderSources() []aws.CredentialSource {
	if sources, ok := c.CredentialsProvider.(aws.CredentialProviderSource); ok {
		return sources.ProviderSources()
	}
	return nil
}

// endpoints are the client's, and for an attempt that was sent, the one of that attempt. It saves
// evaluating the rules.
type endpoints struct {
	dynamodb.EndpointResolverV2
	call *Call
}

// ResolveEndpoint is called by the SDK for each attempt.
func (e *endpoints) ResolveEndpoint(ctx context.Context, p dynamodb.EndpointParameters) (smithyendpoints.Endpoint, error) {
	//mutants:guard attempts after the first one have the endpoint of their credentials | TestHandedOverAttempts ./table | e.call.Lost() => true
	if e.call.Lost() {
		return smithyendpoints.Endpoint{URI: *e.call.to}, nil
	}
	return e.EndpointResolverV2.ResolveEndpoint(ctx, p)
}

// scheme is how the client signs, for a call whose first attempt was sent. What the client makes
// of that attempt is not sent again, and not signed. Later attempts get the call's id.
type scheme struct {
	smithyhttp.AuthScheme
	call *Call
}

// Signer returns the scheme itself.
func (s *scheme) Signer() smithyhttp.Signer { return s }

// SignRequest is called by the SDK for each attempt, before [Call.Do].
func (s *scheme) SignRequest(ctx context.Context, r *smithyhttp.Request, identity auth.Identity, properties smithy.Properties) error {
	//mutants:guard attempts after the first one are signed | TestHandedOverAttempts ./table | s.call.Lost() => true
	if s.call.Lost() {
		return nil
	}
	r.Header.Set(headerID, s.call.id)
	return s.AuthScheme.Signer().SignRequest(ctx, r, identity, properties)
}

// retryer is the client's, which is asked once for the token of an attempt.
type retryer struct {
	aws.RetryerV2
	call *Call
}

// GetAttemptToken is called by the SDK for each attempt.
func (r *retryer) GetAttemptToken(ctx context.Context) (func(error) error, error) {
	release, refused := r.call.release, r.call.refused
	r.call.release, r.call.refused = nil, nil
	switch {
	case refused != nil:
		r.call.resumed.start()
	case release == nil:
		return r.RetryerV2.GetAttemptToken(ctx)
	}
	return release, refused
}

// began reports whether there is something to hand over.
func (c *Call) began() bool { return c.release != nil || c.refused != nil }

// Resume returns the context for the call of the SDK's client. It cannot end before the client
// was handed what came of the first attempt, or of what precedes it. After that call, end is
// called with its error.
func (c *Call) Resume(ctx context.Context) (resumed context.Context, end func(error)) {
	if c.began() {
		c.resumed = newResumed(ctx)
		ctx = c.resumed
	}
	return ctx, func(err error) {
		if c.resumed != nil {
			c.resumed.stop()
		}
		if c.release != nil { // the client has not asked for the token
			_ = c.release(err)
		}
	}
}

// resumed is a context that ends as another one does, but not before it was started.
type resumed struct {
	context.Context
	done    chan struct{}
	release func() bool
}

func newResumed(ctx context.Context) *resumed {
	return &resumed{Context: ctx, done: make(chan struct{})}
}

// start is called where there is nothing left to hand over.
func (r *resumed) start() {
	if r.release != nil || r.Err() != nil {
		return
	}
	if r.Context.Err() != nil {
		close(r.done)
		return
	}
	r.release = context.AfterFunc(r.Context, func() { close(r.done) })
}

func (r *resumed) stop() {
	if r.release != nil {
		r.release()
	}
}

// Done is closed when the context ends.
func (r *resumed) Done() <-chan struct{} { return r.done }

// Err returns nil before Done is closed.
func (r *resumed) Err() error {
	select {
	case <-r.done:
		return r.Context.Err()
	default:
		return nil
	}
}

// valued is a context with the values that the SDK's client gives to HTTP clients.
type valued struct {
	context.Context
	more context.Context
	body []byte
}

func (v *valued) Value(key any) any {
	if v.more.Value(key) == nil {
		return v.Context.Value(key)
	}
	// All of them are one value, to which that of each request is added when it is asked for.
	return v4.SetPayloadHash(v.more, hashOf(v.body)).Value(key)
}
