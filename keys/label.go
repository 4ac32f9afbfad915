package keys

import (
	"strings"
	"unicode/utf8"
)

// LabelPrefix is the beginning of keys that ElectroDB builds of the names and values of
// attributes. It builds the same ones:
//
//	shop, order := keys.LabelPrefix{Text: "$shop"}, keys.LabelPrefix{Text: "$order_1"}
//
//	shop.PK(keys.Label("customerId", "C-1")) // $shop#customerid_c-1
//	order.SK(keys.Label("orderId", "O-1"))   // $order_1#orderid_o-1
//	order.SK(keys.Label("at", "2030")) + "#order_1" // the end of a clustered index
//
// Values that differ only in case give one key, as there. A value that is empty or has a '#'
// makes the key invalid: ElectroDB does not escape it, so two entities could share the key.
// Sort keys are in the order of texts, also those of numbers.
//
// A template of ElectroDB has no labels. Write its keys as strings, with [JSLower].
type LabelPrefix struct {
	// Text is written as it is: "$service" in a partition key, "$entity_version" in a sort
	// key, "$collection#entity_version" in that of a collection. If it is empty, the key is
	// invalid.
	Text string

	// KeepCase keeps the case of labels and values, as the casing "none" does. Otherwise the
	// key is in JavaScript's lower case: see [JSLower].
	KeepCase bool
}

// Labelled is the value of an attribute behind its label. [Label] makes it. The zero Labelled
// makes its key invalid.
type Labelled struct{ text string }

// Label returns the value of an attribute behind a label, which is the attribute's name. A
// number is JavaScript's text of it: see [JSNumber]. With a padding, ElectroDB fills that text
// with zeros from the left: -3 is 0000-3, so negative numbers are not in order.
//
// A label or value that is empty or has a '#' makes its key invalid.
func Label(label, value string) Labelled {
	switch {
	case label == "" || value == "":
		return Labelled{faultEmpty}
	case !utf8.ValidString(value):
		return Labelled{value} // It may be a fault, which is a whole segment.
	//mutants:guard a '#' in a labelled value makes the key invalid | TestLabelledKeysThatCannotBeWritten | delimiter => delimiter+delimiter
	case strings.Contains(label+value, delimiter):
		return Labelled{faultDelimiter}
	}
	return Labelled{label + "_" + value}
}

// PK returns the partition key of the prefix and the values, in that order.
func (p LabelPrefix) PK(values ...Labelled) PK { return PK(p.join(values)) }

// SK returns the sort key of the prefix and the values, in that order. With the first values
// of a key it is the prefix of a [Range], also when the last value is cut off.
func (p LabelPrefix) SK(values ...Labelled) SK { return SK(p.join(values)) }

// All returns the range of the sort keys that have the prefix, then the values, then at least
// one value more.
func (p LabelPrefix) All(values ...Labelled) Range {
	return Range{Prefix: p.SK(values...) + delimiter}
}

func (p LabelPrefix) join(values []Labelled) string {
	if p.Text == "" {
		return faultEmpty
	}
	b := append(make([]byte, 0, usualSize), p.Text...)
	for _, v := range values {
		if v.text == "" {
			v.text = faultEmpty
		}
		b = append(append(b, delimiter...), v.text...)
	}
	if p.KeepCase {
		return string(b)
	}
	return JSLower(string(b))
}
