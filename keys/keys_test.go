package keys_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/keys"
)

const (
	order keys.Prefix = "ORDER"
	dept  keys.Prefix = "DEPT"
)

// at is an instant that needs no rounding.
var at = time.Date(2024, time.January, 15, 10, 5, 0, 0, time.UTC)

// rule returns the rule that err names, or "" for a nil error. Any other error
// fails the test.
func rule(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	invalid, ok := errors.AsType[*keys.Error](err)
	if !ok || !errors.Is(err, keys.ErrInvalid) {
		t.Fatalf("got error %v (%T), want a *keys.Error that matches ErrInvalid", err, err)
	}
	return invalid.Rule
}

func TestKeysOfTheAppCoreDesign(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ got, want keys.Key }{
		"user": {
			keys.Key{PK: keys.User.PK("u-123"), SK: keys.Profile},
			keys.Key{PK: "USER#u-123", SK: "PROFILE"},
		},
		"transaction of a user": {
			keys.Key{PK: keys.User.PK("u-123"), SK: keys.Tx.SK(keys.Time(at), keys.Str("tx-abc"))},
			keys.Key{PK: "USER#u-123", SK: "TX#2024-01-15T10:05:00.000Z#tx-abc"},
		},
		"transaction by id": {
			keys.Key{PK: keys.Tx.PK("tx-abc"), SK: keys.Metadata},
			keys.Key{PK: "TX#tx-abc", SK: "METADATA"},
		},
		"notification": {
			keys.Key{PK: keys.User.PK("u-123"), SK: keys.Notif.SK(keys.Time(at.Add(time.Minute)), keys.Str("notif-xyz"))},
			keys.Key{PK: "USER#u-123", SK: "NOTIF#2024-01-15T10:06:00.000Z#notif-xyz"},
		},
		"idempotency record": {
			keys.Key{PK: keys.Ide.PK("req-uuid-xxxx"), SK: keys.Metadata},
			keys.Key{PK: "IDE#req-uuid-xxxx", SK: "METADATA"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, tt.got); diff != "" {
				t.Errorf("key (-want +got):\n%s", diff)
			}
			if err := tt.got.Validate(); err != nil {
				t.Errorf("Validate() = %v", err)
			}
		})
	}
}

func TestHostileIDsStayInTheirSegment(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		id   string
		want keys.PK
		rule string
	}{
		"another key's text": {id: "u-1#TX#2024", want: "USER#u-1%23TX%232024"},
		"an escape":          {id: "u%23", want: "USER#u%2523"},
		"NUL":                {id: "u\x00", want: "USER#u%00"},
		"newline":            {id: "u\r\n", want: "USER#u%0D%0A"},
		"spaces":             {id: " u ", want: "USER#%20u%20"},
		"only delimiters":    {id: "##", want: "USER#%23%23"},
		"the bound's byte":   {id: "$", want: "USER#%24"},
		"other scripts":      {id: "ü-日本-😀", want: "USER#ü-日本-😀"},
		"punctuation":        {id: "a.b_c-d@e+f&'()", want: "USER#a.b_c-d@e+f&'()"},
		"empty":              {id: "", want: "USER#\xffempty", rule: "empty segment"},
		"invalid UTF-8":      {id: "u\xc3", want: "USER#u\xc3", rule: "invalid UTF-8"},
		"split character":    {id: "\xc3#\xbc", want: "USER#\xc3%23\xbc", rule: "invalid UTF-8"},
		"surrogate":          {id: "\xed\xa0\x80", want: "USER#\xed\xa0\x80", rule: "invalid UTF-8"},
		"3,000 bytes": {
			id:   strings.Repeat("u", 3000),
			want: keys.PK("USER#" + strings.Repeat("u", 3000)),
			rule: "longer than 2048 bytes",
		},
		"long by escapes": {
			id:   strings.Repeat("#", 1000),
			want: keys.PK("USER#" + strings.Repeat("%23", 1000)),
			rule: "longer than 2048 bytes",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := keys.User.PK(tt.id)
			if got != tt.want {
				t.Errorf("PK(%q) = %q, want %q", tt.id, got, tt.want)
			}
			if got := rule(t, got.Validate()); got != tt.rule {
				t.Errorf("Validate() names rule %q, want %q", got, tt.rule)
			}
			if got := rule(t, (keys.Key{PK: got, SK: keys.Profile}).Validate()); got != tt.rule {
				t.Errorf("Key.Validate() names rule %q, want %q", got, tt.rule)
			}
		})
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	type failure struct{ Part, Rule string }
	tests := map[string]struct {
		key  keys.Key
		want failure
	}{
		"both parts":                 {key: keys.Key{PK: "USER#u", SK: "PROFILE"}},
		"no sort key":                {key: keys.Key{PK: "USER#u"}},
		"keys of other programs":     {key: keys.Key{PK: "user|7 of 9", SK: "50% $"}},
		"leading delimiter":          {key: keys.Key{PK: "#u", SK: "#METADATA#x"}},
		"trailing delimiter":         {key: keys.Key{PK: "user#", SK: "TX#"}},
		"doubled delimiter":          {key: keys.Key{PK: "A##B", SK: "TX##a"}},
		"only delimiters":            {key: keys.Key{PK: "##", SK: "#"}},
		"controls":                   {key: keys.Key{PK: "\x00", SK: "\x7f\n"}},
		"zero":                       {want: failure{"partition key", "empty"}},
		"no partition key":           {key: keys.Key{SK: "PROFILE"}, want: failure{"partition key", "empty"}},
		"invalid UTF-8":              {key: keys.Key{PK: "USER#u", SK: "TX#\x80"}, want: failure{"sort key", "invalid UTF-8"}},
		"both wrong, partition wins": {key: keys.Key{PK: "\xff", SK: "\xff"}, want: failure{"partition key", "invalid UTF-8"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got failure
			if invalid, ok := errors.AsType[*keys.Error](tt.key.Validate()); ok {
				got = failure{invalid.Part, invalid.Rule}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Validate() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLengthIsCountedInBytes(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		id    string
		bytes int
	}{
		"one byte":   {"a", 1},
		"two bytes":  {"ü", 2},
		"four bytes": {"😀", 4},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// Filler brings the key to exactly the limit.
			fill := func(limit int) string {
				rest := limit - len("USER#")
				return strings.Repeat("x", rest%tt.bytes) + strings.Repeat(tt.id, rest/tt.bytes)
			}
			pk, sk := keys.User.PK(fill(keys.MaxPK)), keys.User.SK(keys.Str(fill(keys.MaxSK)))
			if len(pk) != 2048 || len(sk) != 1024 {
				t.Fatalf("the keys have %d and %d bytes, want 2048 and 1024", len(pk), len(sk))
			}
			if err := (keys.Key{PK: pk, SK: sk}).Validate(); err != nil {
				t.Errorf("Validate() at the limits = %v", err)
			}
			if got, want := rule(t, (pk+"x").Validate()), "longer than 2048 bytes"; got != want {
				t.Errorf("partition key above the limit: rule %q, want %q", got, want)
			}
			if got, want := rule(t, (sk+"x").Validate()), "longer than 1024 bytes"; got != want {
				t.Errorf("sort key above the limit: rule %q, want %q", got, want)
			}
		})
	}
}

func TestKeyIsComparable(t *testing.T) {
	t.Parallel()
	seen := map[keys.Key]bool{{PK: keys.User.PK("u-1"), SK: keys.Profile}: true}
	if !seen[keys.Key{PK: "USER#u-1", SK: "PROFILE"}] {
		t.Error("a key built and the same key written out are different map keys")
	}
}
