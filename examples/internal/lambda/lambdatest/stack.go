// Package lambdatest runs the programs of Lambda functions as Lambda does: each as a process
// that gets its events from the Lambda Runtime API. The TestMain of a program's package has
// to call programtest.Main.
package lambdatest

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/samtest"
	"github.com/singletable/singletable/table/tabletest"
)

// Stack is the functions of a template on the engine of the test.
type Stack struct {
	// Functions are the template's, by their handlers.
	Functions map[string]samtest.Function
	// Client is a client of the engine, for the test itself.
	Client *dynamodb.Client
	// Faults record the functions' requests to DynamoDB and break them.
	Faults tabletest.Faults
	// Environment is what every process has, besides the variables of its function.
	Environment map[string]string

	globals, values map[string]string
}

// New reads a template. Values are those of the parameters and resources that the variables
// of its functions refer to. A parameter without a value has its default.
func New(t *testing.T, template string, values map[string]string) *Stack {
	t.Helper()
	tpl := samtest.Read(t, template)
	s := &Stack{
		Functions: samtest.Functions(t, tpl), Client: tabletest.Client(t),
		globals: tpl.Globals.Function.Environment.Variables, values: map[string]string{},
	}
	for name, p := range tpl.Parameters {
		s.values[name] = p.Default
	}
	maps.Copy(s.values, values)
	o := s.Client.Options()
	credentials := check.Must(o.Credentials.Retrieve(t.Context()))(t)
	dynamo := httputil.NewSingleHostReverseProxy(check.Must(url.Parse(*o.BaseEndpoint))(t))
	dynamo.Transport = &s.Faults
	// A broken connection is passed on as one.
	dynamo.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }
	server := httptest.NewServer(dynamo)
	t.Cleanup(server.Close)
	s.Environment = map[string]string{
		"AWS_ENDPOINT_URL_DYNAMODB": server.URL, "AWS_REGION": o.Region,
		"AWS_ACCESS_KEY_ID": credentials.AccessKeyID, "AWS_SECRET_ACCESS_KEY": credentials.SecretAccessKey,
		"AWS_LAMBDA_FUNCTION_VERSION": "$LATEST", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "256", "TZ": ":UTC",
		"AWS_MAX_ATTEMPTS": "1", // of the SDK, so that a broken connection costs no time
	}
	return s
}

// environment returns the environment of a function as Lambda sets it, with some variables
// replaced.
func (s *Stack) environment(t *testing.T, handler string, replaced map[string]string) map[string]string {
	t.Helper()
	environment := maps.Clone(s.Environment)
	environment["_HANDLER"], environment["AWS_LAMBDA_FUNCTION_NAME"] = handler, handler
	for _, variables := range []map[string]string{s.globals, s.Functions[handler].Environment.Variables} {
		for name, reference := range variables {
			value, ok := s.values[reference]
			if !ok {
				t.Fatalf("%s: the test has no value for %s", name, reference)
			}
			environment[name] = value
		}
	}
	maps.Copy(environment, replaced)
	return environment
}
