package idempotency_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/internal/expect"
)

// FuzzFingerprint compares two payloads by their fingerprints and by a canonical
// form of the test's own: they must agree on what is equal.
func FuzzFingerprint(f *testing.F) {
	for _, pair := range [][2]string{
		{`{"a":1,"b":[true,null]}`, ` { "b" : [ true , null ] , "a" : 1 } `},
		{`{"a":1,"a":2}`, `{"a":2}`},
		{`{"a":{"x":1},"a":{"y":1}}`, `{"a":{"y":1}}`},
		{`[1,2]`, `[2,1]`},
		{`1.0`, `1`},
		{`"\ud800"`, `"\ud801"`},
		{`"\ud83d\ude00"`, `"😀"`},
		{`"\\ud800"`, `"\ud800"`},
		{"\"\xff\"", "\"\xfe\""},
		{`{"\u0061":1}`, `{"a":1}`},
		{`{"<":1}`, `{"\u003c":1}`},
		{`nonsense`, `nonsense `},
		{``, ` `},
		{`{}`, `[]`},
		{`"1"`, `1`},
		{`json 1`, `1`},
		{`[]]`, `[]`},
		{`{"a":1,"A":2}`, `{"A":2,"a":1}`},
		{`{"A":1,"b":[],"a":2}`, `{"b":[],"A":1,"a":2}`},
		{"\u212a", "k"},
	} {
		f.Add([]byte(pair[0]), []byte(pair[1]))
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		same := fingerprintOf(t, a) == fingerprintOf(t, b)
		if want := canonical(a) == canonical(b); same != want {
			t.Errorf("payloads %q and %q: equal fingerprints %t, want %t", a, b, same, want)
		}
		if fingerprintOf(t, a) != fingerprintOf(t, json.RawMessage(a)) {
			t.Errorf("payload %q has two fingerprints", a)
		}
		// As strings of Go, they are compared exactly or refused.
		for _, wrap := range []func(string) any{
			func(s string) any { return s },
			func(s string) any { return map[string]int{s: 1} },
			func(s string) any { return []any{&s} },
		} {
			printA, errA := idempotency.Request{Payload: idempotency.JSON(wrap(string(a)))}.Fingerprint()
			printB, errB := idempotency.Request{Payload: idempotency.JSON(wrap(string(b)))}.Fingerprint()
			if (errA == nil) != utf8.Valid(a) || (errB == nil) != utf8.Valid(b) {
				t.Errorf("texts %q and %q: errors %v and %v", a, b, errA, errB)
			}
			if errA == nil && errB == nil && (printA == printB) != (string(a) == string(b)) {
				t.Errorf("texts %q and %q: fingerprints %x and %x", a, b, printA, printB)
			}
		}
		// What the standard library makes of it means the same to it.
		var v any
		if strings.HasPrefix(canonical(a), "json ") && json.Unmarshal(a, &v) == nil && integers(v) {
			if fingerprintOf(t, a) != fingerprintOf(t, v) {
				t.Errorf("payload %q has another fingerprint as a value", a)
			}
		}
	})
}

func fingerprintOf(t *testing.T, payload any) [32]byte {
	t.Helper()
	return expect.Value(idempotency.Request{Payload: idempotency.JSON(payload)}.Fingerprint())(t)
}

// integers reports whether a value has no numbers that a float would change.
func integers(v any) bool {
	switch v := v.(type) {
	case float64:
		return false
	case []any:
		return !slices.ContainsFunc(v, func(e any) bool { return !integers(e) })
	case map[string]any:
		for _, e := range v {
			if !integers(e) {
				return false
			}
		}
	}
	return true
}

// canonical is a canonical form of a payload, made token by token.
func canonical(payload []byte) string {
	plain := "bytes " + string(payload)
	if !utf8.Valid(payload) || !json.Valid(payload) || halfCharacter(string(payload)) {
		return plain
	}
	d := json.NewDecoder(strings.NewReader(string(payload)))
	d.UseNumber()
	text, err := canonicalValue(d)
	if err != nil {
		return plain
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return plain
	}
	return "json " + text
}

func canonicalValue(d *json.Decoder) (string, error) {
	token, err := d.Token()
	if err != nil {
		return "", err
	}
	switch v := token.(type) {
	case json.Delim:
		return canonicalElements(d, v)
	case json.Number:
		return "n" + v.String(), nil
	case string:
		return strconv.QuoteToASCII(v), nil
	}
	return fmt.Sprint(token), nil
}

// canonicalElements reads the rest of an array or object. An object is an error
// if two names differ in case at most and are not in order.
func canonicalElements(d *json.Decoder, open json.Delim) (string, error) {
	var names, elements []string
	for d.More() {
		name := ""
		if open == '{' {
			token, err := d.Token()
			if err != nil {
				return "", err
			}
			plain := token.(string)
			if slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, plain) && n >= plain }) {
				return "", errors.New("the order of members matters")
			}
			names = append(names, plain)
			name = strconv.QuoteToASCII(plain) + ":"
		}
		text, err := canonicalValue(d)
		if err != nil {
			return "", err
		}
		elements = append(elements, name+text)
	}
	if _, err := d.Token(); err != nil {
		return "", err
	}
	if open == '[' {
		return "[" + strings.Join(elements, ",") + "]", nil
	}
	slices.Sort(elements)
	return "{" + strings.Join(elements, ",") + "}", nil
}

// halfCharacter reports whether a JSON text has an escape that is half of a
// character, by taking out everything that is not.
func halfCharacter(text string) bool {
	text = strings.ReplaceAll(text, `\\`, "")
	for {
		at := strings.Index(strings.ToLower(text), `\ud`)
		if at < 0 {
			return false
		}
		code := strings.ToLower(text[at+2 : at+6])
		if code < "d800" {
			text = text[at+6:]
			continue
		}
		rest := strings.ToLower(text[at+6:])
		if code > "dbff" || len(rest) < 6 || rest[:2] != `\u` || rest[2:6] < "dc00" || rest[2:6] > "dfff" {
			return true
		}
		text = text[at+12:]
	}
}
