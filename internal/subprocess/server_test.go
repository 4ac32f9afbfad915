package subprocess_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/singletable/singletable/internal/subprocess"
)

// TestMain makes the test binary the server under test too: its first argument
// says what it does, its second is the port.
func TestMain(m *testing.M) {
	if len(os.Args) != 3 {
		os.Exit(m.Run())
	}
	switch mode, port := os.Args[1], os.Args[2]; mode {
	case "serve", "serve and tell":
		l, err := net.Listen("tcp", "127.0.0.1:"+port)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		if mode == "serve and tell" {
			fmt.Println("listening on", port)
		}
		_ = http.Serve(l, http.NotFoundHandler())
	case "fail":
		fmt.Println(strings.Repeat("x", 10_000), "the reason")
		os.Exit(1)
	case "hang":
		_, _ = net.Listen("tcp", "127.0.0.1:"+port) // It never accepts.
		time.Sleep(time.Hour)
	}
}

func self(t *testing.T) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exe
}

// args returns the arguments for a mode.
func args(mode string) func(string) []string {
	return func(port string) []string { return []string{mode, port} }
}

func says(port string) string { return "listening on " + port }

func TestRun(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		mode string
		says func(string) string
	}{
		{"serve and tell", says},
		{"serve and tell", nil},
		{"serve", says},
	} {
		t.Run(fmt.Sprintf("%s, expected to tell: %t", tt.mode, tt.says != nil), func(t *testing.T) {
			t.Parallel()
			s := subprocess.Server{Program: self(t), Args: args(tt.mode), Says: tt.says, Timeout: time.Minute}
			p, url, err := s.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer p.Kill()
			if status := get(t, url); status != http.StatusNotFound {
				t.Errorf("status %d", status)
			}
			p.Kill()
			if p.Alive() {
				t.Error("alive after Kill")
			}
			p.Kill()
		})
	}
}

func TestRunOnATakenPort(t *testing.T) {
	t.Parallel()
	var taken string
	var attempts int
	s := subprocess.Server{
		Program: self(t),
		Args: func(port string) []string {
			if attempts++; attempts == 1 {
				taken = port
				foreign(t, port)
			}
			return []string{"serve and tell", port}
		},
		Says:    says,
		Timeout: time.Minute,
	}
	p, url, err := s.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	if strings.HasSuffix(url, ":"+taken) {
		t.Errorf("%s is another server's", url)
	}
	if status := get(t, url); status != http.StatusNotFound {
		t.Errorf("status %d is another server's", status)
	}
}

func TestRunOnAPort(t *testing.T) {
	t.Parallel()
	s := subprocess.Server{Program: self(t), Args: args("serve and tell"), Says: says, Timeout: time.Minute}
	// A port that was free a moment ago need not be so now.
	for range 3 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		s.Port = portOf(l)
		_ = l.Close()
		p, url, err := s.Run(t.Context())
		if err != nil {
			t.Log(err)
			continue
		}
		p.Kill()
		if want := fmt.Sprintf("http://127.0.0.1:%d", s.Port); url != want {
			t.Errorf("%s, want %s", url, want)
		}
		return
	}
	t.Error("no port is free")
}

// Whether what has the port responds or not, the server's own end is seen at once.
func TestRunOnAPortThatIsTaken(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	for name, port := range map[string]int{"responds": foreign(t, "0"), "is silent": portOf(silent)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var attempts int
			s := subprocess.Server{
				Program: self(t),
				Args: func(port string) []string {
					attempts++
					return []string{"serve and tell", port}
				},
				Says:    says,
				Port:    port,
				Timeout: time.Minute,
			}
			_, _, err := s.Run(t.Context())
			for _, want := range []string{"it ended before it responded", "address already in use"} {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("error %v; want %q", err, want)
				}
			}
			if attempts != 1 {
				t.Errorf("%d attempts on one port", attempts)
			}
		})
	}
}

func portOf(l net.Listener) int { return l.Addr().(*net.TCPAddr).Port }

// foreign starts another server on the port and returns the port.
func foreign(t *testing.T, port string) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTeapot)
	})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(l)
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-done
	})
	return portOf(l)
}

func get(t *testing.T, url string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

func TestRunFails(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		program, mode string
		timeout       time.Duration
		want          string
		attempts      int32
	}{
		{"", "fail", time.Minute, "the reason", 3},
		{"", "hang", 50 * time.Millisecond, "no response within 50ms", 1},
		{"/missing/program", "", time.Minute, "/missing/program", 1},
	} {
		t.Run(tt.mode, func(t *testing.T) {
			t.Parallel()
			var attempts atomic.Int32
			s := subprocess.Server{Program: tt.program, Timeout: tt.timeout}
			if s.Program == "" {
				s.Program = self(t)
			}
			s.Args = func(port string) []string {
				attempts.Add(1)
				return []string{tt.mode, port}
			}
			_, _, err := s.Run(t.Context())
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v; want %q", err, tt.want)
			}
			if got := attempts.Load(); got != tt.attempts {
				t.Errorf("%d attempts, want %d", got, tt.attempts)
			}
		})
	}
}

func TestRunUntilTheContextEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s := subprocess.Server{
		Program: self(t),
		Args: func(port string) []string {
			cancel()
			return []string{"hang", port}
		},
		Timeout: time.Minute,
	}
	if _, _, err := s.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v; want %v", err, context.Canceled)
	}
}
