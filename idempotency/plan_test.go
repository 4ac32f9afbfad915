package idempotency_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
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
	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// A plan that reads can meet the effect of the first request.
func TestFailingPlan(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	refused := errors.New("the customer has an order already")
	calls := 0
	fails := func(context.Context) (idempotency.Plan[order], error) {
		calls++
		return idempotency.Plan[order]{}, refused
	}
	_, err := idempotency.Do(t.Context(), s.store, request("k"), fails)
	if err != refused { //nolint:errorlint // it is returned as it is
		t.Errorf("error %v", err)
	}
	s.wantRecord(t, "k", false)

	want := s.first(t, "k")
	result := expect.Value(idempotency.Do(t.Context(), s.store, request("k"), fails))(t)
	expect.Equal(t, "result", result, idempotency.Result[order]{Value: want, Replayed: true})
	wantErr(t, expect.ErrOf(idempotency.Do(t.Context(), s.store, otherPayload("k"), fails)), idempotency.ErrPayloadMismatch)
	expect.Equal(t, "calls of the plan", calls, 3)

	// While the record cannot be read, the error of the plan is not the result.
	s.faults.Always("GetItem", tabletest.DropRequest())
	_, err = idempotency.Do(t.Context(), s.store, request("k"), fails)
	wantErr(t, err, table.ErrOutcomeUnknown)
	expect.NotErr(t, err, refused)
}

// An invalid plan is refused before anything is sent.
func TestInvalidPlans(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	good := idempotency.Snapshot[any](nil)
	for name, tt := range map[string]struct {
		plan idempotency.Plan[any]
		want error
	}{
		"a result that is too large":       {idempotency.Snapshot[any](strings.Repeat("x", 400<<10)), table.ErrTooLarge},
		"attributes that are too large":    {good.With(map[string]string{"x": strings.Repeat("x", 400<<10)}), table.ErrTooLarge},
		"a result that cannot be stored":   {idempotency.Snapshot[any](failing{}), table.ErrInvalid},
		"no key to refer to":               {idempotency.Reference[any](nil, keys.Key{}), table.ErrInvalid},
		"an invalid key":                   {idempotency.Reference[any](nil, keys.Key{PK: keys.Tx.PK("")}), table.ErrInvalid},
		"attributes that fail to encode":   {good.With(failing{}), table.ErrInvalid},
		"attributes that do not read back": {good.With(struct{ At *big.Int }{big.NewInt(7)}), table.ErrInvalid},
		"attributes that are a number":     {good.With(7), table.ErrInvalid},
		"an attribute of the record":       {good.With(map[string]string{"createdAt": "x"}), table.ErrInvalid},
		"a result among the attributes":    {good.With(map[string]string{"resultPK": "x"}), table.ErrInvalid},
		"a key among the attributes":       {good.With(map[string]string{"pk": "x"}), table.ErrInvalid},
		"an index key":                     {good.With(map[string]string{"gsi1pk": "x"}), table.ErrInvalid},
		"an index's sort key":              {good.With(map[string]string{"gsi1sk": "x"}), table.ErrInvalid},
		"a local index's sort key":         {good.With(map[string]string{"lsi1sk": "x"}), table.ErrInvalid},
		"the type":                         {good.With(map[string]string{"entityType": "x"}), table.ErrInvalid},
		"the expiry":                       {good.With(map[string]int{"expiresAt": 1}), table.ErrInvalid},
		"attributes given twice":           {good.With(map[string]string{"a": "x"}).With(map[string]string{"b": "x"}), table.ErrInvalid},
		"a reference to an unwritten item": {idempotency.Reference[any](nil, orderKey("x"), table.Put(orderKey("y"), nil)), table.ErrInvalid},
		"a reference to a deleted item":    {idempotency.Reference[any](nil, orderKey("x"), table.Delete(orderKey("x"))), table.ErrInvalid},
		"a reference to a checked item": {
			idempotency.Reference[any](nil, orderKey("x"), table.Check(orderKey("x"), expression.Name("pk").AttributeExists())),
			table.ErrInvalid,
		},
		"the zero plan":        {idempotency.Plan[any]{}, table.ErrInvalid},
		"the op of the record": {idempotency.Snapshot[any](nil, table.Delete(recordKey("k"))), table.ErrInvalid},
		"the zero op":          {idempotency.Snapshot[any](nil, table.Op{}), table.ErrInvalid},
		"as many ops as a transaction has": {
			idempotency.Snapshot[any](nil, slices.Repeat([]table.Op{table.Create(orderKey("x"), nil)}, 100)...), table.ErrTooLarge,
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := s.sent(func() {
				_, err := idempotency.Do(t.Context(), s.store, request("k"),
					func(context.Context) (idempotency.Plan[any], error) { return tt.plan, nil })
				wantErr(t, err, tt.want)
				expect.NotErr(t, err, table.ErrOutcomeUnknown)
				expect.Equal(t, "class", table.Classify(err), table.Permanent)
			})
			expect.Equal(t, "requests", n, 0)
		})
	}
}

// With the op of the record, 99 ops are as many as a transaction takes.
func TestPlanWithTheMostOps(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	all := make([]table.Op, 99)
	for i := range all {
		all[i] = table.Create(orderKey(strconv.Itoa(i)), nil)
	}
	first := expect.Value(idempotency.Exec(t.Context(), s.store, request("k"), func(context.Context) ([]table.Op, error) { return all, nil }))(t)
	expect.Equal(t, "first", first, true)
}

// Any op of the transaction can write the item of a reference.
func TestReferencesToWrittenItems(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	o := order{ID: "o", Goods: "goods", At: start}
	for name, op := range map[string]table.Op{
		"create": table.Create(orderKey("create"), o),
		"put":    table.Put(orderKey("put"), o),
		"update": table.Update(orderKey("update"), expression.Set(expression.Name("id"), expression.Value("o"))),
	} {
		for i := range 2 {
			result, err := idempotency.Do(t.Context(), s.store, request(name), planned(func() (idempotency.Plan[order], error) {
				return idempotency.Reference(o, orderKey(name), table.Delete(orderKey("other")), op), nil
			}))
			expect.OK(t, err)
			expect.Equal(t, name+": replayed", result.Replayed, i == 1)
			expect.Equal(t, name+": id", result.Value.ID, "o")
		}
	}
}

// A repeated request gets a set in the order in which the first one got it, whatever order
// it was written in.
func TestReferenceToASet(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	o := order{ID: "o", Goods: "goods", At: start, Tags: []string{"c", "a", "b"}, Inner: map[string]any{"n": 1.0}}
	var values []order
	for range 2 {
		result, err := idempotency.Do(t.Context(), s.store, request("k"), planned(func() (idempotency.Plan[order], error) {
			return idempotency.Reference(o, orderKey("o"), table.Create(orderKey("o"), o)), nil
		}))
		expect.OK(t, err)
		values = append(values, result.Value)
	}
	expect.Equal(t, "a repeated result", values[1], values[0])
	expect.Equal(t, "a set", values[0].Tags, []string{"a", "b", "c"})
}

// What a field holds that is not stored, and the type of what an interface holds, are lost
// for the first request as for a repeated one.
func TestFirstResultIsThatOfARepeatedRequest(t *testing.T) {
	t.Parallel()
	type response struct {
		ID      string
		Skipped string `dynamodbav:"-"`
		hidden  string
		Any     any
		Ints    any
		At      any
	}
	s := newShop(t)
	given := response{"x", "skipped", "hidden", order{ID: "o", Tags: []string{"b", "a"}}, []int{1, 1 << 53}, start}
	want := response{ID: "x", Ints: []any{1.0, float64(1 << 53)}, At: start.Format(time.RFC3339Nano), Any: map[string]any{
		"id": "o", "goods": "", "price": 0.0, "at": "0001-01-01T00:00:00Z", "tags": []string{"a", "b"}, "inner": nil,
	}}
	for i := range 2 {
		for key, plan := range map[string]idempotency.Plan[response]{
			"snapshot":  idempotency.Snapshot(given),
			"reference": idempotency.Reference(given, orderKey("x"), table.Put(orderKey("x"), given)),
		} {
			result := expect.Value(idempotency.Do(t.Context(), s.store, request(key), planned(func() (idempotency.Plan[response], error) { return plan, nil })))(t)
			expect.Equal(t, "replayed", result.Replayed, i == 1)
			expect.Equal(t, key, fmt.Sprintf("%#v", result.Value), fmt.Sprintf("%#v", want))
		}
	}
}

// The first request gets what is stored with a result in its item, as a repeated one does.
func TestFirstResultIsTheItemOfAReference(t *testing.T) {
	t.Parallel()
	type keyed struct {
		PK   string `dynamodbav:"pk,omitempty"`
		Type string `dynamodbav:"entityType,omitempty"`
		Text string
		Rev  string `dynamodbav:",omitempty"`
	}
	s := newShop(t)
	type memo struct{ ID, Text, Rev string }
	memos := expect.Value(repo.New(s.table, repo.Entity[memo]{Type: "MEMO", Version: "Rev", Key: func(m memo) keys.Key { return orderKey(m.ID) }}))(t)
	m := memo{ID: "memo", Text: "x"}
	created := memos.CreateOps(&m)
	update := table.Update(orderKey("update"), expression.Set(expression.Name("Text"), expression.Value("x")))
	for name, op := range map[string]table.Op{
		"memo":   created[0],
		"put":    table.Put(orderKey("put"), map[string]any{"Text": "x", "entityType": "NOTE", "Set": []int{1}, "n": 1e2}),
		"update": update,
	} {
		if name != "update" {
			sameAsRepeated[any](t, s, name, op, nil)
			sameAsRepeated(t, s, name, op, (*keyed)(nil))
			sameAsRepeated(t, s, name, op, keyed{Text: "another"})
		}
		sameAsRepeated(t, s, name, op, keyed{Text: "x"})
		sameAsRepeated(t, s, name, op, table.Item{"Text": str("x")})
		sameAsRepeated(t, s, name, op, map[string]any{"Text": "x"})
		sameAsRepeated[any](t, s, name, op, &keyed{Text: "x"})
	}
}

// sameAsRepeated checks that a repeated request gets the result of the first.
func sameAsRepeated[R any](t *testing.T, s *shop, name string, op table.Op, result R) {
	t.Helper()
	key := fmt.Sprintf("%s %T %+v", name, result, result)
	expect.OK(t, s.table.Do(t.Context(), table.Delete(orderKey(name))))
	var values []string
	for range 2 {
		got := expect.Value(idempotency.Do(t.Context(), s.store, request(key), planned(func() (idempotency.Plan[R], error) {
			return idempotency.Reference(result, orderKey(name), op), nil
		})))(t)
		values = append(values, itemText(t, got.Value))
	}
	expect.Equal(t, key, values[0], values[1])
}

// itemText returns a result as the JSON of its item.
func itemText(t *testing.T, v any) string {
	t.Helper()
	attributes, is := v.(table.Item)
	if !is {
		attributes = expect.Value(attributevalue.MarshalMap(v))(t)
	}
	return string(item.JSON(attributes))
}

// A replay could not return the result of the first request.
func TestResultsThatCannotBeReplayed(t *testing.T) {
	t.Parallel()
	const above = 1<<53 + 1
	s := newShop(t)
	// Types that package table refuses too.
	refused(t, s, "result", *big.NewInt(1))
	refused(t, s, "result", big.NewInt(1))
	refused(t, s, "result", errOther)
	refused(t, s, "result.At", struct{ At *big.Int }{})
	refused(t, s, "result[]", map[string]big.Int{"secret": {}})
	refused(t, s, "result.Err", struct{ Err error }{})
	refused(t, s, "result.F", struct{ F func() }{})
	refused[any](t, s, "result", *big.NewInt(1))
	refused[any](t, s, "result[…][0].N", map[string]any{"x": []any{struct{ N *big.Int }{}}})
	refused(t, s, "result", oneWay{})
	// What no item is read as.
	update := table.Update(orderKey("o"), expression.Set(expression.Name("a"), expression.Value(1)))
	for _, op := range []table.Op{update, table.Put(orderKey("o"), nil)} {
		refusedReference(t, s, op, 3)
		refusedReference(t, s, op, []int{3})
		refusedReference(t, s, op, "secret")
	}
	refusedReference(t, s, update, (*order)(nil))
	refusedReference[any](t, s, update, nil)
	refusedReference[any](t, s, update, 3)
	refusedReference(t, s, update, map[string]string(nil))
	refusedReference(t, s, update, table.Item(nil))
	// Numbers that a float64 does not hold, in interfaces.
	refused[any](t, s, "result", int64(above))
	refused[any](t, s, "result", uint64(math.MaxUint64))
	refused[any](t, s, "result", int64(1)<<60) // a float64 holds it, with other digits in JSON
	refused[any](t, s, "result", json.Number("9007199254740993"))
	refused[any](t, s, "result[][]", []any{1, []int64{1 << 53, above}})
	refused[any](t, s, "result[…][…]", map[string]any{"secret": map[int]time.Duration{1: math.MaxInt64}})
	refused(t, s, "result.Inner.N", struct{ Inner *struct{ N any } }{&struct{ N any }{uint64(above)}})
	refused[any](t, s, "result.Set", struct {
		Set []int64 `dynamodbav:",numberset"`
	}{[]int64{above, 1}})
	// Numbers that DynamoDB does not have.
	for _, v := range []any{math.NaN(), []float32{0, float32(math.Inf(-1))}} {
		plan := planned(func() (idempotency.Plan[any], error) { return idempotency.Snapshot(v), nil })
		expect.Equal(t, "requests", s.sent(func() {
			wantErr(t, expect.ErrOf(idempotency.Do(t.Context(), s.store, request("k"), plan)), table.ErrInvalid)
		}), 0)
	}
	expect.Equal(t, "orders", s.drawn, 0)
}

// refused checks that a result is refused before anything is sent, with an error
// that says where it does not survive.
func refused[R any](t *testing.T, s *shop, where string, v R) {
	t.Helper()
	op := table.Put(orderKey("o"), nil)
	for _, plan := range []idempotency.Plan[R]{idempotency.Snapshot(v, op), idempotency.Reference(v, orderKey("o"), op)} {
		n := s.sent(func() {
			_, err := idempotency.Do(t.Context(), s.store, request("k"), planned(func() (idempotency.Plan[R], error) { return plan, nil }))
			wantErr(t, err, table.ErrInvalid)
			if err != nil && (!strings.Contains(err.Error(), where) || strings.Contains(err.Error(), "secret")) {
				t.Errorf("%T: error %v; want %q", v, err, where)
			}
		})
		expect.Equal(t, "requests", n, 0)
	}
}

// refusedReference checks that a result is refused as that of a reference.
func refusedReference[R any](t *testing.T, s *shop, op table.Op, v R) {
	t.Helper()
	expect.Equal(t, "requests", s.sent(func() {
		_, err := idempotency.Do(t.Context(), s.store, request("k"), planned(func() (idempotency.Plan[R], error) {
			return idempotency.Reference(v, orderKey("o"), op), nil
		}))
		wantErr(t, err, table.ErrInvalid)
		if err != nil && (!strings.Contains(err.Error(), "use Snapshot") || strings.Contains(err.Error(), "secret")) {
			t.Errorf("%T: error %v", v, err)
		}
	}), 0)
}

type failing struct{}

func (failing) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return nil, errors.New("as told")
}

// oneWay can be stored and not read.
type oneWay struct{}

func (*oneWay) UnmarshalDynamoDBAttributeValue(types.AttributeValue) error {
	return errors.New("as told")
}

// A time that is stored by its second is the same after a retry: the first request gets it by
// its second, too.
func TestSnapshotOfTimesInSeconds(t *testing.T) {
	t.Parallel()
	type response struct {
		ExpiresAt time.Time  `dynamodbav:"expiresAt,unixtime"`
		Optional  *time.Time `dynamodbav:"optional,unixtime,omitempty"`
	}
	store := newStore(t, tabletest.New(t, spec, nil), nil)
	at := time.Date(2024, 1, 15, 10, 5, 0, 123456789, time.UTC)
	for range 2 {
		result, err := idempotency.Do(t.Context(), store, idempotency.Request{Scope: "s", Key: "seconds", Payload: idempotency.Text("p")},
			func(context.Context) (idempotency.Plan[response], error) {
				return idempotency.Snapshot(response{at, &at}), nil
			})
		expect.OK(t, err)
		expect.Equal(t, "expiry", result.Value.ExpiresAt.Equal(at.Truncate(time.Second)), true)
		expect.Equal(t, "optional", result.Value.Optional.Equal(at.Truncate(time.Second)), true)
	}
}

// The item of a reference has the numbers of what the plan counts in it.
func TestReferenceToAnItemThatCounts(t *testing.T) {
	t.Parallel()
	type cart struct {
		ID    string `dynamodbav:"id"`
		Lines int64  `dynamodbav:"lines"`
		Rev   string `dynamodbav:"rev"`
	}
	type line struct{ ID, Cart, Rev string }
	s := newShop(t)
	carts := expect.Value(repo.New(s.table, repo.Entity[cart]{
		Type: "CART", Version: "rev", Counted: []string{"lines"}, Key: func(c cart) keys.Key { return orderKey(c.ID) },
	}))(t)
	lines := expect.Value(repo.New(s.table, repo.Entity[line]{
		Type: "LINE", Version: "Rev", Key: func(l line) keys.Key { return orderKey(l.ID) },
		Counters: []repo.Counter[line]{{Name: "lines", Owner: "CART", Attribute: "lines", Key: func(l line) keys.Key { return orderKey(l.Cart) }}},
	}))(t)
	for range 2 {
		got := expect.Value(idempotency.Do(t.Context(), s.store, request("cart"), planned(func() (idempotency.Plan[cart], error) {
			c, one, two := cart{ID: "c"}, line{ID: "1", Cart: "c"}, line{ID: "2", Cart: "c"}
			ops := slices.Concat(carts.CreateOps(&c), lines.CreateOps(&one), lines.CreateOps(&two))
			return idempotency.Reference(c, orderKey("c"), ops...), nil
		})))(t)
		expect.Equal(t, "lines", got.Value.Lines, 2)
	}
}
