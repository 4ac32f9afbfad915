package paginate_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"log"
	"testing"
	"time"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/paginate"
)

// An operator looks into a cursor that a client has sent.
func ExampleInspect() {
	keys, err := paginate.ParseKeys("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=") // CURSOR_KEYS of the service
	if err != nil {
		log.Fatal(err)
	}
	const cursor = "SGMNzSnIcHKXbB0wDGn9gen4ln-jToCOl1qgREwbf3xxox_VDBzRGChIRDaXzqGg" +
		"njJQg1Hx46SpNK44JLWwGltW_TtB5DK2BIDaY-NSZBNkq_Ir9A"
	in, err := paginate.Inspect(cursor, keys)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("issued", in.Issued)
	for _, v := range in.Values {
		fmt.Println(v)
	}
	// Output:
	// issued 2024-01-15 10:06:00 +0000 UTC
	// S "METADATA"
	// N 9007199254740993
	// B "\x00\xff\x00"
	// S "TX#2024-01-15T10:05:00.000Z#tx-abc"
}

var wireValues = []string{
	`S "METADATA"`, "N 9007199254740993", `B "\x00\xff\x00"`, `S "TX#2024-01-15T10:05:00.000Z#tx-abc"`,
}

func TestInspect(t *testing.T) {
	t.Parallel()
	c := codecA(t)
	keyA, keyB := parseKeys(t, secretA), parseKeys(t, secretB)
	sealed := forge(t, firstPage, issuedAt(epoch, wire), scope)
	for name, tt := range map[string]struct {
		cursor string
		keys   []paginate.Key
		want   paginate.Inspection
		reason paginate.Reason
	}{
		"sealed": {
			seal(t, c, wirePosition, scope), keyA,
			paginate.Inspection{Sealed: true, KeyID: idA, Issued: epoch, Values: wireValues},
			"",
		},
		"pinned, second key of the ring": {
			pinnedToken, append(keyB, keyA...),
			paginate.Inspection{Sealed: true, KeyID: idA, Issued: epoch, Values: wireValues},
			"",
		},
		"watermark": {
			seal(t, c.Watermarks(), txPosition, nil), keyA,
			paginate.Inspection{
				Sealed: true, Watermark: true, KeyID: idA, Issued: epoch,
				Values: []string{`S "TX#2024-01-15T10:05:00.000Z#tx-abc"`},
			},
			"",
		},
		"unsealed": {
			forgeUnsealed(issuedAt(epoch, wire), scope), nil,
			paginate.Inspection{Issued: epoch, Values: wireValues},
			"",
		},
		"old": {
			forge(t, firstPage, issuedAt(time.Unix(0, 0), "\x04x"), scope), keyA,
			paginate.Inspection{Sealed: true, KeyID: idA, Issued: time.Unix(0, 0).UTC(), Values: []string{`S "x"`}},
			"",
		},
		"no key":       {sealed, nil, paginate.Inspection{Sealed: true, KeyID: idA}, paginate.UnknownKey},
		"another key":  {sealed, keyB, paginate.Inspection{Sealed: true, KeyID: idA}, paginate.UnknownKey},
		"the zero key": {sealed, []paginate.Key{{}}, paginate.Inspection{Sealed: true, KeyID: idA}, paginate.UnknownKey},
		"no position": {
			forge(t, firstPage, issuedAt(epoch, ""), scope), keyA,
			paginate.Inspection{Sealed: true, KeyID: idA},
			paginate.Malformed,
		},
		"not canonical": {
			forgeUnsealed(issuedAt(epoch, "\x602024-01-15T10:05:00.000Z"), scope), nil,
			paginate.Inspection{},
			paginate.Malformed,
		},
		"empty":                {"", keyA, paginate.Inspection{}, paginate.Malformed},
		"not base64":           {"S!", keyA, paginate.Inspection{}, paginate.Malformed},
		"with a line break":    {sealed[:8] + "\n" + sealed[8:], keyA, paginate.Inspection{}, paginate.Malformed},
		"cut":                  {sealed[:44], keyA, paginate.Inspection{}, paginate.Malformed},
		"unsealed, cut":        {"UAAAAAAAAAAAAAA", nil, paginate.Inspection{}, paginate.Malformed},
		"another format":       {"A" + sealed[1:], keyA, paginate.Inspection{}, paginate.UnknownVersion},
		"letter of the future": {forge(t, firstPage+4, issuedAt(epoch, wire), scope), keyA, paginate.Inspection{}, paginate.UnknownVersion},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, err := paginate.Inspect(tt.cursor, tt.keys)
			if reasonOf(err) != tt.reason || (err != nil) != (tt.reason != "") {
				t.Errorf("error %v with reason %q; want %q", err, reasonOf(err), tt.reason)
			}
			expect.Equal(t, "inspection", in, tt.want)
		})
	}
}

// What nobody has authenticated is no position: changing a byte of the sealed
// part shows in the values, or as damage, and in no error that promises more.
func TestInspectAuthenticatesNothing(t *testing.T) {
	t.Parallel()
	raw := expect.Value(base64.RawURLEncoding.DecodeString(pinnedToken))(t)
	raw[5+12+4+1] ^= 'M' ^ 'B' // The first letter of METADATA.
	altered := base64.RawURLEncoding.EncodeToString(raw)
	checkRefused(t, codecA(t), altered, scope, paginate.Mismatch)
	in, err := paginate.Inspect(altered, parseKeys(t, secretA))
	if err != nil || in.Values[0] != `S "BETADATA"` {
		t.Errorf("%v, %v", in, err)
	}
}

// FuzzInspect looks into arbitrary text, and into arbitrary text as the inside
// of a cursor. Nothing panics, and what Open opens can be read.
func FuzzInspect(f *testing.F) {
	f.Add([]byte(pinnedToken))
	f.Add([]byte(wire))
	f.Add([]byte("\x14\x01\x8d\x0c"))
	f.Add([]byte(""))
	keys, c := parseKeys(f, secretA), codecA(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, cursor := range []string{
			string(b),
			base64.RawURLEncoding.EncodeToString(b),
			forge(t, firstPage, string(b), scope),
			forge(t, firstPage, issuedAt(epoch, string(b)), scope),
			forgeUnsealed(string(b), scope),
		} {
			in, err := paginate.Inspect(cursor, keys)
			if err != nil && !errors.Is(err, paginate.ErrInvalidCursor) {
				t.Errorf("Inspect(%q): %v", cursor, err)
			}
			if (err == nil) != (len(in.Values) > 0) {
				t.Errorf("Inspect(%q) = %v, %v", cursor, in, err)
			}
			if p, open := c.Open(cursor, scope); open == nil && (err != nil || len(in.Values) != len(p.Values) || in.Before != p.Before || in.FromEdge != p.FromEdge) {
				t.Errorf("Open(%q) = %v, Inspect = %v, %v", cursor, p, in, err)
			}
		}
	})
}
