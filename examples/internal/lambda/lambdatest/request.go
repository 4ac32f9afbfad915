package lambdatest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/singletable/singletable/examples/internal/check"
)

// Request is a request that API Gateway gives to a function.
type Request struct {
	Method string
	Target string // the path and the query
	// Route is the route of the API that takes it, such as "GET /transactions/{id}".
	Route  string
	Token  string // of the header Authorization
	Header map[string]string
	Body   string
	// Claims are those that the authorizer of the API has found in the token.
	Claims map[string]any
}

// Event returns the event of the request, of an HTTP API with the payload format 2.0.
// AWS: "Create AWS Lambda proxy integrations for HTTP APIs in API Gateway", Amazon
// API Gateway Developer Guide.
func (r Request) Event(t *testing.T) json.RawMessage {
	t.Helper()
	const domain = "a1b2c3d4e5.execute-api.us-east-1.amazonaws.com"
	path, query, _ := strings.Cut(r.Target, "?")
	header := map[string]string{
		"accept": "*/*", "host": domain, "user-agent": "curl/8.5.0", "x-amzn-trace-id": "Root=1-65a5000c-0a1b2c3d4e5f60718293a4b5",
		"x-forwarded-for": "203.0.113.7", "x-forwarded-port": "443", "x-forwarded-proto": "https",
	}
	maps.Copy(header, r.Header)
	if r.Token != "" {
		header["authorization"] = "Bearer " + r.Token
	}
	about := map[string]any{
		"accountId": "123456789012", "apiId": "a1b2c3d4e5", "domainName": domain, "domainPrefix": "a1b2c3d4e5",
		"http":      map[string]any{"method": r.Method, "path": path, "protocol": "HTTP/1.1", "sourceIp": "203.0.113.7", "userAgent": "curl/8.5.0"},
		"requestId": "RfEx4h5ZjoEEM8Q=", "routeKey": r.Route, "stage": "$default", "time": "15/Jan/2024:10:05:00 +0000", "timeEpoch": 1705313100000,
	}
	if r.Claims != nil {
		claims := map[string]string{}
		for name, value := range r.Claims {
			claims[name] = fmt.Sprint(value) // as API Gateway does, lists too
		}
		about["authorizer"] = map[string]any{"jwt": map[string]any{"claims": claims, "scopes": nil}}
	}
	event := map[string]any{
		"version": "2.0", "routeKey": r.Route, "rawPath": path, "rawQueryString": query, "headers": header,
		"requestContext": about, "isBase64Encoded": false,
	}
	if query != "" {
		parameters := map[string]string{}
		for name, values := range check.Must(url.ParseQuery(query))(t) {
			parameters[name] = strings.Join(values, ",")
		}
		event["queryStringParameters"] = parameters
	}
	if r.Body != "" {
		event["body"] = r.Body
		header["content-type"] = "application/json"
	}
	return check.Must(json.Marshal(event))(t)
}

// Serve gives a request to the function, whose response must have one of the statuses. The
// log must have one line about it.
func (f *Function) Serve(t *testing.T, r Request, statuses ...int) events.APIGatewayV2HTTPResponse {
	t.Helper()
	o := f.Invoke(t, r.Event(t))
	var response events.APIGatewayV2HTTPResponse
	if err := json.Unmarshal(o.Response, &response); err != nil || !slices.Contains(statuses, response.StatusCode) {
		t.Fatalf("%s: %s %s: response %s, error %q, want a status of %d", f.handler, r.Method, r.Target, o.Response, o.Error, statuses)
	}
	if l := o.Line(t); l.Msg != "request" || l.RequestID == "" || l.RequestID != response.Headers["X-Request-Id"] {
		t.Errorf("%s: the log has %s", f.handler, l.Text)
	}
	return response
}
