package paginate_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/paginate"
)

// Two keys of the form that openssl prints, and their ids.
const (
	secretA = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
	secretB = "//79/Pv6+fj39vX08/Lx8O/u7ezr6uno5+bl5OPi4eA="
	idA     = "630dcd29"
)

// repeated returns a key that repeats a part, as ParseKeys reads it.
func repeated(part string) string {
	return base64.StdEncoding.EncodeToString([]byte(strings.Repeat(part, 32/len(part))))
}

func parseKeys(tb testing.TB, text string) []paginate.Key {
	tb.Helper()
	return expect.Value(paginate.ParseKeys(text))(tb)
}

func TestParseKeysRefuses(t *testing.T) {
	t.Parallel()
	short := base64.StdEncoding.EncodeToString(make([]byte, 31))
	long := base64.StdEncoding.EncodeToString(make([]byte, 33))
	tests := map[string]struct{ text, want string }{
		"empty":            {"", "no keys"},
		"blank":            {" \n", "no keys"},
		"comma alone":      {",", "key 1"},
		"final comma":      {secretA + ",", "key 2"},
		"gap":              {secretA + ",," + secretB, "key 2"},
		"short":            {secretA + "," + short, "key 2"},
		"long":             {long, "key 1"},
		"hexadecimal":      {strings.Repeat("0f", 32), "key 1"},
		"no padding":       {strings.TrimRight(secretA, "="), "key 1"},
		"stray bits":       {strings.Replace(secretA, "8=", "9=", 1), "key 1"},
		"URL alphabet":     {strings.NewReplacer("/", "_", "+", "-").Replace(secretB), "key 1"},
		"quoted":           {`"` + secretA + `"`, "key 1"},
		"other separators": {secretA + ";" + secretB, "key 1"},
		"zeros":            {secretA + "," + repeated("\x00"), "key 2 is not random"},
		"one byte":         {repeated("\xff"), "key 1 is not random"},
		"a word":           {repeated("changeme"), "key 1 is not random"},
		"two bytes":        {repeated("\xa5\x5a"), "key 1 is not random"},
		"digits":           {repeated("0123456789abcdef"), "key 1 is not random"},
		"seven bytes":      {base64.StdEncoding.EncodeToString([]byte("abcdefgggggggggggggggggggggggggg")), "key 1 is not random"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			keys, err := paginate.ParseKeys(tt.text)
			if keys != nil || err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("ParseKeys = %v, %v; want an error with %q", keys, err, tt.want)
			}
			for _, field := range strings.FieldsFunc(tt.text, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' }) {
				if strings.Contains(err.Error(), field) {
					t.Errorf("the error quotes the key: %v", err)
				}
			}
		})
	}
}

func TestKeyOfEightBytes(t *testing.T) {
	t.Parallel()
	text := base64.StdEncoding.EncodeToString([]byte("abcdefghhhhhhhhhhhhhhhhhhhhhhhhh"))
	if keys := parseKeys(t, text); len(keys) != 1 {
		t.Errorf("%d keys", len(keys))
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	a, b := parseKeys(t, secretA)[0], parseKeys(t, secretB)[0]
	tests := map[string]struct {
		keys []paginate.Key
		opts *paginate.Options
		want string
	}{
		"no keys":      {nil, nil, "no keys"},
		"zero key":     {[]paginate.Key{a, {}}, nil, "key 2 is the zero Key"},
		"key twice":    {[]paginate.Key{a, b, a}, nil, "key 3 has the id of an earlier one"},
		"negative TTL": {[]paginate.Key{a}, &paginate.Options{TTL: -time.Hour}, "TTL"},
		"tiny TTL":     {[]paginate.Key{a}, &paginate.Options{TTL: time.Second - 1}, "TTL"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := paginate.New(tt.keys, tt.opts)
			if c != nil || err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("New = %v, %v; want an error with %q", c, err, tt.want)
			}
		})
	}
}

func TestNewDoesNotKeepTheCallersSlice(t *testing.T) {
	t.Parallel()
	keys := []paginate.Key{paginate.NewKey()}
	c := newCodec(t, nil, keys...)
	cursor := seal(t, c, txPosition, scope)
	keys[0] = paginate.NewKey()
	checkOpens(t, c, cursor, scope, txPosition)
}

func TestNewKeysDiffer(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 100 {
		id := paginate.NewKey().ID()
		if seen[id] {
			t.Fatalf("two keys with id %s", id)
		}
		seen[id] = true
	}
}

func TestKeyDoesNotShowItsSecret(t *testing.T) {
	t.Parallel()
	key := parseKeys(t, secretA)[0]
	secret := expect.Value(base64.StdEncoding.DecodeString(secretA))(t)
	type config struct {
		Ring  []paginate.Key
		key   paginate.Key // fmt calls no methods of what it finds here.
		codec *paginate.Codec
	}
	codec := newCodec(t, nil, key)
	values := map[string]any{
		"key": key, "pointer": &key, "zero": paginate.Key{},
		"config": config{[]paginate.Key{key}, key, codec}, "config pointer": &config{[]paginate.Key{key}, key, codec},
		"codec": codec, "codec value": *codec,
	}
	// How five bytes of the secret look in each notation that a log may use.
	part := secret[10:15]
	forms := []string{
		string(part),
		hex.EncodeToString(part),
		strings.ToUpper(hex.EncodeToString(part)),
		strings.Trim(fmt.Sprintf("%d", part), "[]"),
		strings.Trim(fmt.Sprintf("%x", []int{10, 11, 12, 13, 14}), "[]"),
		strings.TrimSuffix(strings.TrimPrefix(fmt.Sprintf("%#v", part), "[]byte{"), "}"),
		secretA[12:20],
		strconv.Itoa(0x08090a0b), "8090a0b", "8090A0B", // a word of the expanded key
		strconv.Itoa(0x0b0a0908), "b0a0908", "B0A0908",
	}
	for name, v := range values {
		var out bytes.Buffer
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "% x", "%d", "%o", "%b", "%c", "%U", "%T"} {
			fmt.Fprintf(&out, verb+"\n", v)
		}
		fmt.Fprintln(&out, v)
		slog.New(slog.NewTextHandler(&out, nil)).Info("text", "v", v)
		slog.New(slog.NewJSONHandler(&out, nil)).Info("json", "v", v)
		if text, err := json.Marshal(v); err == nil {
			out.Write(text)
		}
		for _, form := range forms {
			if strings.Contains(out.String(), form) {
				t.Errorf("%s shows %q of the secret:\n%s", name, form, out.String())
			}
		}
	}
	if got, want := fmt.Sprintf("%v %#v %s", key, key, &key), strings.TrimSpace(strings.Repeat("paginate.Key("+idA+") ", 3)); got != want {
		t.Errorf("printed as %q, want %q", got, want)
	}
}
