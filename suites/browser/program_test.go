package browser_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// command is the path of the command under test.
var command string

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "singletable-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	command = filepath.Join(dir, "singletable")
	build := exec.Command("go", "build", "-o", command, ".")
	build.Dir = filepath.FromSlash("../../cmd/singletable")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// engine is a local engine, and the environment that leads commands to it.
type engine struct{ environment []string }

// startEngine starts an engine with a seed, "" for none. It ends with the test.
func startEngine(t *testing.T, seed string) engine {
	t.Helper()
	args := []string{"engine", "-json"}
	if seed != "" {
		args = append(args, "-seed", seed)
	}
	var started struct {
		Environment map[string]string `json:"environment"`
	}
	start(t, nil, &started, args...)
	var e engine
	for name, value := range started.Environment {
		e.environment = append(e.environment, name+"="+value)
	}
	return e
}

// view serves pages until the test ends, and returns their address with its token.
func (e engine) view(t *testing.T, args ...string) string {
	t.Helper()
	var opened struct {
		Address string `json:"address"`
	}
	start(t, e.environment, &opened, append([]string{"view", "-json"}, args...)...)
	return opened.Address
}

// do runs a command that ends, and returns its output.
func (e engine) do(t *testing.T, input string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), command, args...)
	cmd.Env = environment(e.environment)
	cmd.Stdin = strings.NewReader(input)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("singletable %s: %v\n%s%s", args[0], err, stderr.Bytes(), out)
	}
	return string(out)
}

// environment returns that of this process, without what leads to another DynamoDB.
func environment(more []string) []string {
	own := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "AWS_") })
	return append(own, more...)
}

// start runs a command that serves until the test ends. It reads the JSON value that the
// command prints when it is ready.
func start(t *testing.T, env []string, ready any, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), command, args...)
	cmd.Env = environment(env)
	var log syncBuffer
	cmd.Stderr = &log
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Errorf("singletable %s had ended: %v", args[0], err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("singletable %s: %v\n%s", args[0], err, log.String())
		}
	})
	if err := json.NewDecoder(stdout).Decode(ready); err != nil {
		t.Fatalf("singletable %s: %v\n%s", args[0], err, log.String())
	}
}

// syncBuffer is a buffer that a process fills while a test reads it.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
