package table

import (
	"cmp"
	"net/http"
	"sync/atomic"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// connections chooses the pool of connections for the requests of a Table. The
// SDK's default client keeps ten idle connections for each host: with more
// requests in flight, the others open a connection each, and close it again.
//
// A Table whose requests outgrow that pool gets one of its own. Until then it
// shares the client's, so that many small tables of one client have one pool.
// It is safe for concurrent use.
type connections struct {
	// own is the larger pool, nil if the client is not to be changed.
	own      *awshttp.BuildableClient
	inFlight atomic.Int64
	outgrown atomic.Bool
}

const (
	// smallPool is the number of idle connections that the SDK's default keeps.
	smallPool = 10
	// maxIdle bounds the idle connections of a Table. A pool holds no more than
	// there were requests in flight, and closes a connection after the SDK's 90
	// seconds without a request.
	maxIdle = 1000
)

// newConnections looks at a client. Its HTTP client is copied with all its
// settings if it is the SDK's own and still has the default limit.
func newConnections(client Client) *connections {
	sdk, ok := client.(*dynamodb.Client)
	if !ok {
		return &connections{}
	}
	small, ok := sdk.Options().HTTPClient.(*awshttp.BuildableClient)
	if !ok || small == nil || small.GetTransport().MaxIdleConnsPerHost != smallPool {
		return &connections{}
	}
	return &connections{own: small.WithTransportOptions(func(t *http.Transport) {
		if t.MaxIdleConns == awshttp.DefaultHTTPTransportMaxIdleConns {
			t.MaxIdleConns = maxIdle
		}
		t.MaxIdleConnsPerHost = cmp.Or(t.MaxIdleConns, maxIdle)
	})}
}

// begin counts a request that is about to be sent. Each is followed by end.
func (c *connections) begin() {
	if c.inFlight.Add(1) > smallPool && c.own != nil {
		c.outgrown.Store(true)
	}
}

func (c *connections) end() { c.inFlight.Add(-1) }

// choose sets the pool for a call of the SDK's client.
func (c *connections) choose(o *dynamodb.Options) {
	if c.outgrown.Load() {
		o.HTTPClient = c.own
	}
}
