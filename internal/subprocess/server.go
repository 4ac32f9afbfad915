package subprocess

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Server describes an HTTP server that listens on a port of this machine.
type Server struct {
	// Program is the program to run.
	Program string
	// Args returns its arguments for a port.
	Args func(port string) []string
	// Says returns the text by which the server tells that it listens on a
	// port. Nil means that it does not tell.
	Says func(port string) string
	// Host is the address of this machine on which it listens; 127.0.0.1 if empty.
	Host string
	// Port is the port to use. Zero means a free one.
	Port int
	// Timeout bounds how long it may take to respond.
	Timeout time.Duration
}

const (
	// attempts is how many ports are tried.
	attempts = 3
	// pollEvery is the time between two looks at a server that is starting.
	pollEvery = 2 * time.Millisecond
	// settle is how long a server that does not tell when it listens must stay
	// alive after the first response on its port. Only then does the response count
	// as its own. A server that finds its port taken has ended by then.
	settle = 300 * time.Millisecond
)

// Run starts the server on its address and port and returns when it responds
// to requests, with its base URL. A server on a free port that ends at once, as
// one does that lost its port to another process, is tried again on another
// port.
//
// ctx bounds the start, not the life of the server.
func (s Server) Run(ctx context.Context) (*Process, string, error) {
	s.Host = cmp.Or(s.Host, "127.0.0.1")
	var errs []error
	for range attempts {
		port, err := s.port()
		if err != nil {
			return nil, "", err
		}
		p, err := Start(s.Program, s.Args(port)...)
		if err != nil {
			return nil, "", err
		}
		url := "http://" + net.JoinHostPort(s.Host, port)
		if err = s.await(ctx, p, url, port); err == nil {
			return p, url, nil
		}
		died := !p.Alive()
		p.Kill()
		err = fmt.Errorf("%s on port %s: %w", s.Program, port, err)
		if out := strings.TrimSpace(p.Output()); out != "" {
			err = fmt.Errorf("%w; it printed: %s", err, out)
		}
		if errs = append(errs, err); !died || s.Port != 0 {
			break
		}
	}
	return nil, "", errors.Join(errs...)
}

// await returns nil when p responds at url.
func (s Server) await(ctx context.Context, p *Process, url, port string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.Timeout,
		fmt.Errorf("no response within %v", s.Timeout))
	defer cancel()
	// What else listens on the port may accept requests and never respond.
	asking, stop := context.WithCancel(ctx)
	go func() {
		defer stop()
		select {
		case <-p.Exited():
		case <-ctx.Done():
		}
	}()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()

	var respondedAt time.Time
	for {
		if respondedAt.IsZero() && Responds(asking, client.Do, url) == nil {
			respondedAt = time.Now()
		}
		if !p.Alive() {
			return errors.New("it ended before it responded")
		}
		if !respondedAt.IsZero() && (s.told(p, port) || time.Since(respondedAt) >= settle) {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-p.Exited():
		case <-tick.C:
		}
	}
}

// told reports whether p has said that it listens on the port. The server there
// is then p itself.
func (s Server) told(p *Process, port string) bool {
	return s.Says != nil && strings.Contains(p.Output(), s.Says(port))
}

// Responds returns nil if an HTTP server responds at url, with any status.
func Responds(ctx context.Context, do func(*http.Request) (*http.Response, error), url string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := do(r)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// port returns the port to try: one of its address that was free a moment ago,
// unless the server has a port.
func (s Server) port() (string, error) {
	if s.Port != 0 {
		return strconv.Itoa(s.Port), nil
	}
	l, err := net.Listen("tcp", net.JoinHostPort(s.Host, "0"))
	if err != nil {
		return "", err
	}
	defer func() { _ = l.Close() }()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port), nil
}
