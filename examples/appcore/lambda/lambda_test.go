package lambda_test

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	awslambda "github.com/aws/aws-lambda-go/lambda"
	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/examples/appcore/api"
	"github.com/singletable/singletable/examples/appcore/auth"
	"github.com/singletable/singletable/examples/appcore/core"
	"github.com/singletable/singletable/examples/appcore/lambda"
	"github.com/singletable/singletable/table/tabletest"
)

// functions are the Lambda functions of the API, as Lambda calls them: bytes
// in, bytes out.
type functions struct {
	byName map[string]awslambda.Handler
	tokens *strings.Replacer
}

func newFunctions(t *testing.T) functions {
	t.Helper()
	issuer, err := auth.NewIssuer(nil)
	if err != nil {
		t.Fatal(err)
	}
	verifier, err := auth.NewCognito(issuer.Config())
	if err != nil {
		t.Fatal(err)
	}
	service, err := core.New(tabletest.New(t, core.Schema("any"), nil))
	if err != nil {
		t.Fatal(err)
	}
	token, err := issuer.Token("u-123")
	if err != nil {
		t.Fatal(err)
	}
	app := api.New(service, verifier, slog.New(slog.NewJSONHandler(io.Discard, nil)))
	f := functions{byName: map[string]awslambda.Handler{}, tokens: strings.NewReplacer("TOKEN", token)}
	for _, route := range api.Routes() {
		handler, err := app.HandlerOf(route.Name)
		if err != nil {
			t.Fatal(err)
		}
		f.byName[route.Name] = awslambda.NewHandler(lambda.New(handler))
	}
	return f
}

// invoke calls a function with an event.
func (f functions) invoke(t *testing.T, name, event string) (answer events.APIGatewayV2HTTPResponse) {
	t.Helper()
	out, err := f.byName[name].Invoke(t.Context(), []byte(f.tokens.Replace(event)))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out, &answer); err != nil {
		t.Fatal(err)
	}
	return answer
}

func event(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestEveryEndpointIsAFunction(t *testing.T) {
	t.Parallel()
	f := newFunctions(t)
	created := f.invoke(t, "createTransaction", event(t, "createTransaction"))
	if created.StatusCode != http.StatusCreated {
		t.Fatalf("%+v", created)
	}
	location := created.Headers["Location"]
	again := f.invoke(t, "createTransaction", event(t, "createTransaction"))
	if again.StatusCode != http.StatusCreated || again.Body != created.Body || again.Headers["Idempotency-Replayed"] != "true" {
		t.Errorf("again: %+v", again)
	}
	if id := created.Headers["X-Request-Id"]; id != "RfEx4h5ZjoEEM8Q=" {
		t.Errorf("X-Request-Id is %q", id)
	}

	one := strings.ReplaceAll(event(t, "getTransaction"), "/transactions/TXID", location)
	if got := f.invoke(t, "getTransaction", one); got.StatusCode != http.StatusOK || got.Body != created.Body {
		t.Errorf("by id: %+v", got)
	}
	list := `{"items":[` + strings.TrimSpace(created.Body) + "]}\n"
	for name, want := range map[string]string{
		"listTransactions":   list,
		"newestTransactions": list,
		"listNotifications":  "{\"items\":[]}\n",
	} {
		if got := f.invoke(t, name, event(t, name)); got.StatusCode != http.StatusOK || got.Body != want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestAFunctionServesItsEndpointOnly(t *testing.T) {
	t.Parallel()
	f := newFunctions(t)
	for name := range f.byName {
		for other := range f.byName {
			status := f.invoke(t, name, event(t, other)).StatusCode
			// /transactions/global has the form of /transactions/{id}.
			served := name == other || name == "getTransaction" && other == "newestTransactions"
			if refused := status == http.StatusMethodNotAllowed || status == http.StatusNotFound; refused && served && name != "getTransaction" || !refused && !served {
				t.Errorf("%s answers the event of %s with %d", name, other, status)
			}
		}
	}
}

func TestFunctionsCheckTheTokenThemselves(t *testing.T) {
	t.Parallel()
	f := newFunctions(t)
	for name := range f.byName {
		forged := strings.ReplaceAll(event(t, name), "Bearer TOKEN", "Bearer a.b.c")
		if got := f.invoke(t, name, forged); got.StatusCode != http.StatusUnauthorized || got.Headers["Content-Type"] != "application/json" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

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
			`{"rawPath":"/a/b","rawQueryString":"x=1&y=%20","cookies":["c=1","d=2"],"headers":{"accept":"a,b","host":"h"},
			"requestContext":{"domainName":"h","requestId":"r-1","stage":"$default","http":{"method":"PUT","sourceIp":"203.0.113.7"}},"body":"text"}`,
			seen{
				"PUT", "/a/b", "x=1&y=%20", "h", "203.0.113.7", "text",
				http.Header{"Accept": {"a,b"}, "Cookie": {"c=1; d=2"}, "X-Request-Id": {"r-1"}},
			},
		},
		{
			"stage, base64",
			`{"rawPath":"/prod/a%20b","requestContext":{"stage":"prod","http":{"method":"GET"}},"headers":{"x-request-id":"mine"},"body":"/w==","isBase64Encoded":true}`,
			seen{"GET", "/a b", "", "", "", "\xff", http.Header{"X-Request-Id": {"mine"}}},
		},
		{
			"a path that only begins like the stage",
			`{"rawPath":"/production%zz","requestContext":{"stage":"prod","requestId":"r","http":{"method":"GET"}}}`,
			seen{"GET", "/production%zz", "", "", "", "", http.Header{"X-Request-Id": {"r"}}},
		},
		{
			"the stage alone",
			`{"rawPath":"/prod","requestContext":{"stage":"prod","requestId":"r","http":{"method":"GET"}}}`,
			seen{"GET", "/", "", "", "", "", http.Header{"X-Request-Id": {"r"}}},
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
			if _, err := f.Invoke(t.Context(), []byte(c.event)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnAnswerIsHandedBackWhole(t *testing.T) {
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
	got, err := f(t.Context(), events.APIGatewayV2HTTPRequest{})
	if err != nil {
		t.Fatal(err)
	}
	want := events.APIGatewayV2HTTPResponse{
		StatusCode: http.StatusTeapot, Headers: map[string]string{"Vary": "a, b"},
		Cookies: []string{"c=1", "d=2"}, Body: "/w==", IsBase64Encoded: true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
}

func TestAnEventThatIsNoRequestIs400(t *testing.T) {
	t.Parallel()
	f := lambda.New(http.NotFoundHandler())
	for name, e := range map[string]events.APIGatewayV2HTTPRequest{
		"no base64": {Body: "?", IsBase64Encoded: true},
		"no method": {RequestContext: events.APIGatewayV2HTTPRequestContext{
			HTTP: events.APIGatewayV2HTTPRequestContextHTTPDescription{Method: "A B"},
		}},
	} {
		if got, err := f(t.Context(), e); err != nil || got.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %+v %v", name, got, err)
		}
	}
}
