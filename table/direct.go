package table

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/singletable/singletable/internal/item"
)

// direct is a protocol of the SDK's client. It writes requests, and reads the responses
// that have items. Errors, other responses, and what is not as expected are for the
// client's own protocol. It refuses a response that is too large, empty or damaged, also
// one that the client reads.
type direct struct {
	smithyhttp.ClientProtocol
	r *request
	// writes and reads mean that it does so itself.
	writes, reads bool
	body          limited
}

// protocol is the only one whose responses direct can read. AWS: "AWS JSON 1.0
// protocol", Smithy documentation.
var protocol = smithy.ShapeID{Namespace: "aws.protocols", Name: "awsJson1_0"}

// direct sets the protocol of a call of the SDK's client. Nothing is written or read here
// for a wrapper, which may want to see the items, and nothing is read for middleware that
// may change them.
func (t *Table) direct(o *dynamodb.Options, r *request) {
	if o.Protocol == nil || o.Protocol.ID() != protocol {
		return
	}
	own := t.ownClient
	o.Protocol = &direct{ClientProtocol: o.Protocol, r: r, writes: own, reads: own && !t.rewritten}
}

// SerializeRequest is called by the SDK for each call.
func (d *direct) SerializeRequest(
	ctx context.Context, op *smithy.OperationSchema, in smithy.Serializable, sent *smithyhttp.Request,
) error {
	if !d.writes {
		return d.ClientProtocol.SerializeRequest(ctx, op, in, sent)
	}
	if d.r.body != nil && len(*d.r.body) > 0 {
		return post(sent, op, *d.r.body)
	}
	w := writers.Get().(*item.Writer)
	defer func() {
		if cap(w.Bytes()) <= maxBuffer {
			w.Reset()
			writers.Put(w)
		}
	}()
	in.Serialize(w)
	if !w.Complete() {
		return d.ClientProtocol.SerializeRequest(ctx, op, in, sent)
	}
	body := bytes.Clone(w.Bytes())
	if d.r.body != nil {
		*d.r.body = body
	}
	return post(sent, op, body)
}

// post makes sent the request of an operation.
func post(sent *smithyhttp.Request, op *smithy.OperationSchema, body []byte) error {
	// It copies the request, so the header comes after it.
	full, err := sent.SetStream(bytes.NewReader(body))
	if err != nil {
		return err
	}
	*sent = *full
	sent.Method = "POST"
	sent.URL.Path = cmp.Or(sent.URL.Path, "/")
	sent.Header.Set("X-Amz-Target", "DynamoDB_20120810."+op.ID().Name)
	sent.Header.Set("Content-Type", "application/x-amz-json-1.0")
	return nil
}

// The SDK calls DeserializeResponse for each response.
func (d *direct) DeserializeResponse(
	ctx context.Context, op *smithy.OperationSchema, registry *smithy.TypeRegistry,
	response *smithyhttp.Response, out smithy.Deserializable,
) error {
	d.r.decoded = false
	buffer := buffers.Get().(*bytes.Buffer)
	defer func() {
		if buffer.Cap() <= maxBuffer {
			buffer.Reset()
			buffers.Put(buffer)
		}
	}()
	d.body = limited{response.Body, maxResponse(op.ID().Name)}
	if err := d.receive(buffer, response); err != nil {
		return &smithy.DeserializationError{Err: err}
	}
	body, good := buffer.Bytes(), response.StatusCode >= 200 && response.StatusCode < 300
	switch {
	case good && len(body) == 0:
		// DynamoDB always sends an object. To the SDK, nothing is an item not
		// found or a write that succeeded.
		return &smithy.DeserializationError{Err: io.ErrUnexpectedEOF}
	case good && d.reads && d.r.items != nil:
		d.r.items.begin(d.r.before)
		if d.r.decoded = d.r.items.readResponse(body, out); d.r.decoded {
			return nil
		}
	case good && d.writes && string(body) == "{}":
		return nil // as of most writes: there is nothing to read
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	defer func() { response.Body = empty{} }() // the buffer is used again
	return d.read(ctx, op, registry, response, out)
}

// errDamaged is the error of a response that is not as it was sent.
var errDamaged = errors.New("the response was damaged on its way")

// receive reads the body of a response, and closes it. The SDK compares the checksum
// with the bytes that were received, before they are decompressed, unless the client has
// DisableValidateResponseChecksum. It says what came of it when the body is closed, and
// only logs that. Without a checksum it compares as well, with 0.
func (d *direct) receive(to *bytes.Buffer, response *smithyhttp.Response) error {
	response.Body = &d.body // for the SDK, which closes it after an error
	if _, err := to.ReadFrom(response.Body); err != nil {
		return err
	}
	response.Body = empty{}
	if err := d.body.Close(); err != nil && response.Header.Get("X-Amz-Crc32") != "" {
		return fmt.Errorf("%w: %w", errDamaged, err)
	}
	return nil
}

// read lets the client's own protocol read a response. There are malformed ones
// over which it panics; to a caller these are as others that cannot be read.
func (d *direct) read(
	ctx context.Context, op *smithy.OperationSchema, registry *smithy.TypeRegistry,
	response *smithyhttp.Response, out smithy.Deserializable,
) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &smithy.DeserializationError{Err: fmt.Errorf("panic: %v", p)}
		}
	}()
	return d.ClientProtocol.DeserializeResponse(ctx, op, registry, response, out)
}

// maxResponse returns the greatest size of an operation's response. It is the
// size of the items that DynamoDB returns at most, times the greatest number of
// bytes in JSON for one of theirs. The number 1e-130 counts 2 bytes, and takes
// 135 in a set, since it is written in full.
//
// AWS: BatchGetItem, TransactGetItems, Query and Scan, Amazon DynamoDB API
// Reference.
func maxResponse(operation string) int64 {
	const inJSON, others = 68, 1 << 20
	items := 16 << 20 // BatchGetItem, and the unprocessed items of BatchWriteItem
	switch operation {
	case "GetItem", "PutItem", "UpdateItem", "DeleteItem":
		items = maxItemSize
	case "Query", "Scan":
		items = 1 << 20
	case "TransactGetItems":
		items = maxTransactionSize
	case "CreateTable", "DescribeTable", "DescribeTimeToLive", "UpdateTimeToLive",
		"DescribeContinuousBackups", "UpdateContinuousBackups":
		items = 0
	}
	return others + inJSON*int64(items)
}

// errResponseSize is the error of a response that DynamoDB cannot send.
var errResponseSize = errors.New("the response is larger than DynamoDB can send")

// limited is the body of a response. Reading more than left bytes fails.
type limited struct {
	io.ReadCloser
	left int64
}

// Read reads from the body.
func (l *limited) Read(p []byte) (n int, err error) {
	n, err = l.ReadCloser.Read(p[:min(int64(len(p)), l.left+1)])
	if l.left -= int64(n); l.left < 0 {
		return 0, errResponseSize
	}
	return n, err
}

// empty is a body that was read and closed.
type empty struct{}

func (empty) Read([]byte) (int, error) { return 0, io.EOF }

func (empty) Close() error { return nil }

// buffers and writers hold the bodies of responses and of requests for reuse,
// except for the rare large ones.
var (
	buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}
	writers = sync.Pool{New: func() any { return new(item.Writer) }}
)

const maxBuffer = 1 << 20
