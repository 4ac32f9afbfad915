package keys_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
)

// contract is docs/spec/keys.json: what a program in another language has to build for the
// same keys. docs/share-a-table.md explains it.
type contract struct {
	MaxPK int             `json:"maxPK"`
	MaxSK int             `json:"maxSK"`
	Keys  []contractKey   `json:"keys"`
	Range []contractRange `json:"ranges"`
	Order [][]contractKey `json:"order"`
}

// contractKey has the Key that its builder makes, or the rule for which it is refused.
type contractKey struct {
	Part    string            `json:"part"` // pk or sk
	Prefix  string            `json:"prefix"`
	Casing  string            `json:"casing,omitempty"` // of a labelled key: lower or none
	Of      []contractSegment `json:"of,omitempty"`
	Key     string            `json:"key,omitempty"`
	Refused string            `json:"refused,omitempty"`
}

// contractSegment has one of Str, Int, Time, Raw, Value and Number. Int is text, since numbers
// of JSON can be too small for it.
type contractSegment struct {
	Str    *string  `json:"str,omitempty"`
	Int    string   `json:"int,omitempty"`
	Width  int      `json:"width,omitempty"`
	Time   *int64   `json:"time,omitempty"` // milliseconds since 1970
	Raw    *string  `json:"raw,omitempty"`
	Label  string   `json:"label,omitempty"`
	Value  *string  `json:"value,omitempty"`
	Number *float64 `json:"number,omitempty"`
}

type contractRange struct {
	Range  string            `json:"range"` // all, starting, since, until, between or exactly
	Prefix string            `json:"prefix"`
	Of     []contractSegment `json:"of,omitempty"`
	Text   string            `json:"text,omitempty"`
	Times  []int64           `json:"times,omitempty"`
	// BeginsWith is the prefix of the range; otherwise From and To are its inclusive ends.
	BeginsWith string `json:"beginsWith,omitempty"`
	From       string `json:"from,omitempty"`
	To         string `json:"to,omitempty"`
	Empty      bool   `json:"empty,omitempty"`
}

func str(s string) contractSegment            { return contractSegment{Str: &s} }
func raw(s string) contractSegment            { return contractSegment{Raw: &s} }
func num(n string, width int) contractSegment { return contractSegment{Int: n, Width: width} }
func instant(ms int64) contractSegment        { return contractSegment{Time: &ms} }
func value(label, s string) contractSegment   { return contractSegment{Label: label, Value: &s} }
func number(label string, n float64) contractSegment {
	return contractSegment{Label: label, Number: &n}
}

// segment builds the segment of a case.
func (s contractSegment) segment(t *testing.T) keys.Segment {
	t.Helper()
	switch {
	case s.Str != nil:
		return keys.Str(*s.Str)
	case s.Raw != nil:
		return keys.Raw(*s.Raw)
	case s.Time != nil:
		return keys.Time(time.UnixMilli(*s.Time))
	case strings.HasPrefix(s.Int, "-"):
		return keys.Int(expect.Value(strconv.ParseInt(s.Int, 10, 64))(t), s.Width)
	}
	return keys.Int(expect.Value(strconv.ParseUint(s.Int, 10, 64))(t), s.Width)
}

func (s contractSegment) labelled() keys.Labelled {
	if s.Number != nil {
		return keys.Label(s.Label, keys.JSNumber(*s.Number))
	}
	return keys.Label(s.Label, *s.Value)
}

// build fills in what the builder makes of a case.
func (k *contractKey) build(t *testing.T) {
	t.Helper()
	var segments []keys.Segment
	var values []keys.Labelled
	var ids []string
	for _, s := range k.Of {
		if k.Casing != "" {
			values = append(values, s.labelled())
			continue
		}
		segments = append(segments, s.segment(t))
		if s.Str != nil {
			ids = append(ids, *s.Str)
		}
	}
	labels := keys.LabelPrefix{Text: k.Prefix, KeepCase: k.Casing == "none"}
	var err error
	switch {
	case k.Part == "pk" && k.Casing != "":
		k.Key, err = string(labels.PK(values...)), labels.PK(values...).Validate()
	case k.Part == "pk":
		k.Key, err = string(keys.Prefix(k.Prefix).PK(ids...)), keys.Prefix(k.Prefix).PK(ids...).Validate()
	case k.Casing != "":
		k.Key, err = string(labels.SK(values...)), labels.SK(values...).Validate()
	default:
		k.Key, err = string(keys.Prefix(k.Prefix).SK(segments...)), keys.Prefix(k.Prefix).SK(segments...).Validate()
	}
	if k.Refused = rule(t, err); k.Refused != "" {
		k.Key = ""
	}
}

func (r *contractRange) build(t *testing.T) {
	t.Helper()
	var under []keys.Segment
	for _, s := range r.Of {
		under = append(under, s.segment(t))
	}
	at := func(i int) time.Time { return time.UnixMilli(r.Times[i]) }
	prefix := keys.Prefix(r.Prefix)
	made := map[string]func() keys.Range{
		"all":      func() keys.Range { return prefix.All(under...) },
		"starting": func() keys.Range { return prefix.Starting(r.Text, under...) },
		"since":    func() keys.Range { return prefix.Since(at(0), under...) },
		"until":    func() keys.Range { return prefix.Until(at(0), under...) },
		"between":  func() keys.Range { return prefix.Between(at(0), at(1), under...) },
		"exactly":  func() keys.Range { return keys.Exactly(prefix.SK(under...)) },
	}[r.Range]()
	expect.OK(t, made.Validate())
	r.BeginsWith, r.From, r.To, r.Empty = string(made.Prefix), string(made.From), string(made.To), made.Empty()
}

const noon, tomorrow = 1893499200123, 1893499200123 + 86400_000

func cases() contract {
	const (
		pk, sk = "pk", "sk"
		lower  = "lower"
		none   = "none"
	)
	var escaped strings.Builder
	for c := range byte('&') + 1 {
		escaped.WriteByte(c)
	}
	of := func(s ...contractSegment) []contractSegment { return s }
	return contract{
		MaxPK: keys.MaxPK, MaxSK: keys.MaxSK,
		Keys: []contractKey{
			{Part: pk, Prefix: "USER", Of: of(str("u-123"))},
			{Part: pk, Prefix: "ORDER", Of: of(str("ACME"), str("7"))},
			{Part: pk, Prefix: "GLOBAL"},
			{Part: pk, Prefix: "", Of: of(str("u-123"))},
			{Part: pk, Prefix: "a b", Of: of(str("x#y"))},
			{Part: pk, Prefix: "USER", Of: of(str("Zoë 日🙂 100%"))},
			{Part: pk, Prefix: "USER", Of: of(str(escaped.String()))},
			{Part: pk, Prefix: "USER", Of: of(str("a\u007f~\u2028"))},
			{Part: pk, Prefix: "USER", Of: of(str(""))},
			{Part: pk, Prefix: "USER", Of: of(str("a"), str(""))},
			{Part: pk, Prefix: ""},
			{Part: sk, Prefix: "PROFILE"},
			{Part: sk, Prefix: "TX", Of: of(instant(noon), str("tx-abc"))},
			{Part: sk, Prefix: "TX", Of: of(instant(-62167219200000))},
			{Part: sk, Prefix: "TX", Of: of(instant(253402300799999))},
			{Part: sk, Prefix: "TX", Of: of(instant(253402300800000))},
			{Part: sk, Prefix: "TX", Of: of(instant(-62167219200001))},
			{Part: sk, Prefix: "", Of: of(instant(0))},
			{Part: sk, Prefix: "LINE", Of: of(num("7", 4))},
			{Part: sk, Prefix: "LINE", Of: of(num("18446744073709551615", 20))},
			{Part: sk, Prefix: "LINE", Of: of(num("10000", 4))},
			{Part: sk, Prefix: "LINE", Of: of(num("-1", 4))},
			{Part: sk, Prefix: "LINE", Of: of(num("1", 21))},
			{Part: sk, Prefix: "user", Of: of(raw(""))},
			{Part: sk, Prefix: "user", Of: of(raw("a b#c"))},
			{Part: sk, Prefix: "", Of: of(raw(""))},
			{Part: sk, Prefix: "X", Of: of(str(strings.Repeat("é", 511)))},
			{Part: sk, Prefix: "X", Of: of(str(strings.Repeat("é", 512)))},

			{Part: pk, Prefix: "$shop", Casing: lower, Of: of(value("customerId", "C-1"))},
			{Part: sk, Prefix: "$order_1", Casing: lower, Of: of(value("orderId", "O-1"), value("at", "2030-06-01T12:00Z"))},
			{Part: sk, Prefix: "$statusThings#order_1", Casing: lower, Of: of(value("status", "Paid"))},
			{Part: sk, Prefix: "$Order_1", Casing: none, Of: of(value("orderId", "O-1"))},
			{Part: sk, Prefix: "$order_1", Casing: lower},
			{Part: pk, Prefix: "$shop", Casing: lower, Of: of(value("name", "ΟΔΟΣ"), value("city", "İstanbul"))},
			{Part: pk, Prefix: "$shop", Casing: lower, Of: of(value("name", "ΑΣ'Β"), value("street", "Große STRASSE"))},
			{Part: pk, Prefix: "$shop", Casing: lower, Of: of(value("name", "a b_c%25"))},
			{Part: sk, Prefix: "$order_1", Casing: lower, Of: of(number("total", 5), number("tax", 0.1), number("rate", 1e-7))},
			{Part: sk, Prefix: "$order_1", Casing: lower, Of: of(number("total", -3), number("most", 1<<53-1))},
			{Part: sk, Prefix: "$order_1", Casing: lower, Of: of(number("total", 1<<53))},
			{Part: sk, Prefix: "$order_1", Casing: lower, Of: of(number("total", 1e21))},
			{Part: pk, Prefix: "$shop", Casing: lower, Of: of(value("a", "1#b_2"), value("b", "3"))},
			{Part: pk, Prefix: "$shop", Casing: lower, Of: of(value("a", ""))},
			{Part: pk, Prefix: "$shop", Casing: none, Of: of(value("", "a"))},
			{Part: pk, Prefix: "", Casing: lower, Of: of(value("a", "b"))},
		},
		Range: []contractRange{
			{Range: "all", Prefix: "TX"},
			{Range: "all", Prefix: "DEPT", Of: of(str("r&d #1"))},
			{Range: "starting", Prefix: "NAME", Text: "a b"},
			{Range: "since", Prefix: "TX", Times: []int64{noon}},
			{Range: "until", Prefix: "TX", Of: of(str("x")), Times: []int64{noon}},
			{Range: "between", Prefix: "TX", Times: []int64{noon, tomorrow}},
			{Range: "between", Prefix: "TX", Times: []int64{noon, noon}},
			{Range: "between", Prefix: "TX", Times: []int64{tomorrow, noon}},
			{Range: "exactly", Prefix: "TX", Of: of(num("7", 4))},
		},
		Order: [][]contractKey{
			inOrder("N", of(str("\x00")), of(str(" ")), of(str("#")), of(str("%")), of(str("&")), of(str("a")), of(str("a"), str("z")),
				of(str("a ")), of(str("aa")), of(str("é")), of(str("\uFFFD")), of(str("🙂"))),
			inOrder("L", of(num("9", 3)), of(num("10", 3)), of(num("100", 3))),
			inOrder("T", of(instant(-1)), of(instant(0)), of(instant(noon))),
		},
	}
}

// inOrder returns the sort keys of one prefix, which are ascending as bytes of UTF-8.
func inOrder(prefix string, rows ...[]contractSegment) (all []contractKey) {
	for _, of := range rows {
		all = append(all, contractKey{Part: "sk", Prefix: prefix, Of: of})
	}
	return all
}

//go:generate go test . -run ^TestContractForOtherLanguages$ -update
func TestContractForOtherLanguages(t *testing.T) {
	t.Parallel()
	c := cases()
	for i := range c.Keys {
		c.Keys[i].build(t)
	}
	for i := range c.Range {
		c.Range[i].build(t)
	}
	for _, row := range c.Order {
		last := ""
		for i := range row {
			row[i].build(t)
			if row[i].Key <= last {
				t.Errorf("%q is not behind %q", row[i].Key, last)
			}
			last = row[i].Key
		}
	}
	text := fmt.Sprintf("{\n\"maxPK\": %d, \"maxSK\": %d,\n\"keys\": [\n%s],\n\"ranges\": [\n%s],\n\"order\": [\n%s]\n}\n",
		c.MaxPK, c.MaxSK, lines(t, c.Keys), lines(t, c.Range), lines(t, c.Order))
	expect.Golden(t, "../../docs/spec/keys.json", text)

	var read contract
	expect.OK(t, json.Unmarshal([]byte(text), &read))
	if diff := cmp.Diff(c, read); diff != "" {
		t.Errorf("the file holds other cases (-want +got):\n%s", diff)
	}
}

// lines returns the cases as JSON, one in a line.
func lines[T any](t *testing.T, all []T) string {
	t.Helper()
	var b bytes.Buffer
	for i, one := range all {
		if i > 0 {
			b.WriteString(",\n")
		}
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		expect.OK(t, e.Encode(one))
		b.Truncate(b.Len() - 1) // The encoder ends with a new line.
	}
	return b.String()
}
