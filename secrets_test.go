package singletable_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"

	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/shard"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// secretText and secretDigits are what no text of an error and no line of a log
// may hold.
const (
	secretText   = "4111-1111-hidden"
	secretDigits = "98765432109876543210"
)

// fussy is a type whose methods say in their errors what they were given.
type fussy string

func (f fussy) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return nil, fmt.Errorf("cannot encode %s", string(f))
}

func (f *fussy) UnmarshalDynamoDBAttributeValue(v types.AttributeValue) error {
	return fmt.Errorf("cannot decode %v %s", v, secretText)
}

// unreadable is a type that encodes, and does not decode.
type unreadable string

func (u *unreadable) UnmarshalDynamoDBAttributeValue(types.AttributeValue) error {
	return errors.New("cannot decode")
}

// panicky is a type whose method panics with what it was given.
type panicky string

func (p panicky) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) { panic(string(p)) }

// leaks checks an error, and how it is logged.
func leaks(t *testing.T, what string, v any) {
	t.Helper()
	var texts []string
	if err, ok := v.(error); ok {
		texts = append(texts, err.Error(), fmt.Sprintf("%v %s %q", err, err, fmt.Errorf("wrapped: %w", err)))
	}
	if logged, ok := v.(slog.LogValuer); ok {
		texts = append(texts, logged.LogValue().Resolve().String())
	}
	var lines bytes.Buffer
	for _, handler := range []slog.Handler{slog.NewTextHandler(&lines, nil), slog.NewJSONHandler(&lines, nil)} {
		slog.New(handler).Error("x", "v", v, slog.Group("group", "list", []any{1}, "v", v))
	}
	for _, text := range append(texts, lines.String()) {
		for _, secret := range []string{secretText, secretDigits, "!ERROR", "!PANIC", "panicked"} {
			if strings.Contains(text, secret) {
				t.Errorf("%s: %q is in %s", what, secret, text)
			}
		}
	}
}

// refusals are errors of writes and queries with values that are refused.
func refusals(t *testing.T, tbl *table.Table) map[string]error {
	t.Helper()
	ctx := t.Context()
	key := keys.Key{PK: keys.User.PK(secretText), SK: keys.Profile}
	text := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	number := func(s string) types.AttributeValue { return &types.AttributeValueMemberN{Value: s} }
	all := map[string]error{}
	deep := text(secretText)
	for range 40 {
		deep = &types.AttributeValueMemberL{Value: []types.AttributeValue{deep}}
	}
	for name, value := range map[string]any{
		"text as a number":   number(secretText),
		"many digits":        number(secretDigits + secretDigits),
		"large number":       number(secretDigits + "e200"),
		"json.Number":        json.Number(secretText),
		"string set":         &types.AttributeValueMemberSS{Value: []string{secretText, secretText}},
		"number set":         &types.AttributeValueMemberNS{Value: []string{secretDigits, secretDigits + ".0"}},
		"set with a bad one": &types.AttributeValueMemberNS{Value: []string{"1", secretText}},
		"binary set":         &types.AttributeValueMemberBS{Value: [][]byte{[]byte(secretText), []byte(secretText)}},
		"no UTF-8":           secretText + "\xff",
		"deep":               deep,
		"fussy":              fussy(secretText),
		"fussy inside":       map[string][]fussy{"a": {secretText}},
		"panicky":            panicky(secretText),
		"infinite":           math.Inf(1),
		"number below a key": table.Item{secretText: number("x")},
		"set below a key":    table.Item{secretText: &types.AttributeValueMemberSS{}},
		"nil below a key":    table.Item{secretText: nil},
		"deep below a key":   table.Item{secretText: deep},
		"bad key":            map[string]int{secretText + "\xff": 1},
		"fussy below a key":  map[string]fussy{secretText: "x"},
		"struct below a key": map[string]any{secretText: []any{struct{ n int }{1}}},
		"too large":          strings.Repeat(secretText, 30_000),
	} {
		type holder struct{ V any }
		set := expression.Set(expression.Name("V"), expression.Value(value))
		condition := expression.Name("V").Equal(expression.Value(value))
		all[name+": Put"] = tbl.Do(ctx, table.Put(key, holder{value}))
		all[name+": Transact"] = tbl.Transact(ctx, table.Create(key, map[string]any{"V": value}).WithName("op"))
		all[name+": BatchWrite"] = tbl.BatchWrite(ctx, table.Put(key, holder{value}))
		all[name+": Update"] = tbl.Do(ctx, table.Update(key, set))
		if name != "too large" {
			all[name+": condition"] = tbl.Do(ctx, table.Delete(key).If(condition))
			_, all[name+": filter"] = table.QueryPage[table.Item](ctx, tbl, table.Query{PK: key.PK, Filter: condition})
			_, all[name+": scan"] = table.ScanPage[table.Item](ctx, tbl, table.Scan{Filter: condition})
		}
	}
	v := expression.Name("V")
	for name, condition := range map[string]expression.ConditionBuilder{
		"reversed BETWEEN": v.Between(expression.Value("z"+secretText), expression.Value(secretText)),
		"mixed BETWEEN":    v.Between(expression.Value(secretText), expression.Value(1)),
		"type":             v.AttributeType(secretText),
	} {
		all[name] = tbl.Do(ctx, table.Put(key, nil).If(condition))
	}
	all["key attribute"] = tbl.Do(ctx, table.Update(key, expression.Set(expression.Name("pk"), expression.Value(secretText))))
	all["index key"] = tbl.Do(ctx, table.Put(key, table.Item{"gsi1pk": number(secretDigits)}))
	all["long index key"] = tbl.Do(ctx, table.Put(key, table.Item{"gsi1pk": text(strings.Repeat(secretText, 200))}))
	all["bad key"] = tbl.Do(ctx, table.Delete(keys.Key{PK: keys.PK(secretText + "\xff"), SK: "x"}))
	all["bad cursor"] = second(table.QueryPage[table.Item](ctx, tbl, table.Query{PK: key.PK, After: secretText}))
	all["twice"] = tbl.Transact(ctx, table.Delete(key), table.Delete(key))
	return all
}

func second[A any](_ A, err error) error { return err }

// undecodable are attributes, as stored, and values that do not decode from them.
func undecodable(t *testing.T, tbl *table.Table) map[string]error {
	t.Helper()
	ctx := t.Context()
	key := keys.Key{PK: keys.User.PK(secretText), SK: keys.Profile}
	expect.OK(t, tbl.Do(ctx, table.Put(key, map[string]any{
		"text": secretText, "number": json.Number(secretDigits), "list": []any{1, map[string]any{"name": secretText}},
		"map": map[string]any{secretText: map[string]any{secretText: []string{"x"}}},
	})))
	all := map[string]error{}
	keep := func(name string, read ...error) {
		for i, err := range read {
			all[fmt.Sprint(name, " ", i)] = err
		}
	}
	keep("string into a number", reads[struct{ Text int }](ctx, tbl, key)...)
	keep("large number", reads[struct{ Number int8 }](ctx, tbl, key)...)
	keep("larger number", reads[struct{ Number int64 }](ctx, tbl, key)...)
	keep("string into a time", reads[struct{ Text time.Time }](ctx, tbl, key)...)
	keep("number into a time", reads[struct {
		Number attributevalue.UnixTime
	}](ctx, tbl, key)...)
	keep("string into text options", reads[struct {
		Text int `dynamodbav:",string"`
	}](ctx, tbl, key)...)
	keep("inside a list", reads[struct{ List []struct{ Name bool } }](ctx, tbl, key)...)
	keep("own method", reads[struct{ Text fussy }](ctx, tbl, key)...)
	keep("own method inside", reads[struct{ List []map[string]fussy }](ctx, tbl, key)...)
	keep("below a key", reads[struct{ Map map[string]int }](ctx, tbl, key)...)
	keep("below two keys", reads[struct{ Map map[string]*map[string][]int }](ctx, tbl, key)...)
	keep("own method below a key", reads[struct{ Map map[string]fussy }](ctx, tbl, key)...)
	keep("map of numbers", reads[map[string]int](ctx, tbl, key)...)
	keep("no struct", reads[[]int](ctx, tbl, key)...)
	return all
}

func reads[T any](ctx context.Context, tbl *table.Table, key keys.Key) []error {
	raw, err := table.Get[table.Item](ctx, tbl, key)
	if err != nil {
		return []error{nil}
	}
	var v T
	_, get := table.Get[T](ctx, tbl, key)
	_, page := table.QueryPage[T](ctx, tbl, table.Query{PK: key.PK})
	_, all := table.Collect(table.All[T](ctx, tbl, table.Query{PK: key.PK}))
	_, scan := table.ScanPage[T](ctx, tbl, table.Scan{})
	_, batch := table.BatchGet[T](ctx, tbl, []keys.Key{key})
	_, tx := table.TransactGet[T](ctx, tbl, []keys.Key{key})
	return []error{raw.Decode(&v), get, page, all, scan, batch, tx}
}

// garbled are errors of responses that cannot be read.
func garbled(t *testing.T, spec schema.Table, observe func(context.Context, table.Event)) map[string]error {
	t.Helper()
	all := map[string]error{}
	for name, body := range map[string]string{
		"number for a string": `{"Item":{"v":{"S":` + secretDigits + `}},"Items":[{"v":{"S":` + secretDigits + `}}]}`,
		"string for a count":  `{"Count":"` + secretText + `","Attributes":"` + secretText + `","Item":"` + secretText + `"}`,
		"capacity":            `{"ConsumedCapacity":{"CapacityUnits":"` + secretText + `"}}`,
		"no JSON":             secretText,
		"base64":              `{"Item":{"v":{"B":"` + secretText + `"}},"Items":[{"v":{"B":"` + secretText + `"}}]}`,
	} {
		for _, status := range []int{http.StatusOK, http.StatusBadRequest, http.StatusInternalServerError} {
			for _, bySDK := range []bool{false, true} {
				options := dynamodb.Options{
					Region: "eu-west-1", Credentials: aws.AnonymousCredentials{}, BaseEndpoint: aws.String("http://127.0.0.1:1"),
					Retryer: retry.AddWithMaxAttempts(retry.NewStandard(), 1), HTTPClient: fixedResponse{status, body},
				}
				if bySDK {
					options.APIOptions = append(options.APIOptions, func(*middleware.Stack) error { return nil })
				}
				tbl := expect.Value(table.New(dynamodb.New(options), spec, &table.Options{Observe: observe, MaxAttempts: 1}))(t)
				key := keys.Key{PK: "A", SK: "B"}
				at := fmt.Sprint(name, " ", status, " ", bySDK)
				all[at+": Get"] = second(table.Get[table.Item](t.Context(), tbl, key))
				all[at+": Query"] = second(table.QueryPage[table.Item](t.Context(), tbl, table.Query{PK: "A"}))
				all[at+": Put"] = tbl.Do(t.Context(), table.Put(key, nil))
				all[at+": Transact"] = tbl.Transact(t.Context(), table.Put(key, nil))
			}
		}
	}
	return all
}

// fixedResponse is an HTTP client that gives every request the same response.
type fixedResponse struct {
	status int
	body   string
}

func (f fixedResponse) Do(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: f.status, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}}, Request: r,
		ContentLength: int64(len(f.body)), Body: io.NopCloser(strings.NewReader(f.body)), Proto: "HTTP/1.1",
	}, nil
}

// TestErrorsQuoteNoValues feeds a secret to whatever can refuse it or fail over
// it. SECURITY.md says that neither texts of errors nor logs of errors and events
// hold it.
func TestErrorsQuoteNoValues(t *testing.T) {
	t.Parallel()
	var events []table.Event
	observe := func(_ context.Context, e table.Event) { events = append(events, e) }
	tbl := tabletest.New(t, shopSchema, &table.Options{Observe: observe})
	for _, errs := range []map[string]error{refusals(t, tbl), undecodable(t, tbl), garbled(t, tbl.Schema(), observe), packages(t, tbl)} {
		for name, err := range errs {
			if err != nil {
				leaks(t, name, err)
			}
		}
	}
	for _, e := range events {
		leaks(t, e.Operation, e)
	}
	for name, err := range undecodable(t, tbl) {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	// What is withheld is still there for a program.
	key := keys.Key{PK: keys.User.PK(secretText), SK: keys.Profile}
	_, err := table.Get[struct{ Number int64 }](t.Context(), tbl, key)
	if cause, ok := errors.AsType[*strconv.NumError](err); !ok || cause.Num != secretDigits {
		t.Errorf("the cause is lost: %v", err)
	}
}

// packages are errors of the packages above table.
func packages(t *testing.T, tbl *table.Table) map[string]error {
	t.Helper()
	ctx := t.Context()
	type broken struct {
		ID string `dynamodbav:"id"`
		V  fussy  `dynamodbav:"v"`
	}
	all := map[string]error{}
	r, err := repo.New(tbl, repo.Entity[broken]{Type: "broken", Key: func(b broken) keys.Key { return keys.Key{PK: keys.Tx.PK(b.ID), SK: keys.Metadata} }})
	expect.OK(t, err)
	all["repo.Save"] = r.Save(ctx, &broken{secretText, secretText})
	all["repo.Create"] = r.Create(ctx, &broken{secretText, secretText})
	key := keys.Key{PK: keys.Tx.PK("x"), SK: keys.Metadata}
	expect.OK(t, tbl.Do(ctx, table.Put(key, map[string]any{"entityType": "broken", "id": "x", "v": secretText, "gsi1pk": "B", "gsi1sk": secretText})))
	all["repo.Get"] = second(r.Get(ctx, key))
	s := expect.Value(shard.New[broken](tbl, shard.Index{Index: "GSI1", Prefix: "B", Shards: 1}, nil))(t)
	all["shard.Page"] = second(s.Page(ctx, shard.Query{Limit: 5, Descending: true}))
	store := expect.Value(idempotency.New(tbl, nil))(t)
	request := idempotency.Request{Key: secretText, Scope: secretText, Payload: idempotency.JSON(secretText)}
	do := func(r idempotency.Request, v any) error {
		_, err := idempotency.Do(ctx, store, r, func(context.Context) (idempotency.Plan[any], error) {
			return idempotency.Snapshot[any](v, table.Put(keys.Key{PK: "A", SK: "B"}, nil)), nil
		})
		return err
	}
	all["idempotency, result"] = do(request, fussy(secretText))
	all["idempotency, set"] = do(request, table.Item{"s": &types.AttributeValueMemberSS{Value: []string{secretText, secretText}}})
	all["idempotency, encode below a key"] = do(request, map[string]fussy{secretText: "x"})
	all["idempotency, struct below a key"] = do(request, map[string]any{secretText: struct{ n int }{1}})
	all["idempotency, number below a key"] = do(request, map[string]any{secretText: map[string]any{secretText: int64(1)<<53 + 1}})
	_, all["idempotency, decode below a key"] = idempotency.Do(ctx, store, request, func(context.Context) (idempotency.Plan[map[string]unreadable], error) {
		return idempotency.Snapshot(map[string]unreadable{secretText: "x"}, table.Put(keys.Key{PK: "A", SK: "B"}, nil)), nil
	})
	request.Payload = idempotency.JSON(json.Number(secretText))
	all["idempotency, payload"] = do(request, 1)
	request.Payload = idempotency.JSON(map[string]any{"a": json.RawMessage(secretText)})
	all["idempotency, raw payload"] = do(request, 1)
	leaks(t, "idempotency.Event", idempotency.Event{Kind: idempotency.Replayed, Scope: secretText, Key: keys.Key{PK: keys.PK(secretText)}})
	for name, err := range all {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	return all
}
