package lambda_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	awslambda "github.com/aws/aws-lambda-go/lambda"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/lambda"
)

func TestAnEventBecomesTheRequestItWasMadeOf(t *testing.T) {
	t.Parallel()
	type seen struct {
		Method, Path, Query, Host, RemoteAddr, Body string
		Header                                      http.Header
	}
	for _, c := range []struct {
		name  string
		event string
		want  seen
	}{
		{
			"query, cookies, joined headers",
			`{"version":"2.0","rawPath":"/a/b","rawQueryString":"x=1&y=%20","cookies":["c=1","d=2"],"headers":{"accept":"a,b","host":"h"},
			"requestContext":{"domainName":"h","requestId":"r-1","stage":"$default","http":{"method":"PUT","sourceIp":"203.0.113.7"}},"body":"text"}`,
			seen{
				"PUT", "/a/b", "x=1&y=%20", "h", "203.0.113.7", "text",
				http.Header{"Accept": {"a,b"}, "Cookie": {"c=1; d=2"}, "X-Request-Id": {"r-1"}},
			},
		},
		{
			"stage, base64",
			`{"version":"2.0","rawPath":"/prod/a%20b","requestContext":{"stage":"prod","http":{"method":"GET"}},"headers":{"x-request-id":"mine"},"body":"/w==","isBase64Encoded":true}`,
			seen{"GET", "/a b", "", "", "", "\xff", http.Header{"X-Request-Id": {"mine"}}},
		},
		{
			"a path that only begins like the stage",
			`{"version":"2.0","rawPath":"/production%zz","requestContext":{"stage":"prod","requestId":"r","http":{"method":"GET"}}}`,
			seen{"GET", "/production%zz", "", "", "", "", http.Header{"X-Request-Id": {"r"}}},
		},
		{
			"the stage alone",
			`{"version":"2.0","rawPath":"/prod","requestContext":{"stage":"prod","requestId":"r","http":{"method":"GET"}}}`,
			seen{"GET", "/", "", "", "", "", http.Header{"X-Request-Id": {"r"}}},
		},
		{
			"an event of API Gateway",
			string(check.Must(os.ReadFile("testdata/event.json"))(t)),
			seen{
				"POST", "/transactions", "", "a1b2c3d4e5.execute-api.eu-west-1.amazonaws.com", "203.0.113.7", `{"amount":500,"currency":"ARS"}`,
				http.Header{
					"Accept": {"*/*"}, "Authorization": {"Bearer TOKEN"}, "Content-Length": {"31"}, "Content-Type": {"application/x-www-form-urlencoded"},
					"Idempotency-Key": {"8e03978e"}, "User-Agent": {"curl/8.5.0"}, "X-Amzn-Trace-Id": {"Root=1-65a5000c-0a1b2c3d4e5f60718293a4b5"},
					"X-Forwarded-For": {"203.0.113.7"}, "X-Forwarded-Port": {"443"}, "X-Forwarded-Proto": {"https"}, "X-Request-Id": {"RfEx4h5ZjoEEM8Q="},
				},
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var got seen
			f := awslambda.NewHandler(lambda.New(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					t.Error(err)
				}
				got = seen{r.Method, r.URL.Path, r.URL.RawQuery, r.Host, r.RemoteAddr, string(body), r.Header}
			})))
			check.Must(f.Invoke(t.Context(), []byte(c.event)))(t)
			check.Equal(t, "request", got, c.want)
		})
	}
}

func TestAResponseIsReturnedWhole(t *testing.T) {
	t.Parallel()
	f := lambda.New(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Add("Vary", "a")
		w.Header().Add("Vary", "b")
		w.Header().Add("Set-Cookie", "c=1")
		w.Header().Add("Set-Cookie", "d=2")
		w.WriteHeader(http.StatusTeapot)
		w.WriteHeader(http.StatusOK)
		w.Header().Set("Too-Late", "x")
		_, _ = w.Write([]byte("\xff"))
	}))
	got := check.Must(f(t.Context(), json.RawMessage(`{"version":"2.0","requestContext":{"http":{"method":"GET"}}}`)))(t)
	want := events.APIGatewayV2HTTPResponse{
		StatusCode: http.StatusTeapot, Headers: map[string]string{"Vary": "a, b"},
		Cookies: []string{"c=1", "d=2"}, Body: "/w==", IsBase64Encoded: true,
	}
	check.Equal(t, "response", got, want)
}

// A queue deletes the messages of a call that succeeds, so no call with another
// event may.
func TestAnEventOfAnotherKindFails(t *testing.T) {
	t.Parallel()
	f := awslambda.NewHandler(lambda.New(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("the handler is called")
	})))
	for name, c := range map[string]struct{ event, says string }{
		"SQS":              {`{"Records":[{"messageId":"059f36b4","body":"secret-4711","eventSource":"aws:sqs"}]}`, `"aws:sqs"`},
		"DynamoDB stream":  {`{"Records":[{"eventID":"1","eventSource":"aws:dynamodb","dynamodb":{"Keys":{"pk":{"S":"secret-4711"}}}}]}`, `"aws:dynamodb"`},
		"SNS":              {`{"Records":[{"EventSource":"aws:sns","Sns":{"Message":"secret-4711"}}]}`, `"aws:sns"`},
		"EventBridge":      {`{"version":"0","source":"aws.events","detail-type":"Scheduled Event","detail":{"x":"secret-4711"}}`, `"aws.events"`},
		"REST API":         {`{"resource":"/transactions","path":"/transactions","httpMethod":"GET","requestContext":{"stage":"prod"},"body":"secret-4711"}`, "payload format 1.0"},
		"HTTP API, v1":     {`{"version":"1.0","path":"/transactions","httpMethod":"GET","requestContext":{"stage":"prod"}}`, "payload format 1.0"},
		"HTTP API, v3":     {`{"version":"3.0","requestContext":{"http":{"method":"GET"}}}`, `payload format "3.0"`},
		"load balancer":    {`{"requestContext":{"elb":{"targetGroupArn":"x"}},"httpMethod":"GET","path":"/transactions"}`, "load balancer"},
		"WebSocket":        {`{"requestContext":{"connectionId":"x","routeKey":"$connect"}}`, "WebSocket"},
		"VPC Lattice":      {`{"version":"2.0","path":"/transactions","method":"GET","requestContext":{"serviceNetworkArn":"x"}}`, "VPC Lattice"},
		"authorizer, v2":   {`{"version":"2.0","type":"REQUEST","routeArn":"x","rawPath":"/transactions","requestContext":{"http":{"method":"GET"}}}`, "authorizer"},
		"authorizer, v1":   {`{"version":"1.0","type":"REQUEST","methodArn":"x","httpMethod":"GET","requestContext":{"stage":"prod"}}`, "authorizer"},
		"logs":             {`{"awslogs":{"data":"secret-4711"}}`, `"awslogs"`},
		"a call by hand":   {`{"z":"secret-4711","a":1}`, `["a" "z"]`},
		"many members":     {`{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"j":1}`, "and 2 more"},
		"nothing":          {`{}`, "[]"},
		"null":             {`null`, "not an object"},
		"a list":           {`[1]`, "not an object"},
		"no method":        {`{"version":"2.0","requestContext":{"http":{}}}`, `payload format "2.0"`},
		"types differ":     {`{"version":2,"requestContext":{"http":{"method":["GET"]}}}`, "payload format"},
		"no base64":        {`{"version":"2.0","requestContext":{"http":{"method":"GET"}},"isBase64Encoded":true,"body":"?"}`, "base64"},
		"a method of two":  {`{"version":"2.0","requestContext":{"http":{"method":"A B"}}}`, "method"},
		"records, no name": {`{"Records":[{}]}`, `records of ""`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := f.Invoke(t.Context(), []byte(c.event))
			if !errors.Is(err, lambda.ErrEvent) || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("%s %v, want an error with %s", out, err, c.says)
			}
			if strings.Contains(err.Error(), "4711") {
				t.Errorf("the error tells data of the event: %v", err)
			}
		})
	}
}

func FuzzEvents(f *testing.F) {
	f.Add([]byte(`{"version":"2.0","rawPath":"/a","requestContext":{"http":{"method":"GET"}}}`))
	f.Add([]byte(`{"Records":[{"eventSource":"aws:sqs"}],"requestContext":null}`))
	f.Add([]byte(`{"detail-type":1,"source":[]}`))
	f.Fuzz(func(t *testing.T, event []byte) {
		served := false
		function := lambda.New(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served = true }))
		_, err := function(t.Context(), event)
		if served != (err == nil) || err != nil && (!errors.Is(err, lambda.ErrEvent) || len(err.Error()) > 4000) {
			t.Errorf("served %t, error %v", served, err)
		}
	})
}
