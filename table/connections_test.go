package table_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// tlsServer is a TLS server in front of the engine. It counts connections, and
// holds requests until so many are in flight as are to be together.
type tlsServer struct {
	*httptest.Server
	roots    *x509.CertPool
	accepted atomic.Int64

	mu       sync.Mutex
	together int
	waiting  int
	all      chan struct{} // closed once they are together
}

func newTLSServer(tb testing.TB, client *dynamodb.Client) *tlsServer {
	tb.Helper()
	engine, err := url.Parse(aws.ToString(client.Options().BaseEndpoint))
	expect.OK(tb, err)
	proxy := httputil.NewSingleHostReverseProxy(engine)
	proxy.Transport = &http.Transport{MaxIdleConnsPerHost: 64}
	s := &tlsServer{together: 1, all: make(chan struct{}), roots: x509.NewCertPool()}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-s.gather():
			proxy.ServeHTTP(w, r)
		case <-r.Context().Done():
		}
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.accepted.Add(1)
		}
	}
	s.StartTLS()
	s.roots.AddCert(s.Certificate())
	tb.Cleanup(s.Close)
	return s
}

func (s *tlsServer) gather() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.all
	if s.waiting++; s.waiting == s.together {
		close(all)
		s.waiting, s.all = 0, make(chan struct{})
	}
	return all
}

// trusted is the SDK's default HTTP client, which trusts the server as well.
func (s *tlsServer) trusted() *awshttp.BuildableClient {
	return awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		t.TLSClientConfig = &tls.Config{RootCAs: s.roots}
	})
}

// client returns a client of the server.
func (s *tlsServer) client(c dynamodb.HTTPClient) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		BaseEndpoint: aws.String(s.URL), Region: "us-east-1", HTTPClient: c,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "local", SecretAccessKey: "local"}, nil
		}),
	})
}

// opened runs a call of n concurrent requests so many times and returns how many
// connections that opened each time. The rest of the division is for those that a
// busy machine closes: net/http waits 50 ms for the end of a request.
func (s *tlsServer) opened(tb testing.TB, times, n int, call func() error) int {
	tb.Helper()
	s.together = n
	before := s.accepted.Load()
	for range times {
		expect.OK(tb, call())
	}
	s.together = 1
	return int(s.accepted.Load()-before) / times
}

// inParallel runs n calls at once.
func inParallel(n int, call func(i int) error) error {
	var group sync.WaitGroup
	errs := make([]error, n)
	for i := range n {
		group.Go(func() { errs[i] = call(i) })
	}
	group.Wait()
	return errors.Join(errs...)
}

// fanOut queries n partitions at once.
func fanOut(ctx context.Context, tbl *table.Table, n int) error {
	return inParallel(n, func(i int) error {
		_, err := table.QueryPage[account](ctx, tbl, table.Query{PK: keys.User.PK(fmt.Sprint(i)), Limit: 1})
		return err
	})
}

// TestConnectionsAreKept shows that calls with many concurrent requests open no
// connections once they have some, with the SDK's default client.
func TestConnectionsAreKept(t *testing.T) {
	t.Parallel()
	plain := tabletest.New(t, appCore(), options())
	for name, tt := range map[string]struct {
		requests int
		call     func(context.Context, *table.Table) error
	}{
		"16 QueryPage": {16, func(ctx context.Context, tbl *table.Table) error { return fanOut(ctx, tbl, 16) }},
		"32 QueryPage": {32, func(ctx context.Context, tbl *table.Table) error { return fanOut(ctx, tbl, 32) }},
		"16 ScanPage": {16, func(ctx context.Context, tbl *table.Table) error {
			return inParallel(16, func(i int) error {
				_, err := table.ScanPage[account](ctx, tbl, table.Scan{Segment: i, Segments: 16})
				return err
			})
		}},
		"2 BatchGet of 8 requests": {16, func(ctx context.Context, tbl *table.Table) error {
			return inParallel(2, func(i int) error {
				ks := make([]keys.Key, 800)
				for j := range ks {
					ks[j] = keys.Key{PK: keys.User.PK(fmt.Sprint(i)), SK: keys.Tx.SK(keys.Int(j, 3))}
				}
				_, err := table.BatchGet[account](ctx, tbl, ks)
				return err
			})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newTLSServer(t, tabletest.Client(t))
			tbl, err := table.New(server.client(server.trusted()), plain.Schema(), nil)
			expect.OK(t, err)
			run := func() error { return tt.call(t.Context(), tbl) }
			server.opened(t, 2, tt.requests, run)
			expect.Equal(t, "new connections", server.opened(t, 20, tt.requests, run), 0)
		})
	}
}

// TestConnectionsAreShared shows that tables of one client have a pool of their
// own only if they need it.
func TestConnectionsAreShared(t *testing.T) {
	t.Parallel()
	plain := tabletest.New(t, appCore(), options())
	server := newTLSServer(t, tabletest.Client(t))
	client := server.client(server.trusted())
	for range 5 {
		tbl, err := table.New(client, plain.Schema(), nil)
		expect.OK(t, err)
		for range 12 { // more than ten, but never at once
			expect.OK(t, fanOut(t.Context(), tbl.OfType("x").Consistent(), 1))
		}
	}
	// A busy machine may lose one, see opened.
	if n := server.accepted.Load(); n >= 5 {
		t.Errorf("%d connections of five tables", n)
	}
}

// forwarding is an HTTP client of somebody else.
type forwarding struct {
	dynamodb.HTTPClient
	requests atomic.Int64
}

func (f *forwarding) Do(r *http.Request) (*http.Response, error) {
	f.requests.Add(1)
	return f.HTTPClient.Do(r)
}

// TestOtherHTTPClientsStayUnchanged shows that the table does not change HTTP
// clients other than the SDK's default.
func TestOtherHTTPClientsStayUnchanged(t *testing.T) {
	t.Parallel()
	plain := tabletest.New(t, appCore(), options())
	server := newTLSServer(t, tabletest.Client(t))
	limited := func(n int) *awshttp.BuildableClient {
		return server.trusted().WithTransportOptions(func(t *http.Transport) { t.MaxIdleConnsPerHost = n })
	}
	wrapped := &forwarding{HTTPClient: limited(10)}
	for name, tt := range map[string]struct {
		client dynamodb.HTTPClient
		again  int // connections for each call of 16 requests
	}{
		"limit of 4":  {limited(4), 12},
		"limit of 16": {limited(16), 0},
		"http.Client": {&http.Client{Transport: &http.Transport{
			MaxIdleConnsPerHost: 15, TLSClientConfig: &tls.Config{RootCAs: server.roots},
		}}, 1},
		"wrapper": {wrapped, 6},
	} {
		client := server.client(tt.client)
		for i := range 2 { // tables
			tbl, err := table.New(client, plain.Schema(), nil)
			expect.OK(t, err)
			run := func() error { return fanOut(t.Context(), tbl, 16) }
			if i == 0 {
				expect.Equal(t, name+": connections", server.opened(t, 1, 16, run), 16)
			}
			expect.Equal(t, name+": new connections", server.opened(t, 5, 16, run), tt.again)
		}
	}
	expect.Equal(t, "requests through the wrapper", wrapped.requests.Load(), 11*16)
}

// TestConnectionsKeepSettings shows that a larger pool dials as the client's own
// does, and within its bound for all hosts.
func TestConnectionsKeepSettings(t *testing.T) {
	t.Parallel()
	plain := tabletest.New(t, appCore(), options())
	server := newTLSServer(t, tabletest.Client(t))
	var dialed, routed atomic.Int64
	client := server.client(server.trusted().WithTransportOptions(func(t *http.Transport) {
		t.MaxIdleConns = 14
		t.Proxy = func(*http.Request) (*url.URL, error) {
			routed.Add(1)
			return nil, nil
		}
		t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			dialed.Add(1)
			return new(net.Dialer).DialContext(ctx, network, address)
		}
	}))
	tbl, err := table.New(client, plain.Schema(), nil)
	expect.OK(t, err)
	run := func() error { return fanOut(t.Context(), tbl, 16) }
	server.opened(t, 2, 16, run)
	expect.Equal(t, "new connections", server.opened(t, 5, 16, run), 2)
	expect.Equal(t, "dialed", dialed.Load(), server.accepted.Load())
	expect.Equal(t, "asked for a proxy", routed.Load(), 7*16)
}
