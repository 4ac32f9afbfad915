package tabletest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/schema"
)

// world is an engine with an empty table, and one connection to it. Its requests
// are sent by whoever calls RoundTrip: a goroutine of an HTTP client would keep a
// bubble open.
type world struct {
	schema schema.Table
	// runs is the number of runs so far.
	runs int

	engine *Engine
	mu     sync.Mutex
	conn   net.Conn
	in     *bufio.Reader
	// transactions is how many the engine has executed.
	transactions int
}

// maxTransactions is how many transactions an engine executes before it is
// replaced: dynoxide gets slower by each.
const maxTransactions = 2000

func newWorld(t *testing.T, spec schema.Table) (*world, error) {
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	w := &world{schema: disposable(spec).WithDefaults()}
	w.schema.Name = tableName(t.Name())
	t.Cleanup(func() {
		if w.conn == nil {
			return
		}
		_ = w.conn.Close()
		if w.engine.process == nil {
			_, _ = w.engine.Client().DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &w.schema.Name})
		}
		_ = w.engine.Close()
	})
	return w, w.start(t.Context())
}

// start starts an engine and creates the table.
func (w *world) start(ctx context.Context) error {
	engine, err := Start(ctx, nil)
	if err != nil {
		return err
	}
	w.engine, w.transactions = engine, 0
	if err := w.schema.Ensure(ctx, engine.Client()); err != nil {
		return err
	}
	u, err := url.Parse(engine.endpoint)
	if err != nil || u.Scheme != "http" {
		return fmt.Errorf("Explore needs an engine on this machine, not that of %s", endpointVariable)
	}
	if w.conn, err = net.Dial("tcp", u.Host); err != nil {
		return err
	}
	w.in = bufio.NewReader(w.conn)
	return nil
}

// refresh replaces an engine that has become slow. It is called between two runs.
func (w *world) refresh(ctx context.Context) error {
	if w.transactions < maxTransactions || w.engine.process == nil {
		return nil
	}
	_ = w.conn.Close()
	_ = w.engine.Close()
	return w.start(ctx)
}

// RoundTrip sends a request to the engine, whatever becomes of its context.
func (w *world) RoundTrip(r *http.Request) (*http.Response, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if operationName(r) == "TransactWriteItems" {
		w.transactions++
	}
	if err := r.Write(w.conn); err != nil {
		return nil, err
	}
	response, err := http.ReadResponse(w.in, r)
	if err != nil {
		return nil, err
	}
	// The SDK would correct its clock by it.
	response.Header.Del("Date")
	return buffer(response), nil
}

// client returns a client whose requests do gets.
func (w *world) client(do roundTripper, retries bool) *dynamodb.Client {
	return w.engine.Client(func(o *dynamodb.Options) {
		o.HTTPClient = do
		if !retries {
			o.Retryer = aws.NopRetryer{}
		}
	})
}

// status describes a response: 200, or 400 and the exception's type.
func status(r *http.Response, err error) string {
	if err != nil {
		return err.Error()
	}
	body, _ := readResponse(r)
	r.Body = io.NopCloser(bytes.NewReader(body))
	if r.StatusCode == http.StatusOK {
		return "200"
	}
	return fmt.Sprintf("%d %s", r.StatusCode, body)
}

// footprint is what a request reads and writes: the keys of items, or everything.
type footprint struct {
	reads, writes []string
	// items is the number of items of a transaction.
	items int
}

const everything = "*"

// meets reports whether the order of two requests matters.
func (f footprint) meets(g footprint) bool {
	return overlap(f.writes, g.writes) || overlap(f.writes, g.reads) || overlap(f.reads, g.writes)
}

func overlap(a, b []string) bool {
	for _, x := range a {
		for _, y := range b {
			if x == y || x == everything || y == everything {
				return true
			}
		}
	}
	return false
}

// itemRequest is what requests have in common: an item, or its key.
type itemRequest struct{ Key, Item map[string]json.RawMessage }

// footprintOf returns the footprint of a request on the table of the schema.
func footprintOf(operation string, body []byte, spec schema.Table) footprint {
	var f footprint
	key := func(r itemRequest) string {
		all := r.Key
		if all == nil {
			all = r.Item
		}
		return string(all[spec.PK]) + string(all[spec.SK])
	}
	var r struct {
		itemRequest
		TransactItems []map[string]itemRequest
	}
	unknown := footprint{reads: []string{everything}, writes: []string{everything}}
	if json.Unmarshal(body, &r) != nil {
		return unknown
	}
	switch operation {
	case "GetItem":
		f.reads = []string{key(r.itemRequest)}
	case "PutItem", "UpdateItem", "DeleteItem":
		f.writes = []string{key(r.itemRequest)}
	case "TransactWriteItems", "TransactGetItems":
		f.items = len(r.TransactItems)
		for _, item := range r.TransactItems {
			for verb, r := range item {
				if verb == "ConditionCheck" || verb == "Get" {
					f.reads = append(f.reads, key(r))
				} else {
					f.writes = append(f.writes, key(r))
				}
			}
		}
	case "Query", "Scan", "BatchGetItem":
		f.reads = []string{everything}
	default:
		return unknown
	}
	return f
}
