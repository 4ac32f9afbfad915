package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// stub is a transport that responds from memory to the requests of the benchmarks
// as the engine would. It is for one goroutine.
type stub struct {
	replies map[string]replies // By the operation's name.
	buffer  []byte
	// requests counts the requests by operation.
	requests map[string]int
}

// replies are the responses to one operation.
type replies struct {
	plain reply
	// withCapacity is the response to a request that asks for its consumed
	// capacity.
	withCapacity reply
}

type reply struct {
	header http.Header
	body   []byte
}

func newReply(body map[string]any) reply {
	b, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	return reply{
		header: http.Header{
			"Content-Type":     {"application/x-amz-json-1.0"},
			"Content-Length":   {strconv.Itoa(len(b))},
			"X-Amz-Crc32":      {strconv.FormatUint(uint64(crc32.ChecksumIEEE(b)), 10)},
			"X-Amzn-Requestid": {"QF2E6VB6TQNQV4KQNSO5AEMVJF66Q9ASUAAJG"},
		},
		body: b,
	}
}

func newReplies(body map[string]any, capacity any) replies {
	plain := newReply(body)
	body["ConsumedCapacity"] = capacity
	return replies{plain: plain, withCapacity: newReply(body)}
}

// newStub returns a stub whose items have the attributes of further, too.
func newStub(tableName string, further map[string]types.AttributeValue) *stub {
	stored := func(r record) map[string]any {
		item := marshal(r)
		maps.Copy(item, further)
		return wireItem(item)
	}
	items := make([]any, 0, pageSize)
	for _, r := range newestPage() {
		items = append(items, stored(r))
	}
	last := recordAt(records - pageSize)
	units := func(n float64) any {
		return map[string]any{"TableName": tableName, "CapacityUnits": n}
	}
	return &stub{
		buffer:   make([]byte, 128<<10),
		requests: map[string]int{},
		replies: map[string]replies{
			"GetItem": newReplies(map[string]any{"Item": stored(recordAt(0))}, units(0.5)),
			"Query": newReplies(map[string]any{
				"Items": items, "Count": pageSize, "ScannedCount": pageSize,
				"LastEvaluatedKey": map[string]any{
					"pk": map[string]any{"S": last.PK}, "sk": map[string]any{"S": last.SK},
				},
			}, units(6)),
			"UpdateItem":         {plain: newReply(map[string]any{})},
			"TransactWriteItems": {plain: newReply(map[string]any{})},
		},
	}
}

var (
	targetPrefix = "DynamoDB_20120810."
	askCapacity  = []byte(`"ReturnConsumedCapacity":"TOTAL"`)
)

// Do responds to a request.
func (s *stub) Do(r *http.Request) (*http.Response, error) {
	request, err := s.read(r)
	if err != nil {
		return nil, err
	}
	operation := strings.TrimPrefix(r.Header.Get("X-Amz-Target"), targetPrefix)
	s.requests[operation]++
	known, ok := s.replies[operation]
	if !ok {
		return nil, fmt.Errorf("stub: no response to %q", operation)
	}
	reply := known.plain
	if bytes.Contains(request, askCapacity) {
		reply = known.withCapacity
	}
	if reply.body == nil {
		return nil, fmt.Errorf("stub: no response to %s with consumed capacity", operation)
	}
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: reply.header, Body: io.NopCloser(bytes.NewReader(reply.body)),
		ContentLength: int64(len(reply.body)), Request: r,
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

// client returns a client as an application has it, with the stub for its
// transport.
func (s *stub) client(options ...func(*dynamodb.Options)) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		Region:     "us-east-1",
		HTTPClient: s,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "stub", SecretAccessKey: "stub"}, nil
		}),
	}, options...)
}

// wireItem returns the item as the API writes it in JSON.
func wireItem(item map[string]types.AttributeValue) map[string]any {
	wire := make(map[string]any, len(item))
	for name, value := range item {
		wire[name] = wireValue(value)
	}
	return wire
}

func wireValue(value types.AttributeValue) map[string]any {
	switch v := value.(type) {
	case *types.AttributeValueMemberS:
		return map[string]any{"S": v.Value}
	case *types.AttributeValueMemberN:
		return map[string]any{"N": v.Value}
	case *types.AttributeValueMemberL:
		list := make([]any, len(v.Value))
		for i, e := range v.Value {
			list[i] = wireValue(e)
		}
		return map[string]any{"L": list}
	}
	panic(fmt.Sprintf("no record has a %T", value))
}
