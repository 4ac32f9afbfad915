package idempotency_test

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/table"
)

func TestRequestsThatCannotBe(t *testing.T) {
	t.Parallel()
	s := newShop(t, promptly)
	for name, r := range map[string]idempotency.Request{
		"no key":                  {Scope: "s"},
		"a key that is too long":  {Scope: "s", Key: strings.Repeat("k", 256)},
		"a scope that is too":     {Scope: strings.Repeat("s", 256), Key: "k"},
		"a key that is no text":   {Scope: "s", Key: "k\xff"},
		"a scope that is no text": {Scope: "s\xff", Key: "k"},
		"a negative time to keep": {Scope: "s", Key: "k", TTL: -time.Hour},
		"a short time to keep":    {Scope: "s", Key: "k", TTL: time.Second - 1},
	} {
		t.Run(name, func(t *testing.T) {
			calls := map[string]func() error{
				"Do": func() error {
					_, err := idempotency.Do(t.Context(), s.store, r, s.snapshot("k"))
					return err
				},
				"Once": func() error {
					_, err := idempotency.Once(t.Context(), s.store, r, nil)
					return err
				},
				"Lookup": func() error {
					_, err := s.store.Lookup(t.Context(), r)
					return err
				},
				"Evict": func() error { return s.store.Evict(t.Context(), r) },
			}
			for op, call := range calls {
				n := s.sent(func() {
					err := call()
					wantErr(t, err, idempotency.ErrInvalidRequest, table.ErrInvalidOp)
					equal(t, "class", table.Classify(err), table.Permanent)
					e, ok := errors.AsType[*idempotency.Error](err)
					if !ok || e.Op != op || e.Scope != r.Scope {
						t.Errorf("%s: error %#v", op, err)
					}
				})
				equal(t, op+": requests", n, 0)
			}
		})
	}
	for name, payload := range map[string]any{
		"a payload that is no JSON": make(chan int),
		"a payload without a form":  math.NaN(),
	} {
		t.Run(name, func(t *testing.T) {
			r := request("k")
			r.Payload = payload
			n := s.sent(func() {
				_, err := idempotency.Do(t.Context(), s.store, r, s.snapshot("k"))
				wantErr(t, err, idempotency.ErrInvalidRequest)
				_, err = r.Fingerprint()
				wantErr(t, err, idempotency.ErrInvalidRequest)
			})
			equal(t, "requests", n, 0)
		})
	}
	equal(t, "orders", s.drawn, 0)
}

func TestLongestKey(t *testing.T) {
	t.Parallel()
	s := newShop(t, promptly)
	r := idempotency.Request{Scope: strings.Repeat("#", 255), Key: strings.Repeat("%", 255)}
	for i := range 2 {
		result, err := idempotency.Do(t.Context(), s.store, r, s.snapshot("k"))
		must(t, err)
		equal(t, "replayed", result.Replayed, i == 1)
	}
}

// TestFingerprintsOfEarlierReleases fails when a request that is repeated after a
// deployment would be taken for another one.
func TestFingerprintsOfEarlierReleases(t *testing.T) {
	t.Parallel()
	for payload, want := range map[string]string{
		`{"b": 1, "a": ["x", null, 1.50, "<é"]}`: "27a7393bde6c5515d9fcde1c440a2c8284bd31c78c1c94d00c8cdadb4c044ae5",
		"plain text": "2c4afbfcee3d3d9b5d2a927d1174de36001998ebc0c116861ac42f77834f84b3",
	} {
		got, err := idempotency.Request{Payload: []byte(payload)}.Fingerprint()
		must(t, err)
		equal(t, payload, hex.EncodeToString(got[:]), want)
	}
}

// Payloads of one line have one fingerprint, those of different
// lines have different ones.
func TestFingerprint(t *testing.T) {
	t.Parallel()
	type body struct {
		B int    `json:"b"`
		A string `json:"a"`
	}
	lines := [][]any{
		{
			[]byte(`{"a":"x","b":1}`), []byte(" {\n\t\"b\": 1, \"a\": \"x\"}\r\n"), json.RawMessage(`{"a":"\u0078","b":1}`),
			body{A: "x", B: 1},
			&body{A: "x", B: 1},
			map[string]any{"a": "x", "b": 1},
		},
		{[]byte(`{"a":"x","b":1.0}`)},
		{[]byte(`{"a":"x","b":1e0}`)},
		{[]byte(`{"a":"x","b":2}`)},
		{[]byte(`{"a":"x","b":"1"}`)},
		{[]byte(`{"A":"x","b":1}`)},
		{[]byte(`{"a":"x"}`)},
		{[]byte(`[1,2]`), []int{1, 2}},
		{[]byte(`[2,1]`)},
		{[]byte(`[[1],2]`)},
		{[]byte(`[{"a":1,"b":2}]`), []byte(`[{"b":2,"a":1}]`)},
		{[]byte(`{"a":[1,2]}`)},
		{[]byte(`{"a":[2,1]}`)},
		{[]byte(`9007199254740992`)},
		{[]byte(`9007199254740993`), int64(9007199254740993), json.Number("9007199254740993")},
		{[]byte(`123456789012345678901234567890`)},
		{[]byte(`123456789012345678901234567891`)},
		{[]byte(`1e400`)},
		{[]byte(`1e401`)},
		{nil, []byte(`null`), (*body)(nil)},
		{[]byte{}, []byte(nil), json.RawMessage(nil)},
		{[]byte(` `)},
		{[]byte(`{"a":1} {"b":2}`)},
		{[]byte(`{"a":1}x`)},
		{[]byte(`{"a":1`)},
		{[]byte(`plain text`)},
		{"plain text", []byte(`"plain text"`)},
		{[]byte{0, 1, 254, 255}},
		{[]byte("\"\xff\"")},
		{[]byte("\"\xfe\"")},
		{[]byte("\"\ufffd\""), []byte(`"\ufffd"`), "\ufffd"},
		{[]byte(`"\ud800"`)},
		{[]byte(`"\udc00"`)},
		{[]byte(`"\ud800\ud800"`)},
		{[]byte(`"\ud83d\ude00"`), "😀"},
		{[]byte(`"\\ud800"`), `\ud800`},
		{[]byte(`"\\\ud800"`)},
		{[]byte(`"<"`), "<", []byte(`"\u003c"`)},
		{[]byte(`""`), ""},
		{[]byte(`{}`), struct{}{}, map[string]int{}},
		{[]byte(`[]`), []int{}},
		{[]byte(`false`), false},
		{[]byte(`0`), 0},
		{[]byte(`-0`)},
	}
	seen := map[[32]byte]int{}
	for i, payloads := range lines {
		var first [32]byte
		for j, payload := range payloads {
			got, err := idempotency.Request{Payload: payload}.Fingerprint()
			must(t, err)
			if j == 0 {
				first = got
			}
			if got != first {
				t.Errorf("line %d: payload %d has another fingerprint: %s", i, j, payload)
			}
		}
		if other, ok := seen[first]; ok {
			t.Errorf("lines %d and %d have one fingerprint", other, i)
		}
		seen[first] = i
	}
}

// The fingerprint of one release must be that of the next, or all that is
// repeated meanwhile is refused.
func TestFingerprintStays(t *testing.T) {
	t.Parallel()
	for payload, want := range map[string]string{
		`{"b": [1, 2.50], "a": "<ü>"}`: "c0512d86367c08e70706fbbefd165194369b8b8a00130afa387a5f143f128025",
		`plain text`:                   "2c4afbfcee3d3d9b5d2a927d1174de36001998ebc0c116861ac42f77834f84b3",
	} {
		got, err := idempotency.Request{Payload: []byte(payload)}.Fingerprint()
		must(t, err)
		equal(t, payload, fmt.Sprintf("%x", got), want)
	}
}

// Request.Payload is all that the fingerprint is of.
func TestFingerprintIsOfThePayload(t *testing.T) {
	t.Parallel()
	a, err := idempotency.Request{Payload: 1}.Fingerprint()
	must(t, err)
	b, err := idempotency.Request{Scope: "s", Key: "k", TTL: time.Hour, Payload: 1}.Fingerprint()
	must(t, err)
	equal(t, "fingerprint", b, a)
}
