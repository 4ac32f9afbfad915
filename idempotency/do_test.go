package idempotency_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/table"
)

// DynamoDB does not store every value as it was written. The first result is
// nevertheless equal to the replayed one.
func TestResultsOfEveryTypeAreEqual(t *testing.T) {
	t.Parallel()
	type inner struct {
		Numbers []attributevalue.Number `dynamodbav:"ns,numberset"`
		Bytes   [][]byte                `dynamodbav:"bs,binaryset"`
	}
	sameResults(t, attributevalue.Number("1.50"))
	sameResults(t, attributevalue.Number("-0"))
	sameResults(t, attributevalue.Number("12300e-2"))
	sameResults(t, attributevalue.Number("1E+125"))
	sameResults(t, attributevalue.Number("1e-130"))
	sameResults(t, attributevalue.Number("12345678901234567890123456789012345678"))
	sameResults(t, map[string]any{"f": 0.1, "big": 1e100, "nil": nil, "l": []any{1, "x", []byte{0}}})
	sameResults(t, []any{[]string(nil), map[string]int(nil), json.Number("1.50"), color("red"), switched(true)})
	sameResults(t, []any{[][]byte{}, labels{}}) // both are stored as NULL
	sameResults(t, []string{"b", "a"})
	sameResults(t, struct{}{})
	sameResults(t, (*order)(nil))
	sameResults(t, time.Now())
	sameResults(t, struct {
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
	sameResults(t, "plain text")
	sameResults(t, []byte{0, 255})
	sameResults(t, any(nil))
	sameResults(t, []inner{{
		Numbers: []attributevalue.Number{"10", "9.0", "1e2", "-1", "0.5e1"},
		Bytes:   [][]byte{{2}, {1, 1}, {1}},
	}})
	item := map[string]types.AttributeValue{
		"ss": &types.AttributeValueMemberSS{Value: []string{"z", "a"}},
		"n":  &types.AttributeValueMemberN{Value: "007.70"},
	}
	sameResults(t, item)
	sameResults(t, table.Item(item))
}

// color and switched read back as string and bool from an interface.
type (
	color    string
	switched bool
)

// labels are stored as a set, which cannot be empty.
type labels map[string]bool

func (l labels) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	if len(l) == 0 {
		return &types.AttributeValueMemberNULL{Value: true}, nil
	}
	return &types.AttributeValueMemberSS{Value: slices.Sorted(maps.Keys(l))}, nil
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

// sameResults checks that the first result is that of a repeated request.
func sameResults[R any](t *testing.T, v R) {
	t.Helper()
	t.Run(fmt.Sprintf("%T", v), func(t *testing.T) {
		t.Parallel()
		s := newShop(t)
		plan := func(context.Context) (idempotency.Plan[R], error) { return idempotency.Snapshot(v), nil }
		first := expect.Value(idempotency.Do(t.Context(), s.store, request("k"), plan))(t)
		again := expect.Value(idempotency.Do(t.Context(), s.store, request("k"), plan))(t)
		expect.Equal(t, "replayed", []bool{first.Replayed, again.Replayed}, []bool{false, true})
		expect.Equal(t, "result", texts(again.Value), texts(first.Value))
	})
}

// texts are what Go and JSON make of a value.
func texts(v any) []string {
	text, err := json.Marshal(v)
	return []string{string(text), fmt.Sprint(err), fmt.Sprintf("%T", v)}
}

func TestReusedKey(t *testing.T) {
	t.Parallel()
	for name, engine := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			want := s.first(t, "k")
			s.stock(t, 0) // the order fails as well, and that is not the result
			s.faults.Always("TransactWriteItems", engine)
			_, err := idempotency.Do(t.Context(), s.store, otherPayload("k"), s.snapshot("k"))
			wantErr(t, err, idempotency.ErrPayloadMismatch)
			expect.NotErr(t, err, idempotency.ErrInvalidRequest, table.ErrConflict, table.ErrOutcomeUnknown)
			expect.Equal(t, "class", table.Classify(err), table.Permanent)
			e, ok := errors.AsType[*table.Error](err)
			if !ok || e.Op != "Do" || e.Key != recordKey("k") {
				t.Errorf("error %#v", e)
			}
			expect.Equal(t, "events", s.kinds(), []idempotency.EventKind{idempotency.PayloadMismatch})
			s.again(t, "k", want)
		})
	}
}

func TestExec(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	message := idempotency.Request{Scope: "mailer", Key: "m-1", TTL: time.Hour}
	count := func(context.Context) ([]table.Op, error) {
		return []table.Op{table.Update(countKey("m-1"), expression.Add(expression.Name("n"), expression.Value(1)))}, nil
	}
	for i := range 3 {
		first := expect.Value(idempotency.Exec(t.Context(), s.store, message, count))(t)
		expect.Equal(t, "first", first, i == 0)
		s.wantEffects(t, "m-1", 1)
	}
	s.clock.move(time.Hour)
	first := expect.Value(idempotency.Exec(t.Context(), s.store, message, count))(t)
	expect.Equal(t, "first after the record expired", first, true)

	refused := errors.New("no")
	message.Key = "m-2"
	first, err := idempotency.Exec(t.Context(), s.store, message, func(context.Context) ([]table.Op, error) { return nil, refused })
	wantErr(t, err, refused)
	expect.Equal(t, "first", first, false)

	// A payload that is not set is not compared, in the message as in the record.
	message.Key = "m-1"
	message.Payload = idempotency.Text("set by a later release")
	first = expect.Value(idempotency.Exec(t.Context(), s.store, message, count))(t)
	expect.Equal(t, "first with a payload", first, false)
	message.Key = "m-4"
	for i, payload := range []idempotency.Payload{idempotency.Text("one"), {}, idempotency.Text("one")} {
		message.Payload = payload
		first = expect.Value(idempotency.Exec(t.Context(), s.store, message, count))(t)
		expect.Equal(t, "first", first, i == 0)
	}
	message.Payload = idempotency.Text("another")
	_, err = idempotency.Exec(t.Context(), s.store, message, count)
	wantErr(t, err, idempotency.ErrPayloadMismatch)
	if e, ok := errors.AsType[*table.Error](err); !ok || e.Op != "Exec" {
		t.Errorf("error %v", err)
	}
	// There is no result for Do.
	_, err = idempotency.Do(t.Context(), s.store, message, planned(func() (idempotency.Plan[string], error) {
		return idempotency.Snapshot("x"), nil
	}))
	wantErr(t, err, idempotency.ErrPayloadMismatch)
	message.Payload = idempotency.Text("one")
	_, err = idempotency.Do(t.Context(), s.store, message, planned(func() (idempotency.Plan[string], error) {
		return idempotency.Snapshot("x"), nil
	}))
	wantErr(t, err, table.ErrInvalid)
	if err == nil || !strings.Contains(err.Error(), "the record has no result") {
		t.Errorf("error %v", err)
	}
	// A record that Do has made tells a duplicate too, whatever became of its result.
	gone := s.newOrder()
	for name, plan := range map[string]idempotency.Plan[any]{
		"snapshot":  idempotency.Snapshot[any]("text"),
		"reference": idempotency.Reference[any](nil, orderKey(gone.ID), table.Create(orderKey(gone.ID), gone)),
	} {
		message.Key = name
		expect.OK(t, expect.ErrOf(idempotency.Do(t.Context(), s.store, message, func(context.Context) (idempotency.Plan[any], error) { return plan, nil })))
		expect.OK(t, s.table.Do(t.Context(), table.Delete(orderKey(gone.ID))))
		first = expect.Value(idempotency.Exec(t.Context(), s.store, message, count))(t)
		expect.Equal(t, "first", first, false)
		s.wantEffects(t, "m-1", 3)
	}
	// Nothing to do is done once too.
	message.Key, message.Payload = "m-3", idempotency.Payload{}
	for i := range 2 {
		first = expect.Value(idempotency.Exec(t.Context(), s.store, message, func(context.Context) ([]table.Op, error) { return nil, nil }))(t)
		expect.Equal(t, "first", first, i == 0)
	}
}
