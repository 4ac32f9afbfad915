package keys_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/keys"
)

func TestRangeBounds(t *testing.T) {
	t.Parallel()
	a, b := at, time.Date(2024, 1, 16, 0, 0, 0, 0, time.UTC)
	eng := keys.Str("eng")
	tests := map[string]struct{ got, want keys.Range }{
		"all":                 {keys.Tx.All(), keys.Range{Prefix: "TX#"}},
		"all under":           {dept.All(eng), keys.Range{Prefix: "DEPT#eng#"}},
		"all, bare":           {keys.None.All(), keys.Range{}},
		"all under, bare":     {keys.None.All(eng), keys.Range{Prefix: "eng#"}},
		"since":               {keys.Tx.Since(a), keys.Range{From: "TX#2024-01-15T10:05:00.000", To: "TX#\U0010FFFF"}},
		"since under":         {dept.Since(a, eng), keys.Range{From: "DEPT#eng#2024-01-15T10:05:00.000", To: "DEPT#eng#\U0010FFFF"}},
		"since, bare":         {keys.None.Since(a), keys.Range{From: "2024-01-15T10:05:00.000"}},
		"since under, bare":   {keys.None.Since(a, eng), keys.Range{From: "eng#2024-01-15T10:05:00.000", To: "eng#\U0010FFFF"}},
		"until":               {keys.Tx.Until(a), keys.Range{From: "TX#", To: "TX#2024-01-15T10:05:00.000"}},
		"until, bare":         {keys.None.Until(a), keys.Range{To: "2024-01-15T10:05:00.000"}},
		"between":             {keys.Tx.Between(a, b), keys.Range{From: "TX#2024-01-15T10:05:00.000", To: "TX#2024-01-16T00:00:00.000"}},
		"between, bare":       {keys.None.Between(a, b), keys.Range{From: "2024-01-15T10:05:00.000", To: "2024-01-16T00:00:00.000"}},
		"between, other zone": {keys.Tx.Between(a.In(time.FixedZone("", 3600)), b.Add(1)), keys.Tx.Between(a, b)},
		"starting":            {keys.Tx.Starting("a b"), keys.Range{Prefix: "TX#a%20b"}},
		"starting under":      {dept.Starting("b", eng), keys.Range{Prefix: "DEPT#eng#b"}},
		"starting, bare":      {keys.None.Starting("b"), keys.Range{Prefix: "b"}},
		"starting anyhow":     {dept.Starting("", eng), dept.All(eng)},
		"exactly":             {keys.Exactly(keys.Profile), keys.Range{From: "PROFILE", To: "PROFILE"}},
		"exactly no time":     {keys.Exactly(keys.Tx.SK(keys.Str("#"))), keys.Range{From: "TX#%23", To: "TX#%23"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, tt.got); diff != "" {
				t.Errorf("range (-want +got):\n%s", diff)
			}
			if err := tt.got.Validate(); err != nil {
				t.Errorf("Validate() = %v", err)
			}
		})
	}
}

func TestRangeValidate(t *testing.T) {
	t.Parallel()
	long := keys.SK(strings.Repeat("x", keys.MaxSK-1))
	tests := map[string]struct {
		r    keys.Range
		want string
	}{
		"zero":                     {keys.Range{}, ""},
		"open to the right":        {keys.Range{From: "B"}, ""},
		"open to the left":         {keys.Range{To: "B"}, ""},
		"closed":                   {keys.Range{From: "A", To: "B"}, ""},
		"prefix at the limit":      {keys.Range{Prefix: long + "#"}, ""},
		"prefix over the limit":    {keys.Range{Prefix: long + "x#"}, "longer than 1024 bytes"},
		"bound over the limit":     {keys.Range{To: long + "xx"}, "longer than 1024 bytes"},
		"prefix and from":          {keys.Range{Prefix: "TX#", From: "TX#1"}, "prefix together with bounds"},
		"prefix and to":            {keys.Range{Prefix: "TX#", To: "TX#1"}, "prefix together with bounds"},
		"prefix of other programs": {keys.Range{Prefix: "$service#entity_"}, ""},
		"prefix, empty segment":    {keys.Range{Prefix: "##"}, ""},
		"prefix, invalid UTF-8":    {keys.Range{Prefix: "\x80#"}, "invalid UTF-8"},
		"bounds, empty segment":    {keys.Range{From: "##", To: "A#"}, ""},
		"to, invalid UTF-8":        {keys.Range{From: "A", To: "B\x80"}, "invalid UTF-8"},
		"exactly an empty segment": {keys.Exactly("TX#"), ""},
		"exactly too long":         {keys.Exactly(long + "xx"), "longer than 1024 bytes"},
		"empty, a year too late":   {keys.Tx.Between(at, at.AddDate(9999, 0, 0)), "time with a year outside 0000 to 9999"},
		"empty, not UTF-8":         {keys.Range{From: "B", To: "\xff"}, "invalid UTF-8"},
		"since a year too early":   {keys.Tx.Since(at.AddDate(-9999, 0, 0)), "time with a year outside 0000 to 9999"},
		"until a year too late":    {keys.None.Until(at.AddDate(9999, 0, 0)), "time with a year outside 0000 to 9999"},
		"under is not UTF-8":       {keys.Tx.Until(at, keys.Str("\xff")), "invalid UTF-8"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := rule(t, tt.r.Validate()); got != tt.want {
				t.Errorf("Validate() of %q names rule %q, want %q", tt.r, got, tt.want)
			}
			if tt.want == "" {
				return
			}
			for _, sk := range []keys.SK{"", "A", "B", "TX#1", "TX#10", keys.Tx.SK(keys.Time(at)), "~"} {
				if tt.r.Contains(sk) {
					t.Errorf("the invalid range %q contains %q", tt.r, sk)
				}
			}
		})
	}
}

func TestRangeEmpty(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		r    keys.Range
		want bool
	}{
		"zero":                    {keys.Range{}, false},
		"prefix":                  {keys.Tx.All(), false},
		"open to the right":       {keys.Range{From: "B"}, false},
		"open to the left":        {keys.Range{To: "B"}, false},
		"exactly":                 {keys.Exactly("B"), false},
		"reversed":                {keys.Range{From: "B", To: "A"}, true},
		"reversed in time":        {keys.Tx.Between(at.Add(time.Hour), at), true},
		"no time at all":          {keys.Tx.Between(at, at), true},
		"less than a millisecond": {keys.Tx.Between(at, at.Add(time.Millisecond-1)), true},
		"one millisecond":         {keys.Tx.Between(at.Add(time.Millisecond-1), at.Add(time.Millisecond)), false},
		"no time, bare":           {keys.None.Between(at, at), true},
		"no time, under":          {dept.Between(at, at, keys.Str("eng")), true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := tt.r.Validate(); err != nil {
				t.Errorf("Validate() of %q = %v", tt.r, err)
			}
			if got := tt.r.Empty(); got != tt.want {
				t.Errorf("Empty() of %q = %v, want %v", tt.r, got, tt.want)
			}
			for _, sk := range []keys.SK{"", "A", "A1", "B", "TX#1", keys.Tx.SK(keys.Time(at)), keys.None.SK(keys.Time(at))} {
				if tt.want && tt.r.Contains(sk) {
					t.Errorf("the empty range %q contains %q", tt.r, sk)
				}
			}
		})
	}
}

func TestRangeContains(t *testing.T) {
	t.Parallel()
	between := keys.Tx.Between(at, at.Add(time.Hour))
	tests := map[string]struct {
		r    keys.Range
		sk   keys.SK
		want bool
	}{
		"whole partition, no sort key": {keys.None.All(), "", true},
		"segment itself":               {keys.Tx.All(keys.Str("1")), "TX#1#a", true},
		"segments are whole":           {keys.Tx.All(keys.Str("1")), "TX#10#a", false},
		"parent is not below itself":   {dept.All(keys.Str("eng")), "DEPT#eng", false},
		"exactly":                      {keys.Exactly("TX#1"), "TX#1", true},
		"exactly, longer":              {keys.Exactly("TX#1"), "TX#10", false},
		"finer fraction, in":           {between, "TX#2024-01-15T10:05:00.000001Z#a", true},
		"finer fraction, out":          {between, "TX#2024-01-15T11:05:00.000001Z#a", false},
		"no fraction, in":              {between, "TX#2024-01-15T10:05:00Z#a", true},
		"no fraction, out":             {between, "TX#2024-01-15T11:05:00Z#a", false},
		"since, the key after all":     {keys.Tx.Since(at), "TX$", false},
		"since, parent of more bytes":  {dept.Since(at, keys.Str("a")), "DEPT#a%249999", false},
	}
	for name, tt := range tests {
		if got := tt.r.Contains(tt.sk); got != tt.want {
			t.Errorf("%s: %q contains %q: got %v, want %v", name, tt.r, tt.sk, got, tt.want)
		}
	}
}
