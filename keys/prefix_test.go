package keys_test

import (
	"testing"

	"github.com/singletable/singletable/keys"
)

func TestPrefixPK(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ got, want keys.PK }{
		"one id":             {keys.User.PK("u-1"), "USER#u-1"},
		"no id":              {keys.Prefix("GLOBAL_TX").PK(), "GLOBAL_TX"},
		"tenant":             {order.PK("ACME"), "ORDER#ACME"},
		"tenant and id":      {order.PK("ACME", "7"), "ORDER#ACME#7"},
		"number":             {keys.Prefix("GLOBAL_TX").PK(keys.Int(5, 2).String()), "GLOBAL_TX#05"},
		"time":               {keys.Prefix("DAY").PK(keys.Time(at).String()), "DAY#2024-01-15T10:05:00.000Z"},
		"prefix is escaped":  {keys.Prefix("A#B").PK("c"), "A%23B#c"},
		"no prefix":          {keys.None.PK("u-1"), "u-1"},
		"no prefix, two ids": {keys.None.PK("a", "b"), "a#b"},
		"nothing":            {keys.None.PK(), ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tt.got != tt.want {
				t.Errorf("got %q, want %q", tt.got, tt.want)
			}
		})
	}
}

func TestPrefixSK(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ got, want keys.SK }{
		"no segment":     {keys.Tx.SK(), "TX"},
		"hierarchy":      {dept.SK(keys.Str("eng"), keys.Str("db")), "DEPT#eng#db"},
		"bare timestamp": {keys.None.SK(keys.Time(at)), "2024-01-15T10:05:00.000Z"},
		"bare timestamp and id": {
			keys.None.SK(keys.Time(at), keys.Str("tx-1")),
			"2024-01-15T10:05:00.000Z#tx-1",
		},
		"number":                 {keys.Prefix("V").SK(keys.Int(42, 6)), "V#000042"},
		"raw":                    {keys.Tx.SK(keys.Raw("2024-01-15 10:05#x")), "TX#2024-01-15 10:05#x"},
		"nothing, raw":           {keys.Prefix("user").SK(keys.Raw("")), "user#"},
		"nothing, raw, in front": {keys.None.SK(keys.Raw(""), keys.Str("METADATA")), "#METADATA"},
		"nothing, raw, between":  {keys.Prefix("A").SK(keys.Raw(""), keys.Str("B")), "A##B"},
		"none":                   {keys.None.SK(), ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tt.got != tt.want {
				t.Errorf("got %q, want %q", tt.got, tt.want)
			}
			if err := tt.got.Validate(); err != nil {
				t.Errorf("Validate() = %v", err)
			}
		})
	}
}

func TestEmptyIDsAreFound(t *testing.T) {
	t.Parallel()
	empty := keys.Str("")
	tests := map[string]interface{ Validate() error }{
		"partition key":             keys.User.PK(""),
		"bare partition key":        keys.None.PK(""),
		"first of two ids":          keys.None.PK("", "a"),
		"sort key":                  keys.Tx.SK(empty),
		"zero segment":              keys.Tx.SK(keys.Segment{}),
		"bare sort key":             keys.None.SK(empty),
		"first of two bare":         keys.None.SK(empty, keys.Str("a")),
		"range":                     dept.All(empty),
		"bare range":                keys.None.All(empty),
		"bare time range, since":    keys.None.Since(at, empty),
		"bare time range, until":    keys.None.Until(at, empty),
		"exactly nothing":           keys.Exactly(""),
		"exactly the empty segment": keys.Exactly(keys.None.SK(empty)),
		"an empty segment's text":   keys.User.PK(empty.String()),
		"the zero segment's text":   keys.User.PK(keys.Segment{}.String()),
		"first letters under empty": dept.Starting("a", empty),
		"nothing at all, raw":       keys.Exactly(keys.None.SK(keys.Raw(""))),
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, want := rule(t, tt.Validate()), "empty segment"; got != want {
				t.Errorf("Validate() of %q names rule %q, want %q", tt, got, want)
			}
		})
	}
}

// The test is not parallel because allocations are counted for the process.
func TestBuildingAKeyAllocatesOnce(t *testing.T) {
	segment, id := keys.Time(at), "tx-abc"
	tests := map[string]func(){
		"partition key":         func() { _ = keys.User.PK(id) },
		"escaped partition key": func() { _ = keys.User.PK("a#b", "50%") },
		"sort key":              func() { _ = keys.Tx.SK(segment, keys.Str(id)) },
	}
	for name, build := range tests {
		if got := testing.AllocsPerRun(100, build); got != 1 {
			t.Errorf("%s: %v allocations, want 1", name, got)
		}
	}
}
