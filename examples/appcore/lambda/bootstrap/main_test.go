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
	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/secret/secretstest"
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

// A function serves its endpoint only, and checks the token itself, before all else.
func TestTheEnvironmentNamesTheFunction(t *testing.T) {
	for _, named := range api.Routes() {
		environment := maps.Clone(complete)
		environment["_HANDLER"] = named.Name
		reads := store.Reads()
		f := check.Must(load(t.Context(), func(name string) string { return environment[name] }, slog.New(slog.DiscardHandler)))(t)
		// Only functions that need the keys may read the secret.
		if read := store.Reads() > reads; read != named.List {
			t.Errorf("%s: it reads the secret: %t", named.Name, read)
		}
		for _, called := range api.Routes() {
			e := events.APIGatewayV2HTTPRequest{Version: "2.0", RawPath: strings.Replace(called.Path, "{id}", "tx-1", 1)}
			e.RequestContext.HTTP.Method = called.Method
			got := check.Must(f(t.Context(), check.Must(json.Marshal(e))(t)))(t)
			// /transactions/global has the form of /transactions/{id}.
			served := named.Name == called.Name || named.Name == "getTransaction" && called.Name == "newestTransactions"
			if served != (got.StatusCode == http.StatusUnauthorized) || got.Headers["Content-Type"] != "application/json" {
				t.Errorf("%s, asked for %s: %+v", named.Name, called.Name, got)
			}
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
