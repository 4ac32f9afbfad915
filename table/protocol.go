package table

import (
	"bytes"
	"cmp"
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/singletable/singletable/internal/response"
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
}

// installProtocol sets the protocol of a call of the SDK's client. Nothing is written or read here
// for a wrapper, which may want to see the items, and nothing is read for middleware that
// may change them.
func (t *Table) installProtocol(o *dynamodb.Options, r *request) {
	if !response.Known(o.Protocol) {
		return
	}
	own := t.ownClient
	//mutants:guard values are those that middleware leaves in outputs | TestReadsThroughMiddleware | && !t.mayRewrite =>
	o.Protocol = &direct{ClientProtocol: o.Protocol, r: r, writes: own, reads: own && !t.mayRewrite}
}

// SerializeRequest is called by the SDK for each call.
func (d *direct) SerializeRequest(
	ctx context.Context, op *smithy.OperationSchema, in smithy.Serializable, sent *smithyhttp.Request,
) error {
	if !d.writes {
		return d.ClientProtocol.SerializeRequest(ctx, op, in, sent)
	}
	if d.r.sent == nil && !d.r.serialize(in) {
		return d.ClientProtocol.SerializeRequest(ctx, op, in, sent)
	}
	return post(sent, op, d.r.sent)
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
	received *smithyhttp.Response, out smithy.Deserializable,
) error {
	d.r.decoded = false
	body, err := response.Receive(received, response.MaxOf(op.ID().Name))
	if err != nil {
		return err
	}
	defer body.Release()
	good := response.Good(received)
	if good && d.reads {
		if d.r.decoded = d.r.items.readResponse(d.r.kept, body.Bytes(), out); d.r.decoded {
			return nil
		}
	}
	return body.Read(ctx, d.ClientProtocol, op, registry, received, out)
}
