package main

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table/tablemodel"
	"github.com/singletable/singletable/table/tabletest"
)

// child is the program as a process of its own.
type child struct {
	*exec.Cmd
	stdout *bufio.Reader
	stderr *strings.Builder
}

// start starts the program with the arguments.
func start(t *testing.T, args ...string) child {
	t.Helper()
	c := prepare(t, args...)
	c.start(t)
	return c
}

// prepare returns the program before its start. Its environment is this
// process's, which leads to another engine.
func prepare(t *testing.T, args ...string) child {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := child{Cmd: exec.CommandContext(t.Context(), exe, args...), stderr: &strings.Builder{}}
	c.Env = append(os.Environ(), asProgram+"=1")
	c.Stderr = c.stderr
	stdout, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.stdout = bufio.NewReader(stdout)
	return c
}

func (c child) start(t *testing.T) {
	t.Helper()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
}

// environment reads the variables that an engine prints.
func (c child) environment(t *testing.T) map[string]string {
	t.Helper()
	env := map[string]string{}
	for range 5 {
		name, value, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(c.line(t)), "export "), "=")
		env[name] = value
	}
	return env
}

// end sends the signal and returns how the program has ended.
func (c child) end(t *testing.T, signal os.Signal) int {
	t.Helper()
	if err := c.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	return c.wait(t)
}

// line reads a line that the program prints.
func (c child) line(t *testing.T) string {
	t.Helper()
	line, err := c.stdout.ReadString('\n')
	if err != nil {
		t.Fatalf("%v: %s", err, c.stderr)
	}
	return line
}

// printed reads the output with -json of a program that runs on.
func printed[T any](t *testing.T, c child) T {
	t.Helper()
	// One line at a time: a decoder would read ahead.
	var text strings.Builder
	for line := ""; line != "}\n"; {
		line = c.line(t)
		text.WriteString(line)
	}
	return decoded[T](t, result{stdout: text.String()})
}

// succeed ends the program with the signal. The test fails if it has not ended with 0.
func (c child) succeed(t *testing.T, signal os.Signal) {
	t.Helper()
	if code := c.end(t, signal); code != exitYes {
		t.Errorf("exit %d: %s", code, c.stderr)
	}
}

// wait returns how the program has ended. It must not print any more.
func (c child) wait(t *testing.T) int {
	t.Helper()
	if rest, err := io.ReadAll(c.stdout); err != nil || len(rest) > 0 {
		t.Errorf("more output: %q, %v", rest, err)
	}
	_ = c.Wait() // The exit code says it.
	return c.ProcessState.ExitCode()
}

func listens(t *testing.T, endpoint string) bool {
	t.Helper()
	u, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", u.Host)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

func TestEngine(t *testing.T) {
	t.Parallel()
	for name, signal := range map[string]os.Signal{"Ctrl-C": os.Interrupt, "SIGTERM": syscall.SIGTERM} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := start(t, "engine")
			env := c.environment(t)
			endpoint := env["AWS_ENDPOINT_URL_DYNAMODB"]
			if endpoint == os.Getenv("AWS_ENDPOINT_URL_DYNAMODB") || !listens(t, endpoint) {
				t.Errorf("no engine of its own at %s", endpoint)
			}
			want := map[string]string{
				"AWS_ENDPOINT_URL_DYNAMODB": endpoint, "AWS_REGION": "us-east-1", "AWS_DEFAULT_REGION": "us-east-1",
				"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local",
			}
			if diff := cmp.Diff(want, env); diff != "" {
				t.Errorf("environment (-want +got):\n%s", diff)
			}
			c.succeed(t, signal)
			if listens(t, endpoint) {
				t.Error("the engine has outlived its program")
			}
			if said := c.stderr.String(); !strings.Contains(said, "in memory") || !strings.Contains(said, endpoint) {
				t.Errorf("standard error: %s", said)
			}
		})
	}
}

func TestEngineOnFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "orders.db")
	spec := appCore()
	for _, step := range []func(context.Context, schema.Client) error{spec.Ensure, spec.Verify} {
		c := start(t, "engine", "-json", "-path", file)
		out := printed[started](t, c)
		if out.Path != file || out.Environment["AWS_ENDPOINT_URL_DYNAMODB"] != out.Endpoint {
			t.Errorf("%+v", out)
		}
		cfg, err := config.LoadDefaultConfig(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		client := dynamodb.NewFromConfig(cfg, func(o *dynamodb.Options) { o.BaseEndpoint = &out.Endpoint })
		if err := step(t.Context(), client); err != nil {
			t.Error(err)
		}
		c.succeed(t, os.Interrupt)
	}
}

func TestEngineWithASeed(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "shop.db")
	for i, want := range []seeded{{"Shop", true, 310}, {"Shop", false, 0}} {
		c := start(t, "engine", "-json", "-path", file, "-seed", "shop")
		out := printed[started](t, c)
		if out.Seed == nil || *out.Seed != want {
			t.Errorf("start %d: %+v", i, out.Seed)
		}
		c.succeed(t, os.Interrupt)
	}
	c := start(t, "engine", "-seed", "appcore")
	c.environment(t)
	c.succeed(t, os.Interrupt)
	if said := c.stderr.String(); !strings.Contains(said, "Table AppCore has 177 items") || !strings.Contains(said, "singletable view AppCore\n") {
		t.Error(said)
	}
}

func TestEngineWithASeedFile(t *testing.T) {
	t.Parallel()
	protected := appCore()
	protected.DeletionProtection = true
	spec := save(t, "schema.json", encode(t, protected))
	c := start(t, "engine", "-json", "-seed", save(t, "items.jsonl", itemLine("a", "1")), "-schema", spec)
	if out := printed[started](t, c); out.Seed == nil || *out.Seed != (seeded{"AppCore", true, 1}) {
		t.Errorf("%+v", out.Seed)
	}
	c.end(t, os.Interrupt)
	bad := filepath.Join(t.TempDir(), "bad.db")
	c = start(t, "engine", "-path", bad, "-seed", save(t, "items.jsonl", itemLine("a", "1")+"bad"), "-schema", spec)
	if code := c.wait(t); code != exitTrouble || !strings.Contains(c.stderr.String(), "-seed: table AppCore was not made: line 2: is not JSON") ||
		strings.Contains(c.stderr.String(), "loaded") {
		t.Errorf("exit %d: %s", code, c.stderr)
	}
	// Nothing is left that the next start would leave alone.
	c = start(t, "engine", "-json", "-path", bad, "-seed", save(t, "items.jsonl", itemLine("a", "1")), "-schema", spec)
	if out := printed[started](t, c); out.Seed == nil || !out.Seed.Created {
		t.Errorf("%+v", out.Seed)
	}
	c.end(t, os.Interrupt)
}

// A seed that has not ended, since its process was killed, is not taken for a whole table.
func TestEngineAfterAKilledSeed(t *testing.T) {
	t.Parallel()
	engine, err := tabletest.Start(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = engine.Close() })
	spec := appCore()
	spec.Name = "KilledSeed"
	into := func(items io.ReadCloser) (seeded, error) {
		return seeding{tablemodel.Model{Table: spec}, items}.into(t.Context(), engine.Client(), &progress{w: io.Discard})
	}
	read, write := io.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = into(read) // It waits for more items, as a process does before it is killed.
	}()
	if _, err := io.WriteString(write, itemLine("a", "1")); err != nil {
		t.Fatal(err)
	}
	for i, want := range []seeded{{"KilledSeed", true, 1}, {"KilledSeed", false, 0}} {
		got, err := into(io.NopCloser(strings.NewReader(itemLine("a", "1"))))
		if err != nil || got != want {
			t.Errorf("start %d: %+v, %v", i, got, err)
		}
	}
	_ = write.Close()
	<-ended
}

func TestEngineOnATakenPort(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	port := strconv.Itoa(taken.Addr().(*net.TCPAddr).Port)
	c := start(t, "engine", "-port", port)
	if code := c.wait(t); code != exitTrouble || !strings.Contains(c.stderr.String(), "port "+port) {
		t.Errorf("exit %d: %s", code, c.stderr)
	}
}

// TestFirstMinute goes the way of the documentation: an engine with a sample table, and in
// another terminal the commands that look at it.
func TestFirstMinute(t *testing.T) {
	t.Parallel()
	engine := start(t, "engine", "-seed", "shop")
	var variables []string
	for name, value := range engine.environment(t) {
		variables = append(variables, name+"="+value)
	}
	for _, args := range [][]string{{"view", "Shop"}, {"get", "Shop", "USER#u-ana", "PROFILE"}} {
		c := prepare(t, args...)
		c.Env = append(c.Env, variables...)
		c.start(t)
		line := c.line(t)
		if args[0] == "get" {
			if line != "PK          S  USER#u-ana\n" {
				t.Errorf("%q", line)
			}
			continue
		}
		if status, body := browse(t, newBrowser(t), strings.TrimSpace(line)); status != http.StatusOK || !strings.Contains(body, "<h1>Shop") {
			t.Errorf("status %d:\n%s", status, body)
		}
		c.end(t, os.Interrupt)
	}
	engine.succeed(t, os.Interrupt)
}
