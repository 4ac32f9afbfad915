package conformance

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	gocmp "github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// now is the time by the clock of every table that is made here. By the time of day, nothing
// has expired then: DynamoDB Local deletes what has within seconds.
var now = time.Date(2100, time.January, 15, 10, 5, 0, 0, time.UTC)

// appCore is the table of most tests.
func appCore() schema.Table {
	return schema.Table{
		TTLAttribute: "expiresAt",
		Indexes: []schema.Index{
			{Name: "GSI1", PK: "gsi1pk", SK: "gsi1sk"},
			{Name: "LSI1", SK: "lsi1sk", Local: true},
		},
	}
}

// note is the value of most items.
type note struct {
	Type      string `dynamodbav:"entityType,omitempty"`
	ID        string `dynamodbav:"id,omitempty"`
	N         int    `dynamodbav:"n"`
	ExpiresAt int64  `dynamodbav:"expiresAt,omitempty"`
	GSI1PK    string `dynamodbav:"gsi1pk,omitempty"`
	GSI1SK    string `dynamodbav:"gsi1sk,omitempty"`
	LSI1SK    string `dynamodbav:"lsi1sk,omitempty"`
}

var (
	user  = keys.Key{PK: keys.User.PK("u-123"), SK: keys.Profile}
	other = keys.Key{PK: keys.User.PK("u-456"), SK: keys.Profile}
)

// txKey is the key of the user's i-th transaction, in order of time.
func txKey(i int) keys.Key {
	at := now.Add(time.Duration(i) * time.Minute)
	return keys.Key{PK: user.PK, SK: keys.Tx.SK(keys.Time(at), keys.Str(fmt.Sprintf("tx-%04d", i)))}
}

// options returns the options of a table whose clock stands still.
func options() *table.Options {
	return &table.Options{Now: func() time.Time { return now }}
}

// newTable returns a new table on the engine.
func (h Harness) newTable(t *testing.T, spec schema.Table) *table.Table {
	t.Helper()
	return h.newTableWith(t, h.Client(t), spec, options())
}

// newTableWith returns a new table that the client reaches.
func (h Harness) newTableWith(t *testing.T, client *dynamodb.Client, spec schema.Table, opts *table.Options) *table.Table {
	t.Helper()
	tbl := tabletest.NewWith(named{t, h.TablePrefix + t.Name()}, client, spec, opts)
	if h.Tables == nil {
		return tbl
	}
	return h.open(t, client, tbl.Schema(), opts)
}

// open returns a table that is there.
func (h Harness) open(t *testing.T, client *dynamodb.Client, spec schema.Table, opts *table.Options) *table.Table {
	t.Helper()
	if h.Tables == nil {
		return expect.Value(table.New(client, spec, opts))(t)
	}
	return expect.Value(h.Tables.New(client, spec, opts))(t)
}

// named is a test under another name, which tables are called after.
type named struct {
	testing.TB
	name string
}

// Name returns the other name.
func (n named) Name() string { return n.name }

// withFaults returns a new table on the engine, and the faults in between. The
// SDK's retries are as many as usual, without the usual delays.
func (h Harness) withFaults(t *testing.T, spec schema.Table, opts *table.Options) (*table.Table, *tabletest.Faults) {
	t.Helper()
	if opts == nil {
		opts = options()
	}
	faults := &tabletest.Faults{}
	return h.newTableWith(t, h.Client(t, promptRetries, faults.Install), spec, opts), faults
}

func promptRetries(o *dynamodb.Options) {
	if r, ok := o.Retryer.(aws.RetryerV2); ok {
		o.Retryer = prompt{r}
	}
}

// prompt is the client's own retryer, without its delays.
type prompt struct{ aws.RetryerV2 }

func (prompt) RetryDelay(int, error) (time.Duration, error) { return time.Millisecond, nil }

// itemRequests are the operations on items that a Table sends.
var itemRequests = []string{
	"GetItem", "BatchGetItem", "TransactGetItems", "Query",
	"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems",
}

// sent returns how many requests about items were sent.
func sent(faults *tabletest.Faults) int { return len(faults.Requests(itemRequests...)) }

// bodyField returns a field of a request's body as text, "" if it is missing.
func bodyField(t *testing.T, r tabletest.Request, field string) string {
	t.Helper()
	var body map[string]any
	expect.OK(t, json.Unmarshal(r.Body, &body))
	if body[field] == nil {
		return ""
	}
	return fmt.Sprint(body[field])
}

var (
	must    = expect.OK
	wantErr = expect.Err
	wantNot = expect.NotErr
)

// equal checks that got is what is wanted.
func equal[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	expect.Equal(t, what, got, want)
}

// stored checks what is under a key.
func stored(t *testing.T, tbl *table.Table, key keys.Key, want note) {
	t.Helper()
	got := expect.Value(table.Get[note](t.Context(), tbl.Consistent(), key))(t)
	equal(t, "stored item", got, want)
}

// absent checks that nothing is under a key.
func absent(t *testing.T, tbl *table.Table, key keys.Key) {
	t.Helper()
	wantErr(t, expect.ErrOf(table.Get[note](t.Context(), tbl.Consistent(), key)), table.ErrNotFound)
}

// runs are the ways to run one op.
func runs(t *testing.T, tbl *table.Table) map[string]func(table.Op) error {
	t.Helper()
	return map[string]func(table.Op) error{
		"alone":            func(op table.Op) error { return tbl.Do(t.Context(), op) },
		"in a transaction": func(op table.Op) error { return tbl.Transact(t.Context(), op) },
	}
}

// seed stores n transactions of the user, numbered from 0 in order of time.
func seed(t *testing.T, tbl *table.Table, n int) {
	t.Helper()
	ops := make([]table.Op, n)
	for i := range ops {
		ops[i] = table.Put(txKey(i), note{Type: "tx", N: i})
	}
	must(t, tbl.BatchWrite(t.Context(), ops...))
}

// inOrder returns the notes found, in the order of the keys, and the keys of the
// others.
func inOrder(got map[keys.Key]note, ks []keys.Key) (found []note, missing []keys.Key) {
	for _, k := range ks {
		if v, ok := got[k]; ok {
			found = append(found, v)
		} else {
			missing = append(missing, k)
		}
	}
	return found, missing
}

// numbers returns the field N of notes.
func numbers(notes []note) []int {
	ns := make([]int, len(notes))
	for i, v := range notes {
		ns[i] = v.N
	}
	return ns
}

// span returns the numbers from first to last, either way.
func span(first, last int) []int {
	if first > last {
		ns := span(last, first)
		slices.Reverse(ns)
		return ns
	}
	ns := []int{}
	for i := first; i <= last; i++ {
		ns = append(ns, i)
	}
	return ns
}

// pages reads a query page by page to its end. between, if set, is called after
// each page.
func pages(t *testing.T, tbl *table.Table, q table.Query, between func(page int)) [][]int {
	t.Helper()
	var all [][]int
	for range 1000 {
		page := expect.Value(table.QueryPage[note](t.Context(), tbl, q))(t)
		all = append(all, numbers(page.Items))
		if page.Next == "" {
			return all
		}
		q.After = page.Next
		if between != nil {
			between(len(all))
		}
	}
	t.Fatal("1000 pages and no end")
	return nil
}

// joined returns the items of all pages.
func joined(all [][]int) []int { return slices.Concat(all...) }

func setN(n int) expression.UpdateBuilder {
	return expression.Set(expression.Name("n"), expression.Value(n))
}

func addN(n int) expression.UpdateBuilder {
	return expression.Add(expression.Name("n"), expression.Value(n))
}

func nIs(n int) expression.ConditionBuilder {
	return expression.Name("n").Equal(expression.Value(n))
}

func str(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
func num(s string) types.AttributeValue { return &types.AttributeValueMemberN{Value: s} }

// long returns a text of n bytes.
func long(n int) string { return strings.Repeat("x", n) }

// diffItems compares items attribute by attribute.
func diffItems(want, got map[string]types.AttributeValue) string {
	return gocmp.Diff(want, got, gocmp.Exporter(func(reflect.Type) bool { return true }))
}

func value(v any) expression.ValueBuilder { return expression.Value(v) }

func setString(attribute, s string) expression.UpdateBuilder {
	return expression.Set(expression.Name(attribute), expression.Value(s))
}

// txTime is the time in the key of the user's i-th transaction.
func txTime(i int) time.Time { return now.Add(time.Duration(i) * time.Minute) }

// holds reports whether the text of an unsealed token holds part.
func holds(t *testing.T, token, part string) bool {
	t.Helper()
	for skip := range min(4, len(token)) {
		for cut := range 4 {
			text, err := base64.RawURLEncoding.DecodeString(token[skip : len(token)-cut])
			if err == nil && strings.Contains(string(text), part) {
				return true
			}
		}
	}
	return false
}
