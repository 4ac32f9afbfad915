package network

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/table/tabletest"
)

// latency is how long every response takes, and lateness how long a late one does.
const (
	latency  = 5 * time.Millisecond
	lateness = 300 * time.Millisecond
)

// fault is what is wrong with the network.
type fault int

const (
	none fault = iota
	someLate
	allLate
	allFailing
)

// server is a TLS server in front of an engine, far away: it responds after a
// while, and to a request that it knows from memory, so that the engine takes no
// part in what is measured.
type server struct {
	*httptest.Server
	engine    string
	accepted  atomic.Int64
	fault     atomic.Int64
	responses sync.Map // by request body
}

func newServer(engine *tabletest.Engine) *server {
	s := &server{engine: engine.Endpoint()}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.accepted.Add(1)
		}
	}
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // of hedges that were cancelled
	s.StartTLS()
	return s
}

func (s *server) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	wait, status := latency, http.StatusOK
	switch f := fault(s.fault.Load()); {
	case f == allLate, f == someLate && rand.IntN(100) == 0:
		wait = lateness
	case f == allFailing:
		status = http.StatusInternalServerError
	}
	select {
	case <-time.After(wait):
	case <-r.Context().Done():
		return
	}
	if status != http.StatusOK {
		http.Error(w, `{"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError"}`, status)
		return
	}
	response, known := s.responses.Load(string(body))
	if !known {
		if response, err = s.ask(r, body); err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		s.responses.Store(string(body), response)
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	_, _ = w.Write(response.([]byte))
}

// ask has the engine respond.
func (s *server) ask(r *http.Request, body []byte) ([]byte, error) {
	asked, err := http.NewRequestWithContext(r.Context(), http.MethodPost, s.engine, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	asked.Header = r.Header.Clone()
	response, err := http.DefaultClient.Do(asked)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	return io.ReadAll(response.Body)
}

// client returns a client of the SDK with its default HTTP client, which trusts
// the server as well. wrapped hides that, so that its pool is not replaced.
func (s *server) client(wrapped bool) *dynamodb.Client {
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	var client dynamodb.HTTPClient = awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		t.TLSClientConfig = &tls.Config{RootCAs: roots}
	})
	if wrapped {
		client = wrapper{client}
	}
	return dynamodb.New(dynamodb.Options{
		BaseEndpoint: aws.String(s.URL), Region: "us-east-1", HTTPClient: client,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "local", SecretAccessKey: "local"}, nil
		}),
		Retryer: retry.NewStandard(func(o *retry.StandardOptions) { o.MaxAttempts, o.MaxBackoff = 4, time.Millisecond }),
	})
}

type wrapper struct{ dynamodb.HTTPClient }
