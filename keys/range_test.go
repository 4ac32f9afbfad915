package keys_test

import (
	"slices"
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
	hour := at.Add(time.Hour)
	between := keys.Tx.Between(at, hour)
	tests := map[string]struct {
		r    keys.Range
		sk   keys.SK
		want bool
	}{
		"whole partition":               {keys.None.All(), "PROFILE", true},
		"whole partition, no sort key":  {keys.None.All(), "", true},
		"segments are whole":            {keys.Tx.All(keys.Str("1")), "TX#10#a", false},
		"segment itself":                {keys.Tx.All(keys.Str("1")), "TX#1#a", true},
		"parent is not below itself":    {dept.All(keys.Str("eng")), "DEPT#eng", false},
		"prefix is not below itself":    {keys.Tx.All(), "TX", false},
		"longer prefix":                 {keys.Tx.All(), "TX2#a", false},
		"exactly":                       {keys.Exactly("TX#1"), "TX#1", true},
		"exactly, longer":               {keys.Exactly("TX#1"), "TX#10", false},
		"first instant":                 {between, keys.Tx.SK(keys.Time(at), keys.Str("a")), true},
		"first instant, no id":          {between, keys.Tx.SK(keys.Time(at)), true},
		"before the first":              {between, keys.Tx.SK(keys.Time(at.Add(-1)), keys.Str("~")), false},
		"last before the end":           {between, keys.Tx.SK(keys.Time(hour.Add(-1)), keys.Str("~")), true},
		"end":                           {between, keys.Tx.SK(keys.Time(hour), keys.Str("a")), false},
		"end, no id":                    {between, keys.Tx.SK(keys.Time(hour)), false},
		"finer fraction, in":            {between, "TX#2024-01-15T10:05:00.000001Z#a", true},
		"finer fraction, out":           {between, "TX#2024-01-15T11:05:00.000001Z#a", false},
		"no fraction, in":               {between, "TX#2024-01-15T10:05:00Z#a", true},
		"no fraction, out":              {between, "TX#2024-01-15T11:05:00Z#a", false},
		"since, last year":              {keys.Tx.Since(at), "TX#9999-12-31T23:59:59.999Z#~", true},
		"since, the key after all":      {keys.Tx.Since(at), "TX$", false},
		"prefix of other programs":      {keys.Range{Prefix: "$a#b_"}, "$a#b_1", true},
		"another entity's prefix":       {keys.Range{Prefix: "$a#b_"}, "$a#bc_1", false},
		"since, next prefix":            {keys.Tx.Since(at), "TXA#9999-12-31T23:59:59.999Z", false},
		"since, other parent":           {dept.Since(at, keys.Str("a")), "DEPT#b#9999-12-31T23:59:59.999Z", false},
		"since, parent with more bytes": {dept.Since(at, keys.Str("a")), keys.SK("DEPT#a%249999"), false},
		"until, year zero":              {keys.Tx.Until(at), "TX#0000-01-01T00:00:00.000Z", true},
		"until, at":                     {keys.Tx.Until(at), keys.Tx.SK(keys.Time(at)), false},
		"until, previous prefix":        {keys.Tx.Until(at), "TW#0000-01-01T00:00:00.000Z", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := tt.r.Contains(tt.sk); got != tt.want {
				t.Errorf("%q contains %q: got %v, want %v", tt.r, tt.sk, got, tt.want)
			}
		})
	}
}

// entry is a sort key together with what it was built from.
type entry struct {
	prefix keys.Prefix
	parent string
	time   time.Time
	sk     keys.SK
}

// partition returns the sorted keys of a partition with several prefixes,
// parents and times, chosen to lie close to each other.
func partition() []entry {
	var entries []entry
	for _, prefix := range []keys.Prefix{"T", "TX", "TX#", "TX$", "TXA", "TY", keys.None} {
		for _, parent := range []string{"1", "10", "1#", "1 ", "1%", "ü", "2024-01-15T10:05:00.000Z"} {
			for ms := -2; ms <= 2; ms++ {
				for _, id := range []string{" ", "a", "~"} {
					t := at.Add(time.Duration(ms) * time.Millisecond)
					sk := prefix.SK(keys.Str(parent), keys.Time(t), keys.Str(id))
					entries = append(entries, entry{prefix, parent, t, sk})
				}
			}
		}
	}
	slices.SortFunc(entries, func(x, y entry) int { return strings.Compare(string(x.sk), string(y.sk)) })
	return entries
}

func TestStartingTakesTheSegmentsThatBeginWithAText(t *testing.T) {
	t.Parallel()
	name := keys.Prefix("NAME")
	r := name.Starting("al")
	for text, want := range map[string]bool{
		"al": true, "alan": true, "al\uFFFD": true, "al#": true, "al zed": true, "al%": true, "alé": true,
		"al\U0010FFFF": true, "al\U0010FFFFz": true,
		"a": false, "ak": false, "akz": false, "am": false, "AL": false, "": false, "bal": false,
	} {
		for _, sk := range []keys.SK{name.SK(keys.Str(text)), name.SK(keys.Str(text), keys.Str("p-1"))} {
			if got := r.Contains(sk); got != want {
				t.Errorf("%q: %v, want %v", sk, got, want)
			}
		}
	}
	if r.Contains(keys.Prefix("NAMES").SK(keys.Str("al"))) {
		t.Error("another prefix is part of the range")
	}
	text := strings.Repeat("x", keys.MaxSK-len("NAME#"))
	if longest := name.Starting(text); !longest.Contains(name.SK(keys.Str(text))) {
		t.Errorf("the longest text is not found: %v", longest.Validate())
	}
}

func TestRangesAgreeWithAFilterOfTheSortedPartition(t *testing.T) {
	t.Parallel()
	type test struct {
		name string
		r    keys.Range
		want func(entry) bool
	}
	entries := partition()
	tests := []test{
		{"partition", keys.None.All(), func(entry) bool { return true }},
		{"exactly", keys.Exactly(entries[7].sk), func(e entry) bool { return e.sk == entries[7].sk }},
	}
	a, b := at.Add(-time.Millisecond), at.Add(2*time.Millisecond)
	for _, prefix := range []keys.Prefix{"T", "TX", "TX#", "TX$", keys.None} {
		if prefix != keys.None {
			tests = append(tests, test{"all " + string(prefix), prefix.All(), func(e entry) bool { return e.prefix == prefix }})
		}
		for _, parent := range []string{"1", "10", "1#", "ü"} {
			name, under := string(prefix)+"/"+parent, keys.Str(parent)
			same := func(e entry) bool { return e.prefix == prefix && e.parent == parent }
			tests = append(
				tests,
				test{"all " + name, prefix.All(under), same},
				test{"since " + name, prefix.Since(a, under), func(e entry) bool { return same(e) && !e.time.Before(a) }},
				test{"until " + name, prefix.Until(b, under), func(e entry) bool { return same(e) && e.time.Before(b) }},
				test{"between " + name, prefix.Between(a, b, under), func(e entry) bool {
					return same(e) && !e.time.Before(a) && e.time.Before(b)
				}},
			)
		}
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got, want []keys.SK
			first, last := -1, -1
			for i, e := range entries {
				if tt.want(e) {
					want = append(want, e.sk)
				}
				if tt.r.Contains(e.sk) {
					got = append(got, e.sk)
					if first < 0 {
						first = i
					}
					last = i
				}
			}
			if len(want) == 0 {
				t.Fatal("the filter keeps nothing, so the test shows nothing")
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("keys in %q (-want +got):\n%s", tt.r, diff)
			}
			if last-first+1 != len(got) {
				t.Errorf("the %d keys in %q are not next to each other", len(got), tt.r)
			}
		})
	}
}
