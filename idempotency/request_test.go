package idempotency_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/table"
)

func TestInvalidRequests(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for name, r := range map[string]idempotency.Request{
		"no key":                    {Scope: "s"},
		"a key that is too long":    {Scope: "s", Key: strings.Repeat("k", 256)},
		"a scope that is too long":  {Scope: strings.Repeat("s", 256), Key: "k"},
		"a key that is not UTF-8":   {Scope: "s", Key: "k\xff"},
		"a scope that is not UTF-8": {Scope: "s\xff", Key: "k"},
		"a negative TTL":            {Scope: "s", Key: "k", TTL: -time.Hour},
		"a short TTL":               {Scope: "s", Key: "k", TTL: time.Second - 1},
	} {
		t.Run(name, func(t *testing.T) {
			calls := map[string]func() error{
				"Do":     func() error { return expect.ErrOf(idempotency.Do(t.Context(), s.store, r, s.snapshot("k"))) },
				"Exec":   func() error { return expect.ErrOf(idempotency.Exec(t.Context(), s.store, r, nil)) },
				"Lookup": func() error { return expect.ErrOf(s.store.Lookup(t.Context(), r)) },
				"Delete": func() error { return s.store.Delete(t.Context(), r) },
			}
			for op, call := range calls {
				n := s.sent(func() {
					err := call()
					wantErr(t, err, idempotency.ErrInvalidRequest, table.ErrInvalid)
					expect.Equal(t, "class", table.Classify(err), table.Permanent)
					e, ok := errors.AsType[*table.Error](err)
					if !ok || e.Op != op {
						t.Errorf("%s: error %#v", op, err)
					}
				})
				expect.Equal(t, op+": requests", n, 0)
			}
		})
	}
	expect.Equal(t, "orders", s.drawn, 0)
}

// Without a payload, Do could not tell another request with the key. An empty one is a
// payload.
func TestMissingPayload(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for _, scope := range []string{"", "s"} {
		for _, payload := range []idempotency.Payload{{}, idempotency.JSON(nil), idempotency.JSON((*audit)(nil))} {
			r := idempotency.Request{Scope: scope, Key: "k", Payload: payload}
			n := s.sent(func() {
				err := expect.ErrOf(idempotency.Do(t.Context(), s.store, r, s.snapshot("k")))
				wantErr(t, err, idempotency.ErrInvalidRequest)
				if err == nil || !strings.Contains(err.Error(), "Payload") {
					t.Errorf("error %v", err)
				}
			})
			expect.Equal(t, "requests", n, 0)
		}
	}
	for i, payload := range []idempotency.Payload{
		idempotency.JSON(""), idempotency.Text(""), idempotency.JSON([]byte(nil)), idempotency.Text("null"), idempotency.JSON(map[string]string(nil)),
	} {
		r := idempotency.Request{Key: strconv.Itoa(i), Payload: payload}
		for _, replayed := range []bool{false, true} {
			result := expect.Value(idempotency.Do(t.Context(), s.store, r, s.snapshot("k")))(t)
			expect.Equal(t, "replayed", result.Replayed, replayed)
		}
		r.Payload = idempotency.JSON("another")
		wantErr(t, expect.ErrOf(idempotency.Do(t.Context(), s.store, r, s.snapshot("k"))), idempotency.ErrPayloadMismatch)
	}
}

// A Payload is small: it does not keep what it was made of. Equal ones ask for the same.
func TestPayloadsAreComparable(t *testing.T) {
	t.Parallel()
	const secret = "secret"
	body := idempotency.Text(`{"a": "secret", "b": 1}`)
	expect.Equal(t, "equal", body == idempotency.JSON(map[string]any{"b": 1, "a": secret}), true)
	expect.Equal(t, "a key of a map", map[idempotency.Request]bool{{Key: "k", Payload: body}: true}[idempotency.Request{Key: "k", Payload: body}], true)
	for _, p := range []idempotency.Payload{{}, idempotency.Text(""), idempotency.Text(`{"a": "secret", "b": 2}`), idempotency.JSON(code{"refused"})} {
		expect.Equal(t, "equal", body == p, false)
	}
	for _, p := range []idempotency.Payload{body, idempotency.JSON(code{"refused"})} {
		if text := fmt.Sprintf("%v %+v", p, p); strings.Contains(text, secret) {
			t.Errorf("%s", text)
		}
	}
}

// base and audit are embedded in payloads.
type base struct{ ID string }

type audit struct{ ID string }

type owner struct{ Name string }

// code writes itself as text.
type code struct{ text string }

func (c code) MarshalText() ([]byte, error) {
	if c.text == "refused" {
		return nil, errRefused
	}
	return []byte(c.text), nil
}

// codeName writes itself as text, but not as the key of a map.
type codeName string

func (codeName) MarshalText() ([]byte, error) { return nil, nil }

// twoForms writes itself as JSON, and as text as the key of a map.
type twoForms struct{ code }

func (twoForms) MarshalJSON() ([]byte, error) { return []byte("1"), nil }

// letter and letterPointer write themselves as text, so that package json does not
// take a slice of them for bytes.
type letter byte

func (l letter) MarshalText() ([]byte, error) { return []byte{byte(l)}, nil }

type letterPointer byte

func (l *letterPointer) MarshalText() ([]byte, error) { return []byte{byte(*l)}, nil }

// panics is zero by a method of its own.
type panics struct{ one func() }

func (panics) IsZero() bool                   { return true }
func (p panics) MarshalText() ([]byte, error) { p.one(); return nil, nil }

var errRefused = errors.New("secret")

// What cannot be done without is refused before a request.
func TestMissingArguments(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	plan := planned(func() (idempotency.Plan[int], error) { return idempotency.Snapshot(1), nil })
	expect.Equal(t, "requests", s.sent(func() {
		wantErr(t, expect.ErrOf(idempotency.Do[int](t.Context(), s.store, request("k"), nil)), table.ErrInvalid)
		wantErr(t, expect.ErrOf(idempotency.Exec(t.Context(), s.store, request("k"), nil)), table.ErrInvalid)
		wantErr(t, expect.ErrOf(idempotency.Do(t.Context(), nil, request("k"), plan)), table.ErrInvalid)
		wantErr(t, expect.ErrOf(idempotency.Do(t.Context(), &idempotency.Store{}, request("k"), plan)), table.ErrInvalid)
	}), 0)
}

// The JSON of these payloads hides some of their content, so different payloads could be
// equal.
func TestIncomparablePayloads(t *testing.T) {
	t.Parallel()
	const secret = "secret\xff"
	s := newShop(t)
	for name, tt := range map[string]struct {
		payload any
		where   string // in the message
	}{
		"no JSON":                            {make(chan int), "Payload"},
		"not a number":                       {math.NaN(), "Payload"},
		"a text":                             {secret, "Payload"},
		"a text behind pointers":             {new(any(new(secret))), "Payload"},
		"a text in a list":                   {[]any{1, []string{"x", secret}}, "Payload[][]"},
		"a text in a map":                    {map[string]any{"secret": secret}, "Payload[]"},
		"a key of a map":                     {map[string]any{"a": map[string]int{secret: 1}}, "Payload[]"},
		"a field":                            {struct{ Order struct{ Note string } }{struct{ Note string }{secret}}, "Payload.Order.Note"},
		"an embedded field":                  {struct{ base }{base{ID: secret}}, "Payload.ID"},
		"a marshaler's text":                 {[]code{{secret}}, "Payload[]"},
		"bytes that are text":                {[]letter{'x', 0xff}, "Payload[]"},
		"bytes of a pointer's text":          {[]letterPointer{'x', 0xff}, "Payload[]"},
		"a marshaler's text as key":          {map[code]int{{secret}: 1}, "Payload"},
		"a string with a marshaler as key":   {map[codeName]int{secret: 1}, "Payload"},
		"a marshaler's text and JSON as key": {map[twoForms]int{{code{secret}}: 1}, "Payload"},
		"a marshaler that fails":             {code{"refused"}, "idempotency_test.code"},
		"an invalid json.Number":             {json.Number("secret"), "Payload"},
		"a reader":                           {strings.NewReader("secret"), "Payload: package json writes nothing of a strings.Reader"},
		"a reader of nothing":                {&bytes.Buffer{}, "Payload: package json writes nothing of a bytes.Buffer"},
		"a reader's value":                   {struct{ Body bytes.Buffer }{}, "Payload.Body"},
		"a reader in a field":                {struct{ Body io.Reader }{strings.NewReader("secret")}, "Payload.Body"},
		"an embedded time": {struct {
			time.Time
			Amount int
		}{time.Unix(0, 0), 5}, "Payload: struct { time.Time; Amount int } has the JSON of its embedded time.Time"},
		"an embedded time in a list": {map[string]any{"x": []any{&due{}}}, "Payload[][]"},
		"embedded JSON": {&struct {
			json.RawMessage
			Amount int
		}{json.RawMessage("1"), 5}, "Payload"},
		"embedded text": {struct {
			*code
			Amount int
		}{&code{}, 5}, "Payload"},
		"an embedded time that is nil": {struct {
			*time.Time
			Amount int
		}{nil, 1}, "Payload: package json panics over a struct { *time.Time; Amount int }"},
		"an embedded marshaler that is nil": {[]any{struct {
			json.Marshaler
			Amount int
		}{nil, 2}}, "Payload: package json panics over a []interface {}"},
		"an embedded time beside a field named -": {struct {
			time.Time
			Amount int `json:"-,"` //nolint:staticcheck // it is what is tested
		}{time.Unix(0, 0), 5}, "Payload"},
		"an embedded time with a name": {struct {
			*Due  `json:"a"`
			*Late `json:"b"`
			X     int
		}{&Due{}, &Late{}, 1}, "Payload.Due: idempotency_test.Due has the JSON"},
		"an embedded type with a name": {struct {
			base `json:"a"`
		}{base{secret}}, "Payload.base.ID"},
		"embedded fields of one name": {struct {
			base
			*audit
		}{}, "Payload: the fields ID and ID of struct { idempotency_test.base; *idempotency_test.audit }"},
		"a field with the name of an invalid tag": {struct {
			A int `json:"\""` //nolint:staticcheck // it is what is tested
			B int `json:"A"`
		}{}, "Payload: the fields A and B of"},
		"a field that another one's tag hides": {struct {
			ID    string
			Other string `json:"ID"`
		}{}, "Payload: the fields ID and Other of"},
		"an embedded field of an outer one's name": {map[string]any{"secret": struct {
			base
			ID string
		}{}}, "Payload[]: the fields ID and ID of"},
		"a type that embeds itself": {&Ring{}, "Payload: idempotency_test.Ring is embedded in itself"},
		"an embedded type that is left out": {struct {
			base `json:"-"`
		}{}, "Payload: package json writes nothing of a"},
		"an embedded reader": {struct {
			*bytes.Buffer
			N int
		}{}, "Payload.Buffer: package json writes nothing of a bytes.Buffer"},
		"unexported fields":     {struct{ id string }{"secret"}, "Payload"},
		"an unexported type":    {struct{ error }{errRefused}, "Payload"},
		"an error":              {[]error{errRefused}, "Payload[]"},
		"a number by its value": {map[string]any{"n": *big.NewInt(1)}, "Payload[]"},
	} {
		t.Run(name, func(t *testing.T) {
			r := request("k")
			r.Payload = idempotency.JSON(tt.payload)
			n := s.sent(func() {
				_, err := idempotency.Do(t.Context(), s.store, r, s.snapshot("k"))
				wantErr(t, err, idempotency.ErrInvalidRequest)
				expect.Equal(t, "class", table.Classify(err), table.Permanent)
				if err != nil && (!strings.Contains(err.Error(), tt.where) || strings.Contains(err.Error(), "secret")) {
					t.Errorf("error %v; want %q in it", err, tt.where)
				}
				wantErr(t, expect.ErrOf(r.Fingerprint()), idempotency.ErrInvalidRequest)
			})
			expect.Equal(t, "requests", n, 0)
		})
	}
	expect.Equal(t, "orders", s.drawn, 0)
	wantErr(t, expect.ErrOf(idempotency.Request{Payload: idempotency.JSON(code{"refused"})}.Fingerprint()), errRefused)
}

// due has the JSON of its embedded time.
type due struct {
	time.Time
	Amount int
}

// Due and Late are due with names that package json writes.
type (
	Due  due
	Late due
)

type Ring struct {
	*Ring
	N int
}

// What package json leaves out is not compared.
func TestPayloadsWithIgnoredFields(t *testing.T) {
	t.Parallel()
	type body struct {
		base
		*owner
		audit `json:"-"`
		N     int       `json:"n"`
		At    time.Time `json:"at"`
		Until time.Time `json:"until,omitzero"`
		Price *big.Int  `json:"price,omitempty"`
		cache string    `json:"-"`
		Trace any       `json:"-"`
		lock  sync.Mutex
		_     int
	}
	type owned struct {
		time.Time
		Trace any `json:"-"`
	}
	at := time.Date(2024, time.January, 15, 10, 5, 0, 0, time.UTC)
	one, two := body{N: 1, At: at, cache: "x", Trace: make(chan int)}, body{N: 1, At: at, cache: "y"}
	expect.Equal(t, "fingerprint", fingerprintOf(t, &one), fingerprintOf(t, []byte(`{"ID":"","n":1,"at":"2024-01-15T10:05:00Z"}`)))
	expect.Equal(t, "fingerprint", fingerprintOf(t, &two), fingerprintOf(t, &one))
	expect.Equal(t, "fingerprint", fingerprintOf(t, owned{at, 1}), fingerprintOf(t, owned{at, 2}))
	two.N++
	if fingerprintOf(t, &two) == fingerprintOf(t, &one) {
		t.Error("different payloads have one fingerprint")
	}
	_ = &one.lock
}

// TestFingerprintsOfEarlierReleases fails when a retry after a deployment would be
// refused as another request.
func TestFingerprintsOfEarlierReleases(t *testing.T) {
	t.Parallel()
	type item struct {
		SKU   string  `json:"sku"`
		Price float64 `json:"price,omitempty"`
	}
	for name, tt := range map[string]struct {
		payload idempotency.Payload
		want    string
	}{
		"JSON":               {idempotency.Text(`{"b": 1, "a": ["x", null, 1.50, "<é"]}`), "27a7393bde6c5515d9fcde1c440a2c8284bd31c78c1c94d00c8cdadb4c044ae5"},
		"bytes":              {idempotency.Text([]byte("plain text")), "2c4afbfcee3d3d9b5d2a927d1174de36001998ebc0c116861ac42f77834f84b3"},
		"names in two cases": {idempotency.Text(json.RawMessage(`{"B": 1, "a": 2, "b": 3}`)), "d82ea04c8d293e3d3c15dfdf106bd010a03e6ad4db9f64dc3cbf2057517d2710"},
		"names in two cases of a struct": {idempotency.JSON(struct {
			Body  json.RawMessage
			Cases bothCases
		}{json.RawMessage(`{"B": 1, "b": 3}`), bothCases{1, 2}}), "c1c3646c67ebea899febfed97f98438b87e637c64ec2bb9535f3e3829aaa05ec"},
		"names in two cases of a map": {idempotency.JSON(map[string]any{"b": 1, "B": int64(1) << 60}), "8951a288133ad786ccdfaea8d1a09362019370ab9e1b7a38f495a6e4e6603a0a"},
		"a struct": {idempotency.JSON(struct {
			base
			*owner
			Items []item         `json:"items"`
			At    time.Time      `json:"at"`
			Note  *string        `json:"note,omitempty"`
			Trace any            `json:"-"`
			Total json.Number    `json:"total"`
			Tags  map[int]string `json:"tags"`
			Raw   []byte         `json:"raw"`
		}{
			base{"o-1"}, nil, []item{{"a", 0.1}, {SKU: "b"}}, time.Date(2024, time.January, 15, 10, 5, 0, 123456789, time.UTC), nil, 7, "12.50", map[int]string{2: "x", 1: "<y>"}, []byte{0, 255},
		}), "ca5762249f2967e5c0f9ca61bb2390d8db18649e4ce27bdddab73e2b36a86de9"},
		"a string": {idempotency.JSON("Zoë\u2028"), "c4dff32cdb7f07d7fd3249159003c7dc2f47a543b9549e724dde7b12877cce9e"},
		"nothing":  {idempotency.Payload{}, "b4953765c5911372038fd1a88ffc2dbaad97cd681de06f66ef21aecc5bd6a2c2"},
	} {
		got := expect.Value(idempotency.Request{Payload: tt.payload}.Fingerprint())(t)
		expect.Equal(t, name, hex.EncodeToString(got[:]), tt.want)
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
		{[]byte(`{"N":1}`), &struct{ N big.Int }{*big.NewInt(1)}},
		{[]byte(`{"Name":"x","-":1}`), struct {
			audit `json:"-"`
			*owner
			N int `json:"-,"` //nolint:staticcheck // it is what is tested
			T struct {
				json.Marshaler
				Amount int
			} `json:",omitzero"`
			P panics `json:",omitzero"`
		}{audit: audit{ID: "\xff"}, owner: &owner{"x"}, N: 1, P: panics{func() { panic("called") }}}},
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
		{nil, []byte(`null`), (*body)(nil), []string(nil), map[string]int(nil), (*bytes.Buffer)(nil)},
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
		{[]byte(`-0`), math.Copysign(0, -1)},
		{[]byte(`{"a":1,"a":1}`), json.RawMessage(`{"a":1,"a":1}`)},
		{[]byte(`{"a":1,"a":2}`), []json.RawMessage{json.RawMessage(`{"a":1,"a":2}`)}[0]},
		{[]byte(`{"a":2,"a":1}`)},
		{[]byte(`{"a":1,"\u0061":2}`)},
		{[]byte(`{"a":1, "a":2}`)},
		{[]byte(`[{"x":{"a":1,"a":2}}]`)},
		{[]byte(`[{"x":{"a":2}}]`)},
		{[]byte(`{"a":1,"A":2}`)},
		{[]byte(`{"A":2,"a":1}`), []byte(`{ "A":2, "a":1 }`), map[string]int{"a": 1, "A": 2}, bothCases{1, 2}},
		{struct{ Body json.RawMessage }{json.RawMessage(`{"a":1,"A":2}`)}, &struct{ Body *json.RawMessage }{new(json.RawMessage(` {"a":1,"A":2}`))}},
		{struct{ Body json.RawMessage }{json.RawMessage(`{"A":2,"a":1}`)}, []byte(`{"Body":{"A":2,"a":1}}`)},
		{struct{ Body json.RawMessage }{json.RawMessage(`{"a":1,"a":1}`)}},
		{struct{ Body json.RawMessage }{json.RawMessage(`{"a":1}`)}},
		{struct{ Body json.RawMessage }{json.RawMessage(`"\ud800"`)}},
		{struct{ Body json.RawMessage }{json.RawMessage(`"\ud801"`)}},
		{[]byte(`{"ſ":1,"S":2}`)},
		{[]byte(`{"S":2,"ſ":1}`)},
		{[]byte(strings.Repeat("[", 100000))},
		{[]byte(strings.Repeat("[", 50000) + strings.Repeat("]", 50000))},
		{[]byte(strings.Repeat("[", 50000) + " " + strings.Repeat("]", 50000))},
	}
	seen := map[[32]byte]int{}
	for i, payloads := range lines {
		var first [32]byte
		for j, payload := range payloads {
			got := expect.Value(idempotency.Request{Payload: idempotency.JSON(payload)}.Fingerprint())(t)
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

// bothCases has the names of its fields in the order of JSON from others.
type bothCases struct {
	Small int `json:"a"`
	Great int `json:"A"`
}

// The fingerprint depends on nothing but Request.Payload.
func TestFingerprintIsOfThePayload(t *testing.T) {
	t.Parallel()
	a := expect.Value(idempotency.Request{Payload: idempotency.JSON(1)}.Fingerprint())(t)
	b := expect.Value(idempotency.Request{Scope: "s", Key: "k", TTL: time.Hour, Payload: idempotency.JSON(1)}.Fingerprint())(t)
	expect.Equal(t, "fingerprint", b, a)
}
