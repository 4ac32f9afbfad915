// Package pool lets a caller that outgrows the SDK's pool of connections have a larger one.
package pool

import (
	"cmp"
	"net/http"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
)

// Pool chooses the pool of connections for the requests of a caller. One whose requests
// outgrow the pool of the SDK's default client gets one of its own, since each further
// request would open a connection and close it again. Until then it shares the client's,
// so that many small callers of one client have one pool. It is safe for concurrent use.
type Pool struct {
	// own is the larger pool, nil if the client is not to be changed.
	own      *awshttp.BuildableClient
	inFlight atomic.Int64
	outgrown atomic.Bool
}

const (
	// smallPool is the number of idle connections that the SDK's default keeps.
	smallPool = 10
	// maxIdle bounds the idle connections of a larger pool. A pool holds no more than
	// there were requests in flight, and closes a connection after the SDK's 90
	// seconds without a request.
	maxIdle = 1000
)

// New looks at an HTTP client of the SDK's. It is copied with all its settings if
// it is the SDK's own and still has the default limit, and otherwise left as it is.
func New(client aws.HTTPClient) *Pool {
	small, ok := client.(*awshttp.BuildableClient)
	if !ok || small == nil || small.GetTransport().MaxIdleConnsPerHost != smallPool {
		return &Pool{}
	}
	return &Pool{own: small.WithTransportOptions(func(t *http.Transport) {
		if t.MaxIdleConns == awshttp.DefaultHTTPTransportMaxIdleConns {
			t.MaxIdleConns = maxIdle
		}
		t.MaxIdleConnsPerHost = cmp.Or(t.MaxIdleConns, maxIdle)
	})}
}

// Begin counts a request that is about to be sent. Each is followed by End.
func (p *Pool) Begin() {
	if p.inFlight.Add(1) > smallPool && p.own != nil {
		p.outgrown.Store(true)
	}
}

// End counts a request that has ended.
func (p *Pool) End() { p.inFlight.Add(-1) }

// Choose returns the HTTP client for a call that would use client.
func (p *Pool) Choose(client aws.HTTPClient) aws.HTTPClient {
	if p.outgrown.Load() {
		return p.own
	}
	return client
}
