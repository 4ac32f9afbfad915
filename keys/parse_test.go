package keys_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/keys"
)

func TestParse(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		key  string
		want keys.Parts
	}{
		"prefix alone":      {"PROFILE", keys.Parts{"PROFILE"}},
		"prefix and id":     {"USER#u-123", keys.Parts{"USER", "u-123"}},
		"three segments":    {"TX#2024-01-15T10:05:00.000Z#tx", keys.Parts{"TX", "2024-01-15T10:05:00.000Z", "tx"}},
		"every escape":      {"A#%00%0A%1F%20%23%24%25", keys.Parts{"A", "\x00\n\x1f #$%"}},
		"escape in prefix":  {"A%23B#c", keys.Parts{"A#B", "c"}},
		"escaped escape":    {"A#%2523", keys.Parts{"A", "%23"}},
		"escape at the end": {"A#b%20", keys.Parts{"A", "b "}},
		"other scripts":     {"A#日本%20ü", keys.Parts{"A", "日本 ü"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := keys.Parse(tt.key)
			if err != nil {
				t.Fatalf("Parse(%q) = %v", tt.key, err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Parse(%q) (-want +got):\n%s", tt.key, diff)
			}
		})
	}
}

func TestParseIsStrict(t *testing.T) {
	t.Parallel()
	const escape = "byte that is not escaped, or a malformed escape"
	tests := map[string]struct{ key, want string }{
		"empty":                 {"", "empty"},
		"leading delimiter":     {"#a", "empty segment"},
		"trailing delimiter":    {"A#", "empty segment"},
		"doubled delimiter":     {"A##b", "empty segment"},
		"invalid UTF-8":         {"A#\xff", "invalid UTF-8"},
		"space":                 {"A#b c", escape},
		"dollar":                {"A$", escape},
		"NUL":                   {"A#\x00", escape},
		"lower-case digits":     {"A#%0a", escape},
		"not hexadecimal, high": {"A#%G0", escape},
		"not hexadecimal, low":  {"A#%0G", escape},
		"not hexadecimal, both": {"A#%%%", escape},
		"needless, letter":      {"A#%41", escape},
		"needless, ampersand":   {"A#%26", escape},
		"needless, byte FF":     {"A#%FF", escape},
		"cut after percent":     {"A#b%", escape},
		"cut after one digit":   {"A#b%2", escape},
		"cut by the delimiter":  {"A#%2#3", escape},
		"spoiled by another":    {"A#%20%2x", escape},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parts, err := keys.Parse(tt.key)
			if got := rule(t, err); got != tt.want {
				t.Errorf("Parse(%q) names rule %q, want %q", tt.key, got, tt.want)
			}
			if parts != nil {
				t.Errorf("Parse(%q) = %q with an error", tt.key, parts)
			}
		})
	}
}

func TestParseKnowsTheLimitOfItsType(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("x", keys.MaxPK)
	if _, err := keys.Parse(keys.PK(text)); err != nil {
		t.Errorf("Parse of the longest partition key = %v", err)
	}
	if _, err := keys.Parse(text); err != nil {
		t.Errorf("Parse of a string of that length = %v", err)
	}
	if _, err := keys.Parse(keys.SK(text[:keys.MaxSK])); err != nil {
		t.Errorf("Parse of the longest sort key = %v", err)
	}
	for want, parse := range map[string]func() (keys.Parts, error){
		"keys: invalid partition key: longer than 2048 bytes": func() (keys.Parts, error) { return keys.Parse(keys.PK(text + "x")) },
		"keys: invalid key: longer than 2048 bytes":           func() (keys.Parts, error) { return keys.Parse(text + "x") },
		"keys: invalid sort key: longer than 1024 bytes":      func() (keys.Parts, error) { return keys.Parse(keys.SK(text)) },
	} {
		if _, err := parse(); err == nil || err.Error() != want {
			t.Errorf("got error %v, want %s", err, want)
		}
	}
}

func TestPartsPrefix(t *testing.T) {
	t.Parallel()
	if got, want := (keys.Parts{"USER", "u"}).Prefix(), keys.User; got != want {
		t.Errorf("Prefix() = %q, want %q", got, want)
	}
	if got, want := keys.Parts(nil).Prefix(), keys.None; got != want {
		t.Errorf("Prefix() of no parts = %q, want %q", got, want)
	}
}

func TestPartsTime(t *testing.T) {
	t.Parallel()
	const notTime = "not a time"
	tests := map[string]struct {
		text string
		want time.Time
		rule string
	}{
		"instant":         {text: "2024-01-15T10:05:00.000Z", want: at},
		"milliseconds":    {text: "2024-01-15T10:05:00.001Z", want: at.Add(time.Millisecond)},
		"year zero":       {text: "0000-01-01T00:00:00.000Z", want: time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)},
		"last":            {text: "9999-12-31T23:59:59.999Z", want: time.Date(9999, 12, 31, 23, 59, 59, 999_000_000, time.UTC)},
		"empty":           {text: "", rule: notTime},
		"word":            {text: "tx-abc", rule: notTime},
		"comma":           {text: "2024-01-15T10:05:00,000Z", rule: notTime},
		"no fraction":     {text: "2024-01-15T10:05:00Z", rule: notTime},
		"finer fraction":  {text: "2024-01-15T10:05:00.000000Z", rule: notTime},
		"offset":          {text: "2024-01-15T10:05:00.000+00:00", rule: notTime},
		"lower-case z":    {text: "2024-01-15T10:05:00.000z", rule: notTime},
		"30 February":     {text: "2024-02-30T00:00:00.000Z", rule: notTime},
		"24 o'clock":      {text: "2024-01-15T24:00:00.000Z", rule: notTime},
		"one-digit hour":  {text: "2024-01-15T1:05:00.000Z", rule: notTime},
		"text after it":   {text: "2024-01-15T10:05:00.000Z ", rule: notTime},
		"second sixty":    {text: "2024-06-30T23:59:60.000Z", rule: notTime},
		"Arabic numerals": {text: "٢٠٢٤-01-15T10:05:00.000Z", rule: notTime},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := keys.Parts{"TX", tt.text}.Time(1)
			if got := rule(t, err); got != tt.rule {
				t.Errorf("Time(1) of %q names rule %q, want %q", tt.text, got, tt.rule)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Time(1) of %q (-want +got):\n%s", tt.text, diff)
			}
		})
	}
}

func TestPartsInt(t *testing.T) {
	t.Parallel()
	const notNumber = "not a number"
	tests := map[string]struct {
		text string
		want int64
		rule string
	}{
		"padded":         {text: "000042", want: 42},
		"not padded":     {text: "42", want: 42},
		"zero":           {text: "0", want: 0},
		"greatest":       {text: "09223372036854775807", want: 9223372036854775807},
		"above":          {text: "09223372036854775808", rule: "number above the range of int64"},
		"max uint64":     {text: "18446744073709551615", rule: "number above the range of int64"},
		"empty":          {text: "", rule: notNumber},
		"minus":          {text: "-1", rule: notNumber},
		"plus":           {text: "+1", rule: notNumber},
		"underscore":     {text: "1_000", rule: notNumber},
		"hexadecimal":    {text: "0x10", rule: notNumber},
		"fraction":       {text: "1.0", rule: notNumber},
		"space":          {text: "1 ", rule: notNumber},
		"digits outside": {text: "1a1", rule: notNumber},
		"other numerals": {text: "٤٢", rule: notNumber},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := keys.Parts{"V", tt.text}.Int(1)
			if got := rule(t, err); got != tt.rule {
				t.Errorf("Int(1) of %q names rule %q, want %q", tt.text, got, tt.rule)
			}
			if got != tt.want {
				t.Errorf("Int(1) of %q = %d, want %d", tt.text, got, tt.want)
			}
		})
	}
}

func TestPartsOutOfRange(t *testing.T) {
	t.Parallel()
	parts := keys.Parts{"TX", "a"}
	for _, i := range []int{math.MinInt, -1, 2, math.MaxInt} {
		if _, err := parts.Time(i); rule(t, err) != "no such segment" {
			t.Errorf("Time(%d) = %v", i, err)
		}
		if _, err := parts.Int(i); rule(t, err) != "no such segment" {
			t.Errorf("Int(%d) = %v", i, err)
		}
	}
	if n, err := (keys.Parts{"7"}).Int(0); err != nil || n != 7 {
		t.Errorf("Int(0) = %d, %v", n, err)
	}
	if _, err := keys.Parts(nil).Int(0); rule(t, err) != "no such segment" {
		t.Errorf("Int(0) of no parts = %v", err)
	}
}
