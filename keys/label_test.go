package keys_test

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/keys"
)

// ruleDelimiter is the rule that a '#' in a labelled value breaks.
const ruleDelimiter = "'#' in a label or value, which its keys do not escape: two entities could share the key"

// The keys are those that ElectroDB 3.9.3 makes.
func TestLabelledKeysAreThoseOfElectroDB(t *testing.T) {
	t.Parallel()
	order, kept := keys.LabelPrefix{Text: "$Order_1"}, keys.LabelPrefix{Text: "$Order_1", KeepCase: true}
	statuses := keys.LabelPrefix{Text: "$statusThings#order_1"}
	for want, got := range map[keys.SK]keys.SK{
		"$order_1":             order.SK(),
		"$order_1#orderid_o-1": order.SK(keys.Label("orderId", "O-1")),
		"$order_1#orderid_o-1#at_2030-06-01t12:00z": order.SK(keys.Label("orderId", "O-1"), keys.Label("at", "2030-06-01T12:00Z")),
		"$Order_1#orderId_O-1":                      kept.SK(keys.Label("orderId", "O-1")),
		"$statusthings#order_1#status_paid":         statuses.SK(keys.Label("status", "Paid")),
		"$order_1#total_1e-7#due_0.1":               order.SK(keys.Label("total", keys.JSNumber(1e-7)), keys.Label("due", keys.JSNumber(0.1))),
		"$order_1#total_-3":                         order.SK(keys.Label("total", keys.JSNumber(-3))),
		"$order_1#name_οδος":                        order.SK(keys.Label("name", "ΟΔΟΣ")),
		"$order_1#name_οδος#city_i̇stanbul":         order.SK(keys.Label("name", "ΟΔΟΣ"), keys.Label("city", "İstanbul")),
		"$order_1#name_a%20b_c#x_%":                 order.SK(keys.Label("name", "a%20b_c"), keys.Label("x", "%")),
		"$Order_1#name_\U00010D50":                  kept.SK(keys.Label("name", "\U00010D50")),
		"$order_1#id_xxx":                           order.SK(keys.Label("id", "XXX")),
	} {
		if got != want || want.Validate() != nil {
			t.Errorf("the key is %q, want %q", got, want)
		}
	}
	if got, want := order.All(keys.Label("status", "Paid")), (keys.Range{Prefix: "$order_1#status_paid#"}); got != want {
		t.Errorf("the range is %v, want %v", got, want)
	}
}

func TestLabelledKeysThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	const empty, number = "empty segment", "number that JavaScript does not store: NaN, or beyond 9007199254740991"
	const unsettled = "character whose lower case depends on the version of JavaScript"
	for name, tt := range map[string]struct {
		value keys.Labelled
		want  string
	}{
		"value empty":             {keys.Label("id", ""), empty},
		"label empty":             {keys.Label("", "1"), empty},
		"no label":                {keys.Labelled{}, empty},
		"delimiter in the value":  {keys.Label("id", "1#b_2"), ruleDelimiter},
		"delimiter in the label":  {keys.Label("id#x", "1"), ruleDelimiter},
		"value is the delimiter":  {keys.Label("id", "#"), ruleDelimiter},
		"value not UTF-8":         {keys.Label("id", "a\xfe"), "invalid UTF-8"},
		"label not UTF-8":         {keys.Label("i\xfe", "a"), "invalid UTF-8"},
		"number too great":        {keys.Label("n", keys.JSNumber(1<<53)), number},
		"number too small":        {keys.Label("n", keys.JSNumber(-1e21)), number},
		"no number":               {keys.Label("n", keys.JSNumber(math.NaN())), number},
		"infinity":                {keys.Label("n", keys.JSNumber(math.Inf(1))), number},
		"letter of Unicode 16":    {keys.Label("id", "\U00010D50"), unsettled},
		"letter of Unicode 17":    {keys.Label("id", "\uA7D4"), unsettled},
		"lower in a key, too":     {keys.Label("id", keys.JSLower("\u1C89")), unsettled},
		"sigma after an old kind": {keys.Label("id", "ʕΣ"), unsettled},
		"sigma before a new mark": {keys.Label("id", "AΣ\U00011B60"), unsettled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := keys.LabelPrefix{Text: "$order_1"}
			before := keys.Label("a", "1")
			for _, invalid := range []interface{ Validate() error }{
				p.PK(tt.value), p.SK(before, tt.value), p.SK(tt.value, before), p.All(tt.value), keys.Range{Prefix: p.SK(tt.value)},
			} {
				if got := rule(t, invalid.Validate()); got != tt.want {
					t.Errorf("Validate() of %q names rule %q, want %q", invalid, got, tt.want)
				}
			}
		})
	}
	if got := rule(t, keys.LabelPrefix{}.SK().Validate()); got != empty {
		t.Errorf("a key without a prefix breaks the rule %q, want %q", got, empty)
	}
}

func TestTextIsThatOfJavaScript(t *testing.T) {
	t.Parallel()
	got, want := map[string]string{}, map[string]string{ // as String.prototype.toLowerCase of Node.js 20.0.0 to 24.22.3
		"ΟΔΟΣ": "οδος", "Σ": "σ", "ΣΣ": "σς", "ΑΣΒ": "ασβ", "ΑΣ'Β": "ασ'β", "ΑΣ' Β": "ας' β", "Α'Σ": "α'ς", ".Σ": ".σ", "id_Σ": "id_σ",
		"ʰΣ": "ʰσ", "AΣʰB": "aσʰb", "AΣʰ": "aςʰ", "İΣ": "i̇ς", "İ": "i̇", "I": "i", "ẞ": "ß", "ǅ": "ǆ", "K": "k", "\xffΣ": "\xffΣ",
	}
	want["AΣ"+strings.Repeat("'", 100)+"B"] = "aσ" + strings.Repeat("'", 100) + "b"
	for text := range want {
		got[text] = keys.JSLower(text)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lower case (-want +got):\n%s", diff)
	}
	numbers := map[float64]string{
		0: "0", math.Copysign(0, -1): "0", 5: "5", -3: "-3", 0.1: "0.1", 1e-6: "0.000001", 1e-7: "1e-7", -1.5e-10: "-1.5e-10", 1.25e-100: "1.25e-100",
		0.30000000000000004: "0.30000000000000004", 1<<53 - 1: "9007199254740991", 123456.789: "123456.789",
	}
	for n, text := range numbers {
		if got := keys.JSNumber(n); got != text {
			t.Errorf("%v is %q, want %q", n, got, text)
		}
	}
}
