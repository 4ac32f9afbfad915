package hedge_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/hedge"
	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/internal/response"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table/tabletest"
)

// late keeps one request back, once it is told to, until its context ends. All others go to
// the engine.
type late struct {
	dynamodb.HTTPClient
	next atomic.Bool
}

func (l *late) Do(r *http.Request) (*http.Response, error) {
	if l.next.CompareAndSwap(true, false) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	return l.HTTPClient.Do(r)
}

// TestPlainClient shows that a read that never gets a response is read by its hedge, with a
// plain client of the SDK on a real engine, for each operation that it has.
func TestPlainClient(t *testing.T) {
	t.Parallel()
	tbl := tabletest.New(t, schema.Table{}, nil)
	name := aws.String(tbl.Schema().Name)
	text := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	key := map[string]types.AttributeValue{"pk": text("USER#1"), "sk": text("PROFILE")}
	item := map[string]types.AttributeValue{"pk": text("USER#1"), "sk": text("PROFILE"), "name": text("Ana")}
	expect.Value(tabletest.Client(t).PutItem(t.Context(), &dynamodb.PutItemInput{TableName: name, Item: item}))(t)
	for operation, read := range map[string]func(context.Context, *dynamodb.Client) (map[string]types.AttributeValue, error){
		"GetItem": func(ctx context.Context, c *dynamodb.Client) (map[string]types.AttributeValue, error) {
			out, err := c.GetItem(ctx, &dynamodb.GetItemInput{TableName: name, Key: key, ConsistentRead: aws.Bool(true)})
			if err != nil {
				return nil, err
			}
			return out.Item, nil
		},
		"BatchGetItem": func(ctx context.Context, c *dynamodb.Client) (map[string]types.AttributeValue, error) {
			asked := types.KeysAndAttributes{Keys: []map[string]types.AttributeValue{key}, ConsistentRead: aws.Bool(true)}
			out, err := c.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{*name: asked}})
			if err != nil {
				return nil, err
			}
			return out.Responses[*name][0], nil
		},
		"TransactGetItems": func(ctx context.Context, c *dynamodb.Client) (map[string]types.AttributeValue, error) {
			asked := []types.TransactGetItem{{Get: &types.Get{TableName: name, Key: key}}}
			out, err := c.TransactGetItems(ctx, &dynamodb.TransactGetItemsInput{TransactItems: asked})
			if err != nil {
				return nil, err
			}
			return out.Responses[0].Item, nil
		},
		"Query": func(ctx context.Context, c *dynamodb.Client) (map[string]types.AttributeValue, error) {
			out, err := c.Query(ctx, &dynamodb.QueryInput{
				TableName: name, KeyConditionExpression: aws.String("pk = :pk"), ConsistentRead: aws.Bool(true),
				ExpressionAttributeValues: map[string]types.AttributeValue{":pk": key["pk"]},
			})
			if err != nil {
				return nil, err
			}
			return out.Items[0], nil
		},
	} {
		t.Run(operation, func(t *testing.T) {
			t.Parallel()
			slow := &late{}
			var hedges *hedge.Client
			client := tabletest.Client(t, func(o *dynamodb.Options) {
				slow.HTTPClient = o.HTTPClient
				hedges = hedge.New(slow)
				o.HTTPClient = hedges
			})
			for range 100 {
				expect.Value(read(t.Context(), client))(t)
			}
			slow.next.Store(true)
			got := expect.Value(read(t.Context(), client))(t)
			if diff := cmp.Diff("Ana", got["name"].(*types.AttributeValueMemberS).Value); diff != "" {
				t.Error(diff)
			}
			expect.Equal(t, "statistics", hedges.Stats(), hedge.Stats{Reads: 101, Hedges: 1, Won: 1})
		})
	}
}

// TestPoolGrows shows that a client that wraps the SDK's keeps as many connections as it has
// requests in flight, of writes, too.
func TestPoolGrows(t *testing.T) {
	t.Parallel()
	const together, rounds = 16, 20
	var accepted atomic.Int64
	var arrived sync.WaitGroup
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		arrived.Done()
		arrived.Wait()
		_, _ = io.WriteString(w, "{}")
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			accepted.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	client := dynamodb.New(dynamodb.Options{
		Region: "eu-west-1", Credentials: aws.AnonymousCredentials{}, BaseEndpoint: aws.String(server.URL),
	}, func(o *dynamodb.Options) { o.HTTPClient = hedge.New(o.HTTPClient) })
	round := func() {
		var calls sync.WaitGroup
		arrived.Add(together)
		for range together {
			calls.Go(func() {
				if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: name, Item: key}); err != nil {
					t.Error(err)
				}
			})
		}
		calls.Wait()
	}
	round()
	round()
	before := accepted.Load()
	for range rounds {
		round()
	}
	// The rest of the division is for those that a busy machine closes.
	expect.Equal(t, "new connections of a round", (accepted.Load()-before)/rounds, 0)
}

// TestOneHedge shows that a client is not put around itself, and that nil is the SDK's.
func TestOneHedge(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	c := hedge.New(nil)
	r := expect.Value(http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, http.NoBody))(t)
	got := expect.Value(c.Do(r))(t)
	expect.OK(t, got.Body.Close())
	expect.Equal(t, "status", got.StatusCode, http.StatusNotFound)
	if hedge.New(c) != c {
		t.Error("a hedge of a hedge")
	}
}

// TestTooLargeResponse shows that a response that DynamoDB cannot send is read no further
// than that, and is an error also to a client that has no bound of its own.
func TestTooLargeResponse(t *testing.T) {
	t.Parallel()
	hedged(t, func(t *testing.T, n *network, _ func()) {
		n.next = func() (time.Duration, tabletest.Fault) {
			return 0, func(r *http.Request, _ http.RoundTripper) (*http.Response, error) {
				return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(endless{}), ContentLength: -1, Request: r}, nil
			}
		}
		client := dynamodb.New(dynamodb.Options{
			Region: "eu-west-1", HTTPClient: n.hedges, Credentials: aws.AnonymousCredentials{}, BaseEndpoint: aws.String("http://127.0.0.1:1"),
		})
		expect.Err(t, expect.ErrOf(client.GetItem(t.Context(), getItem)), response.ErrSize)
	})
}

// endless is a body of blanks.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}
