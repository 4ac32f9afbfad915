package idempotency_test

import (
	"context"
	"encoding/json"
	"errors"
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
	"github.com/singletable/singletable/keys"
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

// unkept is a result of many types. One field at a time is set.
type unkept struct {
	Int     *big.Int
	Float   float64
	Any     any
	Bytes   [][]byte
	NotKept string `dynamodbav:"-"`
	hidden  []string
	Named   any `dynamodbav:"other"`
	List    []*unkept
	Map     map[string]any
	Func    func()
	Pointer **string
	Half    half
	Loose   looselyEqual
	Complex complex128
	Inner   *struct{ N any } `dynamodbav:",omitempty"`
}

// half stores the first of its fields.
type half struct{ A, B int }

func (h half) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return attributevalue.Marshal(h.A)
}

func (h *half) UnmarshalDynamoDBAttributeValue(value types.AttributeValue) error {
	return attributevalue.Unmarshal(value, &h.A)
}

// looselyEqual has an Equal method that looks at a part of it.
type looselyEqual struct {
	ID string
	N  big.Int
}

func (l looselyEqual) Equal(other looselyEqual) bool { return l.ID == other.ID }

// A replay could not return the result of the first request.
func TestResultsThatCannotBeReplayed(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	refused(t, s, "result", oneWay{})
	refused(t, s, "result.abs", *big.NewInt(1))
	refused(t, s, "result.abs", big.NewInt(1))
	refused(t, s, "result", errors.New("secret"))
	refused(t, s, "result.at.ext", struct{ at time.Time }{start})
	refused[any](t, s, "result", order{ID: "secret"})
	refused[any](t, s, "result", start)
	refused[any](t, s, "result", int64(1<<53+1))
	refused[any](t, s, "result", uint64(math.MaxUint64))
	refused[any](t, s, "result", int64(1)<<60) // a float64 holds it, with other digits in JSON
	refused[any](t, s, "result", [2]byte{1, 2})
	refused[any](t, s, "result", json.Number("9007199254740993"))
	refused[any](t, s, "result[][]", []any{1, []int64{1 << 53, 1<<53 + 1}})
	refused[any](t, s, "result[][]", map[string]any{"secret": map[int]time.Duration{1: math.MaxInt64}})
	refused(t, s, "result[].abs", map[string]big.Int{"secret": *big.NewInt(1)})
	refused(t, s, "result", math.NaN())
	refused(t, s, "result[]", []float32{0, float32(math.Inf(-1))})
	for where, v := range map[string]unkept{
		"result.Int.abs":        {Int: big.NewInt(1 << 40)},
		"result.Float":          {Float: math.Inf(1)},
		"result.Any":            {Any: int64(1<<53 + 1)},
		"result.Bytes[]":        {Bytes: [][]byte{{2}, {1}}}, // attributevalue makes a set of it
		"result.NotKept":        {NotKept: "secret"},
		"result.hidden":         {hidden: []string{"secret"}},
		"result.Named":          {Named: &order{ID: "secret"}},
		"result.List[].Int.abs": {List: []*unkept{nil, {Int: big.NewInt(1)}}},
		"result.Map[][]":        {Map: map[string]any{"x": []any{1.5, code{"secret"}}}},
		"result.Func":           {Func: func() {}},
		"result.Pointer":        {Pointer: new(*string)},
		"result.Half.B":         {Half: half{1, 2}},
		"result.Loose.N.abs":    {Loose: looselyEqual{N: *big.NewInt(1)}},
		"result.Complex":        {Complex: 1i},
		"result.Inner.N":        {Inner: &struct{ N any }{uint64(math.MaxUint64)}},
		"result.List[].Any[]":   {List: []*unkept{{Any: []any{struct{ at int }{1}}}}},
	} {
		refused(t, s, where, v)
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
			if err != nil && (!strings.Contains(err.Error(), ": "+where+" ") && !strings.Contains(err.Error(), ": "+where+":") ||
				strings.Contains(err.Error(), "secret")) {
				t.Errorf("%T: error %v; want %q", v, err, where)
			}
		})
		expect.Equal(t, "requests", n, 0)
	}
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
		result, err := idempotency.Do(t.Context(), store, idempotency.Request{Scope: "s", Key: "seconds", Payload: "p"},
			func(context.Context) (idempotency.Plan[response], error) {
				return idempotency.Snapshot(response{at, &at}), nil
			})
		expect.OK(t, err)
		expect.Equal(t, "expiry", result.Value.ExpiresAt.Equal(at.Truncate(time.Second)), true)
		expect.Equal(t, "optional", result.Value.Optional.Equal(at.Truncate(time.Second)), true)
	}
}
