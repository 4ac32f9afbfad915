package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/singletable/singletable/keys"
)

func TestExplain(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"item":      {"USER#u-123", "TX#2024-01-15T10:05:00.000Z#tx-abc"},
		"profile":   {"USER#u-123", "PROFILE"},
		"escapes":   {"TEAM#a%23b%20c%25", "%01#x"},
		"shard":     {"GLOBAL_TX#12", "2024-01-15T10:05:00.000Z#tx-abc"},
		"no-sk":     {"USER#u-123", ""},
		"foreign":   {"USER#u 123", "2024-01-15T12:05:00+02:00#%2f"},
		"empty":     {"USER#", "TX##1"},
		"electrodb": {"#METADATA#x", "$service#entity_1#id_a b"},
		"peers":     {"_unique#User#email#a@b.example", "_unique#"},
		"typedorm":  {"DRM_GEN_USER.EMAIL#a@b.example"},
		"label":     {"$shop#customerid_c-1", "$order_1"},
		"faults":    {"", string(keys.Tx.SK(keys.Int(123, 2), keys.Int(-1, 2), keys.Str("")))},
		"not-utf8":  {"USER#a\xffb"},
		"controls":  {"USER#a\x1b[31mb\u202e"},
		"too-long":  {"USER#" + strings.Repeat("é", 1100), "TX#" + strings.Repeat("x", 1022)},
		"pk-only":   {"USER#" + strings.Repeat("x", 1020)},
		"key":       {"METADATA"},
		"json":      {"-json", "USER#u-123", "TX#2024-01-15T10:05:00.000Z#a%23b#007"},
		"json-no":   {"-json", string(keys.User.PK(""))},
		"json-raw":  {"-json", "USER#a b"},
		"json-utf8": {"-json", "USER#a\xffb<"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			golden(t, "explain-"+name, run(t, nil, "", append([]string{"explain"}, args...)...))
		})
	}
}

// FuzzExplain explains arbitrary keys. The result is that of package keys, is
// always JSON, and never holds what a terminal would take for a command.
func FuzzExplain(f *testing.F) {
	f.Add("USER#u-123", "TX#2024-01-15T10:05:00.000Z#tx-abc")
	f.Add("", "")
	f.Add("USER#\xffempty", "%2#\x1b[31m")
	f.Fuzz(func(t *testing.T, pk, sk string) {
		key := keys.Key{PK: keys.PK(pk), SK: keys.SK(sk)}
		text := run(t, nil, "", "explain", "--", pk, sk)
		if text.code == exitYes != (key.Validate() == nil) || text.code == exitTrouble {
			t.Errorf("exit %d for %q: %v", text.code, key, key.Validate())
		}
		clean(t, text)
		asJSON := run(t, nil, "", "explain", "-json", "--", pk, sk)
		clean(t, asJSON)
		var out explained
		if err := json.Unmarshal([]byte(asJSON.stdout), &out); err != nil || out.Valid != (text.code == exitYes) {
			t.Errorf("%v: %s", err, asJSON.stdout)
		}
	})
}
