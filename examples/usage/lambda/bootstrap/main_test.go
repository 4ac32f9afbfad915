package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/generated"
	"github.com/singletable/singletable/examples/usage/lambda"
	"github.com/singletable/singletable/examples/usage/metering"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

func TestTheHandlerNamesTheFunction(t *testing.T) {
	t.Parallel()
	client := tabletest.Client(t)
	tbl := tabletest.NewWith(t, client, metering.Schema("any"), nil)
	for handler, want := range map[string]string{"count": `{"batchItemFailures":[]}`, "query": "VALIDATION_ERROR", "": "", "other": ""} {
		f, err := open(t.Context(), client, configuration{table: tbl.Schema().Name, handler: handler}, slog.New(slog.DiscardHandler))
		if want == "" {
			if f != nil || err == nil {
				t.Errorf("%q: %T %v", handler, f, err)
			}
			continue
		}
		check.OK(t, err)
		response := check.Must(f.Invoke(t.Context(), []byte(`{"Records":[]}`)))(t)
		if !strings.Contains(string(response), want) {
			t.Errorf("%q: %s", handler, response)
		}
	}
}

func TestAFunctionWithoutItsTableDoesNotStart(t *testing.T) {
	t.Parallel()
	client := tabletest.Client(t)
	other := tabletest.NewWith(t, client, schema.Table{Name: "any", PK: "PK", SK: "SK", TTL: "expiresAt"}, nil)
	_, err := open(t.Context(), client, configuration{table: other.Schema().Name, handler: "count"}, slog.New(slog.DiscardHandler))
	if !errors.Is(err, schema.ErrMismatch) {
		t.Error(err)
	}
}

func TestTheEnvironmentIsRead(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		environment map[string]string
		want        configuration
	}{
		{map[string]string{"TABLE_NAME": "t", "_HANDLER": "count"}, configuration{table: "t", handler: "count"}},
		{
			map[string]string{"TABLE_NAME": "t", "LOG_LEVEL": "warn", "TTL_DAYS": "90", "MAX_DATE_RANGE_DAYS": "30"},
			configuration{table: "t", Settings: lambda.Settings{Level: slog.LevelWarn, Metering: metering.Options{RetentionDays: 90, RangeDays: 30}}},
		},
	} {
		got, err := configure(func(name string) string { return tt.environment[name] })
		if err != nil || got != tt.want {
			t.Errorf("%+v: %+v %v", tt.environment, got, err)
		}
	}
}

func TestAWrongEnvironmentDoesNotStart(t *testing.T) {
	t.Parallel()
	wrong := map[string]string{"LOG_LEVEL": "loud", "TTL_DAYS": "0", "MAX_DATE_RANGE_DAYS": "a year"}
	var level slog.LevelVar
	_, err := load(t.Context(), func(name string) string { return wrong[name] }, &level, slog.New(slog.DiscardHandler))
	for _, name := range []string{"TABLE_NAME", "LOG_LEVEL", "TTL_DAYS", "MAX_DATE_RANGE_DAYS"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("it does not name %s: %v", name, err)
		}
	}
	// Counters that expire before the end of the time that can be asked for would
	// be missing from totals.
	client := tabletest.Client(t)
	tbl := tabletest.NewWith(t, client, metering.Schema("any"), nil)
	for _, handler := range []string{"count", "query"} {
		_, err := open(t.Context(), client, configuration{
			table: tbl.Schema().Name, handler: handler, Settings: lambda.Settings{Metering: metering.Options{RetentionDays: 90, RangeDays: 90}},
		}, slog.New(slog.DiscardHandler))
		if !errors.Is(err, table.ErrInvalid) || !strings.Contains(err.Error(), "MAX_DATE_RANGE_DAYS") {
			t.Errorf("%s: %v", handler, err)
		}
	}
}

// A connection that hangs is left after the timeout, and the message is counted by
// the next attempt.
func TestARequestThatHangsIsSentAgain(t *testing.T) {
	t.Parallel()
	direct := tabletest.Client(t)
	tbl := tabletest.NewWith(t, direct, metering.Schema("any"), nil)
	engine := check.Must(url.Parse(*direct.Options().BaseEndpoint))(t)
	var hung atomic.Int32
	next := httputil.NewSingleHostReverseProxy(engine)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".TransactWriteItems") && hung.Add(1) == 1 {
			_, _ = io.Copy(io.Discard, r.Body) // or the server does not see that the client has gone
			<-r.Context().Done()
			return
		}
		next.ServeHTTP(w, r)
	}))
	defer proxy.Close()
	o := direct.Options()
	o.BaseEndpoint, o.HTTPClient = &proxy.URL, httpClient(time.Second)
	f := check.Must(open(t.Context(), dynamodb.New(o), configuration{table: tbl.Schema().Name, handler: "count"}, slog.New(slog.DiscardHandler)))(t)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	event := `{"messageId":"m-1","workspaceId":"acme","metricId":"exports","count":1,"date":"2026-01-15T14"}`
	check.Equal(t, "response", string(check.Must(f.Invoke(ctx, []byte(event)))(t)), `{"status":"counted"}`)
	if n := hung.Load(); n < 2 {
		t.Errorf("%d transactions", n)
	}
	// What the function itself has.
	client := httpClient(5 * time.Second).(*awshttp.BuildableClient)
	check.Equal(t, "timeouts", []time.Duration{client.GetDialer().Timeout, client.GetTimeout()}, []time.Duration{3 * time.Second, 5 * time.Second})
}

//go:generate go test . -run ^TestTheRunbook -update

func TestTheRunbookShowsAFailedStart(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	var level slog.LevelVar
	log := lambda.NewLog(&text, &level)
	wrong := map[string]string{"TABLE_NAME": "usage-dev", "TTL_DAYS": "five"}
	_, err := load(t.Context(), func(name string) string { return wrong[name] }, &level, log)
	failed(log, err)
	line := regexp.MustCompile(`"time":"[^"]*"`).ReplaceAllString(strings.TrimSpace(text.String()), `"time":"…"`)
	generated.Part(t, "../../RUNBOOK.md", "log-start", "```json\n"+line+"\n```")
}
