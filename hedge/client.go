// Package hedge sends a late read of DynamoDB a second time and takes the first success. That
// cuts the tail of latencies, most of all for pages that wait for many reads.
//
// A [Client] is an HTTP client around that of any *[dynamodb.Client], also of one without a
// table of package table:
//
//	client := dynamodb.NewFromConfig(cfg, func(o *dynamodb.Options) {
//		o.HTTPClient = hedge.New(o.HTTPClient)
//	})
//
// # Which reads
//
// GetItem, BatchGetItem, TransactGetItems, Query and SearchVectors are hedged, by the header
// X-Amz-Target. All other requests pass as they are: a scan, since it reads pages of 1 MB and
// nobody waits for a single one, and every write. AWS: Scan, Amazon DynamoDB API Reference.
//
// A read is late if it takes longer than 97 % of the recent reads of its operation, of which
// there were 100 or more, and than one and a half times their median. The wait for a new
// connection does not count. The SDK's second attempt and later ones, by the header
// Amz-Sdk-Request, are never sent twice: something failed already, and retries have delays
// of their own. Nor is a request without that header.
//
// # Costs
//
// At most 5 % of the reads are sent twice: one for 20 that have succeeded, and ten of them
// saved at most. A failed request takes one from that budget, so that none is left in an
// outage.
//
// The request that lost is cancelled, and its connection closed. Its read units are
// consumed all the same. A response tells of the units of its own request only, so neither
// the SDK's output nor package table can report those. [Client.Stats] counts such requests.
//
// # Consistency
//
// Both requests are sent during the call, so a consistent read is as current as ever.
//
// Dean and Barroso: "The Tail at Scale", Communications of the ACM 56(2), 2013, for late
// requests. gRPC: proposal A6, "gRPC Retry Design", for the budget, and for no hedge of a
// request that was refused.
package hedge

import (
	"net/http"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"

	"github.com/singletable/singletable/internal/pool"
)

// Client is an HTTP client that hedges reads of DynamoDB. It knows requests and responses, and
// nothing of what is in them. It is safe for concurrent use. Get one from [New].
type Client struct {
	next   aws.HTTPClient
	pool   *pool.Pool
	budget budget
}

// New returns a client that sends its requests by next. Nil is the SDK's default client. A
// *Client is returned as it is, since a hedge of a hedge would be one too many.
//
// Make one for each client of DynamoDB, as it is made: the times of reads and the budget are
// learned again with each. An option function of [dynamodb.New] or
// [dynamodb.NewFromConfig] is given the HTTP client that the SDK has made ready, with its
// timeouts.
//
// The SDK's default client keeps ten idle connections for each host. With more requests than
// that in flight, the Client changes to a copy of it that keeps 1,000. It does not change
// any other HTTP client: see package table.
//
// Next has to return when the context of its request ends, as net/http does: a read returns
// when the request that lost has ended.
//
// [dynamodb.New]: https://pkg.go.dev/github.com/aws/aws-sdk-go-v2/service/dynamodb#New
// [dynamodb.NewFromConfig]: https://pkg.go.dev/github.com/aws/aws-sdk-go-v2/service/dynamodb#NewFromConfig
func New(next aws.HTTPClient) *Client {
	if next == nil {
		next = awshttp.NewBuildableClient()
	}
	if c, ok := next.(*Client); ok {
		return c
	}
	return &Client{next: next, pool: pool.New(next), budget: budget{latencies: unknown()}}
}

// reads are the operations that are hedged.
//
//mutants:guard writes are not hedged | TestWhatIsHedged | { => {"PutItem", "UpdateItem",
var reads = [...]string{"GetItem", "BatchGetItem", "TransactGetItems", "Query", "SearchVectors"}

// Do sends a request, and once more if it is a read and late. It returns the first success,
// whose body it has read, or else what came of the first request. No request is in flight
// when it returns.
//
// A response that is larger than DynamoDB can send is read no further. A panic of the HTTP
// client reaches the caller, with the stack of the goroutine that it was in.
func (c *Client) Do(r *http.Request) (*http.Response, error) {
	c.pool.Begin()
	defer c.pool.End()
	next := c.pool.Choose(c.next)
	operation, ok := strings.CutPrefix(r.Header.Get("X-Amz-Target"), "DynamoDB_20120810.")
	if !ok || !slices.Contains(reads[:], operation) {
		return next.Do(r)
	}
	return (&read{&c.budget, next, operation, isFirstAttempt(r)}).do(r)
}

// isFirstAttempt reports whether the SDK has not sent the request before. Its header is such
// as "attempt=1; max=4". Code: aws-sdk-go-v2, aws/retry/middleware.go.
func isFirstAttempt(r *http.Request) bool {
	for part := range strings.SplitSeq(r.Header.Get("Amz-Sdk-Request"), ";") {
		if strings.TrimSpace(part) == "attempt=1" {
			return true
		}
	}
	return false
}

// Stats are how many reads there were, the SDK's retries among them; how many of them were
// sent a second time; and how many of those second requests were the first to succeed. Hedges pay if many of
// them win.
type Stats struct{ Reads, Hedges, Won int64 }

// Stats returns the counts since New. They grow only, so a metric can be made of them.
func (c *Client) Stats() Stats {
	c.budget.mu.Lock()
	defer c.budget.mu.Unlock()
	return c.budget.stats
}
