// Package lambda is what the programs of AWS Lambda functions share. [Main] starts one.
// [New] makes a function of an [http.Handler], behind an API Gateway HTTP API whose events
// have the payload format 2.0, and [Stream] one of a [stream.Router].
package lambda

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"
)

// Function is what aws-lambda-go starts.
type Function func(ctx context.Context, event json.RawMessage) (events.APIGatewayV2HTTPResponse, error)

// ErrEvent is matched by the error of an event that is not a request of an HTTP
// API. The error's text says what it is. A function that gets such an event has to
// fail: whatever sent it, such as a queue, would otherwise take it as done.
var ErrEvent = errors.New("the event is not a request of an API Gateway HTTP API (payload format 2.0)")

// New returns the function that handles events with the handler.
func New(handler http.Handler) Function {
	return func(ctx context.Context, event json.RawMessage) (events.APIGatewayV2HTTPResponse, error) {
		var e struct {
			events.APIGatewayV2HTTPRequest
			RouteARN string `json:"routeArn"` // an authorizer's event has this and the request
		}
		err := json.Unmarshal(event, &e)
		if err != nil || e.Version != "2.0" || e.RequestContext.HTTP.Method == "" || e.RouteARN != "" {
			return events.APIGatewayV2HTTPResponse{}, fmt.Errorf("lambda: %w but %s", ErrEvent, kindOf(event))
		}
		r, err := request(ctx, e.APIGatewayV2HTTPRequest)
		if err != nil {
			return events.APIGatewayV2HTTPResponse{}, fmt.Errorf("lambda: %w: %w", ErrEvent, err)
		}
		w := &recorder{header: http.Header{}}
		handler.ServeHTTP(w, r)
		return w.response(), nil
	}
}

// request returns the request that an event was made of.
func request(ctx context.Context, e events.APIGatewayV2HTTPRequest) (*http.Request, error) {
	body := []byte(e.Body)
	if e.IsBase64Encoded {
		var err error
		if body, err = base64.StdEncoding.DecodeString(e.Body); err != nil {
			return nil, errors.New("its body is not base64")
		}
	}
	about := e.RequestContext
	target := &url.URL{Path: path(e), RawQuery: e.RawQueryString}
	r, err := http.NewRequestWithContext(ctx, about.HTTP.Method, "/", bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("its method is not one")
	}
	r.URL, r.RequestURI = target, target.RequestURI()
	r.Host, r.RemoteAddr = about.DomainName, about.HTTP.SourceIP
	// Values of one header come joined by commas, and cookies on their own.
	for name, value := range e.Headers {
		r.Header.Set(name, value)
	}
	r.Header.Del("Host")
	if len(e.Cookies) > 0 {
		r.Header.Set("Cookie", strings.Join(e.Cookies, "; "))
	}
	if r.Header.Get("X-Request-Id") == "" {
		r.Header.Set("X-Request-Id", about.RequestID)
	}
	return r, nil
}

// path returns the path of an event. It begins with the stage's name, unless
// that is the default one.
func path(e events.APIGatewayV2HTTPRequest) string {
	p := e.RawPath
	if stage := "/" + e.RequestContext.Stage; p == stage || strings.HasPrefix(p, stage+"/") {
		p = strings.TrimPrefix(p, stage)
	}
	if decoded, err := url.PathUnescape(p); err == nil {
		p = decoded
	}
	if !strings.HasPrefix(p, "/") {
		p = "/" + p
	}
	return p
}

// recorder keeps a response until it is complete.
type recorder struct {
	header http.Header
	sent   http.Header // as it was when the status was written
	status int
	body   bytes.Buffer
}

func (w *recorder) Header() http.Header { return w.header }

func (w *recorder) WriteHeader(status int) {
	if w.status == 0 {
		w.status, w.sent = status, w.header.Clone()
	}
}

func (w *recorder) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}

func (w *recorder) response() events.APIGatewayV2HTTPResponse {
	w.WriteHeader(http.StatusOK)
	resp := events.APIGatewayV2HTTPResponse{
		StatusCode: w.status,
		Headers:    make(map[string]string, len(w.sent)),
		Cookies:    w.sent.Values("Set-Cookie"),
		Body:       w.body.String(),
	}
	for name, values := range w.sent {
		if name != "Set-Cookie" {
			resp.Headers[name] = strings.Join(values, ", ")
		}
	}
	if !utf8.Valid(w.body.Bytes()) {
		resp.Body, resp.IsBase64Encoded = base64.StdEncoding.EncodeToString(w.body.Bytes()), true
	}
	return resp
}
