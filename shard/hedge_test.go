package shard_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptrace"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// replayed is a network between a client and recorded responses of the engine, on
// the clock of a synctest bubble. A response takes 5 ms and a little more, and a
// late one 300 ms. A request for which no connection is idle waits 5 ms more, and
// one that is cancelled closes its connection.
type replayed struct {
	mu        sync.Mutex
	responses map[string][]byte // by request body
	random    *rand.Rand
	late      int // of 100 responses
	idle      int
	queries   int
}

// record is a fault that lets a request pass and records the response.
func (n *replayed) record(r *http.Request, next http.RoundTripper) (*http.Response, error) {
	asked, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(asked))
	response, err := next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(response.Body)
	response.Body = io.NopCloser(bytes.NewReader(body))
	n.mu.Lock()
	defer n.mu.Unlock()
	n.responses[string(asked)] = body
	return response, err
}

// Do responds from the recording.
func (n *replayed) Do(r *http.Request) (*http.Response, error) {
	asked, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	n.queries++
	body, known := n.responses[string(asked)]
	wait := 5*time.Millisecond + time.Duration(n.random.ExpFloat64()*float64(time.Millisecond/2))
	if n.random.IntN(100) < n.late {
		wait = 300 * time.Millisecond
	}
	connect := n.idle == 0
	n.idle = max(n.idle-1, 0)
	n.mu.Unlock()
	trace := httptrace.ContextClientTrace(r.Context())
	if trace != nil {
		trace.GetConn("")
	}
	if connect {
		time.Sleep(5 * time.Millisecond)
	}
	if trace != nil {
		trace.GotConn(httptrace.GotConnInfo{})
	}
	select {
	case <-r.Context().Done():
		return nil, r.Context().Err()
	case <-time.After(wait):
	}
	n.mu.Lock()
	n.idle++
	n.mu.Unlock()
	if !known {
		return nil, fmt.Errorf("not recorded: %s", asked)
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(body)), Request: r}, nil
}

// TestHedgedLatest shows that hedges take the tail of one late query in a hundred
// from a read over 16 shards, for few more queries.
func TestHedgedLatest(t *testing.T) {
	t.Parallel()
	const pages, shards = 400, 16
	n := &replayed{responses: map[string][]byte{}}
	var faults tabletest.Faults
	faults.Always("Query", n.record)
	recorded := tabletest.NewWith(t, tabletest.Client(t, faults.Install), spec, nil)
	seed(t, recorded, globalTx(shards), 200)
	want := make([][]tx, pages) // the reader learns sizes and shares, so its requests differ
	for i, r := 0, newReader(t, recorded, globalTx(shards), nil); i < len(want); i++ {
		var err error
		want[i], err = r.Latest(t.Context(), 10)
		expect.OK(t, err)
	}
	synctest.Test(t, func(t *testing.T) {
		// p99 returns that of all pages, and the queries that were sent for them.
		p99 := func(late int, hedge bool) (time.Duration, int) {
			n.random, n.late, n.idle, n.queries = rand.New(rand.NewPCG(1, 1)), late, 0, 0
			client := dynamodb.New(dynamodb.Options{
				Region: "us-east-1", HTTPClient: n,
				Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
					return aws.Credentials{AccessKeyID: "local", SecretAccessKey: "local"}, nil
				}),
			})
			tbl, err := table.New(client, recorded.Schema(), &table.Options{HedgeReads: hedge})
			expect.OK(t, err)
			r, took := newReader(t, tbl, globalTx(shards), nil), make([]time.Duration, pages)
			for i := range took {
				start := time.Now()
				got, err := r.Latest(t.Context(), 10)
				expect.OK(t, err)
				took[i] = time.Since(start)
				expect.Equal(t, "page", got, want[i])
			}
			slices.Sort(took)
			return took[pages*99/100], n.queries
		}
		calm, queries := p99(0, false)
		calmHedged, calmMore := p99(0, true)
		late, more := p99(1, true)
		t.Logf("p99: %v; hedged %v; with late responses %v", calm, calmHedged, late)
		t.Logf("queries: %d; hedged %d; with late responses %d", queries, calmMore, more)
		if late > 2*calm || calmHedged > calm*5/4 {
			t.Error("p99")
		}
		if most := queries * 105 / 100; calmMore > most || more > most {
			t.Error("queries")
		}
	})
}
