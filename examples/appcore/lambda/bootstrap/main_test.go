package main

import (
	"log/slog"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/singletable/singletable/examples/appcore/api"
)

var complete = map[string]string{
	"TABLE_NAME":           "AppCore",
	"AWS_REGION":           "eu-west-1",
	"COGNITO_USER_POOL_ID": "eu-west-1_AbCdEfGhI",
	"COGNITO_CLIENT_ID":    "client",
	"CURSOR_KEYS":          "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
	"_HANDLER":             "listTransactions",
}

func TestTheEnvironmentNamesTheFunction(t *testing.T) {
	t.Parallel()
	paths := map[string]string{}
	for _, route := range api.Routes() {
		paths[route.Name] = strings.Replace(route.Path, "{id}", "tx-1", 1)
		environment := maps.Clone(complete)
		environment["_HANDLER"] = route.Name
		f, err := load(t.Context(), func(name string) string { return environment[name] }, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		var e events.APIGatewayV2HTTPRequest
		e.RequestContext.HTTP.Method, e.RawPath = route.Method, paths[route.Name]
		if got, err := f(t.Context(), e); err != nil || got.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s: %+v %v", route.Name, got, err)
		}
	}
}

func TestAFunctionThatLacksSomethingDoesNotStart(t *testing.T) {
	t.Parallel()
	for name := range complete {
		environment := maps.Clone(complete)
		delete(environment, name)
		_, err := load(t.Context(), func(name string) string { return environment[name] }, slog.New(slog.DiscardHandler))
		if err == nil {
			t.Errorf("it starts without %s", name)
		} else if name != "_HANDLER" && !strings.Contains(err.Error(), name) {
			t.Errorf("without %s: %v", name, err)
		}
	}
}
