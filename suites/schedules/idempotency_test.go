package schedules_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// requests is a case of package idempotency: operations that send a request with
// one key. Each plans an effect of its own, the item that effectKey names, and
// takes a piece of stock.
type requests struct {
	options table.Options
	// payloads are those of the operations. A request with the key that first has,
	// if it is set, ran before; it has expired if expired is set.
	payloads      []string
	first         string
	expired, exec bool
	reference     bool
	stock         int
	differentKeys bool
	// borrowed says that another operation takes a piece of stock and gives it back.
	borrowed bool
	// reads says that plans read the stock, and expect what they have read.
	reads bool
}

func effectKey(id, name string) keys.Key {
	return keys.Key{PK: keys.PK("EFFECT#" + id), SK: keys.SK(name)}
}

func stockKey(id string) keys.Key { return keys.Key{PK: keys.PK("STOCK#" + id), SK: keys.Metadata} }

// effect is what a request stores, and its result.
type effect struct {
	Name string `dynamodbav:"name"`
	// Stock is what a plan has read.
	Stock int `dynamodbav:"stock"`
}

// requestResult is what a request has returned: whose effect it has got.
type requestResult struct {
	value    effect
	replayed bool
	err      error
}

// send sends the request of an operation.
func (c requests) send(ctx context.Context, client *dynamodb.Client, r *tabletest.Run, name, payload string) requestResult {
	tbl, err := openTable(client, r, c.options)
	if err != nil {
		return requestResult{err: err}
	}
	store, err := idempotency.New(tbl, &idempotency.Options{TTL: time.Minute})
	if err != nil {
		return requestResult{err: err}
	}
	plan := func(ctx context.Context) (effect, []table.Op, error) {
		e := effect{Name: name}
		take := table.Update(stockKey(r.ID), expression.Add(expression.Name("stock"), expression.Value(-1))).
			If(expression.Name("stock").GreaterThanEqual(expression.Value(1)))
		if c.reads {
			found, err := table.Get[struct{ Stock int }](ctx, tbl.Consistent(), stockKey(r.ID))
			if err == nil && found.Stock < 1 {
				err = table.ErrConditionFailed
			}
			if err != nil {
				return e, nil, err
			}
			e.Stock = found.Stock
			take = table.Update(stockKey(r.ID), expression.Set(expression.Name("stock"), expression.Value(e.Stock-1))).
				IfVersion("stock", int64(e.Stock))
		}
		return e, []table.Op{table.Put(effectKey(r.ID, name), e), take}, nil
	}
	request := idempotency.Request{Key: r.ID, Payload: idempotency.JSON(payload)}
	if c.differentKeys {
		request.Key += name
	}
	if c.exec {
		first, err := idempotency.Exec(ctx, store, request, func(ctx context.Context) ([]table.Op, error) {
			_, ops, err := plan(ctx)
			return ops, err
		})
		return requestResult{replayed: err == nil && !first, err: err}
	}
	result, err := idempotency.Do(ctx, store, request, func(ctx context.Context) (idempotency.Plan[effect], error) {
		e, ops, err := plan(ctx)
		if c.reference {
			return idempotency.Reference(e, effectKey(r.ID, name), ops...), err
		}
		return idempotency.Snapshot(e, ops...), err
	})
	return requestResult{result.Value, result.Replayed, err}
}

func (c requests) setup(ctx context.Context, r *tabletest.Run) error {
	tbl, err := openTable(r.Client, r, table.Options{})
	if err != nil {
		return err
	}
	if err := tbl.Do(ctx, table.Put(stockKey(r.ID), map[string]int{"stock": c.stock})); err != nil {
		return err
	}
	if c.first != "" {
		if first := c.send(ctx, r.Client, r, "first", c.first); first.err != nil {
			return first.err
		}
	}
	if c.expired {
		time.Sleep(time.Hour)
	}
	results := make([]requestResult, len(c.payloads))
	for i, payload := range c.payloads {
		r.Go(func(ctx context.Context, client *dynamodb.Client) error {
			results[i] = c.send(ctx, client, r, fmt.Sprint(i), payload)
			return results[i].err
		})
	}
	if c.borrowed {
		r.Go(func(ctx context.Context, client *dynamodb.Client) error { return c.borrow(ctx, client, r) })
	}
	r.Check(func(ctx context.Context, _ []error) error { return c.check(ctx, tbl, r, results) })
	return nil
}

// borrow takes a piece of stock and gives it back.
func (c requests) borrow(ctx context.Context, client *dynamodb.Client, r *tabletest.Run) error {
	tbl, err := openTable(client, r, c.options)
	if err != nil {
		return err
	}
	stock := expression.Name("stock")
	take := table.Update(stockKey(r.ID), expression.Add(stock, expression.Value(-1))).If(stock.GreaterThanEqual(expression.Value(1)))
	if err := tbl.Transact(ctx, take); err != nil {
		return err
	}
	return tbl.Transact(ctx, table.Update(stockKey(r.ID), expression.Add(stock, expression.Value(1))))
}

// check returns an error if results and effects contradict each other or the
// promise of one effect.
func (c requests) check(ctx context.Context, tbl *table.Table, r *tabletest.Run, results []requestResult) error {
	stored := map[string]effect{}
	exists := func(name string) (bool, error) {
		var err error
		stored[name], err = table.Get[effect](ctx, tbl.Consistent(), effectKey(r.ID, name))
		if errors.Is(err, table.ErrNotFound) {
			return false, nil
		}
		return err == nil, err
	}
	effects := 0
	for i, got := range results {
		has, err := exists(fmt.Sprint(i))
		if err != nil {
			return err
		}
		if has {
			effects++
		}
		switch {
		case got.err == nil && !c.exec && !got.replayed && got.value != stored[fmt.Sprint(i)]:
			return fmt.Errorf("request %d returns %+v, and has stored %+v", i, got.value, stored[fmt.Sprint(i)])
		case got.err == nil && !got.replayed && !has:
			return fmt.Errorf("request %d says that it ran, and has no effect", i)
		case has && (got.err != nil && !errors.Is(got.err, table.ErrOutcomeUnknown) || got.replayed):
			return fmt.Errorf("request %d has an effect, and returns %+v", i, got)
		case got.err == nil && got.replayed && !c.exec && !c.replays(i, got.value.Name):
			return fmt.Errorf("request %d returns the result of another one: %+v", i, got)
		case got.err == nil && got.replayed && !c.exec:
			if ok, err := exists(got.value.Name); err != nil || !ok {
				return fmt.Errorf("request %d returns a result that nobody has stored: %+v (%w)", i, got, err)
			}
		}
	}
	most := 1
	switch {
	case c.differentKeys:
		most = min(c.stock, len(c.payloads))
	case c.first != "" && !c.expired:
		most = 0
	}
	if effects > most {
		return fmt.Errorf("%d requests have an effect, at most %d may", effects, most)
	}
	if c.first != "" {
		effects++
	}
	stock, err := table.Get[struct{ Stock int }](ctx, tbl.Consistent(), stockKey(r.ID))
	if err == nil && !c.borrowed && stock.Stock != c.stock-effects {
		err = fmt.Errorf("%d effects have left %d of %d", effects, stock.Stock, c.stock)
	}
	return err
}

// replays reports whether a request can get the result of another one.
func (c requests) replays(i int, name string) bool {
	if name == "first" {
		return !c.expired && c.first == c.payloads[i]
	}
	for j, payload := range c.payloads {
		if fmt.Sprint(j) == name {
			return j != i && payload == c.payloads[i]
		}
	}
	return false
}

func TestIdempotency(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]requests{
		"Do, fresh":                              {payloads: []string{"p", "p"}, stock: 5},
		"Do, fresh, three":                       {payloads: []string{"p", "p", "p"}, stock: 5},
		"Do, fresh, by reference":                {payloads: []string{"p", "p"}, stock: 5, reference: true},
		"Do, repeated":                           {payloads: []string{"p", "p"}, stock: 5, first: "p"},
		"Do, expired":                            {payloads: []string{"p", "p"}, stock: 5, first: "p", expired: true},
		"Do, two payloads":                       {payloads: []string{"p", "q"}, stock: 5},
		"Do, expired, two payloads":              {payloads: []string{"p", "q"}, stock: 5, first: "p", expired: true},
		"Do, the last piece of stock":            {payloads: []string{"p", "p"}, stock: 1, differentKeys: true},
		"Do, stock that is borrowed":             {payloads: []string{"p"}, stock: 1, borrowed: true},
		"Do, nothing in stock":                   {payloads: []string{"p", "p"}},
		"Do, a plan that reads":                  {payloads: []string{"p", "p"}, stock: 5, reads: true},
		"Do, plans of two keys that read":        {payloads: []string{"p", "p"}, stock: 2, reads: true, differentKeys: true},
		"Do, plans that read the last piece":     {payloads: []string{"p", "p"}, stock: 1, reads: true, differentKeys: true},
		"Do, a plan that reads what is borrowed": {payloads: []string{"p"}, stock: 1, reads: true, borrowed: true},
		"Do, expired, a plan that reads":         {payloads: []string{"p", "p"}, stock: 5, reads: true, first: "p", expired: true},
		"Exec, a plan that reads":                {payloads: []string{"p", "p"}, stock: 5, reads: true, exec: true},
		"Exec, fresh":                            {payloads: []string{"p", "p"}, stock: 5, exec: true},
		"Exec, repeated":                         {payloads: []string{"p", "p"}, stock: 5, exec: true, first: "p"},
		"Exec, expired":                          {payloads: []string{"p", "p"}, stock: 5, exec: true, first: "p", expired: true},
	} {
		for attempts, suffix := range map[int]string{0: "", 1: ", one attempt"} {
			c.options.MaxAttempts = attempts
			explored := tabletest.Case{Setup: c.setup, Allow: func(err error) bool {
				return errors.Is(err, idempotency.ErrPayloadMismatch) || errors.Is(err, table.ErrConditionFailed)
			}}
			t.Run(name+suffix, func(t *testing.T) {
				t.Parallel()
				explore(t, explored)
			})
		}
	}
}

// TestKnownRefusal replays a schedule in which a refusal would be false: the request
// is refused for lack of stock, and its first transaction, which is delayed, meets
// the stock that was given back.
func TestKnownRefusal(t *testing.T) {
	t.Parallel()
	c := requests{payloads: []string{"p"}, stock: 1, borrowed: true}
	explore(t, tabletest.Case{Setup: c.setup, Replay: "once A~ B A A B a1"})
}
