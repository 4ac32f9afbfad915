package keys_test

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/singletable/singletable/keys"
)

// FuzzLabel builds keys of labels and values that outsiders choose: a valid key holds both
// values and nothing else, a lower-cased one is stable, and what cannot be told apart is
// refused.
func FuzzLabel(f *testing.F) {
	for i, text := range hostile {
		f.Add(text, hostile[(i+1)%len(hostile)])
		f.Add("a", text)
	}
	f.Add("1#b_2", "3")
	f.Add("ΟΔΟΣ", "İstanbul")
	f.Add("AΣ\u0301", "\U00010D50")
	f.Add("\xffdelimiter", "_")
	f.Fuzz(func(t *testing.T, a, b string) {
		if len(a)+len(b) > 300 { // A letter can take half as many bytes more in lower case.
			return
		}
		whole, lower := keys.LabelPrefix{Text: "$x_1", KeepCase: true}, keys.LabelPrefix{Text: "$x_1"}
		kept, sk := whole.SK(keys.Label("a", a), keys.Label("b", b)), lower.SK(keys.Label("a", a), keys.Label("b", b))
		wantValid(t, kept, writable(a, b) && !strings.Contains(a+b, "#"))
		if kept.Validate() == nil {
			values, _ := strings.CutPrefix(string(kept), "$x_1#a_")
			if gotA, gotB, _ := strings.Cut(values, "#b_"); gotA != a || gotB != b {
				t.Errorf("%q and %q are %q and %q in %q", a, b, gotA, gotB, kept)
			}
		}
		wantValid(t, sk, kept.Validate() == nil && sk.Validate() == nil) // A character can be refused in lower case only.
		if sk.Validate() != nil {
			return
		}
		if again := keys.JSLower(string(sk)); again != string(sk) {
			t.Errorf("the lower case of %q is %q", sk, again)
		}
		if keys.JSLower(string(kept)) != string(sk) {
			t.Errorf("%q is no lower case of %q", sk, kept)
		}
		if !lower.All(keys.Label("a", a)).Contains(sk) {
			t.Errorf("%q is not among the keys of its first value", sk)
		}
	})
}

var jsNumber = regexp.MustCompile(`^-?(0|[1-9]\d*)(\.\d*[1-9])?(e-[1-9]\d*)?$`)

// FuzzJSNumber writes any number: the text is in JavaScript's form, and is read back.
func FuzzJSNumber(f *testing.F) {
	for _, n := range []float64{0, 5, -3, 0.1, 1e-6, 9.999999e-7, 1e-7, 5e-324, 1<<53 - 1, 1 << 53, 1e21, math.Inf(-1), math.NaN()} {
		f.Add(n)
		f.Add(-n)
	}
	f.Fuzz(func(t *testing.T, n float64) {
		text := keys.JSNumber(n)
		valid := math.Abs(n) < 1<<53
		wantValid(t, keys.LabelPrefix{Text: "$x"}.SK(keys.Label("n", text)), valid)
		if !valid {
			return
		}
		got, err := strconv.ParseFloat(text, 64)
		if err != nil || got != n || !jsNumber.MatchString(text) {
			t.Errorf("%v is %q, read as %v, %v", n, text, got, err)
		}
		if exponent := strings.Contains(text, "e"); exponent != (n != 0 && math.Abs(n) < 1e-6) {
			t.Errorf("%v is %q", n, text)
		}
	})
}
