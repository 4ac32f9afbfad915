package lambda_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/lambda"
	"github.com/singletable/singletable/examples/internal/lambda/lambdatest"
	"github.com/singletable/singletable/examples/internal/program/programtest"
)

// TestMain is also a program with a function that does what its event says.
func TestMain(m *testing.M) {
	programtest.Main(m, func() {
		lambda.Main("test", nil, func(context.Context, *slog.Logger) (any, error) {
			if os.Getenv("BROKEN") != "" {
				return nil, errors.New("it is broken")
			}
			return func(_ context.Context, event string) (string, error) {
				switch event {
				case "fail":
					return "", errors.New("it fails")
				case "panic":
					panic("it panics")
				}
				return event, nil
			}, nil
		})
	})
}

func TestAProgramLogsWhatFails(t *testing.T) {
	t.Parallel()
	s := lambdatest.New(t, "testdata/template.yaml", nil)
	f := s.Start(t, "function")
	f.Fails(t, []byte(`"fail"`), "it fails")
	o := f.Invoke(t, []byte(`"hello"`)) // the process goes on
	check.Equal(t, "response", string(o.Response), `"hello"`)
	check.Equal(t, "lines", len(o.Lines), 0)

	o = f.Invoke(t, []byte(`"panic"`))
	check.Equal(t, "error", o.Error, "it panics")
	var lines []string
	for _, l := range append(o.Lines, f.Ends(t)...) {
		lines = append(lines, strings.TrimSpace(l.Level+" "+l.Msg+" "+l.RequestID))
	}
	check.Equal(t, "lines", lines, []string{
		"ERROR invocation panicked " + o.RequestID,
		"WARN calling the handler function resulted in a panic, the process should exit", // by the Lambda library
	})

	l := s.StartFails(t, "function", map[string]string{"BROKEN": "yes"})
	check.Equal(t, "error", l.Error, any("it is broken"))
}
