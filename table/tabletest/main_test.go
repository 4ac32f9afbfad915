package tabletest_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/table/tabletest"
)

// asProgram is the variable that makes the test binary a program that starts an
// engine, prints its endpoint, waits for its input to end, and then ends in the
// way that the variable names.
const asProgram = "TABLETEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	end := os.Getenv(asProgram)
	if end == "" {
		os.Exit(m.Run())
	}
	engine, err := tabletest.Start(context.Background(), nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(engine.Endpoint())
	_, _ = io.Copy(io.Discard, os.Stdin)
	switch end {
	case "panic":
		panic("as told")
	case "exit":
		os.Exit(3)
	case "panic in a goroutine":
		go panic("as told")
		select {}
	}
}

// child is the test binary as a program.
type child struct {
	cmd      *exec.Cmd
	stdin    io.Closer
	stdout   *bufio.Reader
	endpoint string
}

// startProgram starts the test binary as a program that has an engine of its
// own. Its environment is this process's and then env.
func startProgram(t *testing.T, end string, env ...string) child {
	t.Helper()
	exe := expect.Value(os.Executable())(t)
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), asProgram+"="+end, tabletest.EndpointVariable+"=")
	cmd.Env = append(cmd.Env, env...)
	stdin := expect.Value(cmd.StdinPipe())(t)
	stdout := expect.Value(cmd.StdoutPipe())(t)
	expect.OK(t, cmd.Start())
	c := child{cmd: cmd, stdin: stdin, stdout: bufio.NewReader(stdout)}
	line, err := c.stdout.ReadString('\n')
	if err != nil {
		t.Fatalf("the program has not started an engine: %v", err)
	}
	c.endpoint = strings.TrimSpace(line)
	return c
}

// listens reports whether something listens at the endpoint.
func listens(t *testing.T, endpoint string) bool {
	t.Helper()
	u := expect.Value(url.Parse(endpoint))(t)
	conn, err := net.Dial("tcp", u.Host)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

// awaitGone fails the test unless the engine at the endpoint ends in time.
func awaitGone(t *testing.T, endpoint string) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(10 * time.Second)
	for listens(t, endpoint) {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("the engine at %s has outlived its program", endpoint)
		}
	}
}
