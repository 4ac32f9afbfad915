package idempotency_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

func TestFirstCallIsOneTransaction(t *testing.T) {
	t.Parallel()
	s := newShop(t, promptly)
	var result idempotency.Result[order]
	n := s.sent(func() {
		var err error
		result, err = s.do(t, "k")
		must(t, err)
	})
	equal(t, "requests", n, 1)
	equal(t, "replayed", result.Replayed, false)
	s.wantEffects(t, "k", 1)
	s.wantRecord(t, "k", true)
	equal(t, "events", s.kinds(), nil)
	sent := s.faults.Requests("TransactWriteItems")
	equal(t, "transactions", len(sent), 1)
	var body struct{ TransactItems []any }
	must(t, json.Unmarshal(sent[0].Body, &body))
	equal(t, "items", len(body.TransactItems), opCount)
}

func TestRepeatedRequestGetsTheFirstAnswer(t *testing.T) {
	t.Parallel()
	for name, engine := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, promptly)
			want := s.first(t, "k")
			s.faults.Always("TransactWriteItems", engine)
			for range 3 {
				s.again(t, "k", want)
			}
			equal(t, "events", s.kinds(), []idempotency.EventKind{
				idempotency.Replayed, idempotency.Replayed, idempotency.Replayed,
			})
			equal(t, "ids drawn", s.drawn, 4)
			for id := 2; id <= 4; id++ {
				_, err := table.Get[order](t.Context(), s.table, orderKey(fmt.Sprintf("o-%d", id)))
				wantErr(t, err, table.ErrNotFound)
			}
		})
	}
}

// What DynamoDB does not store as it was written must not show in the first
// answer either.
func TestAnswersAreEqualWhateverTheType(t *testing.T) {
	t.Parallel()
	type inner struct {
		Numbers []attributevalue.Number `dynamodbav:"ns,numberset"`
		Bytes   [][]byte                `dynamodbav:"bs,binaryset"`
	}
	answers(t, attributevalue.Number("1.50"))
	answers(t, attributevalue.Number("-0"))
	answers(t, attributevalue.Number("12300e-2"))
	answers(t, attributevalue.Number("1E+125"))
	answers(t, attributevalue.Number("1e-130"))
	answers(t, attributevalue.Number("12345678901234567890123456789012345678"))
	answers(t, map[string]any{"f": 0.1, "big": 1e100, "nil": nil, "l": []any{1, "x", []byte{0}}})
	answers(t, []string{"b", "a"})
	answers(t, struct{}{})
	answers(t, (*order)(nil))
	answers(t, time.Now())
	answers(t, struct {
		At    time.Time      `dynamodbav:"at,unixtime"`
		Equal cents          `dynamodbav:"cents"`
		N     any            `dynamodbav:"n"`
		Set   []json.Number  `dynamodbav:"set,numberset"`
		Empty map[string]int `dynamodbav:"empty,omitempty"`
		Stamp stamp
		Any   map[string]any
	}{
		At: start.In(time.FixedZone("", 3600)), Equal: cents{"1.50"}, N: uint16(7), Set: []json.Number{"2.0", "1"}, Stamp: stamp(start),
		Any: map[string]any{"m": map[int][]float32{1: {0.1}}, "b": []byte{1}, "p": new("x"), "nil": (*time.Time)(nil)},
	})
	answers(t, "plain text")
	answers(t, []byte{0, 255})
	answers(t, any(nil))
	answers(t, []inner{{
		Numbers: []attributevalue.Number{"10", "9.0", "1e2", "-1"},
		Bytes:   [][]byte{{2}, {1, 1}, {1}},
	}})
	item := map[string]types.AttributeValue{
		"ss": &types.AttributeValueMemberSS{Value: []string{"z", "a"}},
		"n":  &types.AttributeValueMemberN{Value: "007.70"},
	}
	answers(t, item)
	answers(t, table.Item(item))
}

type stamp time.Time

func (s stamp) MarshalJSON() ([]byte, error) { return time.Time(s).MarshalJSON() }

// cents marshals itself, and 1.50 is 1.5 to it.
type cents struct{ text string }

func (c cents) Equal(other cents) bool { return c.float() == other.float() }

func (c cents) float() float64 {
	f, _ := strconv.ParseFloat(c.text, 64)
	return f
}

func (c cents) MarshalJSON() ([]byte, error) { return json.Marshal(c.float()) }

func (c cents) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return &types.AttributeValueMemberN{Value: c.text}, nil
}

func (c *cents) UnmarshalDynamoDBAttributeValue(value types.AttributeValue) error {
	return attributevalue.Unmarshal(value, &c.text)
}

// answers checks that the first answer is that of a repeated request.
func answers[R any](t *testing.T, v R) {
	t.Helper()
	t.Run(fmt.Sprintf("%T", v), func(t *testing.T) {
		t.Parallel()
		s := newShop(t, promptly)
		plan := func(context.Context) (idempotency.Plan[R], error) { return idempotency.Snapshot(v), nil }
		first, err := idempotency.Do(t.Context(), s.store, request("k"), plan)
		must(t, err)
		again, err := idempotency.Do(t.Context(), s.store, request("k"), plan)
		must(t, err)
		equal(t, "replayed", []bool{first.Replayed, again.Replayed}, []bool{false, true})
		equal(t, "answer", texts(again.Value), texts(first.Value))
	})
}

// texts are what Go and JSON make of a value.
func texts(v any) []string {
	text, err := json.Marshal(v)
	return []string{string(text), fmt.Sprint(err), fmt.Sprintf("%T", v)}
}

func TestConcurrentDuplicates(t *testing.T) {
	t.Parallel()
	for _, expired := range []bool{false, true} {
		t.Run(fmt.Sprintf("expired %t", expired), func(t *testing.T) {
			t.Parallel()
			s := newShop(t, promptly)
			if expired {
				s.first(t, "k")
				s.clock.move(25 * time.Hour)
			}
			before := effects(t, s.table, "k")
			results := s.concurrently(t, "k", 64)
			fresh := 0
			for _, r := range results {
				if !r.Replayed {
					fresh++
				}
				equal(t, "answer", r.Value, results[0].Value)
			}
			equal(t, "not replayed", fresh, 1)
			s.wantEffects(t, "k", before+1)
		})
	}
}

// concurrently makes n calls at once, each with a client of its own.
func (s *shop) concurrently(t *testing.T, key string, n int) []idempotency.Result[order] {
	t.Helper()
	results := make([]idempotency.Result[order], n)
	ready := make(chan struct{})
	var calls sync.WaitGroup
	for i := range results {
		own := s.table.Schema()
		tbl, err := table.New(tabletest.Client(t), own, &table.Options{Now: s.clock.now})
		must(t, err)
		store := newStore(t, tbl, nil)
		calls.Go(func() {
			<-ready
			result, err := idempotency.Do(t.Context(), store, request(key), s.snapshot(key))
			if err != nil {
				t.Error(err)
			}
			results[i] = result
		})
	}
	close(ready)
	calls.Wait()
	return results
}

func TestReusedKey(t *testing.T) {
	t.Parallel()
	for name, engine := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, promptly)
			want := s.first(t, "k")
			s.stock(t, 0) // the order fails as well, and that is not the answer
			s.faults.Always("TransactWriteItems", engine)
			_, err := idempotency.Do(t.Context(), s.store, otherPayload("k"), s.snapshot("k"))
			wantErr(t, err, idempotency.ErrPayloadMismatch)
			wantNot(t, err, idempotency.ErrInvalidRequest, table.ErrConflict, table.ErrOutcomeUnknown)
			equal(t, "class", table.Classify(err), table.Permanent)
			e, ok := errors.AsType[*idempotency.Error](err)
			if !ok || e.Op != "Do" || e.Scope != request("k").Scope || e.Key != recordKey("k") {
				t.Errorf("error %#v", e)
			}
			equal(t, "events", s.kinds(), []idempotency.EventKind{idempotency.PayloadMismatch})
			s.again(t, "k", want)
		})
	}
}

func TestScopesKeepKeysApart(t *testing.T) {
	t.Parallel()
	s := newShop(t, promptly)
	for i, r := range []idempotency.Request{
		{Scope: "u-1", Key: "k"},
		{Scope: "u-2", Key: "k"},
		{Scope: "u-1#k", Key: "k"},
		{Scope: "u-1", Key: "k#k"},
		{Scope: "u-1%23k", Key: "k"},
		{Key: "k"},
		{Key: "u-1#k"},
		{Key: "u-1"},
		{Scope: " ", Key: "k"},
		{Scope: "k", Key: "u-1"},
		{Scope: strings.Repeat("#", 255), Key: strings.Repeat("\x00", 255)},
		{Scope: strings.Repeat("#", 254), Key: strings.Repeat("\x00", 255)},
	} {
		result, err := idempotency.Do(t.Context(), s.store, r, s.snapshot("all"))
		must(t, err)
		equal(t, "replayed", result.Replayed, false)
		s.wantEffects(t, "all", i+1)
	}
}

func TestFailedBusinessConditionLeavesTheKeyUsable(t *testing.T) {
	t.Parallel()
	for name, engine := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, promptly)
			s.faults.Always("TransactWriteItems", engine)
			s.stock(t, 0)
			for range 2 {
				_, err := s.do(t, "k")
				wantErr(t, err, table.ErrConditionFailed)
				wantNot(t, err, idempotency.ErrPayloadMismatch, table.ErrExists, table.ErrOutcomeUnknown)
				tx, ok := errors.AsType[*table.TxError](err)
				if !ok || len(tx.Failed) != 1 || tx.Failed[0].Name != "stock" || tx.Failed[0].Index != stockIndex {
					t.Errorf("error %v", err)
				}
				s.wantRecord(t, "k", false)
				s.wantEffects(t, "k", 0)
			}
			equal(t, "events", s.kinds(), nil)
			s.stock(t, 1)
			want := s.first(t, "k")
			s.again(t, "k", want) // the stock is at 0 again
		})
	}
}

func TestDeletedResult(t *testing.T) {
	t.Parallel()
	s := newShop(t, promptly)
	want := s.first(t, "snapshot")
	must(t, s.table.Do(t.Context(), table.Delete(orderKey(want.ID))))
	s.again(t, "snapshot", want)
	s.kinds()

	do := func() (idempotency.Result[order], error) {
		return idempotency.Do(t.Context(), s.store, request("reference"), s.reference("reference"))
	}
	first, err := do()
	must(t, err)
	second, err := do()
	must(t, err)
	equal(t, "replayed", []bool{first.Replayed, second.Replayed}, []bool{false, true})
	equal(t, "id", second.Value.ID, first.Value.ID)
	equal(t, "events", s.kinds(), []idempotency.EventKind{idempotency.Replayed})

	must(t, s.table.Do(t.Context(), table.Update(orderKey(first.Value.ID),
		expression.Set(expression.Name("goods"), expression.Value("changed")))))
	second, err = do()
	must(t, err)
	equal(t, "the item as it is now", second.Value.Goods, "changed")

	must(t, s.table.Do(t.Context(), table.Delete(orderKey(first.Value.ID))))
	s.kinds()
	_, err = do()
	wantErr(t, err, idempotency.ErrResultGone, table.ErrNotFound)
	equal(t, "class", table.Classify(err), table.Permanent)
	equal(t, "events", s.kinds(), nil)
	s.wantEffects(t, "reference", 1)
	_, err = table.Get[order](t.Context(), s.table, orderKey(first.Value.ID))
	wantErr(t, err, table.ErrNotFound)
}

func TestExec(t *testing.T) {
	t.Parallel()
	s := newShop(t, promptly)
	message := idempotency.Request{Scope: "mailer", Key: "m-1", TTL: time.Hour}
	count := func(context.Context) ([]table.Op, error) {
		return []table.Op{table.Update(countKey("m-1"), expression.Add(expression.Name("n"), expression.Value(1)))}, nil
	}
	for i := range 3 {
		first, err := idempotency.Exec(t.Context(), s.store, message, count)
		must(t, err)
		equal(t, "first", first, i == 0)
		s.wantEffects(t, "m-1", 1)
	}
	s.clock.move(time.Hour)
	first, err := idempotency.Exec(t.Context(), s.store, message, count)
	must(t, err)
	equal(t, "first after the record expired", first, true)

	refused := errors.New("no")
	message.Key = "m-2"
	first, err = idempotency.Exec(t.Context(), s.store, message, func(context.Context) ([]table.Op, error) { return nil, refused })
	wantErr(t, err, refused)
	equal(t, "first", first, false)

	message.Payload = "another"
	message.Key = "m-1"
	_, err = idempotency.Exec(t.Context(), s.store, message, count)
	wantErr(t, err, idempotency.ErrPayloadMismatch)
	if e, ok := errors.AsType[*idempotency.Error](err); !ok || e.Op != "Exec" {
		t.Errorf("error %v", err)
	}
	// A payload that is not set is not compared, whatever the record has.
	message.Key = "m-4"
	for i, payload := range []any{"one", nil, "one"} {
		message.Payload = payload
		first, err = idempotency.Exec(t.Context(), s.store, message, count)
		must(t, err)
		equal(t, "first", first, i == 0)
	}
	// A record that Do has made tells a duplicate too, whatever became of its result.
	message.Payload = nil
	gone := s.newOrder()
	for name, plan := range map[string]idempotency.Plan[any]{
		"snapshot":  idempotency.Snapshot[any]("text"),
		"reference": idempotency.Reference[any](nil, orderKey(gone.ID), table.Create(orderKey(gone.ID), gone)),
	} {
		message.Key = name
		_, err = idempotency.Do(t.Context(), s.store, message, func(context.Context) (idempotency.Plan[any], error) { return plan, nil })
		must(t, err)
		must(t, s.table.Do(t.Context(), table.Delete(orderKey(gone.ID))))
		first, err = idempotency.Exec(t.Context(), s.store, message, count)
		must(t, err)
		equal(t, "first", first, false)
		s.wantEffects(t, "m-1", 3)
	}
	// Nothing to do is done once too.
	message.Key, message.Payload = "m-3", nil
	for i := range 2 {
		first, err = idempotency.Exec(t.Context(), s.store, message, func(context.Context) ([]table.Op, error) { return nil, nil })
		must(t, err)
		equal(t, "first", first, i == 0)
	}
}
