package peers_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/stream"
	"github.com/singletable/singletable/stream/streamtest"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// values are the arguments and the results of a peer, as JSON has them: see run.js for dates,
// sets and bytes.
type values map[string]any

func set(members ...string) values { return values{"$set": append([]string{}, members...)} }
func date(text string) values      { return values{"$date": text} }
func bytesOf(base64 string) values { return values{"$bytes": base64} }
func (v values) with(w values) values {
	all := values{}
	for _, from := range []values{v, w} {
		for name, value := range from {
			all[name] = value
		}
	}
	return all
}

// shop is a table that a peer and this library write.
type shop struct {
	*testing.T
	table  *table.Table
	client *dynamodb.Client
	faults *tabletest.Faults
	// file is that of the peer, without its extension.
	file string
}

func newShop(t *testing.T, file string, spec schema.Table) *shop {
	t.Helper()
	s := &shop{T: t, faults: &tabletest.Faults{}, file: file}
	s.client = tabletest.Client(t, s.faults.Install)
	s.table = tabletest.NewWith(t, s.client, spec, nil)
	return s
}

// access are the options of a client in JavaScript for the engine.
func (s *shop) access() values {
	s.Helper()
	o := s.client.Options()
	creds := expect.Value(o.Credentials.Retrieve(s.Context()))(s)
	credentials := values{"accessKeyId": creds.AccessKeyID, "secretAccessKey": creds.SecretAccessKey}
	if creds.SessionToken != "" {
		credentials["sessionToken"] = creds.SessionToken
	}
	return values{"endpoint": o.BaseEndpoint, "region": o.Region, "credentials": credentials}
}

// try runs an operation of the peer.
func (s *shop) try(op string, args ...any) (any, error) {
	s.Helper()
	n := expect.Value(running())(s)
	text, err := n.call(request{Client: s.access(), Table: s.table.Schema().Name, Peer: s.file, Op: op, Args: args})
	if _, thrown := errors.AsType[*peerError](err); err != nil && !thrown {
		s.Fatal(err)
	}
	if err != nil {
		return nil, err
	}
	var result any
	expect.OK(s, json.Unmarshal(text, &result))
	return result, nil
}

// do is try for what has no result of interest.
func (s *shop) do(op string, args ...any) error {
	s.Helper()
	_, err := s.try(op, args...)
	return err
}

// call is try for what must succeed.
func (s *shop) call(op string, args ...any) any {
	s.Helper()
	return expect.Value(s.try(op, args...))(s)
}

// one is call for a result that is an item, nil if there is none.
func (s *shop) one(op string, args ...any) values {
	s.Helper()
	item, _ := s.call(op, args...).(map[string]any)
	return item
}

// many is call for a result that is a list of items.
func (s *shop) many(op string, args ...any) []values {
	s.Helper()
	list, ok := s.call(op, args...).([]any)
	if !ok {
		s.Fatalf("%s gives no list", op)
	}
	var items []values
	for _, item := range list {
		items = append(items, item.(map[string]any))
	}
	return items
}

// scan returns the items of the table as they are stored.
func (s *shop) scan() []table.Item {
	s.Helper()
	out, err := s.client.Scan(s.Context(), &dynamodb.ScanInput{TableName: aws.String(s.table.Schema().Name), ConsistentRead: aws.Bool(true)})
	expect.OK(s, err)
	var items []table.Item
	for _, item := range out.Items {
		items = append(items, item)
	}
	return items
}

func attributeText(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// meanwhile has f run while this library is between a read and a write: in a callback of the
// program, which calls what is returned, or when the next request of an operation is sent.
func (s *shop) meanwhile(below bool, operation string, f func()) (inCallback func()) {
	ran := false
	once := sync.OnceFunc(func() { ran = true; f() })
	s.Cleanup(func() {
		if !ran {
			s.Errorf("nothing has run before %s", operation)
		}
	})
	if !below {
		return once
	}
	s.faults.Next(operation, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		once()
		return next.RoundTrip(r)
	})
	return func() {}
}

// inBoth returns what is seen when a peer writes in the callback, and when it writes below the
// request, each on an empty table.
func (s *shop) inBoth(see func(below bool) string) string {
	s.Helper()
	inCallback := see(false)
	for _, item := range s.scan() {
		expect.OK(s, s.table.Do(s.Context(), table.Delete(s.table.KeyOf("", item))))
	}
	if below := see(true); below != inCallback {
		return "in the callback: " + inCallback + ", below the request: " + below
	}
	return inCallback
}

// order is an order of the shop, as every peer and this library describe it.
type order struct {
	Customer, ID, Status string
	Total                int
	Placed               string
	Tags                 []string
	Street               string
}

// placed is the time at which the order was placed; the zero time if there is none.
func (o order) placed() time.Time {
	at, _ := time.Parse(time.RFC3339, o.Placed)
	return at
}

// anOrder is what tests begin with. Peers store more, which no Go type here has.
var anOrder = order{
	Customer: "c-1", ID: "o-1", Status: "new", Total: 12, Placed: "2026-01-02T03:04:05.000Z",
	Tags: []string{"gift", "red"}, Street: "Main",
}

// more are members of an order that no Go type has.
var more = values{"address": values{"street": "Main", "zip": "0100"}, "photo": bytesOf("AQL/"), "note": nil}

// orderKey is the key of an order, as peers take it.
func orderKey(o order) values { return values{"customerId": o.Customer, "orderId": o.ID} }

// of returns an order for a peer. placed is a text or a date.
func (o order) values() values {
	return orderKey(o).with(values{
		"status": o.Status, "total": o.Total, "placed": o.Placed, "tags": set(o.Tags...),
		"address": values{"street": o.Street},
	})
}

// orderOf reads the order that a peer has returned.
func orderOf(v values) order {
	text := func(v any) string {
		if m, ok := v.(map[string]any); ok {
			v = m["$date"]
		}
		s, _ := v.(string)
		return s
	}
	list := func(v any) []string {
		if m, ok := v.(map[string]any); ok {
			v = m["$set"]
		}
		var all []string
		members, _ := v.([]any)
		for _, m := range members {
			all = append(all, text(m))
		}
		slices.Sort(all)
		return all
	}
	total, _ := v["total"].(float64)
	address, _ := v["address"].(map[string]any)
	return order{
		Customer: text(v["customerId"]), ID: text(v["orderId"]), Status: text(v["status"]), Total: int(total),
		Placed: text(v["placed"]), Tags: list(v["tags"]), Street: text(address["street"]),
	}
}

func ordersOf(vs []values) []order {
	var all []order
	for _, v := range vs {
		all = append(all, orderOf(v))
	}
	return all
}

// gsi1 is the index of the orders by status.
var gsi1 = []schema.Index{{Name: "gsi1", PK: "gsi1pk", SK: "gsi1sk"}}

// fields are those that the orders of most peers have.
type fields struct {
	Customer string  `dynamodbav:"customerId"`
	ID       string  `dynamodbav:"orderId"`
	Status   string  `dynamodbav:"status"`
	Total    int     `dynamodbav:"total"`
	Placed   string  `dynamodbav:"placed"`
	Address  address `dynamodbav:"address"`
}

type address struct {
	Street string `dynamodbav:"street"`
}

func fieldsOf(o order) fields {
	return fields{o.Customer, o.ID, o.Status, o.Total, o.Placed, address{o.Street}}
}

func (f fields) order(tags []string) order {
	return order{f.Customer, f.ID, f.Status, f.Total, f.Placed, tags, f.Address.Street}
}

// orders are the orders of a table, written by this library.
type orders interface {
	get(ctx context.Context, o order) (order, error)
	list(ctx context.Context, customer string) ([]order, error)
	byStatus(ctx context.Context, status string) ([]order, error)
	collect(ctx context.Context, customer string) ([]order, error)
	page(ctx context.Context, customer, after string) (string, error)
	create(ctx context.Context, o order) error
	update(ctx context.Context, o order, change func(*order)) error
	save(ctx context.Context, o order, change func(*order)) error
	remove(ctx context.Context, o order) error
	changes(ctx context.Context, s *shop, n int) ([]stream.Kind, error)
}

// model describes the orders of a peer in Go.
type model[T any] struct {
	schema   schema.Table
	entity   repo.Entity[T]
	list     func(customer string) table.Query
	byStatus func(status string) table.Query
	// of and into convert a T.
	of   func(T) order
	into func(order, *T)
}

func (m model[T]) spec() schema.Table {
	m.schema.Name, m.schema.Stream = "shop", types.StreamViewTypeNewAndOldImages
	return m.schema
}

func (m model[T]) open(t *table.Table) (orders, error) {
	r, err := repo.New(t, m.entity)
	return entities[T]{m, t, r}, err
}

// entities are the orders of a table, by package repo.
type entities[T any] struct {
	model[T]
	table *table.Table
	repo  *repo.Repo[T]
}

func (e entities[T]) made(o order) T {
	var v T
	e.into(o, &v)
	return v
}

func (e entities[T]) key(o order) keys.Key { return e.entity.Key(e.made(o)) }

func (e entities[T]) ordersOf(vs []T) []order {
	var all []order
	for _, v := range vs {
		all = append(all, e.of(v))
	}
	return all
}

func (e entities[T]) get(ctx context.Context, o order) (order, error) {
	v, err := e.repo.Consistent().Get(ctx, e.key(o))
	return e.of(v), err
}

func (e entities[T]) list(ctx context.Context, customer string) ([]order, error) {
	page, err := e.repo.Query(ctx, e.model.list(customer))
	return e.ordersOf(page.Items), err
}

func (e entities[T]) byStatus(ctx context.Context, status string) ([]order, error) {
	page, err := e.repo.Query(ctx, e.model.byStatus(status))
	return e.ordersOf(page.Items), err
}

func (e entities[T]) collect(ctx context.Context, customer string) ([]order, error) {
	var vs []T
	q := e.model.list(customer)
	q.Range = keys.Range{}
	err := repo.Collect(ctx, e.table, q, e.repo.AppendTo(&vs), repo.IgnoreOther())
	return e.ordersOf(vs), err
}

func (e entities[T]) page(ctx context.Context, customer, after string) (string, error) {
	q := e.model.list(customer)
	q.Limit, q.After = 1, after
	page, err := e.repo.Query(ctx, q)
	return page.Next, err
}

func (e entities[T]) create(ctx context.Context, o order) error {
	return e.repo.Create(ctx, new(e.made(o)))
}

func (e entities[T]) update(ctx context.Context, o order, change func(*order)) error {
	_, err := e.repo.Update(ctx, e.key(o), func(v *T) error {
		o := e.of(*v)
		change(&o)
		e.into(o, v)
		return nil
	})
	return err
}

// save saves a value that was read before change is called.
func (e entities[T]) save(ctx context.Context, o order, change func(*order)) error {
	v, err := e.repo.Consistent().Get(ctx, e.key(o))
	if err != nil {
		return err
	}
	o = e.of(v)
	change(&o)
	e.into(o, &v)
	return e.repo.Save(ctx, &v)
}

func (e entities[T]) remove(ctx context.Context, o order) error { return e.repo.Delete(ctx, e.key(o)) }

// changes reads n changes of orders from the stream.
func (e entities[T]) changes(ctx context.Context, s *shop, n int) ([]stream.Kind, error) {
	var kinds []stream.Kind
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	router, err := stream.New(e.table, nil, stream.IgnoreOther(), stream.On(e.repo, func(_ context.Context, c stream.Change[T]) error {
		if kinds = append(kinds, c.Kind); len(kinds) == n {
			stop()
		}
		return nil
	}))
	if err != nil {
		return nil, err
	}
	err = stream.Reader{Name: "peers", Router: router, Client: streamtest.Client(s.client)}.Run(ctx)
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	return kinds, err
}
