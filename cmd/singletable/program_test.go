package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table/tabletest"
)

var update = flag.Bool("update", false, "write the golden files")

// asProgram is the variable that makes the test binary the program.
const asProgram = "SINGLETABLE_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	flag.Parse()
	engine, err := tabletest.Start(context.Background(), nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	// The commands find the engine as they find AWS. The user's own profiles are
	// none of the tests' business.
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL_DYNAMODB": engine.Endpoint(),
		"AWS_REGION":                cmp.Or(os.Getenv("AWS_DEFAULT_REGION"), "us-east-1"),
		"AWS_ACCESS_KEY_ID":         "local", "AWS_SECRET_ACCESS_KEY": "local",
	} {
		if os.Getenv(name) == "" {
			_ = os.Setenv(name, value)
		}
	}
	for _, name := range []string{"AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"} {
		_ = os.Setenv(name, os.DevNull)
	}
	for _, name := range []string{"AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_DEFAULT_REGION"} {
		_ = os.Unsetenv(name)
	}
	code := m.Run()
	_ = engine.Close()
	os.Exit(code)
}

// now is the time by the clock of the program under test.
var now = time.Date(2024, 1, 15, 12, 0, 0, 0, time.UTC)

// result is what a command line has led to.
type result struct {
	stdout, stderr string
	code           int
}

// run runs a command line. env holds the program's own variables, not those of
// the SDK.
func run(t *testing.T, env map[string]string, stdin string, args ...string) result {
	t.Helper()
	return runFor(t, time.Minute, env, stdin, args...)
}

// runFor is run with the patience of the program.
func runFor(t *testing.T, patience time.Duration, env map[string]string, stdin string, args ...string) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := testProgram(&stdout, &stderr, env, stdin, patience).run(t.Context(), args)
	return result{stdout: stdout.String(), stderr: stderr.String(), code: code}
}

// testProgram returns the program under test.
func testProgram(stdout, stderr io.Writer, env map[string]string, stdin string, patience time.Duration) *program {
	return &program{
		stdin: strings.NewReader(stdin), stdout: stdout, stderr: stderr,
		getenv: func(name string) string { return env[name] },
		now:    func() time.Time { return now },
		zone:   time.FixedZone("CET", 3600), patience: patience,
	}
}

// save writes a file of this name in a directory of its own.
func save(t *testing.T, name, text string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// decoded returns the output of a command with -json.
func decoded[T any](t *testing.T, got result) (out T) {
	t.Helper()
	if err := json.Unmarshal([]byte(got.stdout), &out); err != nil {
		t.Fatalf("%v: %+v", err, got)
	}
	return out
}

// golden compares a result with a file of testdata, which has us-east-1 for the
// region.
func golden(t *testing.T, name string, got result) {
	t.Helper()
	text := fmt.Sprintf("-- exit %d\n-- stdout\n%s-- stderr\n%s", got.code, got.stdout, got.stderr)
	text = strings.ReplaceAll(text, os.Getenv("AWS_REGION"), "us-east-1")
	file := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(string(want), text); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

// trouble fails the test unless the command has said why it has no result.
func trouble(t *testing.T, got result, says ...string) {
	t.Helper()
	if got.code != exitTrouble || got.stdout != "" {
		t.Errorf("exit %d, output %q; want %d and none", got.code, got.stdout, exitTrouble)
	}
	for _, s := range says {
		if !strings.Contains(got.stderr, s) {
			t.Errorf("standard error lacks %q:\n%s", s, got.stderr)
		}
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	golden(t, "help", run(t, nil, "", "-h"))
	for _, c := range commands() {
		golden(t, c.name+"-help", run(t, nil, "", c.name, "-h"))
		if diff := gocmp.Diff(run(t, nil, "", c.name, "-h"), run(t, nil, "", "help", c.name), gocmp.AllowUnexported(result{})); diff != "" {
			t.Errorf("help %s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	trouble(t, run(t, nil, ""), "Usage: singletable COMMAND")
	trouble(t, run(t, nil, "", "frobnicate"), `no command "frobnicate"`, "singletable -h")
	for _, args := range [][]string{
		{"verify"},
		{"verify", "a.json", "b.json"},
		{"verify", "-bad", "a.json"},
		{"plan"},
		{"plan", "a.json", "b.json"},
		{"ensure"},
		{"ensure", "-wait", "1ms", "a.json"},
		{"schema"},
		{"schema", "AppCore", "Other"},
		{"explain"},
		{"explain", "USER#1", "TX#1", "TX#2"},
		{"explain", "USER#1", "-bad"},
		{"cursor"},
		{"cursor", "a", "b"},
		{"cursor", "-ttl", "1ms", "a"},
		{"cursor", "-ttl", "soon", "a"},
		{"get", "AppCore"},
		{"get", "AppCore", "a", "b", "c"},
		{"query", "AppCore"},
		{"query", "-limit", "1001", "AppCore", "a"},
		{"put"},
		{"put", "AppCore", "a", "b"},
		{"delete", "AppCore"},
		{"delete", "AppCore", "a", "b", "c"},
		{"count"},
		{"count", "-scan", "AppCore", "a"},
		{"count", "-yes", "AppCore"},
		{"count", "-prefix", "x", "AppCore"},
		{"hot"},
		{"hot", "-items", "0", "AppCore"},
		{"hot", "-stream", "1ms", "AppCore"},
		{"completion", "bash", "zsh"},
		{"engine", "now"},
		{"engine", "-port", "65536"},
		{"engine", "-port", "-1"},
		{"engine", "-seed", "?"},
		{"engine", "-seed", "items.jsonl"},
		{"engine", "-schema", "schema.json"},
		{"view", ""}, // An unset variable does not open all tables.
		{"view", "-write", "-table", ""},
		{"view", "AppCore", "Other"},
		{"view", "-table", "AppCore", "Other"},
		{"view", "-port", "65536"},
		{"view", "-port", "-1"},
		{"dump"},
		{"dump", "Orders", "Users"},
		{"dump", "-segments", "0", "Orders"},
		{"dump", "-segments", "101", "Orders"},
		{"dump", "-rate", "-1", "Orders"},
		{"dump", "-rate", "NaN", "Orders"},
		{"dump", "-json", "Orders"},
		{"load"},
		{"load", "Orders", "a.jsonl", "b.jsonl"},
		{"load", "-rate", "+Inf", "Orders"},
	} {
		trouble(t, run(t, nil, "", args...), "singletable "+args[0]+": ", `Run "singletable `+args[0]+` -h" for help.`)
	}
}

func TestFlagsAndArgumentsInAnyOrder(t *testing.T) {
	t.Parallel()
	want := run(t, nil, "", "explain", "-json", "USER#1", "TX#2")
	for _, args := range [][]string{
		{"explain", "USER#1", "-json", "TX#2"},
		{"explain", "USER#1", "TX#2", "-json"},
		{"explain", "-json", "--", "USER#1", "TX#2"},
		{"explain", "USER#1", "-json", "--", "TX#2"},
	} {
		if got := run(t, nil, "", args...); got != want {
			t.Errorf("%q: %+v", args, got)
		}
	}
	if got := run(t, nil, "", "explain", "--", "-json"); !strings.HasPrefix(got.stdout, "key -json\n") {
		t.Errorf("what comes after -- is no flag: %+v", got)
	}
}

func TestOutputThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"explain", "USER#1"}, {"explain", "USER#"}, {"cursor", "-json", pinned}} {
		full := brokenWriter{iotest.ErrTimeout}
		p := program{stdout: full, stderr: io.Discard, getenv: func(string) string { return "" }, now: time.Now, zone: time.UTC}
		if code := p.run(t.Context(), args); code != exitTrouble {
			t.Errorf("%q: exit %d", args, code)
		}
	}
}

type brokenWriter struct{ err error }

func (w brokenWriter) Write([]byte) (int, error) { return 0, w.err }

// TestInterruptedRead signals commands that wait for more standard input.
func TestInterruptedRead(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"verify", "cursor"} {
		for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
			t.Run(command+" "+signal.String(), func(t *testing.T) {
				t.Parallel()
				c := prepare(t, command, "-")
				stdin, err := c.StdinPipe()
				if err != nil {
					t.Fatal(err)
				}
				c.start(t)
				// A pipe holds less than this, so the command is reading once it is written.
				if _, err := io.WriteString(stdin, strings.Repeat(" ", 512<<10)); err != nil {
					t.Fatal(err)
				}
				c.end(t, signal)
				if status, ok := c.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != signal {
					t.Errorf("ended with %v: %s", c.ProcessState, c.stderr)
				}
			})
		}
	}
}

// TestInputLimit gives each input more than it may have.
func TestInputLimit(t *testing.T) {
	t.Parallel()
	large := strings.Repeat(" ", maxInput+1)
	file := save(t, "large", large)
	for _, args := range [][]string{{"verify", "-"}, {"verify", file}, {"cursor", "-"}, {"cursor", "-keys", file, "x"}} {
		trouble(t, run(t, nil, large, args...), "has more than 1048576 bytes")
	}
}

// TestGoRun runs the program as its users do.
func TestGoRun(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "run", ".", "explain", "USER#u-123").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "prefix keys.User") {
		t.Errorf("%v:\n%s", err, out)
	}
}

// "go run …@version" refuses a module that replaces another.
func TestNoReplace(t *testing.T) {
	t.Parallel()
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(mod), "replace") || strings.Contains(string(mod), "exclude") {
		t.Error("go.mod holds a replace or exclude directive")
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"version", "-version", "--version"} {
		if got := run(t, nil, "", name); got.code != exitYes || !strings.HasPrefix(got.stdout, "singletable ") || !strings.Contains(got.stdout, ", library ") {
			t.Errorf("%s: exit %d\n%s%s", name, got.code, got.stdout, got.stderr)
		}
	}
	trouble(t, run(t, nil, "", "version", "now"), "it takes no argument")
	var b built
	b.fill(&debug.BuildInfo{
		Main: debug.Module{Path: libraryModule + "/cmd/singletable", Version: "v0.1.0"},
		Deps: []*debug.Module{{Path: "example.com/other", Version: "v9.9.9"}, {Path: libraryModule, Version: "v0.1.1"}},
		Settings: []debug.BuildSetting{
			{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.modified", Value: "true"}, {Key: "GOOS", Value: "linux"},
		},
	})
	if want := (built{Version: "v0.1.0", Library: "v0.1.1", Commit: "abc", Modified: true}); b != want {
		t.Errorf("%+v, want %+v", b, want)
	}
}

// The library's errors begin with its name, as the command's do.
func TestNoPrefixTwice(t *testing.T) {
	t.Parallel()
	got := run(t, nil, encode(t, schema.Table{Name: "no-such-table"}), "plan", "-")
	if strings.Contains(got.stdout+got.stderr, "singletable: ") {
		t.Error(got.stdout, got.stderr)
	}
	trouble(t, run(t, nil, "", "get", "no table", "a", "b"), "singletable get: table no table: invalid schema")
}
