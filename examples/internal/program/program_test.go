package program_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
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
		t.Setenv("AWS_ENDPOINT_URL_DYNAMODB", "") // Run sets them; this restores them
		t.Setenv("AWS_ENDPOINT_URL_DYNAMODB_STREAMS", "http://127.0.0.1:1")
		var out bytes.Buffer
		check.OK(t, greeter.Run(t.Context(), tt.args, &out))
		want := "Table " + tt.want + " on " + engine.Endpoint() + "\nhello, " + tt.want + "\n  greeting: requests 1, units 2\n"
		check.Equal(t, "the engine of streams", os.Getenv("AWS_ENDPOINT_URL_DYNAMODB_STREAMS"), engine.Endpoint())
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

// sings is a service that says which mode runs, with what.
func sings(out io.Writer, loud *bool) program.Service {
	mode := func(name, usage string) program.Mode {
		return program.Mode{Flag: name, Usage: usage, Run: func(_ context.Context, r program.Run) error {
			_, err := fmt.Fprintln(out, name, r.Table, r.Data, r.Value, *loud)
			return err
		}}
	}
	return program.Service{
		Name: "singer", Table: "Songs", Data: "`file` of songs",
		Modes: []program.Mode{mode("dev", "sing here"), mode("serve", "sing"), mode("teach", "teach this `name`")},
		Flags: func(flags *flag.FlagSet) { flags.BoolVar(loud, "loud", false, "sing loud") },
		Commands: []program.Command{{Name: "hum", Usage: "hum a tune", Run: func(_ context.Context, args []string, out io.Writer) error {
			_, err := fmt.Fprintln(out, "hum", args)
			return err
		}}},
	}
}

func TestAServiceRunsOneMode(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"-dev -data x -table T": "dev T x  false\n",
		"-serve -loud":          "serve Songs   true\n",
		"-teach ana":            "teach Songs  ana false\n",
		"hum -dev":              "hum [-dev]\n",
		"":                      "exactly one of -dev, -serve, -teach is needed",
		"-dev -serve":           "one of",
		"-serve -data x":        "-data goes with -dev",
		"-dev -data x -endpoint http://127.0.0.1:1": "-endpoint names another",
		"-serve more":       `"more"`,
		"-serve -dev=false": "serve Songs   false\n",
		"-dev=x":            "invalid",
		"-serve -nope":      "-nope",
		"-h":                "help requested",
	} {
		var out, log bytes.Buffer
		var loud bool
		err := sings(&out, &loud).Run(t.Context(), strings.Fields(args), &out, &log)
		if err != nil {
			fmt.Fprint(&out, err)
		}
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s: %s, want %s", args, &out, want)
		}
		if args != "-h" {
			continue
		}
		for _, part := range []string{"-dev", "-serve", "-teach name", "-loud", "-data file", "hum a tune"} {
			if !strings.Contains(log.String(), part) {
				t.Errorf("the help lacks %s:\n%s", part, &log)
			}
		}
	}
}
