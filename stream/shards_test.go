package stream_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/singletable/singletable/internal/expect"
)

// shards injects what no local engine does: a stream of several shards that end and
// are trimmed. It responds to the requests of the Streams API; the records are those of
// events. The table is on the engine.
type shards struct {
	mu       sync.Mutex
	table    string
	disabled bool
	all      []*shard
	// read are the shards in the order of their first GetRecords. If expired is not nil,
	// every iterator expires once.
	read    []string
	expired map[string]bool
}

type shard struct {
	id, parent string
	closed     bool
	records    []json.RawMessage
	// first is the index of the first record that is not trimmed.
	first int
}

// pageSize is how many records a response has.
const pageSize = 3

func (s *shards) client() *dynamodbstreams.Client {
	return dynamodbstreams.New(dynamodbstreams.Options{
		Region: "us-east-1", HTTPClient: s, BaseEndpoint: aws.String("http://streams.invalid"),
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "a", SecretAccessKey: "b"}, nil
		}),
	})
}

// streamClient is a client that calls sent before each request.
func streamClient(s *shards, sent func()) *dynamodbstreams.Client {
	return dynamodbstreams.New(s.client().Options(), func(o *dynamodbstreams.Options) { o.HTTPClient = counted{s, sent} })
}

type counted struct {
	*shards
	sent func()
}

func (c counted) Do(r *http.Request) (*http.Response, error) {
	c.sent()
	return c.shards.Do(r)
}

// change runs do while no request is served.
func (s *shards) change(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do()
}

func (s *shards) arn() string {
	return "arn:aws:dynamodb:us-east-1:000000000000:table/" + s.table + "/stream/2026-01-01T00:00:00.000"
}

// Do responds to a request.
func (s *shards) Do(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	var in struct{ ShardID, ShardIteratorType, SequenceNumber, ShardIterator string } // names are compared without regard to case
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	switch operation {
	case "ListStreams":
		return respond(200, map[string]any{"Streams": []any{map[string]string{"StreamArn": s.arn(), "StreamLabel": "2026-01-01T00:00:00.000", "TableName": s.table}}})
	case "DescribeStream":
		return s.describe()
	case "GetShardIterator":
		sh := s.find(in.ShardID)
		if sh == nil {
			return respond(400, map[string]string{"__type": "com.amazonaws.dynamodb.v20120810#ResourceNotFoundException"})
		}
		at := sh.first
		if in.ShardIteratorType == "AFTER_SEQUENCE_NUMBER" {
			at = 1 + slices.IndexFunc(sh.records, func(r json.RawMessage) bool { return sequence(r) == in.SequenceNumber })
			if at < sh.first {
				return respond(400, map[string]string{"__type": "com.amazonaws.dynamodb.v20120810#TrimmedDataAccessException"})
			}
		}
		return respond(200, map[string]string{"ShardIterator": fmt.Sprintf("%s|%d", sh.id, at)})
	case "GetRecords":
		return s.records(in.ShardIterator)
	}
	return nil, fmt.Errorf("operation %q", operation)
}

func (s *shards) describe() (*http.Response, error) {
	status, listed := "ENABLED", []any{}
	if s.disabled {
		status = "DISABLED"
	}
	for _, sh := range s.all {
		d := map[string]string{"ShardId": sh.id}
		if sh.parent != "" {
			d["ParentShardId"] = sh.parent
		}
		listed = append(listed, d)
	}
	return respond(200, map[string]any{"StreamDescription": map[string]any{
		"StreamArn": s.arn(), "StreamStatus": status, "StreamViewType": "NEW_AND_OLD_IMAGES", "Shards": listed,
	}})
}

func (s *shards) records(iterator string) (*http.Response, error) {
	id, text, _ := strings.Cut(iterator, "|")
	at, err := strconv.Atoi(text)
	if err != nil {
		return nil, err
	}
	if s.expired != nil && !s.expired[iterator] {
		s.expired[iterator] = true
		return respond(400, map[string]string{"__type": "com.amazonaws.dynamodb.v20120810#ExpiredIteratorException"})
	}
	if !slices.Contains(s.read, id) {
		s.read = append(s.read, id)
	}
	sh := s.find(id)
	end := min(at+pageSize, len(sh.records))
	out := map[string]any{"Records": append([]json.RawMessage{}, sh.records[at:end]...)}
	if !sh.closed || end < len(sh.records) {
		out["NextShardIterator"] = fmt.Sprintf("%s|%d", id, end)
	}
	return respond(200, out)
}

func (s *shards) find(id string) *shard {
	if i := slices.IndexFunc(s.all, func(sh *shard) bool { return sh.id == id }); i >= 0 {
		return s.all[i]
	}
	return nil
}

func respond(status int, body any) (*http.Response, error) {
	raw, err := json.Marshal(body)
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body: io.NopCloser(bytes.NewReader(raw)), ContentLength: int64(len(raw)),
	}, err
}

func sequence(raw json.RawMessage) string {
	var r struct {
		Dynamodb struct{ SequenceNumber string }
	}
	_ = json.Unmarshal(raw, &r)
	return r.Dynamodb.SequenceNumber
}

// recordsOf returns records of an event in n parts, by item.
func recordsOf(t *testing.T, event json.RawMessage, n int) [][]json.RawMessage {
	t.Helper()
	var all struct{ Records []json.RawMessage }
	expect.OK(t, json.Unmarshal(event, &all))
	parts, places := make([][]json.RawMessage, n), map[string]int{}
	for _, raw := range all.Records {
		var r struct {
			Dynamodb struct{ Keys json.RawMessage }
		}
		expect.OK(t, json.Unmarshal(raw, &r))
		key := string(r.Dynamodb.Keys)
		if _, seen := places[key]; !seen {
			places[key] = len(places) % n
		}
		parts[places[key]] = append(parts[places[key]], raw)
	}
	return parts
}
