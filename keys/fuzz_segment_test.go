package keys_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/singletable/singletable/keys"
)

// wantValid checks that a key is valid or not as it should be, and that the
// error is of the package.
func wantValid(t *testing.T, key keys.SK, want bool) {
	t.Helper()
	err := key.Validate()
	if (err == nil) != want {
		t.Fatalf("%q: %v; want it valid: %v", key, err, want)
	}
	if err != nil && !errors.Is(err, keys.ErrInvalid) {
		t.Errorf("%q: %v is not ErrInvalid", key, err)
	}
}

// FuzzInt writes numbers at any width: what fits is read back, what does not is
// no key.
func FuzzInt(f *testing.F) {
	f.Add(int64(0), uint64(0), 1)
	f.Add(int64(-1), uint64(9), 20)
	f.Add(int64(-1)<<63, ^uint64(0), 20)
	f.Add(int64(1)<<62, uint64(1)<<63, 19)
	f.Add(int64(99), uint64(100), 2)
	f.Add(int64(7), uint64(7), 0)
	f.Add(int64(7), uint64(7), -1)
	f.Add(int64(7), uint64(7), 21)
	f.Add(int64(math.MaxInt64), uint64(math.MaxInt64), math.MinInt32)
	f.Add(int64(math.MinInt64), uint64(1)<<63, math.MaxInt32)
	f.Fuzz(func(t *testing.T, n int64, u uint64, width int) {
		sk := keys.Tx.SK(keys.Int(n, width), keys.Int(u, width))
		digits := max(len(fmt.Sprint(n)), len(fmt.Sprint(u)))
		valid := n >= 0 && width >= 1 && width <= 20 && digits <= width
		wantValid(t, sk, valid)
		parts, err := keys.Parse(sk)
		if (err == nil) != valid {
			t.Fatalf("Parse(%q): %v; want it valid: %v", sk, err, valid)
		}
		if !valid {
			return
		}
		if got, err := parts.Int(1); got != n || err != nil || len(parts[1]) != width {
			t.Errorf("%d at width %d is %q, read as %d, %v", n, width, parts[1], got, err)
		}
		if got, err := parts.Int(2); err == nil && uint64(got) != u || err != nil && u <= 1<<63-1 {
			t.Errorf("%d at width %d is %q, read as %d, %v", u, width, parts[2], got, err)
		}
	})
}

// FuzzTime writes any instant of any zone: what a key can hold is read back to
// the millisecond.
func FuzzTime(f *testing.F) {
	f.Add(int64(0), int64(0), 0)
	f.Add(at.Unix(), int64(999_999_999), 3600)
	f.Add(int64(-62167219200), int64(0), 0)            // the first instant of year 0
	f.Add(int64(-62167219201), int64(999_999_999), 0)  // the last before it
	f.Add(int64(253402300799), int64(999_999_999), -1) // the last of year 9999
	f.Add(int64(253402300800), int64(0), 14*3600)      // the first after it
	f.Add(int64(1)<<62, int64(-1), 0)
	f.Add(int64(-1)<<63, int64(1)<<62, 1<<30)
	f.Add(at.Unix(), int64(1), 20700) // a quarter of an hour off
	f.Fuzz(func(t *testing.T, seconds, nanoseconds int64, zone int) {
		tm := time.Unix(seconds, nanoseconds).In(time.FixedZone("somewhere", zone))
		year := tm.UTC().Year()
		sk := keys.Tx.SK(keys.Time(tm))
		wantValid(t, sk, year >= 0 && year <= 9999)
		if year < 0 || year > 9999 {
			return
		}
		parts, err := keys.Parse(sk)
		if err != nil {
			t.Fatal(err)
		}
		want := time.Unix(tm.Unix(), int64(tm.Nanosecond()/1e6*1e6)).UTC()
		if got, err := parts.Time(1); err != nil || !got.Equal(want) || len(parts[1]) != len("2006-01-02T15:04:05.000Z") {
			t.Errorf("%v is %q, read as %v, %v", tm, parts[1], got, err)
		}
	})
}

// FuzzStarting searches by the first letters: a key is found if and only if its
// segment begins with them.
func FuzzStarting(f *testing.F) {
	for i, text := range hostile {
		f.Add(text, "eng", text+"b")
		f.Add("a", text, text)
		f.Add(text, text, hostile[(i+1)%len(hostile)])
	}
	f.Add("a", "eng", "a\U0010FFFF")
	f.Add("\U0010FFFF", "eng", "\U0010FFFF\U0010FFFF")
	for _, name := range []string{"al", "al#", "al zed", "al%", "alé", "al\uFFFD", "a", "akz", "am", "AL", "bal"} {
		f.Add("al", "eng", name)
	}
	f.Fuzz(func(t *testing.T, text, under, name string) {
		if !writable(text, under, name) || len(text)+len(under)+len(name) > 300 {
			return
		}
		r := keys.Tx.Starting(text, keys.Str(under))
		if err := r.Validate(); err != nil {
			t.Fatalf("%q: %v", r, err)
		}
		sk := keys.Tx.SK(keys.Str(under), keys.Str(name))
		begins := strings.HasPrefix(name, text)
		if got := r.Contains(sk); got != begins {
			t.Errorf("names that begin with %q hold %q: %v", text, name, got)
		}
		if keys.Tx.Starting(text, keys.Str(under+"x")).Contains(sk) {
			t.Errorf("%q is found under another segment", sk)
		}
	})
}

// FuzzValidate compares Validate with the rules said another way. Messages never
// hold what they are about.
func FuzzValidate(f *testing.F) {
	for _, text := range hostile {
		f.Add(text, "PROFILE", 1)
		f.Add("USER#u-1", text, 3)
		f.Add(text+"#", "#"+text, 1)
	}
	f.Add("USER", "TX#%ZZ", 1)
	f.Add("USER#u-1", "x", keys.MaxSK)
	f.Add("x", "x", keys.MaxPK)
	f.Add("x", "", keys.MaxPK+1)
	f.Add("日", "ü", keys.MaxSK/2+1) // more bytes than characters
	f.Fuzz(func(t *testing.T, pk, sk string, times int) {
		repeat := func(s string) string { return strings.Repeat(s, min(max(times, 1), 1+3000/max(len(s), 1))) }
		pk, sk = repeat(pk), repeat(sk)
		k := keys.Key{PK: keys.PK(pk), SK: keys.SK(sk)}
		ok := func(s string, limit int) bool {
			return len(s) <= limit && utf8.ValidString(s)
		}
		want := pk != "" && ok(pk, keys.MaxPK) && ok(sk, keys.MaxSK)
		err := k.Validate()
		if (err == nil) != want {
			t.Fatalf("%q: %v; want it valid: %v", k, err, want)
		}
		errs := []error{err, keys.Range{From: k.SK, To: keys.SK(pk)}.Validate(), keys.Range{Prefix: k.SK}.Validate()}
		parts, parseErr := keys.Parse(pk)
		for i := range parts {
			_, timeErr := parts.Time(i)
			_, intErr := parts.Int(i)
			errs = append(errs, timeErr, intErr)
		}
		_, beyond := parts.Int(len(parts))
		for _, err := range append(errs, parseErr, beyond) {
			e, typed := errors.AsType[*keys.Error](err)
			switch {
			case err == nil:
			case !typed || !errors.Is(err, keys.ErrInvalid) || e.Part == "" || e.Rule == "":
				t.Errorf("%q: %v is no *keys.Error", k, err)
			// Short values occur in the message by chance.
			case len(e.Value) > 40 && strings.Contains(err.Error(), e.Value):
				t.Errorf("the message %q holds the value", err)
			}
		}
	})
}
