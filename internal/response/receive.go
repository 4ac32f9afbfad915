package response

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strconv"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// protocol is the only one whose responses are known here. AWS: "AWS JSON 1.0
// protocol", Smithy documentation.
var protocol = smithy.ShapeID{Namespace: "aws.protocols", Name: "awsJson1_0"}

// Known reports whether the protocol of a client is known here.
func Known(p smithyhttp.ClientProtocol) bool { return p != nil && p.ID() == protocol }

// Limit is an option of a request whose response has no items.
func Limit(o *dynamodb.Options) {
	if Known(o.Protocol) {
		o.Protocol = limiting{o.Protocol}
	}
}

// limiting is a client's protocol that refuses responses as [Receive] does.
type limiting struct{ smithyhttp.ClientProtocol }

// The SDK calls DeserializeResponse for each response.
func (l limiting) DeserializeResponse(
	ctx context.Context, op *smithy.OperationSchema, registry *smithy.TypeRegistry,
	response *smithyhttp.Response, out smithy.Deserializable,
) error {
	body, err := Receive(response, Max(0))
	if err != nil {
		return err
	}
	defer body.Release()
	return body.Read(ctx, l.ClientProtocol, op, registry, response, out)
}

// Max returns the greatest size of a response with items of so many bytes: the greatest
// number of bytes in JSON for one of theirs. The number 1e-130 counts 2 bytes, and takes
// 135 in a set, since it is written in full.
func Max(items int) int64 {
	const inJSON, others = 68, 1 << 20
	return others + inJSON*int64(items)
}

// MaxOf returns the greatest size of an operation's response.
//
// AWS: BatchGetItem, TransactGetItems, Query and Scan, Amazon DynamoDB API
// Reference.
func MaxOf(operation string) int64 {
	const kb, mb = 1 << 10, 1 << 20
	switch operation {
	case "GetItem", "PutItem", "UpdateItem", "DeleteItem":
		return Max(400 * kb)
	case "Query", "Scan":
		return Max(1 * mb)
	case "TransactGetItems":
		return Max(4 * mb)
	}
	return Max(16 * mb) // BatchGetItem, and the unprocessed items of BatchWriteItem
}

var (
	// ErrDamaged is the error of a response that is not as it was sent.
	ErrDamaged = errors.New("the response was damaged on its way")
	// ErrSize is the error of a response that DynamoDB cannot send.
	ErrSize = errors.New("the response is larger than DynamoDB can send")
)

// Body is the body of a response. Its memory is used again after Release.
type Body struct{ buffer *bytes.Buffer }

// Receive reads and closes the body of a response, which has at most so many bytes.
//
// The SDK compares the checksum with the bytes that were received, before they are
// decompressed, unless the client has DisableValidateResponseChecksum. It says what came
// of it when the body is closed, and only logs that. Without a checksum it compares as
// well, with 0.
func Receive(response *smithyhttp.Response, most int64) (Body, error) {
	body := Body{buffers.Get().(*bytes.Buffer)}
	received := LimitBody(response.Body, most)
	response.Body = received // for the SDK, which closes it after an error
	if _, err := body.buffer.ReadFrom(received); err != nil {
		body.Release()
		return Body{}, &smithy.DeserializationError{Err: err}
	}
	response.Body = empty{}
	err := received.Close()
	switch {
	//mutants:guard a response with a wrong checksum is not read | TestDamagedReads ./table
	case err != nil && response.Header.Get("X-Amz-Crc32") != "":
		err = fmt.Errorf("%w: %w", ErrDamaged, err)
	case body.buffer.Len() == 0 && Good(response):
		// DynamoDB always sends an object. To the SDK, nothing is an item not
		// found or a write that succeeded. AWS: "AWS JSON 1.0 protocol", Smithy documentation.
		err = io.ErrUnexpectedEOF
	default:
		return body, nil
	}
	body.Release()
	return Body{}, &smithy.DeserializationError{Err: err}
}

// ReceivePlain reads and closes the body of a response that the SDK has not seen, which has at
// most so many bytes. After an error, and after [Body.Return], the SDK can read the response,
// and meets the same.
func ReceivePlain(response *smithyhttp.Response, most int64, checksum bool) (Body, error) {
	body := Body{buffers.Get().(*bytes.Buffer)}
	received := LimitBody(response.Body, most)
	_, err := body.buffer.ReadFrom(received)
	_ = received.Close()
	if err != nil {
		response.Body = CutOff(body.buffer.Bytes(), err)
		return Body{}, err
	}
	if want := response.Header.Get("X-Amz-Crc32"); want != "" && checksum {
		sum, err := strconv.ParseUint(want, 10, 32)
		//mutants:guard a replay with a wrong checksum is not read | TestReplayedResponse ./table
		if err != nil || uint32(sum) != crc32.ChecksumIEEE(body.Bytes()) {
			body.Return(response)
			return Body{}, ErrDamaged
		}
	}
	return body, nil
}

// Return makes the body that of the response again. It is not to be released then.
func (b Body) Return(response *smithyhttp.Response) {
	response.Body = io.NopCloser(bytes.NewReader(b.buffer.Bytes()))
}

// CutOff returns a body that has these bytes, and cannot be read any further.
func CutOff(read []byte, err error) io.ReadCloser {
	return io.NopCloser(io.MultiReader(bytes.NewReader(read), failing{err}))
}

// failing is the end of such a body.
type failing struct{ error }

func (f failing) Read([]byte) (int, error) { return 0, f.error }

// Good reports whether a response is that of a success.
func Good(response *smithyhttp.Response) bool {
	return response.StatusCode >= 200 && response.StatusCode < 300
}

// Bytes returns the body.
func (b Body) Bytes() []byte { return b.buffer.Bytes() }

// Release gives the memory of the body back, except for that of the rare large ones.
func (b Body) Release() {
	const most = 1 << 20
	if b.buffer.Cap() <= most {
		b.buffer.Reset()
		buffers.Put(b.buffer)
	}
}

// Read lets the client's own protocol read the response. There are malformed ones
// over which it panics; to a caller these are as others that cannot be read.
func (b Body) Read(
	ctx context.Context, own smithyhttp.ClientProtocol, op *smithy.OperationSchema, registry *smithy.TypeRegistry,
	response *smithyhttp.Response, out smithy.Deserializable,
) (err error) {
	response.Body = io.NopCloser(bytes.NewReader(b.Bytes()))
	defer func() {
		response.Body = empty{} // the memory is used again
		if p := recover(); p != nil {
			err = &smithy.DeserializationError{Err: fmt.Errorf("panic: %v", p)}
		}
	}()
	return own.DeserializeResponse(ctx, op, registry, response, out)
}

// LimitBody returns the body of a response, of which reading more than so many bytes is
// [ErrSize].
func LimitBody(body io.ReadCloser, most int64) io.ReadCloser { return &limited{body, most} }

// limited is the body of a response. Reading more than left bytes fails.
type limited struct {
	io.ReadCloser
	left int64
}

func (l *limited) Read(p []byte) (n int, err error) {
	n, err = l.ReadCloser.Read(p[:min(int64(len(p)), l.left+1)])
	if l.left -= int64(n); l.left < 0 {
		return 0, ErrSize
	}
	return n, err
}

// empty is a body that was read and closed.
type empty struct{}

func (empty) Read([]byte) (int, error) { return 0, io.EOF }

func (empty) Close() error { return nil }

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}
