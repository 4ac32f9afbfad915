package keys_test

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
)

// hostile are strings that try to look like something else.
var hostile = append([]string{
	"a#b", "%", "%23", "$", "\n", "~", "日本", "\xffyear", "\xc3", "PROFILE", "2024-01-15T10:05:00.000Z",
	strings.Repeat("x", 1020), strings.Repeat("#", 700),
}, expect.Nasty()...)

// writable reports whether all texts can be segments of a key.
func writable(texts ...string) bool {
	return !slices.ContainsFunc(texts, func(s string) bool { return s == "" || !utf8.ValidString(s) })
}

func FuzzParseUndoesFormat(f *testing.F) {
	for i, text := range hostile {
		f.Add("TX", text, hostile[(i+1)%len(hostile)])
		f.Add(text, "a", text)
	}
	f.Fuzz(func(t *testing.T, prefix, a, b string) {
		if prefix == "" {
			prefix = "P"
		}
		p, want := keys.Prefix(prefix), []string{prefix, a, b}
		pk, sk := p.PK(a, b), p.SK(keys.Str(a), keys.Str(b))
		if string(pk) != string(sk) {
			t.Fatalf("PK gives %q, SK gives %q", pk, sk)
		}

		parts, err := keys.Parse(pk)
		valid := writable(want...) && len(pk) <= keys.MaxPK
		if (err == nil) != valid || (pk.Validate() == nil) != valid {
			t.Fatalf("%q: Parse: %v, Validate: %v; want it valid: %v", pk, err, pk.Validate(), valid)
		}
		if valid && !slices.Equal(parts, want) {
			t.Errorf("Parse(%q) = %q, want %q", pk, parts, want)
		}

		parts, err = keys.Parse(sk)
		valid = valid && len(sk) <= keys.MaxSK
		if (err == nil) != valid || (sk.Validate() == nil) != valid {
			t.Fatalf("%q: Parse: %v, Validate: %v; want it valid: %v", sk, err, sk.Validate(), valid)
		}
		if valid && !slices.Equal(parts, want) {
			t.Errorf("Parse(%q) = %q, want %q", sk, parts, want)
		}
	})
}

// instantOf maps any number to an instant of the years that a key can hold.
func instantOf(n int64) time.Time {
	first := time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	last := time.Date(9999, 12, 31, 23, 59, 59, 999_000_000, time.UTC).UnixMilli()
	span := uint64(last - first + 1)
	return time.UnixMilli(first + int64(uint64(n)%span)).Add(time.Duration(uint64(n) % 1_000_000))
}

func FuzzOrderOfMixedTuples(f *testing.F) {
	for i, text := range hostile {
		other := hostile[(i+1)%len(hostile)]
		f.Add(text, int64(0), uint64(9), text, int64(1), uint64(10))
		f.Add(text, at.UnixMilli(), uint64(0), other, at.UnixMilli()-1, uint64(1)<<63)
		f.Add(text, int64(-1), ^uint64(0), text, int64(-1), ^uint64(0)-1)
	}
	f.Fuzz(func(t *testing.T, s1 string, t1 int64, n1 uint64, s2 string, t2 int64, n2 uint64) {
		ms := func(n int64) int64 { return instantOf(n).UnixMilli() }
		if s1 == "" || s2 == "" {
			return // no key holds an empty id
		}
		byText := strings.Compare(s1, s2)
		byTime := cmp.Compare(ms(t1), ms(t2))
		byNumber := cmp.Compare(n1, n2)

		time1, time2 := keys.Time(instantOf(t1)), keys.Time(instantOf(t2))
		num1, num2 := keys.Int(n1, 20), keys.Int(n2, 20)
		for _, tt := range []struct {
			x, y keys.SK
			want int
		}{
			{keys.Tx.SK(keys.Str(s1), time1, num1), keys.Tx.SK(keys.Str(s2), time2, num2), cmp.Or(byText, byTime, byNumber)},
			{keys.Tx.SK(time1, keys.Str(s1), num1), keys.Tx.SK(time2, keys.Str(s2), num2), cmp.Or(byTime, byText, byNumber)},
			{keys.Tx.SK(num1, time1, keys.Str(s1)), keys.Tx.SK(num2, time2, keys.Str(s2)), cmp.Or(byNumber, byTime, byText)},
			{keys.None.SK(time1, num1), keys.None.SK(time2, num2), cmp.Or(byTime, byNumber)},
		} {
			if got := cmp.Compare(tt.x, tt.y); got != tt.want {
				t.Errorf("order of %q and %q is %d, that of their tuples is %d", tt.x, tt.y, got, tt.want)
			}
		}
	})
}

func FuzzOrderOfStringTuples(f *testing.F) {
	for i, text := range hostile {
		other := hostile[(i+1)%len(hostile)]
		f.Add(text, other, "a", uint8(1), text, other, "", uint8(3))
		f.Add("a", text, other, uint8(3), "a"+text, other, text, uint8(2))
		f.Add(text, "", "", uint8(0), other, "", "", uint8(1))
	}
	f.Fuzz(func(t *testing.T, a1, a2, a3 string, n uint8, b1, b2, b3 string, m uint8) {
		a, b := []string{a1, a2, a3}[:n%4], []string{b1, b2, b3}[:m%4]
		if slices.Contains(slices.Concat(a, b), "") {
			return // no key holds an empty id
		}
		want := slices.Compare(a, b)
		if got := cmp.Compare(order.PK(a...), order.PK(b...)); got != want {
			t.Errorf("order of %q and %q is %d, that of their tuples is %d", order.PK(a...), order.PK(b...), got, want)
		}
		segments := func(texts []string) []keys.Segment {
			segs := make([]keys.Segment, len(texts))
			for i, text := range texts {
				segs[i] = keys.Str(text)
			}
			return segs
		}
		x, y := order.SK(segments(a)...), order.SK(segments(b)...)
		if got := cmp.Compare(x, y); got != want {
			t.Errorf("order of %q and %q is %d, that of their tuples is %d", x, y, got, want)
		}
	})
}

func FuzzArbitraryBytes(f *testing.F) {
	for _, text := range hostile {
		f.Add(text)
		f.Add("TX#" + text)
		f.Add(text + "#" + text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		sk := keys.SK(text)
		for _, r := range []keys.Range{
			{Prefix: sk},
			{From: sk},
			{To: sk},
			{From: sk, To: "TX#"},
			{From: "TX#", To: sk},
			keys.Exactly(sk),
			keys.Tx.All(keys.Str(text)),
			keys.Tx.Since(at, keys.Raw(text)),
		} {
			if err := r.Validate(); err != nil && (r.Contains(sk) || r.Contains("TX#a")) {
				t.Errorf("the invalid range %q contains something", r)
			}
		}

		parts, err := keys.Parse(text)
		if err != nil {
			return
		}
		if err := keys.PK(text).Validate(); err != nil {
			t.Errorf("%q is parsed but not valid: %v", text, err)
		}
		if got := parts.Prefix().PK(parts[1:]...); string(got) != text {
			t.Errorf("parsed from %q, formatted again as %q", text, got)
		}
		for i := range parts {
			if tm, err := parts.Time(i); err == nil && keys.Time(tm).String() != parts[i] {
				t.Errorf("segment %q is read as %v", parts[i], tm)
			}
			if n, err := parts.Int(i); err == nil && len(parts[i]) <= 20 && keys.Int(n, len(parts[i])).String() != parts[i] {
				t.Errorf("segment %q is read as %d", parts[i], n)
			}
		}
	})
}

func FuzzTimeRangesAreHalfOpen(f *testing.F) {
	for _, text := range hostile {
		f.Add(text, at.UnixMilli(), int64(0), int64(1), text)
		f.Add("u-1", int64(-1), int64(-1), int64(0), text)
		f.Add(text, int64(math.MinInt64), int64(math.MaxInt64), int64(0), text)
		f.Add("u-1", at.UnixMilli(), at.UnixMilli(), at.UnixMilli()+1, text)
	}
	f.Fuzz(func(t *testing.T, parent string, n, from, to int64, id string) {
		if !writable(parent, id) || len(parent)+len(id) > 300 {
			return
		}
		tm, a, b := instantOf(n), instantOf(from), instantOf(to)
		// Keys hold whole milliseconds, and so do the comparisons here.
		notBeforeA, beforeB := tm.UnixMilli() >= a.UnixMilli(), tm.UnixMilli() < b.UnixMilli()
		under := keys.Str(parent)

		for _, tt := range []struct {
			prefix keys.Prefix
			under  []keys.Segment
		}{
			{keys.Tx, nil},
			{keys.Tx, []keys.Segment{under}},
			{keys.None, nil},
			{keys.None, []keys.Segment{under}},
		} {
			head := append(slices.Clone(tt.under), keys.Time(tm))
			for _, sk := range []keys.SK{tt.prefix.SK(head...), tt.prefix.SK(append(head, keys.Str(id))...)} {
				if got := tt.prefix.Since(a, tt.under...).Contains(sk); got != notBeforeA {
					t.Errorf("%q since %v: %v, want %v", sk, a, got, notBeforeA)
				}
				if got := tt.prefix.Until(b, tt.under...).Contains(sk); got != beforeB {
					t.Errorf("%q until %v: %v, want %v", sk, b, got, beforeB)
				}
				between := tt.prefix.Between(a, b, tt.under...)
				if got, want := between.Contains(sk), notBeforeA && beforeB; got != want {
					t.Errorf("%q between %v and %v: %v, want %v", sk, a, b, got, want)
				}
				if got, want := between.Empty(), a.UnixMilli() >= b.UnixMilli(); got != want || between.Validate() != nil {
					t.Errorf("%q is empty: %v, want %v; Validate() = %v", between, got, want, between.Validate())
				}
				if !tt.prefix.All(tt.under...).Contains(sk) {
					t.Errorf("%q is not in %q", sk, tt.prefix.All(tt.under...))
				}
				if strings.HasPrefix(parent, "TX") || tt.prefix == keys.None {
					continue
				}
				if keys.Prefix("T").All().Contains(sk) || keys.Prefix("TX2").Since(a).Contains(sk) {
					t.Errorf("%q is in the range of another prefix", sk)
				}
			}
		}
	})
}
