package table_test

import (
	"math/big"
	"regexp"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/table"
)

// plain are the numbers whose exponent is not too much for math/big.
var plain = regexp.MustCompile(`^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?$`)

func rational(s string) (*big.Rat, bool) {
	if len(s) > 100 || !plain.MatchString(s) {
		return nil, false
	}
	return new(big.Rat).SetString(s)
}

func FuzzNumbers(f *testing.F) {
	for _, pair := range [][2]string{
		{"0", "-0.00e5"},
		{"1", "1.0"},
		{"100", "1E2"},
		{"0.001", "1e-3"},
		{"-1.5", "-15e-1"},
		{"9", "10"},
		{"-9", "-10"},
		{"9007199254740993", "9007199254740992"},
		{"0.1", "0.01"},
		{"12", "1.2"},
		{".5", "5."},
		{"+1", "1"},
		{"abc", ""},
		{"1e", "e1"},
		{"1e9223372036854775807", "-"},
		{"--1", "1-"},
		{"+-1", "-1"},
		{"-.50", "-5.00e-1"},
		{"12.34", "1234e-2"},
		{"1e125", "1.0e-130"},
		{"1e1000000", "-1e-1000000"},
		{"1e9223372036854775807", "1e-9223372036854775808"},
		{"\u0663", "\uff11"}, // digits of other scripts
	} {
		f.Add(pair[0], pair[1])
	}
	for _, text := range expect.Nasty() {
		f.Add(text, "-"+text)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, s := range []string{a, b} {
			if size := (table.Item{"": num(s)}).Size(); size < 1 || size > 3+len(s) {
				t.Errorf("size of %q: %d", s, size)
			}
			// The longest are 38 digits behind 129 zeros.
			if plain := item.PlainNumber(s); len(plain) > max(len(s), len("-0.")+129+38) {
				t.Errorf("%q became a text of %d bytes", s, len(plain))
			}
		}
		ra, ok := rational(a)
		rb, both := rational(b)
		if !ok || !both {
			return
		}
		if got, want := item.CompareNumbers(a, b), ra.Cmp(rb); got != want {
			t.Errorf("compare %q with %q: %d, want %d", a, b, got, want)
		}
		if !item.StorableNumber(a) {
			return
		}
		digits, _ := ra.FloatPrec()
		if got, want := item.PlainNumber(a), ra.FloatString(digits); got != want {
			t.Errorf("%q became %q, want %q", a, got, want)
		}
	})
}

func TestSameItem(t *testing.T) {
	t.Parallel()
	set := func(s ...string) types.AttributeValue { return &types.AttributeValueMemberSS{Value: s} }
	numbers := func(s ...string) types.AttributeValue { return &types.AttributeValueMemberNS{Value: s} }
	for _, tt := range []struct {
		name string
		a, b types.AttributeValue
		same bool
	}{
		{"equal numbers in two notations", num("1.50"), num("15E-1"), true},
		{"other numbers", num("9007199254740993"), num("9007199254740992"), false},
		{"a number and a text", num("1"), str("1"), false},
		{"a text and bytes", str("1"), bin("1"), false},
		{"sets in another order", set("a", "b"), set("b", "a"), true},
		{"sets that join alike", set("ab", "c"), set("a", "bc"), false},
		{"sets of numbers", numbers("1", "20"), numbers("2e1", "1.0"), true},
		{"a set and a list", set("a"), list(str("a")), false},
		{"lists in another order", list(str("a"), str("b")), list(str("b"), str("a")), false},
		{"lists of another nesting", list(list(str("a")), str("b")), list(list(str("a"), str("b"))), false},
		{"maps", mapOf(map[string]types.AttributeValue{"a": num("1.0"), "b": num("2")}), mapOf(map[string]types.AttributeValue{"b": num("2"), "a": num("1")}), true},
		{"a missing attribute", mapOf(map[string]types.AttributeValue{"a": num("1")}), mapOf(nil), false},
		{"true and false", &types.AttributeValueMemberBOOL{Value: true}, &types.AttributeValueMemberBOOL{}, false},
		{"nulls", &types.AttributeValueMemberNULL{Value: true}, &types.AttributeValueMemberNULL{Value: true}, true},
		{"empty bytes", &types.AttributeValueMemberB{}, bin(""), true},
	} {
		for _, pair := range [][2]types.AttributeValue{{tt.a, tt.b}, {tt.b, tt.a}} {
			if got := item.SameItem(table.Item{"x": pair[0]}, table.Item{"x": pair[1]}); got != tt.same {
				t.Errorf("%s: %v", tt.name, got)
			}
		}
		if !item.SameItem(table.Item{"x": tt.a}, table.Item{"x": tt.a}) {
			t.Errorf("%s: not the same as itself", tt.name)
		}
	}
	if item.SameItem(table.Item{"x": num("1")}, table.Item{"y": num("1")}) || item.SameItem(nil, table.Item{"x": num("1")}) {
		t.Error("another attribute is the same")
	}
	if !item.SameItem(nil, table.Item{}) {
		t.Error("nothing is not nothing")
	}
}
