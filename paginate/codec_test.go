package paginate_test

import (
	"encoding/base64"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/paginate"
)

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	str := func(s string) paginate.Position {
		return paginate.Position{Values: []paginate.Value{{Kind: paginate.String, Data: s}}}
	}
	num := func(s string) paginate.Position {
		return paginate.Position{Values: []paginate.Value{{Kind: paginate.Number, Data: s}}}
	}
	bin := func(s string) paginate.Position {
		return paginate.Position{Values: []paginate.Value{{Kind: paginate.Binary, Data: s}}}
	}
	const stamp = "2024-01-15T10:05:00.000Z"
	tests := map[string]paginate.Position{
		"transaction":                txPosition,
		"on the index":               indexPosition,
		"metadata":                   metadataPosition,
		"word":                       str("METADATA"),
		"empty string":               str(""),
		"string with NULs":           str("a\x00b\x00"),
		"other scripts":              str("ключ#鍵#🔑"),
		"beyond 2^53":                num("9007199254740993"),
		"38 digits":                  num("12345678901234567890123456789012345678"),
		"negative":                   num("-9007199254740993"),
		"smallest":                   num("-0." + strings.Repeat("0", 129) + "1"),
		"zero":                       num("0"),
		"trailing zeros":             num("1.500"),
		"exponent":                   num("9.99E+125"),
		"negative exponent":          num("1E-130"),
		"exponent without a sign":    num("1E9"),
		"binary with NULs":           bin("\x00\x01\x00\xff\x00"),
		"binary that looks stamped":  bin(stamp),
		"stamp alone":                str(stamp),
		"stamp first":                str(stamp + "#tx"),
		"stamp last":                 str("TX#" + stamp),
		"two stamps":                 str(stamp + "#" + stamp),
		"overlapping shapes":         str("2024-01-15T2024-01-15T10:05:00.000Z"),
		"stamp far into the string":  str(strings.Repeat("é", 400) + stamp),
		"first stamp of all":         str("1970-01-01T00:00:00.000Z"),
		"before the first":           str("1969-12-31T23:59:59.999Z"),
		"year 0":                     str("0000-01-01T00:00:00.000Z"),
		"last stamp of all":          str("9999-12-31T23:59:59.999Z"),
		"30 February":                str("2024-02-30T10:05:00.000Z"),
		"leap second":                str("2016-12-31T23:59:60.000Z"),
		"comma for a point":          str("2024-01-15T10:05:00,000Z"),
		"seconds only":               str("2024-01-15T10:05:00Z"),
		"microseconds":               str("2024-01-15T10:05:00.000000Z"),
		"lower case":                 str("2024-01-15t10:05:00.000z"),
		"shape without digits":       str("abcd-ef-ghTij:kl:mn.opqZ"),
		"three kinds":                {Values: []paginate.Value{{Kind: 'N', Data: "-7"}, {Kind: 'B', Data: "\xff"}, {Kind: 'S', Data: "x"}}},
		"multi-attribute index keys": {Values: []paginate.Value{{'S', "a"}, {'N', "1"}, {'S', "b"}, {'B', "c"}, {'S', "d"}, {'S', "e"}, {'N', "2"}}},
	}
	for format, c := range codecs(t) {
		for name, p := range tests {
			t.Run(format+"/"+name, func(t *testing.T) {
				t.Parallel()
				checkOpens(t, c, seal(t, c, p, scope), scope, p)
			})
		}
	}
}

func TestEveryChangeIsRefused(t *testing.T) {
	t.Parallel()
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=+/ \n\r\x00\xff"
	for format, c := range codecs(t) {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			cursor := seal(t, c, indexPosition, scope)
			refused := func(changed, how string, at int) {
				if p, err := c.Open(changed, scope); p.Values != nil || !errors.Is(err, paginate.ErrInvalidCursor) {
					t.Fatalf("%s at %d: Open = %v, %v", how, at, p, err)
				}
			}
			for i := range len(cursor) {
				refused(cursor[:i], "cut", i)
				refused(cursor[i+1:], "cut in front", i)
				refused(cursor[:i]+cursor[i+1:], "dropped", i)
				for _, x := range []byte(alphabet) {
					if x != cursor[i] {
						refused(cursor[:i]+string([]byte{x})+cursor[i+1:], "changed", i)
					}
					if x == cursor[i] && i > 0 {
						continue // The same text as an insertion one place earlier or later.
					}
					refused(cursor[:i]+string([]byte{x})+cursor[i:], "inserted", i)
				}
			}
			for _, x := range []byte(alphabet) {
				refused(cursor+string([]byte{x}), "appended", len(cursor))
			}
			refused(cursor+cursor, "doubled", 0)
		})
	}
}

func TestGarbageIsRefused(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(19, 24))
	for format, c := range codecs(t) {
		for size := range 31 {
			for range 200 {
				b := make([]byte, size)
				for i := range b {
					b[i] = byte(random.Uint32())
				}
				for _, text := range []string{string(b), base64.RawURLEncoding.EncodeToString(b)} {
					if p, err := c.Open(text, scope); p.Values != nil || !errors.Is(err, paginate.ErrInvalidCursor) {
						t.Fatalf("%s: Open(%q) = %v, %v", format, text, p, err)
					}
				}
			}
		}
		checkRefused(t, c, "", scope, paginate.Malformed)
		checkRefused(t, c, strings.Repeat("A", 8192), scope, paginate.UnknownVersion)
		checkRefused(t, c, strings.Repeat("A", 8193), scope, paginate.Malformed)
		checkRefused(t, c, strings.Repeat("A", 10<<20), scope, paginate.Malformed)
	}
}

func TestHugeTokenCostsNothing(t *testing.T) {
	c, huge := newCodec(t, nil), strings.Repeat("A", 10<<20)
	// One allocation is the error.
	if n := testing.AllocsPerRun(10, func() { _, _ = c.Open(huge, scope) }); n > 1 {
		t.Errorf("refusing 10 MB takes %v allocations", n)
	}
}

func TestOtherScopeIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range codecs(t) {
		cursor := seal(t, c, txPosition, scope)
		for _, other := range []string{"", "bob's transactions", "alice's transaction", "alice's transactions ", "\x00"} {
			checkRefused(t, c, cursor, []byte(other), paginate.Mismatch)
		}
		checkRefused(t, c, cursor, nil, paginate.Mismatch)

		// No scope is a scope too.
		cursor = seal(t, c, txPosition, nil)
		checkOpens(t, c, cursor, []byte{}, txPosition)
		checkRefused(t, c, cursor, scope, paginate.Mismatch)
	}
}

func TestWatermarksAndPagesDoNotMix(t *testing.T) {
	t.Parallel()
	for _, pages := range codecs(t) {
		marks := pages.Watermarks()
		page, mark := seal(t, pages, watermark, scope), seal(t, marks, watermark, scope)
		checkOpens(t, pages, page, scope, watermark)
		checkOpens(t, marks, mark, scope, watermark)
		checkRefused(t, pages, mark, scope, paginate.Mismatch)
		checkRefused(t, marks, page, scope, paginate.Mismatch)
		checkOpens(t, marks.Watermarks(), mark, scope, watermark)

		// Writing the other kind into the first byte does not help.
		raw := expect.Value(base64.RawURLEncoding.DecodeString(mark))(t)
		raw[0] ^= 1
		checkRefused(t, pages, base64.RawURLEncoding.EncodeToString(raw), scope, paginate.Mismatch)
	}
}

func TestSealedAndUnsealedDoNotMix(t *testing.T) {
	t.Parallel()
	sealing, unsealed := newCodec(t, nil), paginate.Insecure()
	s, u := seal(t, sealing, txPosition, scope), seal(t, unsealed, txPosition, scope)
	if s[0] != 'S' || u[0] != 'U' {
		t.Errorf("cursors begin with %q and %q, want S and U", s[0], u[0])
	}
	checkRefused(t, sealing, u, scope, paginate.UnknownVersion)
	checkRefused(t, unsealed, s, scope, paginate.UnknownVersion)
	checkOpens(t, paginate.Insecure(), u, scope, txPosition)
}

func TestSealedTokenHidesThePosition(t *testing.T) {
	t.Parallel()
	c := newCodec(t, nil)
	secret := paginate.Position{Values: []paginate.Value{
		{Kind: paginate.String, Data: "hidden-by-a-filter"},
		{Kind: paginate.Number, Data: "9007199254740993"},
	}}
	cursor := seal(t, c, secret, scope)
	raw := expect.Value(base64.RawURLEncoding.DecodeString(cursor))(t)
	for _, v := range secret.Values {
		for i := 0; i+4 <= len(v.Data); i++ {
			if part := v.Data[i : i+4]; strings.Contains(string(raw), part) || strings.Contains(cursor, part) {
				t.Errorf("the cursor contains %q", part)
			}
		}
	}
	if strings.Contains(string(raw), string(scope)) {
		t.Error("the cursor contains the scope")
	}
	if again := seal(t, c, secret, scope); again == cursor {
		t.Error("two cursors of one position are equal")
	}
}

func TestRotation(t *testing.T) {
	t.Parallel()
	a, b := paginate.NewKey(), paginate.NewKey()
	onlyA, bothA, bothB, onlyB := newCodec(t, nil, a), newCodec(t, nil, a, b), newCodec(t, nil, b, a), newCodec(t, nil, b)
	byA, byB := seal(t, bothA, txPosition, scope), seal(t, bothB, txPosition, scope)

	for _, c := range []*paginate.Codec{onlyA, bothA, bothB} {
		checkOpens(t, c, byA, scope, txPosition)
	}
	for _, c := range []*paginate.Codec{onlyB, bothA, bothB} {
		checkOpens(t, c, byB, scope, txPosition)
	}
	checkRefused(t, onlyB, byA, scope, paginate.UnknownKey)
	checkRefused(t, onlyA, byB, scope, paginate.UnknownKey)
}

func TestErrorsReadAlike(t *testing.T) {
	t.Parallel()
	reasons := []paginate.Reason{
		paginate.Malformed, paginate.UnknownVersion, paginate.UnknownKey,
		paginate.Mismatch, paginate.Expired, paginate.Future, paginate.NoSharedKey, paginate.OutOfRange,
	}
	for _, reason := range reasons {
		err := error(&paginate.Error{Reason: reason})
		if err.Error() != "invalid cursor" || !errors.Is(err, paginate.ErrInvalidCursor) {
			t.Errorf("%s: %v", reason, err)
		}
	}
}

func TestUnusableCodecs(t *testing.T) {
	t.Parallel()
	cursor := seal(t, paginate.Insecure(), txPosition, scope)
	for _, c := range []*paginate.Codec{{}, new(paginate.Codec).Watermarks()} {
		if got, err := c.Seal(txPosition, scope); got != "" || err == nil {
			t.Errorf("Seal = %q, %v", got, err)
		}
		if p, err := c.Open(cursor, scope); p.Values != nil || err == nil || errors.Is(err, paginate.ErrInvalidCursor) {
			t.Errorf("Open = %v, %v; want an error that does not blame the client", p, err)
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	for _, c := range codecs(t) {
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 200 {
					cursor, err := c.Seal(indexPosition, scope)
					if err != nil {
						t.Error(err)
						return
					}
					p, err := c.Open(cursor, scope)
					if diff := cmp.Diff(indexPosition, p); err != nil || diff != "" {
						t.Errorf("Open: %v\n%s", err, diff)
						return
					}
				}
			})
		}
		wg.Wait()
	}
}
