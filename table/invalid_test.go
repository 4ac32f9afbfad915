package table_test

import (
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/paginate"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	client := dynamodb.New(dynamodb.Options{})
	for name, tt := range map[string]struct {
		client  table.Client
		schema  schema.Table
		options *table.Options
		says    string
	}{
		"nil client":       {nil, appCore(), nil, "the client is nil"},
		"typed nil client": {(*dynamodb.Client)(nil), appCore(), nil, "the client is nil"},
		"bad schema":       {client, schema.Table{}, nil, "Name"},
		"MaxRounds":        {client, appCore(), &table.Options{MaxRounds: -1}, "Options.MaxRounds: -1"},
		"MaxAttempts":      {client, appCore(), &table.Options{MaxAttempts: -1}, "Options.MaxAttempts: -1"},
		"zero codec":       {client, appCore(), &table.Options{Cursors: &paginate.Codec{}}, "Options.Cursors"},
		"MaxElapsed":       {client, appCore(), &table.Options{MaxElapsed: -1}, "Options.MaxElapsed: -1ns"},
	} {
		tbl, err := table.NewWithClient(tt.client, tt.schema, tt.options)
		if !errors.Is(err, table.ErrInvalid) || !strings.Contains(err.Error(), tt.says) || tbl != nil {
			t.Errorf("%s: %v", name, err)
		}
		if table.Classify(err) != table.Permanent {
			t.Errorf("%s: %v", name, table.Classify(err))
		}
	}
	for name, nothing := range map[string]schema.Client{"nil": nil, "typed nil": (*dynamodb.Client)(nil)} {
		for _, err := range []error{
			appCore().Ensure(t.Context(), nothing), appCore().Verify(t.Context(), nothing),
		} {
			if !errors.Is(err, table.ErrInvalid) || !strings.Contains(err.Error(), "the client is nil") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// badKeys are keys that the table of [appCore] cannot have.
var badKeys = map[string]keys.Key{
	"zero key":          {},
	"no partition key":  {SK: "A"},
	"no sort key":       {PK: "A"},
	"empty segment":     {PK: keys.User.PK(""), SK: "A"},
	"long partition":    {PK: keys.PK(strings.Repeat("x", keys.MaxPK+1)), SK: "A"},
	"long sort key":     {PK: "A", SK: keys.SK(strings.Repeat("x", keys.MaxSK+1))},
	"invalid UTF-8":     {PK: "A\xff", SK: "A"},
	"number that fails": {PK: "A", SK: keys.Tx.SK(keys.Int(-1, 3))},
}

func TestKeysAreRefused(t *testing.T) {
	t.Parallel()
	tbl, faults := newTable(t, appCore())
	ctx := t.Context()
	for name, key := range badKeys {
		for call, err := range map[string]error{
			"Get":         get(ctx, tbl, key),
			"Put":         tbl.Do(ctx, table.Put(key, nil)),
			"Create":      tbl.Do(ctx, table.Create(key, nil)),
			"Update":      tbl.Do(ctx, table.Update(key, setN(1))),
			"Delete":      tbl.Do(ctx, table.Delete(key)),
			"Check":       tbl.Do(ctx, table.Check(key, nIs(1))),
			"Transact":    tbl.Transact(ctx, table.Put(user, nil), table.Put(key, nil)),
			"TransactPut": tbl.TransactPut(ctx, table.Entry{Key: key}),
			"BatchWrite":  tbl.BatchWrite(ctx, table.Put(user, nil), table.Delete(key)),
			"BatchGet":    second(table.BatchGet[account](ctx, tbl, []keys.Key{user, key})),
			"TransactGet": second(table.TransactGet[account](ctx, tbl, []keys.Key{user, key})),
		} {
			k, ok := errors.AsType[*keys.Error](err)
			if !ok || !errors.Is(err, keys.ErrInvalid) || table.Classify(err) != table.Permanent || k.Rule == "" {
				t.Errorf("%s of a key with %s: %v", call, name, err)
			}
		}
	}
	if n := len(onItems(faults)); n > 0 {
		t.Errorf("%d requests were sent", n)
	}
}

func second[A any](_ A, err error) error { return err }

func TestKeysOfOtherTypesAreRefused(t *testing.T) {
	t.Parallel()
	numbers, faults := newTable(t, schema.Table{PKType: types.ScalarAttributeTypeN, SKType: types.ScalarAttributeTypeB})
	for _, pk := range []keys.PK{
		"", "a", "01", "1.0", "+1", "-0", ".5", "1e3", "0.", "1,5", " 1", "--1", "0x1", "٣",
		keys.PK(strings.Repeat("1", 39)), keys.PK("1" + strings.Repeat("0", 126)), keys.PK("0." + strings.Repeat("0", 130) + "1"),
	} {
		if err := get(t.Context(), numbers, keys.Key{PK: pk, SK: "x"}); !errors.Is(err, keys.ErrInvalid) {
			t.Errorf("number %q: %v", pk, err)
		}
		if err := second(table.QueryPage[account](t.Context(), numbers, table.Query{PK: pk})); !errors.Is(err, keys.ErrInvalid) {
			t.Errorf("query of number %q: %v", pk, err)
		}
	}
	if err := get(t.Context(), numbers, keys.Key{PK: "1"}); !errors.Is(err, keys.ErrInvalid) {
		t.Errorf("empty binary key: %v", err)
	}
	simple, alone := newTable(t, schema.Table{SimpleKey: true})
	if err := get(t.Context(), simple, user); !errors.Is(err, keys.ErrInvalid) {
		t.Errorf("sort key on a table without: %v", err)
	}
	if n := len(onItems(faults)) + len(onItems(alone)); n > 0 {
		t.Errorf("%d requests were sent", n)
	}

	binary, _ := newTable(t, schema.Table{PKType: types.ScalarAttributeTypeB, SKType: types.ScalarAttributeTypeB})
	longest := keys.Key{PK: keys.PK(strings.Repeat("\xff", keys.MaxPK)), SK: keys.SK(strings.Repeat("\xff", keys.MaxSK))}
	must(t, binary.Do(t.Context(), table.Put(longest, nil)))
	for _, k := range []keys.Key{{PK: longest.PK + "x", SK: "x"}, {PK: "x", SK: longest.SK + "x"}} {
		if err := get(t.Context(), binary, k); !errors.Is(err, keys.ErrInvalid) {
			t.Errorf("binary keys of %d and %d bytes: %v", len(k.PK), len(k.SK), err)
		}
	}
}

func TestOpsAreRefused(t *testing.T) {
	t.Parallel()
	tbl, faults := newTable(t, appCore())
	var nobody *account
	large := strings.Repeat("x", 401<<10)
	for name, tt := range map[string]struct {
		op   table.Op
		want error
	}{
		"zero Op":                 {table.Op{}, table.ErrInvalid},
		"zero Op, named":          {table.Op{}.WithName("x"), table.ErrInvalid},
		"Check without condition": {table.Check(user, expression.ConditionBuilder{}), table.ErrInvalid},
		"IfVersion of nothing":    {table.Put(user, nil).IfVersion("", 1), table.ErrInvalid},
		"Update with nothing":     {table.Update(user, expression.UpdateBuilder{}), table.ErrInvalid},
		"a number":                {table.Put(user, 7), table.ErrInvalid},
		"a string":                {table.Create(user, "x"), table.ErrInvalid},
		"a slice":                 {table.Put(user, []account{{}}), table.ErrInvalid},
		"a nil attribute":         {table.Put(user, table.Item{"n": nil}), table.ErrInvalid},
		"a nil in a list":         {table.Put(user, table.Item{"n": list(num("1"), nil)}), table.ErrInvalid},
		"a nil in a map":          {table.Put(user, table.Item{"n": list(mapOf(map[string]types.AttributeValue{"a": nil}))}), table.ErrInvalid},
		"a typed nil attribute":   {table.Put(user, table.Item{"n": (*types.AttributeValueMemberS)(nil)}), table.ErrInvalid},
		"nil bytes":               {table.Put(user, table.Item{"n": &types.AttributeValueMemberB{}}), table.ErrInvalid},
		"… in a list":             {table.Put(user, table.Item{"n": list(&types.AttributeValueMemberB{})}), table.ErrInvalid},
		"… in a set":              {table.Put(user, table.Item{"n": &types.AttributeValueMemberBS{Value: [][]byte{{1}, nil}}}), table.ErrInvalid},
		"… in a patch of bytes":   {table.Patch(user, table.Item{"n": &types.AttributeValueMemberB{}}), table.ErrInvalid},
		"an unknown attribute":    {table.Put(user, table.Item{"n": &types.UnknownUnionMember{}}), table.ErrInvalid},
		"invalid UTF-8 in text":   {table.Put(user, account{Name: "\xff"}), table.ErrInvalid},
		"… in a set of texts":     {table.Put(user, table.Item{"n": &types.AttributeValueMemberSS{Value: []string{"a", "\xff"}}}), table.ErrInvalid},
		"… in a list of texts":    {table.Put(user, table.Item{"n": list(str("\xff"))}), table.ErrInvalid},
		"… as a name":             {table.Put(user, table.Item{"\xff": num("1")}), table.ErrInvalid},
		"an empty name":           {table.Put(user, table.Item{"": num("1")}), table.ErrInvalid},
		"… as a name in a map":    {table.Put(user, table.Item{"n": mapOf(map[string]types.AttributeValue{"\xff": num("1")})}), table.ErrInvalid},
		"… in an updated value":   {table.Update(user, expression.Set(expression.Name("a"), expression.Value("\xff"))), table.ErrInvalid},
		"… as an updated name":    {table.Update(user, expression.Set(expression.Name("\xff"), expression.Value(1))), table.ErrInvalid},
		"… in a condition":        {table.Put(user, nil).If(expression.Name("a").Equal(expression.Value("\xff"))), table.ErrInvalid},
		"a nil pointer":           {table.Put(user, nobody), table.ErrInvalid},
		"a channel":               {table.Put(user, make(chan int)), table.ErrInvalid},
		"nothing of a field":      {table.Put(user, struct{ N big.Int }{}), table.ErrInvalid},
		"… in an interface":       {table.Create(user, map[string]any{"n": big.NewInt(7)}), table.ErrInvalid},
		"a method of a pointer":   {table.Put(user, struct{ N wrapped }{}), table.ErrInvalid},
		"an expiry in ms":         {table.Put(user, map[string]int64{"expiresAt": 1700000000000}), table.ErrInvalid},
		"… in a patch":            {table.Patch(user, table.Item{"expiresAt": num("253402300800")}), table.ErrInvalid},
		"… in an update":          {table.Update(user, expression.Set(expression.Name("expiresAt"), expression.Value(1e15))), table.ErrInvalid},
		"… if there is none":      {table.Update(user, expression.Set(expression.Name("expiresAt"), expression.IfNotExists(expression.Name("expiresAt"), expression.Value(1e18)))), table.ErrInvalid},
		"… added to nothing":      {table.Update(user, expression.Add(expression.Name("expiresAt"), expression.Value(1e12))), table.ErrInvalid},
		"a broken expression":     {table.Put(user, nil).If(expression.Name("").Equal(expression.Value(1))), table.ErrInvalid},
		"401 KB":                  {table.Put(user, account{Name: large}), table.ErrTooLarge},
		"401 KB to create":        {table.Create(user, account{Name: large}), table.ErrTooLarge},
	} {
		for call, err := range map[string]error{
			"Do":         tbl.Do(t.Context(), tt.op),
			"Transact":   tbl.Transact(t.Context(), table.Put(keys.Key{PK: "A", SK: "A"}, nil), tt.op.WithName("second")),
			"BatchWrite": tbl.BatchWrite(t.Context(), table.Put(keys.Key{PK: "A", SK: "A"}, nil), tt.op.WithName("second")),
		} {
			if !errors.Is(err, tt.want) || table.Classify(err) != table.Permanent {
				t.Errorf("%s, %s: %v", name, call, err)
			}
			if e, ok := table.FailedOp(err, ""); call != "Do" && (!ok || e.OpNumber != 2 || e.Name != "second") {
				t.Errorf("%s, %s: the op is not named by %v", name, call, err)
			}
		}
	}
	if n := len(onItems(faults)); n > 0 {
		t.Errorf("%d requests were sent", n)
	}
}

// wrapped makes its attribute by a method that attributevalue calls for pointers only.
type wrapped struct{ Text string }

func (w *wrapped) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return str("wrapped " + w.Text), nil
}

func (w *wrapped) UnmarshalDynamoDBAttributeValue(v types.AttributeValue) error {
	w.Text = strings.TrimPrefix(v.(*types.AttributeValueMemberS).Value, "wrapped ")
	return nil
}

// node is a type whose values can contain themselves.
type node struct {
	Name  string
	Next  *node
	Nodes []*node
	Any   map[string]any
}

// TestEndlessValuesAreRefused shows that a value that contains itself is an error,
// not the end of the process.
func TestEndlessValuesAreRefused(t *testing.T) {
	t.Parallel()
	tbl, faults := newTable(t, appCore())
	pointer, slice, inner := &node{Name: "a"}, &node{Name: "b"}, map[string]any{"n": 1}
	pointer.Next, slice.Nodes, inner["m"] = pointer, []*node{nil, slice}, map[string]any{"inner": inner}
	own := map[string]types.AttributeValue{}
	own["own"] = mapOf(own)
	for path, v := range map[string]any{
		"Next.Next.Next": pointer, "Nodes[1].Nodes[1]": slice, "Any[…][…][…]": node{Any: inner}, "m[…][…]": inner, "own[…]": table.Item(own),
	} {
		err := tbl.Do(t.Context(), table.Put(user, v))
		if !errors.Is(err, table.ErrInvalid) || !strings.Contains(err.Error(), `attribute "`+path) || !strings.Contains(err.Error(), "nested more than 32 levels deep") {
			t.Errorf("%s: %v", path, err)
		}
	}
	if n := len(onItems(faults)); n > 0 {
		t.Errorf("%d requests were sent", n)
	}
}

// A name can have any text: those that begin alike, and have zero bytes, are names of their own.
func TestNamesWithZeroBytes(t *testing.T) {
	t.Parallel()
	tbl, _ := newTable(t, appCore())
	want := map[string]any{}
	var set expression.UpdateBuilder
	for i, name := range []string{"a", "a\x00", "a\x00x", "a\x01", "a\x01\x02", "\x00", "\x00.b"} {
		set = set.Set(expression.NameNoDotSplit(name), expression.Value(i))
		want[name] = float64(i)
	}
	expect.OK(t, tbl.Do(t.Context(), table.Update(user, set)))
	got := expect.Value(table.Get[map[string]any](t.Context(), tbl.Consistent(), user))(t)
	delete(got, "pk")
	delete(got, "sk")
	equal(t, "stored", got, want)
	remove := expression.Remove(expression.NameNoDotSplit("a\x00")).Remove(expression.NameNoDotSplit("a"))
	expect.OK(t, tbl.Transact(t.Context(), table.Update(user, remove)))
}

func TestTransactionsAreRefused(t *testing.T) {
	t.Parallel()
	tbl, faults := newTable(t, appCore())
	puts := func(n int, v any) []table.Op {
		ops := make([]table.Op, n)
		for i := range ops {
			ops[i] = table.Put(keys.Key{PK: "A", SK: keys.SK(fmt.Sprint(i))}, v).WithName(fmt.Sprint("op ", i))
		}
		return ops
	}
	again := table.Delete(keys.Key{PK: "A", SK: "1"}).WithName("again")
	for name, tt := range map[string]struct {
		ops  []table.Op
		want error
		op   string
	}{
		"no ops":              {nil, table.ErrInvalid, ""},
		"101 ops":             {puts(101, nil), table.ErrTooLarge, "op 100"},
		"the same item twice": {append(puts(3, nil), again), table.ErrInvalid, "again"},
		"4.1 MB":              {puts(11, account{Name: strings.Repeat("x", 390<<10)}), table.ErrTooLarge, "op 10"},
	} {
		err := tbl.Transact(t.Context(), tt.ops...)
		if !errors.Is(err, tt.want) || table.Classify(err) != table.Permanent {
			t.Errorf("%s: %v", name, err)
		}
		if e, ok := table.FailedOp(err, ""); tt.op != "" && (!ok || e.Name != tt.op) {
			t.Errorf("%s: the op is not named by %v", name, err)
		}
	}
	var ks []keys.Key
	for i := range 101 {
		ks = append(ks, keys.Key{PK: "A", SK: keys.SK(fmt.Sprint(i))})
	}
	for name, tt := range map[string]struct {
		err, want error
	}{
		"TransactPut of nothing":    {tbl.TransactPut(t.Context()), table.ErrInvalid},
		"TransactGet of 101 keys":   {second(table.TransactGet[account](t.Context(), tbl, ks)), table.ErrTooLarge},
		"TransactGet, a key twice":  {second(table.TransactGet[account](t.Context(), tbl, []keys.Key{user, user})), table.ErrInvalid},
		"BatchWrite, a key twice":   {tbl.BatchWrite(t.Context(), table.Put(user, nil), table.Delete(user)), table.ErrInvalid},
		"BatchWrite of a Create":    {tbl.BatchWrite(t.Context(), table.Create(user, nil)), table.ErrInvalid},
		"BatchWrite of an Update":   {tbl.BatchWrite(t.Context(), table.Update(user, setN(1))), table.ErrInvalid},
		"BatchWrite of a Check":     {tbl.BatchWrite(t.Context(), table.Check(user, nIs(1))), table.ErrInvalid},
		"BatchWrite of a condition": {tbl.BatchWrite(t.Context(), table.Put(user, nil).If(nIs(1))), table.ErrInvalid},
	} {
		if !errors.Is(tt.err, tt.want) {
			t.Errorf("%s: %v", name, tt.err)
		}
	}
	if n := len(onItems(faults)); n > 0 {
		t.Errorf("%d requests were sent", n)
	}
}

func TestQueriesAreRefused(t *testing.T) {
	t.Parallel()
	spec := appCore()
	spec.Indexes = append(spec.Indexes,
		schema.Index{Name: "plain", PK: "x"},
		schema.Index{Name: "number", PK: "x", SK: "n", SKType: types.ScalarAttributeTypeN},
		schema.Index{Name: "binary", PK: "x", SK: "b", SKType: types.ScalarAttributeTypeB})
	tbl, faults := newTable(t, spec)
	for name, tt := range map[string]struct {
		q    table.Query
		want error
		says string
	}{
		"zero query":               {table.Query{}, keys.ErrInvalid, "partition key"},
		"bad partition key":        {table.Query{PK: keys.User.PK("")}, keys.ErrInvalid, "partition key"},
		"unknown index":            {table.Query{PK: "A", Index: "GSI9"}, table.ErrInvalid, `Index: the schema has no index "GSI9"`},
		"negative limit":           {table.Query{PK: "A", Limit: -1}, table.ErrInvalid, "Limit: -1"},
		"consistent and global":    {table.Query{PK: "A", Index: "GSI1", Consistent: true}, table.ErrInvalid, "Consistent"},
		"range without sort key":   {table.Query{PK: "A", Index: "plain", Range: keys.Tx.All()}, table.ErrInvalid, "Range"},
		"bad range":                {table.Query{PK: "A", Range: keys.Tx.All(keys.Str(""))}, keys.ErrInvalid, "range"},
		"bad end of empty range":   {table.Query{PK: "A", Range: keys.Range{From: "b", To: "a\xff"}}, keys.ErrInvalid, "range"},
		"prefix of a number":       {table.Query{PK: "A", Index: "number", Range: keys.Range{Prefix: "1"}}, table.ErrInvalid, "Range"},
		"text for a number":        {table.Query{PK: "A", Index: "number", Range: keys.Range{From: "a"}}, keys.ErrInvalid, "sort key"},
		"prefix and bound":         {table.Query{PK: "A", Index: "binary", Range: keys.Range{Prefix: "b", From: "a"}}, table.ErrInvalid, "Range"},
		"broken filter":            {table.Query{PK: "A", Filter: expression.Name("").AttributeExists()}, table.ErrInvalid, "Filter"},
		"filter for invalid UTF-8": {table.Query{PK: "A", Filter: expression.Name("a").Equal(expression.Value("\xff"))}, table.ErrInvalid, "Filter"},
		"bad cursor":               {table.Query{PK: "A", After: "abc"}, paginate.ErrInvalidCursor, ""},
	} {
		for call, err := range map[string]error{
			"QueryPage": second(table.QueryPage[account](t.Context(), tbl, tt.q)),
			"All":       second(table.Collect(table.All[account](t.Context(), tbl, tt.q))),
		} {
			if !errors.Is(err, tt.want) || !strings.Contains(fmt.Sprint(err), tt.says) || table.Classify(err) != table.Permanent {
				t.Errorf("%s, %s: %v", name, call, err)
			}
			want := &table.Error{Op: call, Table: tbl.Schema().Name, Index: tt.q.Index, Key: keys.Key{PK: tt.q.PK}}
			if want.Index != "" {
				want.Key, want.IndexKey = keys.Key{}, want.Key
			}
			e, ok := errors.AsType[*table.Error](err)
			if !ok {
				t.Fatalf("%s, %s: %v", name, call, err)
			}
			place := *e
			place.Err = nil
			equal(t, name+", "+call, &place, want)
		}
	}
	must(t, second(table.TransactGet[account](t.Context(), tbl, nil))) // nothing to ask for
	for _, name := range []string{"", "\xff", strings.Repeat("x", 70_000)} {
		part := tbl.Project(name)
		for call, err := range map[string]error{
			"Get":         get(t.Context(), part, user),
			"BatchGet":    second(table.BatchGet[account](t.Context(), part, []keys.Key{user})),
			"TransactGet": second(table.TransactGet[account](t.Context(), part, []keys.Key{user})),
			"QueryPage":   second(table.QueryPage[account](t.Context(), part, table.Query{PK: user.PK})),
		} {
			if !errors.Is(err, table.ErrInvalid) {
				t.Errorf("%s of attribute %.9q: %v", call, name, err)
			}
		}
	}
	for name, view := range map[string]*table.Table{"view": tbl.Consistent(), "view of a view": tbl.Consistent().OfType("x")} {
		if err := second(table.QueryPage[account](t.Context(), view, table.Query{PK: "A", Index: "GSI1"})); !errors.Is(err, table.ErrInvalid) {
			t.Errorf("a consistent %s of a global index: %v", name, err)
		}
	}
	if n := len(onItems(faults)); n > 0 {
		t.Errorf("%d requests were sent", n)
	}
}

// marshaler is a value that becomes the item m.
type marshaler struct {
	m map[string]types.AttributeValue
}

func (v marshaler) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return mapOf(v.m), nil
}

func TestValuesAreNotChanged(t *testing.T) {
	t.Parallel()
	tbl, _ := newTable(t, appCore())
	shared := map[string]types.AttributeValue{"n": num("1")}
	for name, v := range map[string]any{
		"Item": table.Item(shared), "map": shared, "own encoding": marshaler{shared}, "own encoding, nothing": marshaler{},
	} {
		for call, err := range map[string]error{
			"Do":         tbl.Do(t.Context(), table.Put(user, v)),
			"Transact":   tbl.Transact(t.Context(), table.Put(user, v)),
			"BatchWrite": tbl.BatchWrite(t.Context(), table.Put(user, v)),
		} {
			if err != nil {
				t.Errorf("%s, %s: %v", name, call, err)
			}
		}
		equal(t, "attributes after "+name, len(shared), 1)
	}
}

// A condition about expiries needs a time at which something can have expired.
func TestClockBeforeExpiries(t *testing.T) {
	t.Parallel()
	faults := &tabletest.Faults{}
	client := tabletest.Client(t, faults.Install)
	spec := tabletest.NewWith(t, client, schema.Table{TTLAttribute: "ttl"}, nil).Schema()
	for _, tt := range []struct {
		at   time.Time
		want error
	}{{time.Time{}, table.ErrInvalid}, {time.Unix(0, 1), table.ErrInvalid}, {time.Unix(1, 0), nil}} {
		tbl := expect.Value(table.New(client, spec, &table.Options{Now: func() time.Time { return tt.at }}))(t)
		before := len(faults.Requests())
		for what, do := range map[string]func() error{
			"Create": func() error { return tbl.Do(t.Context(), table.Create(user, table.Item{})) },
			"Transact": func() error {
				return tbl.Transact(t.Context(), table.CheckMissing(keys.Key{PK: user.PK, SK: keys.Metadata}), table.Put(user, table.Item{}))
			},
			"Count": func() error { return expect.ErrOf(tbl.Count(t.Context(), table.Query{PK: user.PK})) },
		} {
			if err := do(); !errors.Is(err, tt.want) {
				t.Errorf("%s at %v: %v, want %v", what, tt.at, err, tt.want)
			}
			expect.OK(t, tbl.Do(t.Context(), table.Delete(user)))
			expect.Err(t, expect.ErrOf(table.Get[table.Item](t.Context(), tbl, user)), table.ErrNotFound)
		}
		if sent := len(faults.Requests()) - before; tt.want != nil && sent != 6 {
			t.Errorf("at %v: %d requests, want the deletions and reads alone", tt.at, sent)
		}
	}
}
