package view

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/singletable/singletable/cmd/singletable/internal/request"
)

// sent is a request that was sent to DynamoDB for a page.
type sent struct {
	Operation string
	// JSON is the request as it was sent. Command does the same in a shell, and Go in a
	// program; they are empty for an operation that package request does not show.
	JSON, Command, Go source
	// Units are the read units that it consumed, Written the write units.
	Units, Written float64
	// VectorBytes are the bytes of vectors that it consumed.
	VectorBytes float64
	// Read is true for a Query and a Scan: Count is then how many items it returned, and
	// Scanned how many it read.
	Read           bool
	Count, Scanned int32
	Duration       time.Duration
	Failed         bool
}

// record holds the requests of one page. It is safe for concurrent use.
type record struct {
	mu  sync.Mutex
	all []sent
	// flags are for commands that send the requests.
	flags []string
}

type recordKey struct{}

// recorded returns a context whose requests are added to the record.
func recorded(ctx context.Context, r *record) context.Context {
	return context.WithValue(ctx, recordKey{}, r)
}

func (r *record) add(q sent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, q)
}

// requests returns those that were sent so far.
func (r *record) requests() []sent {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.all)
}

// recording returns a client that adds each request to the record of its context.
func recording(client *dynamodb.Client) *dynamodb.Client {
	return dynamodb.New(client.Options(), func(o *dynamodb.Options) {
		o.APIOptions = append(slices.Clone(o.APIOptions), func(stack *middleware.Stack) error {
			// Behind the step that writes the body, and before the one that retries.
			return stack.Build.Add(middleware.BuildMiddlewareFunc("ViewRecord", recordRequest), middleware.After)
		})
	})
}

func recordRequest(ctx context.Context, in middleware.BuildInput, next middleware.BuildHandler) (middleware.BuildOutput, middleware.Metadata, error) {
	r, ok := ctx.Value(recordKey{}).(*record)
	if !ok {
		return next.HandleBuild(ctx, in)
	}
	q := sent{Operation: awsmiddleware.GetOperationName(ctx)}
	if h, ok := in.Request.(*smithyhttp.Request); ok && h.IsStreamSeekable() {
		body, err := io.ReadAll(h.GetStream())
		if err == nil {
			err = h.RewindStream()
		}
		if err != nil {
			return middleware.BuildOutput{}, middleware.Metadata{}, err
		}
		q.show(body, r.flags)
	}
	began := time.Now()
	out, metadata, err := next.HandleBuild(ctx, in)
	q.Duration, q.Failed = time.Since(began), err != nil
	if err == nil {
		q.setResult(out.Result)
	}
	r.add(q)
	return out, metadata, err
}

// setResult sets what the output says of the request's cost.
func (q *sent) setResult(output any) {
	read := func(c *types.ConsumedCapacity) {
		if c != nil {
			q.Units += aws.ToFloat64(c.CapacityUnits)
		}
	}
	wrote := func(c *types.ConsumedCapacity) {
		if c == nil {
			return
		}
		q.Written += aws.ToFloat64(c.CapacityUnits)
		for _, index := range c.VectorIndexes {
			q.VectorBytes += aws.ToFloat64(index.VectorWriteRequestBytes)
		}
	}
	switch out := output.(type) {
	case *dynamodb.QueryOutput:
		read(out.ConsumedCapacity)
		q.Read, q.Count, q.Scanned = true, out.Count, out.ScannedCount
	case *dynamodb.ScanOutput:
		read(out.ConsumedCapacity)
		q.Read, q.Count, q.Scanned = true, out.Count, out.ScannedCount
	case *dynamodb.GetItemOutput:
		read(out.ConsumedCapacity)
	case *dynamodb.BatchGetItemOutput:
		for i := range out.ConsumedCapacity {
			read(&out.ConsumedCapacity[i])
		}
	case *dynamodb.SearchVectorsOutput:
		q.Count = int32(len(out.SearchResults))
		if c := out.ConsumedCapacity; c != nil {
			q.VectorBytes = aws.ToFloat64(c.VectorSearchRequestBytes)
		}
	case *dynamodb.TransactWriteItemsOutput:
		for i := range out.ConsumedCapacity {
			wrote(&out.ConsumedCapacity[i])
		}
	case *dynamodb.PutItemOutput:
		wrote(out.ConsumedCapacity)
	case *dynamodb.UpdateItemOutput:
		wrote(out.ConsumedCapacity)
	case *dynamodb.DeleteItemOutput:
		wrote(out.ConsumedCapacity)
	}
}

// show sets the forms of the request with this body.
func (q *sent) show(body []byte, flags []string) {
	var lines bytes.Buffer
	if json.Indent(&lines, body, "", "  ") == nil {
		q.JSON = newSource(readable(lines.String()))
	}
	r, err := request.Parse(q.Operation, body)
	if err != nil {
		return
	}
	if command, err := r.Command(flags...); err == nil {
		q.Command = newSource(command)
	}
	if code, err := r.Go(); err == nil {
		q.Go = newSource(code)
	}
}

// commandFlags lead a command of the AWS CLI to where the client sends its requests.
func commandFlags(o dynamodb.Options) []string {
	flags := []string{"--region", o.Region}
	if o.BaseEndpoint != nil {
		flags = append(flags, "--endpoint-url", *o.BaseEndpoint)
	}
	return flags
}
