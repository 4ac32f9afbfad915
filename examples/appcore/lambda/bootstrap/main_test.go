package main

import (
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/singletable/singletable/examples/appcore/api"
	"github.com/singletable/singletable/examples/appcore/setup/secretstest"
	"github.com/singletable/singletable/examples/internal/check"
)

var complete = map[string]string{
	"TABLE_NAME":           "AppCore",
	"AWS_REGION":           "eu-west-1",
	"COGNITO_USER_POOL_ID": "eu-west-1_AbCdEfGhI",
	"COGNITO_CLIENT_ID":    "client",
	"CURSOR_KEYS_SECRET":   "appcore/cursor-keys",
	"_HANDLER":             "listTransactions",
}

var store *secretstest.Store

func TestMain(m *testing.M) {
	store = secretstest.New("appcore/cursor-keys", "ZIcAgH8ooiUPe66gVYVDw5WBa/69CWjtTFVQpNNpMzo=")
	// What the SDK reads itself.
	for name, value := range map[string]string{
		secretstest.EndpointVariable: store.URL,
		"AWS_REGION":                 "eu-west-1", "AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local",
	} {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

func TestTheEnvironmentNamesTheFunction(t *testing.T) {
	paths := map[string]string{}
	for _, route := range api.Routes() {
		paths[route.Name] = strings.Replace(route.Path, "{id}", "tx-1", 1)
		environment := maps.Clone(complete)
		environment["_HANDLER"] = route.Name
		reads := store.Reads()
		f := check.Must(load(t.Context(), func(name string) string { return environment[name] }, slog.New(slog.DiscardHandler)))(t)
		// Only functions that need the keys may read the secret.
		if read := store.Reads() > reads; read != route.List {
			t.Errorf("%s: it reads the secret: %t", route.Name, read)
		}
		e := events.APIGatewayV2HTTPRequest{Version: "2.0", RawPath: paths[route.Name]}
		e.RequestContext.HTTP.Method = route.Method
		event := check.Must(json.Marshal(e))(t)
		if got, err := f(t.Context(), event); err != nil || got.StatusCode != http.StatusUnauthorized {
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

func TestAListWithoutCursorKeysDoesNotStart(t *testing.T) {
	t.Parallel()
	environment := maps.Clone(complete)
	environment["CURSOR_KEYS_SECRET"] = "another"
	_, err := load(t.Context(), func(name string) string { return environment[name] }, slog.New(slog.DiscardHandler))
	if err == nil || !strings.Contains(err.Error(), "cursor keys") || !strings.Contains(err.Error(), "ResourceNotFoundException") {
		t.Errorf("error %v, want one that tells of the secret", err)
	}
}
