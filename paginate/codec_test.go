package paginate_test

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"

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

// What is too long is refused for its length, which costs one allocation: the error.
func TestLongTokens(t *testing.T) {
	for _, c := range codecs(t) {
		checkRefused(t, c, "", scope, paginate.Malformed)
		checkRefused(t, c, strings.Repeat("A", 8192), scope, paginate.UnknownVersion)
		checkRefused(t, c, strings.Repeat("A", 8193), scope, paginate.Malformed)
		huge := strings.Repeat("A", 10<<20)
		if n := testing.AllocsPerRun(10, func() { _, _ = c.Open(huge, scope) }); n > 1 {
			t.Errorf("refusing 10 MB takes %v allocations", n)
		}
	}
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
