package paginate_test

import (
	"encoding/base64"
	"errors"
	"regexp"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/paginate"
)

// FuzzOpen offers arbitrary bytes as a cursor, as the inside of one, and as the
// payload of an authentic one. Nothing panics, every refusal is
// ErrInvalidCursor, and a payload that opens is the one that Seal writes.
func FuzzOpen(f *testing.F) {
	sealing, unsealed := codecA(f), paginate.Insecure()
	for _, c := range []*paginate.Codec{sealing, unsealed} {
		for _, p := range []paginate.Position{txPosition, indexPosition, wirePosition} {
			cursor := seal(f, c, p, scope)
			raw := expect.Value(base64.RawURLEncoding.DecodeString(cursor))(f)
			f.Add([]byte(cursor))
			f.Add(raw)
		}
	}
	f.Add([]byte(wire))
	f.Add([]byte("\x03\x00\x01\x8d\x0c\x94\xe0\xe0"))
	for _, text := range expect.Nasty() {
		f.Add([]byte(text))
	}

	f.Fuzz(func(t *testing.T, b []byte) {
		text, inside := string(b), base64.RawURLEncoding.EncodeToString(b)
		for _, c := range []*paginate.Codec{sealing, unsealed, nil} {
			for _, cursor := range []string{text, inside} {
				if p, err := c.Open(cursor, []byte("a scope that no seed has")); err == nil {
					// Only the checksum of the unsealed format could be met by chance.
					t.Errorf("Open(%q) = %v", cursor, p)
				} else if !errors.Is(err, paginate.ErrInvalidCursor) {
					t.Errorf("Open(%q): %v", cursor, err)
				}
			}
		}

		// Short texts are too short for a time, the others have one of their own.
		_, _ = sealing.Open(forge(t, firstPage, text, scope), scope)
		_, _ = unsealed.Open(forgeUnsealed(text, scope), scope)

		sp, serr := sealing.Open(forge(t, firstPage, issuedAt(epoch, text), scope), scope)
		up, uerr := unsealed.Open(forgeUnsealed(issuedAt(time.Now(), text), scope), scope)
		if diff := cmp.Diff(sp, up); diff != "" && len(b) < 6000 {
			t.Errorf("sealed %v and unsealed %v differ:\n%s", serr, uerr, diff)
		}
		if serr != nil || uerr != nil {
			return
		}
		raw := expect.Value(base64.RawURLEncoding.DecodeString(seal(t, unsealed, sp, scope)))(t)
		if got := string(raw[5 : len(raw)-8]); got != text {
			t.Errorf("payload %q opens to %v, which is written as %q", text, sp, got)
		}
	})
}

// decimal is what a number may look like, said another way than in the code.
var decimal = regexp.MustCompile(`\A-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?\z`)

// FuzzSealOpen seals arbitrary values and finds them unchanged, unless Seal
// refused what cannot be a key.
func FuzzSealOpen(f *testing.F) {
	sealing, unsealed := newCodec(f, nil), paginate.Insecure()
	f.Add("METADATA", "9007199254740993", []byte("\x00\xff"), []byte("scope"), true)
	f.Add("TX#2024-01-15T10:05:00.000Z#tx-abc", "-1.5E-130", []byte{}, []byte{}, false)
	f.Add("2024-01-15T10:05:00.000Z2024-01-15T10:05:00.000Z", "", []byte("2024"), []byte(nil), true)
	f.Add("1969-12-31T23:59:59.999Z", "00", []byte(nil), []byte("\x00"), true)
	for _, text := range expect.Nasty() {
		f.Add(text, "1", []byte(text), []byte(text), true)
		f.Add("TX#1", text, []byte{}, []byte{}, true)
	}

	f.Fuzz(func(t *testing.T, str, num string, bin, scope []byte, all bool) {
		p := paginate.Position{Values: []paginate.Value{{Kind: paginate.String, Data: str}}}
		if all {
			p.Before, p.FromEdge = len(str)%2 > 0, len(str)%3 > 0
			p.Values = append(
				p.Values,
				paginate.Value{Kind: paginate.Number, Data: num},
				paginate.Value{Kind: paginate.Binary, Data: string(bin)},
			)
		}
		for _, c := range []*paginate.Codec{sealing, unsealed, sealing.Watermarks()} {
			cursor, err := c.Seal(p, scope)
			valid := utf8.ValidString(str) && (!all || decimal.MatchString(num))
			small := len(str)+len(num)+len(bin) < 6000
			if err != nil {
				if !errors.Is(err, keys.ErrInvalid) || valid && small {
					t.Fatalf("Seal(%v): %v", p, err)
				}
				continue
			}
			if !valid {
				t.Fatalf("Seal(%v) is not refused", p)
			}
			if len(cursor) > 8192 {
				t.Fatalf("a cursor of %d characters", len(cursor))
			}
			checkOpens(t, c, cursor, scope, p)
			checkRefused(t, c, cursor, append([]byte("x"), scope...), paginate.Mismatch)
			if len(scope) == 0 { // No scope is a scope too.
				checkOpens(t, c, cursor, nil, p)
			} else {
				checkRefused(t, c, cursor, nil, paginate.Mismatch)
			}
		}
	})
}
