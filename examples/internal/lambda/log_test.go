package lambda_test

import (
	"bytes"
	"context"
	"encoding/json"
	stdlog "log"
	"log/slog"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/lambda"
)

// requested is the context of an invocation.
func requested(t *testing.T, id string) context.Context {
	return lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{AwsRequestID: id})
}

func TestEveryLineHasServiceAndRequest(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	log := lambda.NewLog(&text, "shop", nil)
	library := stdlog.New(lambda.LibraryLog(log), "", 0)
	panics := lambda.Logged(func(context.Context) error { panic("broken") }, log)

	log.Debug("below the level")
	log.Info("start")
	log.With("a", 1).InfoContext(requested(t, "r-1"), "of an invocation")
	log.InfoContext(requested(t, "r-1"), "of an HTTP request", slog.String("requestId", "h-1"), slog.Int("status", 200))
	library.Print("of the library")
	library.Print(`{"errorMessage":"which was logged"}`)
	func() {
		defer func() { check.Equal(t, "panic", recover(), any("broken")) }()
		_, err := lambda.Logged(panics, log).Invoke(requested(t, "r-2"), []byte("{}"))
		t.Error("no panic", err)
	}()

	var got [][2]string
	for line := range strings.Lines(text.String()) {
		var l struct{ Msg, Service, RequestID, Stack *string }
		check.OK(t, json.Unmarshal([]byte(line), &l))
		if l.Service == nil || *l.Service != "shop" || strings.Count(line, `"requestId"`) != 1 {
			t.Fatalf("line %s", line)
		}
		if got = append(got, [2]string{*l.Msg, *l.RequestID}); *l.Msg == "invocation panicked" && !strings.Contains(*l.Stack, "log_test.go") {
			t.Errorf("stack %s", *l.Stack)
		}
	}
	check.Equal(t, "lines", got, [][2]string{
		{"start", ""}, {"of an invocation", "r-1"}, {"of an HTTP request", "h-1"}, {"of the library", ""}, {"invocation panicked", "r-2"},
	})
}
