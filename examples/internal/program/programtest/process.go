package programtest

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/singletable/singletable/examples/internal/check"
)

// asProgram is set in the environment of processes that are to be the program, and not
// its tests.
const asProgram = "EXAMPLE_TEST_MAIN"

// Main is for TestMain. In a process of [Command] it is the program, elsewhere its tests.
func Main(m *testing.M, program func()) {
	if os.Getenv(asProgram) != "" {
		program()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// Command returns the program as a command, with nothing of this environment that it
// looks at.
func Command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool {
		return slices.ContainsFunc([]string{"AWS_", "COGNITO_", "CURSOR_", "DATABASE_URL="}, func(p string) bool { return strings.HasPrefix(v, p) })
	})
	cmd.Env = append(cmd.Env, asProgram+"=1")
	return cmd
}

// Server is a program that serves, as a process.
type Server struct {
	Cmd    *exec.Cmd
	URL    string
	Out    []string // what it printed when it was ready
	Log    *check.Log
	Exited <-chan error
}

// Start starts a server, and waits until it has told its address and the last text that
// it prints then.
func Start(t *testing.T, cmd *exec.Cmd, last string) *Server {
	t.Helper()
	s := &Server{Cmd: cmd, Log: &check.Log{}}
	stdout := check.Must(cmd.StdoutPipe())(t)
	cmd.Stderr = s.Log
	check.OK(t, cmd.Start())
	lines := bufio.NewScanner(stdout)
	for s.URL == "" || !strings.Contains(s.Out[len(s.Out)-1], last) {
		if !lines.Scan() {
			t.Fatalf("the server ended: %v\n%s", cmd.Wait(), s.Log)
		}
		if after, found := strings.CutPrefix(lines.Text(), "listening on "); found {
			s.URL = after
		}
		s.Out = append(s.Out, lines.Text())
	}
	exited := make(chan error, 1)
	s.Exited = exited
	go func() {
		_, _ = io.Copy(io.Discard, stdout)
		exited <- cmd.Wait()
	}()
	return s
}

// End sends a signal and waits for the process to exit with status 0.
func (s *Server) End(t *testing.T, signal os.Signal) {
	t.Helper()
	check.OK(t, s.Cmd.Process.Signal(signal))
	if err := <-s.Exited; err != nil {
		t.Errorf("after %v: %v\n%s", signal, err, s.Log)
	}
}
