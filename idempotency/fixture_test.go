package idempotency_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

var spec = schema.Table{Name: "Shop", TTLAttribute: "expiresAt", Indexes: []schema.Index{
	{Name: "GSI1", PK: "gsi1pk", SK: "gsi1sk"},
	{Name: "LSI1", SK: "lsi1sk", Local: true},
}}

// start is the first time by the clock of every test. By the time of day, no record has
// expired then: DynamoDB Local deletes those that have within seconds.
var start = time.Date(2100, time.January, 15, 10, 5, 0, 0, time.UTC)

// clock is a clock that stands still until it is moved.
type clock struct{ ahead atomic.Int64 }

func (c *clock) now() time.Time       { return start.Add(time.Duration(c.ahead.Load())) }
func (c *clock) move(d time.Duration) { c.ahead.Add(int64(d)) }

// order is what requests create, and their result.
type order struct {
	ID    string    `dynamodbav:"id"`
	Goods string    `dynamodbav:"goods"`
	Price float64   `dynamodbav:"price"`
	At    time.Time `dynamodbav:"at"`
	Tags  []string  `dynamodbav:"tags,stringset"`
	Inner any       `dynamodbav:"inner"`
}

// shop is a table with what goes on in it.
type shop struct {
	table  *table.Table
	store  *idempotency.Store
	faults *tabletest.Faults
	clock  *clock

	mu     sync.Mutex
	events []idempotency.Event
	drawn  int
}

// once is a client without retries of its own.
func once(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} }

// newShop opens a new shop that has plenty of goods.
func newShop(t *testing.T, optFns ...func(*dynamodb.Options)) *shop {
	t.Helper()
	s := &shop{faults: &tabletest.Faults{}, clock: &clock{}}
	client := tabletest.Client(t, append(optFns, s.faults.Install)...)
	s.table = tabletest.NewWith(t, client, spec, &table.Options{Now: s.clock.now, MaxAttempts: 5})
	s.store = newStore(t, s.table, &idempotency.Options{Observe: s.observe})
	s.stock(t, 1000)
	return s
}

func newStore(t *testing.T, tbl *table.Table, o *idempotency.Options) *idempotency.Store {
	t.Helper()
	return expect.Value(idempotency.New(tbl, o))(t)
}

func (s *shop) observe(_ context.Context, e idempotency.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, e)
}

// kinds returns the events so far and forgets them.
func (s *shop) kinds() []idempotency.EventKind {
	s.mu.Lock()
	defer s.mu.Unlock()
	var kinds []idempotency.EventKind
	for _, e := range s.events {
		kinds = append(kinds, e.Kind)
	}
	s.events = nil
	return kinds
}

var stockKey = keys.Key{PK: keys.Prefix("STOCK").PK("goods"), SK: keys.Metadata}

// stock says how many goods there are.
func (s *shop) stock(t *testing.T, n int) {
	t.Helper()
	expect.OK(t, s.table.Do(t.Context(), table.Update(stockKey, expression.Set(expression.Name("n"), expression.Value(n)))))
}

func orderKey(id string) keys.Key {
	return keys.Key{PK: keys.Prefix("ORDER").PK(id), SK: keys.Metadata}
}

// countKey is of the item that counts the effects of a key. Nothing guards it
// but the record.
func countKey(key string) keys.Key {
	return keys.Key{PK: keys.Prefix("COUNT").PK(key), SK: keys.Metadata}
}

// newOrder draws a new id each time, as a server does.
func (s *shop) newOrder() order {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drawn++
	return order{
		ID: fmt.Sprintf("o-%d", s.drawn), Goods: "goods", Price: 12.5, At: start.Add(123456789 * time.Nanosecond),
		Tags: []string{"z", "a", "m"}, Inner: map[string]any{"n": 1e21, "l": []any{"x", true}},
	}
}

// ops are those of an order: new, in stock, counted.
func ops(key string, o order) []table.Op {
	return []table.Op{
		table.Create(orderKey(o.ID), o).WithName("order"),
		table.Update(stockKey, expression.Add(expression.Name("n"), expression.Value(-1))).
			If(expression.Name("n").GreaterThan(expression.Value(0))).WithName("stock"),
		table.Update(countKey(key), expression.Add(expression.Name("n"), expression.Value(1))).WithName("count"),
	}
}

// index of the ops, and of the record's, in the transaction of an order.
const (
	orderIndex = iota
	stockIndex
	countIndex
	recordIndex
	opCount
)

// snapshot plans an order whose result is stored in the record, reference one whose
// result is its item.
func (s *shop) snapshot(key string) planner {
	return func(context.Context) (idempotency.Plan[order], error) {
		o := s.newOrder()
		return idempotency.Snapshot(o, ops(key, o)...), nil
	}
}

func (s *shop) reference(key string) planner {
	return func(context.Context) (idempotency.Plan[order], error) {
		o := s.newOrder()
		return idempotency.Reference(o, orderKey(o.ID), ops(key, o)...), nil
	}
}

type planner = func(context.Context) (idempotency.Plan[order], error)

func request(key string) idempotency.Request {
	return idempotency.Request{Scope: "u-123 POST /orders", Key: key, Payload: idempotency.Text(`{"goods": "goods", "n": 1}`)}
}

func otherPayload(key string) idempotency.Request {
	r := request(key)
	r.Payload = idempotency.Text(`{"goods": "goods", "n": 2}`)
	return r
}

// recordKey is where the record of request(key) is.
func recordKey(key string) keys.Key {
	return keys.Key{PK: keys.Ide.PK(request(key).Scope, key), SK: keys.Metadata}
}

func (s *shop) do(t *testing.T, key string) (idempotency.Result[order], error) {
	t.Helper()
	return idempotency.Do(t.Context(), s.store, request(key), s.snapshot(key))
}

// first carries out a request that must not have been before.
func (s *shop) first(t *testing.T, key string) order {
	t.Helper()
	result := expect.Value(s.do(t, key))(t)
	expect.Equal(t, "replayed", result.Replayed, false)
	s.wantEffects(t, key, 1)
	return result.Value
}

// again repeats a request that must have been carried out.
func (s *shop) again(t *testing.T, key string, want order) {
	t.Helper()
	result := expect.Value(s.do(t, key))(t)
	expect.Equal(t, "replayed", result.Replayed, true)
	expect.Equal(t, "result", result.Value, want)
	s.wantEffects(t, key, 1)
}

// wantEffects checks how often requests with the key were carried out.
func (s *shop) wantEffects(t *testing.T, key string, want int) {
	t.Helper()
	expect.Equal(t, "effects of "+key, effects(t, s.table, key), want)
}

func effects(t *testing.T, tbl *table.Table, key string) int {
	t.Helper()
	count, err := table.Get[struct {
		N int `dynamodbav:"n"`
	}](t.Context(), tbl.Consistent(), countKey(key))
	if errors.Is(err, table.ErrNotFound) {
		return 0
	}
	expect.OK(t, err)
	return count.N
}

// wantRecord checks whether there is a live record.
func (s *shop) wantRecord(t *testing.T, key string, want bool) {
	t.Helper()
	_, err := s.store.Lookup(t.Context(), request(key))
	if err != nil && !errors.Is(err, table.ErrNotFound) {
		t.Fatal(err)
	}
	expect.Equal(t, "there is a record", err == nil, want)
}

// sent returns how many requests were sent for f.
func (s *shop) sent(f func()) int {
	before := len(s.faults.Requests())
	f()
	return len(s.faults.Requests()) - before
}

// wantErr checks that err matches all of want. Any error matches errOther.
func wantErr(t *testing.T, err error, want ...error) {
	t.Helper()
	for _, w := range want {
		if !errors.Is(err, w) && (err == nil || !errors.Is(w, errOther)) {
			t.Errorf("error %v; want %v", err, w)
		}
	}
}

func str(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// planned is a plan that needs no context.
func planned[R any](plan func() (idempotency.Plan[R], error)) func(context.Context) (idempotency.Plan[R], error) {
	return func(context.Context) (idempotency.Plan[R], error) { return plan() }
}
