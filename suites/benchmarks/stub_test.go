package main_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/table/tabletest"
)

// stub is a transport that responds from memory: to the first request of each kind with
// what the engine responds, and to all others of that kind with the same. It is for one
// goroutine.
type stub struct {
	client *dynamodb.Client
	table  string
	engine *url.URL
	known  map[kind]reply
	buffer []byte
	// requests counts the requests by operation.
	requests map[string]int
}

// kind is an operation, and whether the request asks for its consumed capacity.
type kind struct {
	operation string
	capacity  bool
}

type reply struct {
	header http.Header
	body   []byte
}

// newStub returns a stub whose items have the attributes of further, too. Its client is
// one as an application has it, with the stub for its transport.
func newStub(tb testing.TB, further map[string]types.AttributeValue) *stub {
	tb.Helper()
	s := &stub{table: filled(tb, further), known: map[kind]reply{}, buffer: make([]byte, 128<<10), requests: map[string]int{}}
	local := tabletest.Client(tb).Options()
	engine, err := url.Parse(aws.ToString(local.BaseEndpoint))
	must(tb, err)
	s.engine = engine
	s.client = dynamodb.New(dynamodb.Options{Region: local.Region, Credentials: local.Credentials, HTTPClient: s})
	return s
}

var askCapacity = []byte(`"ReturnConsumedCapacity":"TOTAL"`)

// Do responds to a request.
func (s *stub) Do(r *http.Request) (*http.Response, error) {
	body, err := s.read(r)
	if err != nil {
		return nil, err
	}
	k := kind{strings.TrimPrefix(r.Header.Get("X-Amz-Target"), "DynamoDB_20120810."), bytes.Contains(body, askCapacity)}
	s.requests[k.operation]++
	known, ok := s.known[k]
	if !ok {
		if known, err = s.ask(r, body); err != nil {
			return nil, err
		}
		s.known[k] = known
	}
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: known.header, Body: io.NopCloser(bytes.NewReader(known.body)),
		ContentLength: int64(len(known.body)), Request: r,
	}, nil
}

// read reads a request as a transport would, without memory of its own for it.
func (s *stub) read(r *http.Request) ([]byte, error) {
	defer r.Body.Close()
	n, err := io.ReadFull(r.Body, s.buffer)
	if err != io.ErrUnexpectedEOF && err != io.EOF {
		return nil, fmt.Errorf("stub: a request that does not fit: %w", err)
	}
	return s.buffer[:n], nil
}

// ask has the engine respond.
func (s *stub) ask(r *http.Request, body []byte) (reply, error) {
	asked := r.Clone(r.Context())
	asked.URL, asked.Host, asked.Body = s.engine, s.engine.Host, io.NopCloser(bytes.NewReader(body))
	response, err := http.DefaultClient.Do(asked)
	if err != nil {
		return reply{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("stub: the engine responds %s: %s", response.Status, text)
	}
	return reply{response.Header, text}, err
}
