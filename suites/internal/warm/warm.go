// Package warm makes tables whose requests are replayed from the first one on.
//
// A [table.Table] learns the form of an operation's request from two calls of the SDK's client,
// so the tables of tests, which send few requests each, would hardly ever replay one. [Tables.New]
// makes these calls beforehand, and responds to them itself: neither the engine nor a transport
// with faults sees them.
package warm

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/logging"
	"github.com/aws/smithy-go/middleware"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// Tables makes the tables of a suite and counts their requests. The zero value is ready to use. It
// is safe for concurrent use, and must not be copied.
type Tables struct {
	// DisableReplay has the SDK's client make every call, as that of [table.Options] does.
	DisableReplay bool
	// Known has a table replay those operations only that one of the same name has sent before,
	// after the first few of that name. It is for suites with thousands of tables: an operation
	// takes two calls of the SDK's client for each.
	Known bool

	mu     sync.Mutex
	counts map[string]*count
	// names are those of tables.
	names map[string]*named
}

// named is how many tables of a name there are, and what they have sent.
type named struct {
	tables     int
	operations map[string]bool
}

// first is how many tables of a name replay all operations.
const first = 4

// count is how many requests of an operation there were. Those that are sent again are not counted.
type count struct{ sent, replayed int }

// New is [table.New] for a client of the suite.
func (s *Tables) New(client *dynamodb.Client, spec schema.Table, options *table.Options) (*table.Table, error) {
	var o table.Options
	if options != nil {
		o = *options
	}
	o.DisableReplay = o.DisableReplay || s.DisableReplay
	observe := o.Observe
	if observe != nil {
		o.Observe = func(ctx context.Context, e table.Event) {
			if warming, _ := ctx.Value(key{}).(*made); warming == nil {
				observe(ctx, e)
			}
		}
	}
	client = dynamodb.New(client.Options(), func(o *dynamodb.Options) {
		o.HTTPClient, o.Logger = &httpClient{s, spec.Name, o.HTTPClient}, mark{o.Logger}
	})
	t, err := table.New(client, spec, &o)
	if err != nil || o.DisableReplay {
		return t, err
	}
	return t, s.warm(t, s.operations(spec.Name))
}

// calls send one request of each operation. What they return does not matter.
var calls = map[string]func(context.Context, *table.Table, keys.Key) error{
	"GetItem": func(ctx context.Context, t *table.Table, k keys.Key) error {
		_, err := table.Get[table.Item](ctx, t, k)
		return err
	},
	"BatchGetItem": func(ctx context.Context, t *table.Table, k keys.Key) error {
		_, err := table.BatchGet[table.Item](ctx, t, []keys.Key{k})
		return err
	},
	"TransactGetItems": func(ctx context.Context, t *table.Table, k keys.Key) error {
		_, err := table.TransactGet[table.Item](ctx, t, []keys.Key{k})
		return err
	},
	"Query": func(ctx context.Context, t *table.Table, k keys.Key) error {
		_, err := table.QueryPage[table.Item](ctx, t, table.Query{PK: k.PK})
		return err
	},
	"Scan": func(ctx context.Context, t *table.Table, _ keys.Key) error {
		_, err := table.ScanPage[table.Item](ctx, t, table.Scan{})
		return err
	},
	"PutItem": func(ctx context.Context, t *table.Table, k keys.Key) error {
		return t.Do(ctx, table.Put(k, table.Item{}))
	},
	"UpdateItem": func(ctx context.Context, t *table.Table, k keys.Key) error {
		return t.Do(ctx, table.Update(k, expression.Remove(expression.Name("none"))))
	},
	"DeleteItem": func(ctx context.Context, t *table.Table, k keys.Key) error {
		return t.Do(ctx, table.Delete(k))
	},
	"BatchWriteItem": func(ctx context.Context, t *table.Table, k keys.Key) error {
		return t.BatchWrite(ctx, table.Delete(k))
	},
	"TransactWriteItems": func(ctx context.Context, t *table.Table, k keys.Key) error {
		return t.Transact(ctx, table.Delete(k))
	},
	"SearchVectors": func(ctx context.Context, t *table.Table, _ keys.Key) error {
		x := t.Schema().Vectors[0]
		search := table.Search{Index: x.Name, Near: make([]float32, x.Dimensions)}
		if x.Partition.Name != "" {
			search.Partition = "1"
		}
		_, _, err := table.SearchVectors[table.Item](ctx, t, search)
		return err
	},
}

// key is that of a *made in the context of the calls that a table learns from.
type key struct{}

// made counts the requests of these calls by operation.
type made struct{ requests map[string]int }

// learned is how many calls of an operation a table learns from.
const learned = 2

func (s *Tables) warm(t *table.Table, operations []string) error {
	warming := &made{map[string]int{}}
	ctx := context.WithValue(context.Background(), key{}, warming)
	k := keys.Key{PK: "1"}
	if t.Schema().SK != "" {
		k.SK = "1"
	}
	for _, operation := range operations {
		if operation == "SearchVectors" && len(t.Schema().Vectors) == 0 {
			continue
		}
		for n := range learned {
			if err := calls[operation](ctx, t, k); warming.requests[operation] != n+1 {
				return fmt.Errorf("warm: call %d of %s has sent no request: %w", n+1, operation, err)
			}
		}
	}
	return nil
}

// operations returns those that a new table of that name replays.
func (s *Tables) operations(name string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.named(name)
	known.tables++
	if s.Known && known.tables > first {
		return slices.Collect(maps.Keys(known.operations))
	}
	return slices.Collect(maps.Keys(calls))
}

// named is called with mu.
func (s *Tables) named(name string) *named {
	if s.names == nil {
		s.names = map[string]*named{}
	}
	if s.names[name] == nil {
		s.names[name] = &named{operations: map[string]bool{}}
	}
	return s.names[name]
}

// httpClient responds to the requests that a table learns from, and counts all others.
type httpClient struct {
	tables *Tables
	name   string // of the table
	next   aws.HTTPClient
}

// mark is the logger of a client, by which the requests that the client has made are known:
// they have it in their context, and those that are replayed do not.
type mark struct{ logging.Logger }

// Do sends a request.
func (c *httpClient) Do(r *http.Request) (*http.Response, error) {
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	if warming, _ := r.Context().Value(key{}).(*made); warming != nil {
		warming.requests[operation]++
		body := `{"Responses":[{}]}`
		if operation != "TransactGetItems" {
			body = "{}"
		}
		return &http.Response{
			StatusCode: http.StatusOK, ProtoMajor: 1, ProtoMinor: 1, Request: r,
			Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
			Body:   io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
		}, nil
	}
	if attempt, _, _ := strings.Cut(r.Header.Get("Amz-Sdk-Request"), ";"); attempt == "attempt=1" {
		c.tables.count(c.name, operation, Replayed(r))
	}
	return c.next.Do(r)
}

// Replayed reports whether a request of a table by [Tables.New] was sent without the SDK's client.
func Replayed(r *http.Request) bool {
	_, bySDK := middleware.GetLogger(r.Context()).(mark)
	return !bySDK
}

func (s *Tables) count(name, operation string, replayed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.counts == nil {
		s.counts = map[string]*count{}
	}
	s.named(name).operations[operation] = true
	c := s.counts[operation]
	if c == nil {
		c = &count{}
		s.counts[operation] = c
	}
	c.sent++
	if replayed {
		c.replayed++
	}
}

// few is how many requests of an operation say nothing about it.
const few = 20

// Check returns an error if the requests so far were not sent as they were to be: with
// DisableReplay, if one was replayed or none was sent; otherwise, if half of them were not, or
// half of those of an operation.
func (s *Tables) Check() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, operation := range slices.Sorted(maps.Keys(s.counts)) {
		switch c := s.counts[operation]; {
		case s.DisableReplay && c.replayed > 0:
			errs = append(errs, fmt.Errorf("%d of %d requests of %s were replayed, and all were to be made by the SDK's client", c.replayed, c.sent, operation))
		case !s.DisableReplay && c.sent >= few && 2*c.replayed <= c.sent:
			errs = append(errs, fmt.Errorf("only %d of %d requests of %s were replayed: see replay.New and Client.learn in internal/replay for what keeps the client from it",
				c.replayed, c.sent, operation))
		}
	}
	switch all := s.sum(); {
	case s.DisableReplay && all.sent == 0:
		errs = append(errs, errors.New("no request was sent"))
	case !s.DisableReplay && 2*all.replayed <= all.sent && all.sent > 0:
		errs = append(errs, fmt.Errorf("only %d of %d requests were replayed", all.replayed, all.sent))
	}
	return errors.Join(errs...)
}

// String says how many requests there were, and how many of them were replayed.
func (s *Tables) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	all := s.sum()
	fmt.Fprintf(&b, "%d of %d requests were replayed", all.replayed, all.sent)
	for _, operation := range slices.Sorted(maps.Keys(s.counts)) {
		fmt.Fprintf(&b, "; %s %d of %d", operation, s.counts[operation].replayed, s.counts[operation].sent)
	}
	return b.String()
}

func (s *Tables) sum() (all count) {
	for _, c := range s.counts {
		all.sent, all.replayed = all.sent+c.sent, all.replayed+c.replayed
	}
	return all
}

// Main is the TestMain of a suite: it gives the tests the flag -replay, runs them, and fails
// if the requests were not sent as they were to be.
func Main(m *testing.M, s *Tables) {
	replay := flag.Bool("replay", true, "replay requests; otherwise the SDK's client makes every call")
	flag.Parse()
	s.DisableReplay = !*replay
	code := m.Run()
	if s.sum().sent > 0 { // not so for the flag -list
		fmt.Println(s)
	}
	if err := s.Check(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, "FAIL:", err)
		code = 1
	}
	os.Exit(code)
}
