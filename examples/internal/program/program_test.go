package program_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/program"
	"github.com/singletable/singletable/examples/internal/report"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

var errBroken = errors.New("broken pipe")

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errBroken }

// greeter reports which table it was given.
var greeter = program.Program{
	Name: "greeter", Table: "Greetings",
	Show: func(ctx context.Context, _ *tabletest.Engine, name string, out report.Report) error {
		out.Line("hello, %s", name)
		out.Meter.Observe(ctx, table.Event{Capacity: 2})
		out.Spent("greeting")
		return ctx.Err()
	},
}

func TestAProgramReports(t *testing.T) {
	engine := check.Must(tabletest.Start(t.Context(), nil))(t)
	defer engine.Close()
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"-endpoint", engine.Endpoint()}, "Greetings"},
		{[]string{"-table", "Other", "-endpoint", engine.Endpoint()}, "Other"},
	} {
		t.Setenv("AWS_ENDPOINT_URL_DYNAMODB", "") // Run sets it; this restores it
		var out bytes.Buffer
		check.OK(t, greeter.Run(t.Context(), tt.args, &out))
		want := "Table " + tt.want + " on " + engine.Endpoint() + "\nhello, " + tt.want + "\n  greeting: requests 1, units 2\n"
		if out.String() != want {
			t.Errorf("got:\n%swant:\n%s", out.String(), want)
		}
	}
}

func TestMistakesAreErrors(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, err := range map[string]error{
		"unknown flag":  greeter.Run(t.Context(), []string{"-nope"}, io.Discard),
		"argument":      greeter.Run(t.Context(), []string{"nope"}, io.Discard),
		"ended context": greeter.Run(ended, nil, io.Discard),
		"broken output": greeter.Run(t.Context(), nil, broken{}),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	check.OK(t, greeter.Run(t.Context(), []string{"-help"}, io.Discard))
}

func TestAnErrorOfTheReaderEndsAServerAndIsTheResult(t *testing.T) {
	t.Parallel()
	fails := func(context.Context) error { return errBroken }
	serves := func(ctx context.Context) error { <-ctx.Done(); return nil } // as a server shuts down
	check.Is(t, program.WithReader(t.Context(), fails, serves), errBroken, "the result")
	reads := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	done := func(context.Context) error { return nil }
	check.OK(t, program.WithReader(t.Context(), reads, done))
}
