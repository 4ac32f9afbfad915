package idempotency_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// FuzzRequest makes two requests with arbitrary scopes and keys. Those that
// cannot be right are refused before the plan is made; the second is a
// repetition if and only if scope and key are those of the first.
func FuzzRequest(f *testing.F) {
	f.Add("", "k", "", "k")
	f.Add("a", "b", "a#b", "")
	f.Add("a#b", "c", "a", "b#c")
	f.Add("", "a#b", "a", "b")
	f.Add("", "a%23b", "a", "b")
	f.Add("\xff", "k", "", "\x00")
	f.Add(strings.Repeat("#", 255), strings.Repeat("#", 255), strings.Repeat("x", 256), "k")
	f.Add(strings.Repeat("#", 255), strings.Repeat("\x00", 255), strings.Repeat("#", 254), strings.Repeat("\x00", 255))
	f.Add("u-1", "k", "k", "u-1")
	f.Add("é日🙂", "METADATA", "é日", "🙂METADATA")
	stored := tabletest.New(f, spec, nil).Schema()
	f.Fuzz(func(t *testing.T, scope1, key1, scope2, key2 string) {
		faults := &tabletest.Faults{}
		tbl := expect.Value(table.New(tabletest.Client(t, faults.Install), stored, nil))(t)
		store := newStore(t, tbl, nil)
		done := map[idempotency.Request]bool{}
		for _, r := range []idempotency.Request{{Scope: scope1, Key: key1}, {Scope: scope2, Key: key2}} {
			valid := r.Key != "" && len(r.Key) <= 255 && len(r.Scope) <= 255 && utf8.ValidString(r.Scope) && utf8.ValidString(r.Key)
			planned, before := 0, len(faults.Requests())
			first, err := idempotency.Exec(t.Context(), store, r, func(context.Context) ([]table.Op, error) {
				planned++
				return nil, nil
			})
			if !valid {
				_, lookup := store.Lookup(t.Context(), r)
				for call, err := range map[string]error{"Exec": err, "Lookup": lookup, "Delete": store.Delete(t.Context(), r)} {
					if !errors.Is(err, idempotency.ErrInvalidRequest) {
						t.Errorf("%s of %+v: %v", call, r, err)
					}
				}
				if sent := len(faults.Requests()) - before; sent > 0 || planned > 0 {
					t.Errorf("%+v: %d requests, planned %d times", r, sent, planned)
				}
				continue
			}
			expect.OK(t, err)
			if first == done[r] || planned != 1 {
				t.Errorf("%+v, another was done before: %v: first %v, planned %d times", r, done, first, planned)
			}
			done[r] = true
		}
		for r := range done {
			expect.OK(t, store.Delete(t.Context(), r))
		}
	})
}

// FuzzSnapshot keeps arbitrary results. One is refused, and then nothing is
// written, or the first request and a repeated one get it with the JSON that was
// given.
func FuzzSnapshot(f *testing.F) {
	f.Add([]byte(`{"a":[1,2.5,null,true,"x",{}],"b":9007199254740993}`), int64(1), uint64(1), 1.5)
	f.Add([]byte(`[]`), int64(math.MaxInt64), uint64(math.MaxUint64), math.MaxFloat64)
	f.Add([]byte(`{"":1}`), int64(1<<53), uint64(1<<60), math.SmallestNonzeroFloat64)
	f.Add([]byte("\xff"), int64(math.MinInt64), uint64(1<<53+1), math.NaN())
	f.Add([]byte(`1e21`), int64(-1<<53-1), uint64(0), 1e21)
	f.Add([]byte(nil), int64(0), uint64(0), math.Inf(1))
	stored := tabletest.New(f, spec, nil)
	store := expect.Value(idempotency.New(stored, nil))(f)
	type results struct {
		Given, N, U, X any
		Text           []byte
		Int            int64
		Uint           uint64
		Float          float64
		Map            map[string]any
	}
	f.Fuzz(func(t *testing.T, text []byte, n int64, u uint64, x float64) {
		if bytes.Contains(text, []byte("-0")) || x == 0 && math.Signbit(x) {
			return // equal to 0, with another JSON
		}
		given := results{N: n, U: u, X: x, Text: text, Int: n, Uint: u, Float: x}
		_ = json.Unmarshal(text, &given.Given)
		_ = json.Unmarshal(text, &given.Map)
		request := func(key string) idempotency.Request {
			r := idempotency.Request{Scope: "fuzz", Key: key, Payload: idempotency.Text("")}
			expect.OK(t, store.Delete(t.Context(), r))
			return r
		}
		wantKept(t, store, request("struct"), given)
		wantKept(t, store, request("any"), given.Given)
		wantKept(t, store, request("list"), []any{given.Given, n, []uint64{u}, map[string]float64{"x": x}})
	})
}

// wantKept checks that a result is kept as it is, or refused.
func wantKept[R any](t *testing.T, store *idempotency.Store, r idempotency.Request, v R) {
	t.Helper()
	want, jsonErr := json.Marshal(v)
	for range 2 {
		result, err := idempotency.Do(t.Context(), store, r, planned(func() (idempotency.Plan[R], error) { return idempotency.Snapshot(v), nil }))
		if err != nil {
			if _, err := store.Lookup(t.Context(), r); !errors.Is(err, table.ErrNotFound) {
				t.Errorf("%#v is refused and written: %v", v, err)
			}
			return
		}
		got, err := json.Marshal(result.Value)
		if expect.OK(t, err); jsonErr != nil || !bytes.Equal(got, want) {
			t.Errorf("given %s, replayed %t: got %s", want, result.Replayed, got)
		}
	}
}

// FuzzForeignRecord has a request meet an arbitrary record under its key. The
// request returns the result in the record or an error, and nothing is written.
func FuzzForeignRecord(f *testing.F) {
	const print = `"fingerprint":{"B":"tJU3ZcWRE3IDj9Goj/wtuq2XzWgd4G9m7yGuzFvWosI="}`
	for _, record := range []string{
		`{}`,
		`{"txId":{"S":"tx-1"}}`,
		`{` + print + `,"result":{"M":{"id":{"S":"o-1"}}}}`,
		`{` + print + `,"result":{"S":"o-1"}}`,
		`{` + print + `,"result":null}`,
		`{` + print + `,"resultPK":{"S":"ORDER#o-1"},"resultSK":{"S":"METADATA"}}`,
		`{` + print + `,"resultPK":{"S":"ORDER#"},"resultSK":{"N":"1"}}`,
		`{"fingerprint":{"B":"AA=="},"result":{"M":{}}}`,
		`{"fingerprint":{"S":"x"},"result":{"M":{}},"attempt":{"N":"1"}}`,
		`{"expiresAt":{"N":"1e300"},"createdAt":{"S":"0000-00-00"},"result":{"M":{"at":{"S":"then"}}}}`,
		`{"expiresAt":{"N":"9999999999999999999999999999999999999"},` + print + `,"result":{"M":{"price":{"N":"1e999999"}}}}`,
		`{` + print + `,"result":{"L":[{"L":[{"NS":["1e5","-0.10"]},{"SS":["b","a"]},{"BS":["AA=="]}]}]}}`,
	} {
		f.Add(record)
	}
	f.Fuzz(func(t *testing.T, record string) {
		faults := &tabletest.Faults{}
		respond := func(status int, body string) tabletest.Fault {
			return func(r *http.Request, _ http.RoundTripper) (*http.Response, error) {
				return expect.Response(r, status, "", body), nil
			}
		}
		faults.Always("", respond(http.StatusOK, `{"Item":`+record+`}`))
		faults.Always("TransactWriteItems", respond(http.StatusBadRequest,
			`{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException","CancellationReasons":[`+
				`{"Code":"None"},{"Code":"ConditionalCheckFailed","Item":`+record+`}]}`))
		tbl := expect.Value(table.New(tabletest.Client(t, once, faults.Install), spec, nil))(t)
		for _, foreign := range []func(table.Item) (keys.Key, error){nil, appCoreOrder} {
			store := newStore(t, tbl, &idempotency.Options{Legacy: foreign})
			r := idempotency.Request{Scope: "shop", Key: "ana.lopez@example.com", Payload: idempotency.Text("null")}
			result, err := idempotency.Do(t.Context(), store, r, func(context.Context) (idempotency.Plan[order], error) {
				return idempotency.Snapshot(order{ID: "mine"}, table.Delete(orderKey("o-1"))), nil
			})
			switch {
			case err == nil && (!result.Replayed || result.Value.ID == "mine"):
				t.Errorf("%s: executed: %v", record, result)
			case err != nil && (result.Replayed || result.Value.ID != ""):
				t.Errorf("%s: %v with error %v", record, result, err)
			case err != nil && strings.Contains(err.Error(), r.Key) && !strings.Contains(record, r.Key):
				t.Errorf("the message holds the key: %v", err)
			}
			_, _ = store.Lookup(t.Context(), r)
		}
	})
}
