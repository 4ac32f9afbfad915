package item_test

import (
	"strings"
	"testing"

	"github.com/singletable/singletable/internal/item"
)

// The same number has one plain text and one size, however it is written.
func TestNumber(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		texts []string
		plain string
		size  int
	}{
		{[]string{"0", "-0", "+0", "000", "0.000", ".0", "0.", "0e5", "0e-130", "0e125"}, "0", 1},
		{[]string{"1", "+1", "01", "1.", "1.0", "1e0", "0.1e1", "10e-1", "1E+0", ".01e2"}, "1", 2},
		{[]string{"-1", "-1.00", "-0.1e1"}, "-1", 3},
		{[]string{"9", "9.0"}, "9", 2},
		{[]string{"10", "1e1", "10.0"}, "10", 2},
		{[]string{"12", "1.2e1", "0012.00"}, "12", 2},
		{[]string{"100", "1e2"}, "100", 2},
		{[]string{"123", "1.23e2"}, "123", 3},
		{[]string{"1234", "12.34e2"}, "1234", 3},
		{[]string{"1.5", "01.50", "15e-1"}, "1.5", 3},
		{[]string{"12.34", "1234e-2", "0.1234e2"}, "12.34", 3},
		{[]string{"10.01", "1001e-2"}, "10.01", 3},
		{[]string{"0.1", ".1", "1e-1", "0.100"}, "0.1", 2},
		{[]string{"0.01", "1e-2"}, "0.01", 2},
		{[]string{"0.12", "12e-2"}, "0.12", 2},
		{[]string{"-0.012", "-12e-3"}, "-0.012", 4},
	} {
		for _, text := range c.texts {
			d, ok := item.ParseNumber(text)
			if !ok || !d.InRange() || d.Size() != c.size {
				t.Errorf("%s: %v, in range %v, size %d, want %d", text, ok, d.InRange(), d.Size(), c.size)
			}
			if plain := item.PlainNumber(text); plain != c.plain {
				t.Errorf("%s: plain %s, want %s", text, plain, c.plain)
			}
			for _, other := range c.texts {
				if item.CompareNumbers(text, other) != 0 {
					t.Errorf("%s differs from %s", text, other)
				}
			}
		}
	}
}

// TestNumberSize has the sizes that were measured on DynamoDB in eu-west-2 in August
// 2026, by items of exactly 400 KB, and some that only DynamoDB Local shows.
func TestNumberSize(t *testing.T) {
	t.Parallel()
	const digits37 = "2345678901234567890123456789012345678"
	for text, want := range map[string]int{
		"0": 1, "-0": 1, "1": 2, "12": 2, "15": 2, "123": 3, "1234": 3, "12345": 4, "123456": 4, "1234567": 5,
		"123456789": 6, "1234567891": 6, "123456789123": 7, "1234567890123456789": 11, "1" + digits37: 20,
		"0042": 2, "100": 2, "1010": 3, "0.0000001": 2, "0.15": 2, "1E125": 2, "1E-100": 2,
		"1.5": 3, "1.200": 3, "1.234": 4, "3.14159": 5, "100.5": 4,
		"-42": 3, "-12345": 5, "-1E125": 3, "-0.15": 3,

		// The service was not measured with these.
		"120": 3, "12000": 3, "1200": 2, "-120": 4, "0.012": 3, "0.0012": 2, "-0.012": 4,
		"-1" + digits37: 21, "1." + digits37: 21, "-1." + digits37: 21,
	} {
		if d, ok := item.ParseNumber(text); !ok || d.Size() != want {
			t.Errorf("%s: %d bytes, want %d", text, d.Size(), want)
		}
	}
}

// What is no number stays as it is, and is neither stored nor parsed.
func TestNumberInvalid(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", " ", ".", "-", "+", "-.", "+-1", "1-", "1..2", "1.2.3", "1x", "/", "1/", ":", "1:", "1 ", " 1", "e", "e1", "1e", "1e+", "1e1.5", "1e1e1", "-e1", ".e1",
		"1e2147483648", "1e-2147483649", "NaN", "Infinity", "0x1", "1_0",
	} {
		if _, ok := item.ParseNumber(text); ok || item.StorableNumber(text) {
			t.Errorf("%q is a number", text)
		}
		if plain := item.PlainNumber(text); plain != text {
			t.Errorf("%q is %q", text, plain)
		}
	}
}

// The limits of digits and magnitude are DynamoDB's, whatever the notation.
func TestNumberRange(t *testing.T) {
	t.Parallel()
	nines := func(n int) string { return strings.Repeat("9", n) }
	for text, storable := range map[string]bool{
		nines(38): true, nines(39): false, "-" + nines(38): true, "-" + nines(39): false,
		nines(38) + "000": true, "0.000" + nines(38): true, "0.000" + nines(39): false,
		nines(20) + "." + nines(18): true, nines(20) + "." + nines(19): false, nines(38) + ".0": true, "1" + strings.Repeat("0", 36) + "1": true, "1" + strings.Repeat("0", 37) + "1": false,
		"1e-130": true, "1e-131": false, "0.1e-129": true, "0.1e-130": false, "10e-131": true, "-1e-130": true, "-1e-131": false,
		"9.99e125": true, "9.99e126": false, "1e125": true, "1e126": false, "0.1e126": true, "10e124": true, "10e125": false, "-1e126": false,
		"1e2147483647": false, "1e-2147483648": false, "0e125": true, "0e126": false, "0e-130": true, "0e-131": false, "0e2147483647": false,
	} {
		if got := item.StorableNumber(text); got != storable {
			t.Errorf("%s is stored: %v", text, got)
		}
		if plain := item.PlainNumber(text); !storable && plain != text {
			t.Errorf("%s becomes %s", text, plain)
		}
	}
	if got, want := item.PlainNumber("1e125"), "1"+strings.Repeat("0", 125); got != want {
		t.Errorf("1e125 is %s", got)
	}
	if got, want := item.PlainNumber("-1e-130"), "-0."+strings.Repeat("0", 129)+"1"; got != want {
		t.Errorf("-1e-130 is %s", got)
	}
}

// Each number is less than all that come after it.
func TestCompareNumbers(t *testing.T) {
	t.Parallel()
	ascending := []string{
		"-1e125", "-1235", "-1234", "-123.5", "-123.45", "-123.4", "-99", "-12", "-10", "-9", "-1.5", "-1.25", "-1", "-0.2", "-0.12", "-0.1", "-0.02", "-1e-130",
		"0", "1e-130", "0.02", "0.1", "0.12", "0.123", "0.2", "1", "1.2", "1.23", "1.234", "1.24", "1.3", "9", "10", "10.5", "11", "12", "12.3", "99", "100", "120", "123",
		"123.4", "123.45", "123.5", "1234", "1235", "9007199254740992", "9007199254740993", "1e125",
	}
	for i, a := range ascending {
		for j, b := range ascending {
			want := 0
			switch {
			case i < j:
				want = -1
			case i > j:
				want = 1
			}
			if got := item.CompareNumbers(a, b); got != want {
				t.Errorf("%s and %s: %d, want %d", a, b, got, want)
			}
		}
	}
}
