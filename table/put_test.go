package table_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// inputItems are the sizes of the items that the inputs of puts have.
type inputItems struct {
	mu    sync.Mutex
	sizes []int
}

func (i *inputItems) look(in any) {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch in := in.(type) {
	case *dynamodb.PutItemInput:
		i.sizes = append(i.sizes, len(in.Item))
	case *dynamodb.TransactWriteItemsInput:
		for _, w := range in.TransactItems {
			if w.Put != nil {
				i.sizes = append(i.sizes, len(w.Put.Item))
			}
		}
	}
}

// BeforeExecution makes it an interceptor.
func (i *inputItems) BeforeExecution(_ context.Context, in *smithyhttp.InterceptorContext) error {
	i.look(in.Input)
	return nil
}

// otherProtocol is a protocol that the library does not know.
type otherProtocol struct{ smithyhttp.ClientProtocol }

func (otherProtocol) ID() smithy.ShapeID { return smithy.ShapeID{Name: "other"} }

// looking is a wrapper of a client that looks at inputs.
type looking struct {
	table.Client
	at *inputItems
}

func (l looking) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	l.at.look(in)
	return l.Client.PutItem(ctx, in, o...)
}

func (l looking) TransactWriteItems(
	ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options),
) (*dynamodb.TransactWriteItemsOutput, error) {
	l.at.look(in)
	return l.Client.TransactWriteItems(ctx, in, o...)
}

// TestPutsAreEqualForEveryClient shows that every client sends the same requests,
// and that wrappers and middleware find the items in the inputs.
func TestPutsAreEqualForEveryClient(t *testing.T) {
	t.Parallel()
	own, _ := newTable(t, appCore())
	spec := own.Schema()
	sets := table.Item{"set": &types.AttributeValueMemberSS{Value: []string{"a", "b"}}} // not written in one pass
	write := func(tbl *table.Table) {
		must(t, tbl.Do(t.Context(), table.Put(user, account{Name: "Ann", N: 1})))
		must(t, tbl.Transact(t.Context(),
			table.Put(keys.Key{PK: "A", SK: "1"}, account{Name: "é\u2028\"\\\x00", N: 1}), table.Put(keys.Key{PK: "A", SK: "2"}, sets),
			table.Delete(keys.Key{PK: "A", SK: "3"}), table.Put(keys.Key{PK: "A", SK: "4"}, table.Item{"n": num("4")}), table.Put(keys.Key{PK: "A", SK: "5"}, nil)))
	}
	var want string
	for _, c := range []struct {
		name    string
		seen    bool
		options table.Options
		client  func(*inputItems, *tabletest.Faults) table.Client
	}{
		{"directly", false, table.Options{}, func(_ *inputItems, f *tabletest.Faults) table.Client { return tabletest.Client(t, f.Install) }},
		{"wrapper", true, table.Options{}, func(i *inputItems, f *tabletest.Faults) table.Client {
			return looking{tabletest.Client(t, f.Install), i}
		}},
		{"middleware", true, table.Options{}, func(i *inputItems, f *tabletest.Faults) table.Client {
			return tabletest.Client(t, f.Install, watch(func(in, _ any) { i.look(in) }))
		}},
		{"interceptor", true, table.Options{}, func(i *inputItems, f *tabletest.Faults) table.Client {
			return tabletest.Client(t, f.Install, func(o *dynamodb.Options) { o.Interceptors.AddBeforeExecution(i) })
		}},
		{"another protocol", false, table.Options{}, func(_ *inputItems, f *tabletest.Faults) table.Client {
			return tabletest.Client(t, f.Install, func(o *dynamodb.Options) { o.Protocol = otherProtocol{o.Protocol} })
		}},
	} {
		var inputs inputItems
		var faults tabletest.Faults
		write(expect.Value(table.NewWithClient(c.client(&inputs, &faults), spec, &c.options))(t))
		got := tabletest.Transcript(faults.Requests(), nil)
		if want == "" {
			want = got
		}
		equal(t, c.name+": requests", got, want)
		if c.seen {
			equal(t, c.name+": attributes in the inputs", inputs.sizes, []int{4, 4, 3, 3, 2})
		}
	}
	for _, text := range []string{`"Ann"`, `"SS"`} {
		if !strings.Contains(want, text) {
			t.Errorf("no request has %s:\n%s", text, want)
		}
	}
}

// TestPutIsStoredAsGiven reads hostile values back from the engine.
func TestPutIsStoredAsGiven(t *testing.T) {
	t.Parallel()
	type hostile struct {
		PK    string `dynamodbav:"pk"`
		Text  string
		Bytes []byte
		Tags  []string
		Int   int64
		Float float64
		Null  *string
		Inner struct{ Map map[string]any }
	}
	tbl, _ := newTable(t, appCore())
	v := hostile{
		PK: "another's", Text: "\x00\x01\x1f\"\\/\b\f\n\r\t\x7f\u0080é\u2028\u2029\ufeff\U0001F600<&>", Bytes: []byte("\x00\xff"), Tags: []string{"", "\u2028"},
		Int: -1 << 63, Float: -1.5e-99, Inner: struct{ Map map[string]any }{map[string]any{"a\"\n": []any{true, nil, "x"}}},
	}
	must(t, tbl.Do(t.Context(), table.Put(user, v)))
	must(t, tbl.Transact(t.Context(), table.Create(keys.Key{PK: user.PK, SK: "created"}, &v)))
	v.PK = string(user.PK)
	for _, sk := range []keys.SK{user.SK, "created"} {
		got := expect.Value(table.Get[hostile](t.Context(), tbl.Consistent(), keys.Key{PK: user.PK, SK: sk}))(t)
		equal(t, "stored", got, v)
	}
}

// TestLargestPut shows that the limit of 400 KB is met to the byte, whoever writes
// the item, and that of a transaction.
func TestLargestPut(t *testing.T) {
	t.Parallel()
	tbl, _ := newTable(t, appCore())
	set := func(text string) any {
		return table.Item{"text": str(text), "s": &types.AttributeValueMemberSS{Value: []string{"a"}}}
	}
	type structure struct {
		Text string `dynamodbav:"text"`
		N    int    `dynamodbav:"n"`
	}
	for name, of := range map[string]func(string) any{
		"struct": func(text string) any { return structure{Text: text, N: -1234} },
		"Item":   func(text string) any { return table.Item{"text": str(text), "n": num("-1234")} },
		"set":    set,
	} {
		key := keys.Key{PK: "LARGE", SK: keys.SK(name)}
		must(t, tbl.Do(t.Context(), table.Put(key, of(""))))
		rest := table.MaxItemSize - expect.Value(table.Get[table.Item](t.Context(), tbl, key))(t).Size()
		must(t, tbl.Do(t.Context(), table.Put(key, of(strings.Repeat("x", rest)))))
		for call, err := range map[string]error{
			"Do":       tbl.Do(t.Context(), table.Put(key, of(strings.Repeat("x", rest+1)))),
			"Transact": tbl.Transact(t.Context(), table.Put(key, of(strings.Repeat("x", rest+1)))),
		} {
			if !errors.Is(err, table.ErrTooLarge) || !strings.Contains(err.Error(), "the item has 409601 bytes") {
				t.Errorf("%s of a %s: %v", call, name, err)
			}
		}
	}
}

// TestIndexKeysInStructsAreChecked gives invalid index keys in fields, which have the
// same errors as in an [table.Item].
func TestIndexKeysInStructsAreChecked(t *testing.T) {
	t.Parallel()
	tbl, faults := newTable(t, appCore())
	type text struct {
		PK string `dynamodbav:"gsi1pk"`
	}
	type number struct {
		PK int `dynamodbav:"gsi1pk"`
	}
	type null struct {
		PK *string `dynamodbav:"gsi1pk"`
	}
	for name, v := range map[string]struct {
		item table.Item
		v    any
	}{
		"empty":  {table.Item{"gsi1pk": str("")}, text{}},
		"number": {table.Item{"gsi1pk": num("1")}, number{1}},
		"NULL":   {table.Item{"gsi1pk": &types.AttributeValueMemberNULL{Value: true}}, null{}},
		"long":   {table.Item{"gsi1pk": str(strings.Repeat("x", 2049))}, &text{strings.Repeat("x", 2049)}},
	} {
		want, got := tbl.Do(t.Context(), table.Put(user, v.item)), tbl.Do(t.Context(), table.Put(user, v.v))
		if !errors.Is(got, table.ErrInvalid) || got.Error() != want.Error() {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if n := len(onItems(faults)); n > 0 {
		t.Errorf("%d requests were sent", n)
	}
}

// TestLongestIndexKeys puts the longest keys of indexes, and longer ones. What is a
// partition key of one index and a sort key of another has the lower limit.
func TestLongestIndexKeys(t *testing.T) {
	t.Parallel()
	tbl, _ := newTable(t, schema.Table{Indexes: []schema.Index{
		{Name: "first", PK: "both", SK: "sort"}, {Name: "second", PK: "partition", SK: "both"},
	}})
	for attribute, tt := range map[string]struct {
		limit int
		rule  string
	}{
		"partition": {keys.MaxPK, "is a key of index second and cannot have more than 2048 bytes"},
		"sort":      {keys.MaxSK, "is a key of index first and cannot have more than 1024 bytes"},
		"both":      {keys.MaxSK, "is a key of index second and cannot have more than 1024 bytes"},
	} {
		put := func(n int) error {
			text := strings.Repeat("x", n)
			item := tbl.Do(t.Context(), table.Put(user, table.Item{attribute: str(text)}))
			expect.Equal(t, "error for a map", fmt.Sprint(tbl.Do(t.Context(), table.Put(user, map[string]string{attribute: text}))), fmt.Sprint(item))
			return item
		}
		must(t, put(tt.limit))
		for _, n := range []int{tt.limit + 1, keys.MaxPK + 1} {
			if err := put(n); !errors.Is(err, table.ErrInvalid) || !strings.Contains(err.Error(), tt.rule) {
				t.Errorf("%s of %d bytes: %v", attribute, n, err)
			}
		}
	}
}

func TestIndexKey(t *testing.T) {
	t.Parallel()
	spec := schema.Table{Name: "Games", Indexes: []schema.Index{{Name: "both", PK: "a", SK: "b"}, {Name: "one", PK: "c"}}}
	tbl := expect.Value(table.New(tabletest.Client(t), spec, nil))(t)
	for index, want := range map[string]table.Item{
		"":     {"pk": str("P"), "sk": str("S")},
		"both": {"a": str("P"), "b": str("S")},
		"one":  {"c": str("P")},
	} {
		got := expect.Value(tbl.IndexKey(index, keys.Key{PK: "P", SK: "S"}))(t)
		equal(t, "names and values in "+index, fmt.Sprint(got.Size(), tbl.KeyOf(index, got)), fmt.Sprint(want.Size(), tbl.KeyOf(index, want)))
		equal(t, "attributes in "+index, len(got), len(want))
		if index != "" {
			equal(t, "attributes of no key", len(expect.Value(tbl.IndexKey(index, keys.Key{}))(t)), 0)
		}
	}
}

// TestConcurrentUseOfAnOp runs one op from several goroutines.
func TestConcurrentUseOfAnOp(t *testing.T) {
	t.Parallel()
	own, _ := newTable(t, appCore())
	wrapped := expect.Value(table.NewWithClient(struct{ table.Client }{tabletest.Client(t)}, own.Schema(), nil))(t)
	op := table.Put(user, account{Name: "Ann", N: 7})
	var all sync.WaitGroup
	for range 4 {
		for _, tbl := range []*table.Table{own, wrapped} {
			all.Go(func() {
				if err := tbl.Do(t.Context(), op); err != nil {
					t.Error(err)
				}
			})
		}
	}
	all.Wait()
}
