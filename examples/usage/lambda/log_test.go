package lambda_test

import (
	"bytes"
	"context"
	"encoding/json"
	stdlog "log"
	"log/slog"
	"strings"
	"testing"

	awslambda "github.com/aws/aws-lambda-go/lambda"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/usage/lambda"
)

func TestEveryLineHasServiceAndRequest(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	log := lambda.NewLog(&text, slog.LevelInfo)
	library := stdlog.New(lambda.LibraryLog(log), "", 0)
	panics := lambda.Logged(awslambda.NewHandler(func(context.Context) error { panic("broken") }), log)

	log.Debug("below the level")
	log.Info("start")
	log.With("a", 1).InfoContext(requested(t, "r-1"), "of a request")
	library.Print("of the library")
	library.Print(`{"errorMessage":"which was logged"}`)
	func() {
		defer func() { check.Equal(t, "panic", recover(), any("broken")) }()
		_, err := panics.Invoke(requested(t, "r-2"), []byte("{}"))
		t.Error("no panic", err)
	}()

	var got [][2]string
	for line := range strings.Lines(text.String()) {
		var l struct{ Msg, Service, RequestID, Stack *string }
		check.OK(t, json.Unmarshal([]byte(line), &l))
		if l.Service == nil || *l.Service != "usage" || l.RequestID == nil {
			t.Fatalf("line %s", line)
		}
		if got = append(got, [2]string{*l.Msg, *l.RequestID}); *l.Msg == "invocation panicked" && !strings.Contains(*l.Stack, "log_test.go") {
			t.Errorf("stack %s", *l.Stack)
		}
	}
	check.Equal(t, "lines", got, [][2]string{{"start", ""}, {"of a request", "r-1"}, {"of the library", ""}, {"invocation panicked", "r-2"}})
}
