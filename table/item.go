package table

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/item"
)

// Item is an item as it is stored: all attributes, the keys among them. Use it
// as the type argument of a read to get items undecoded.
type Item map[string]types.AttributeValue

// Decode stores the item in the value that v points to, by the rules of the
// SDK's attributevalue package. Attributes that the value has no field for are
// left out. An *Item is given the item itself.
func (i Item) Decode(v any) error {
	switch raw := v.(type) {
	case *Item:
		*raw = i
		return nil
	case *map[string]types.AttributeValue:
		*raw = i
		return nil
	case *item.Raw:
		*raw = item.RawOf(i)
		return nil
	}
	return item.Decode(&types.AttributeValueMemberM{Value: i}, v)
}

// encode makes an item of a value. The item is a map of its own that the caller
// may add to. An untyped nil is an item without attributes.
func encode(v any) (Item, error) {
	switch v := v.(type) {
	case nil:
		return Item{}, nil
	case item.Made:
		return v.Item, v.Err
	case Item:
		return cloned(v), nil
	case map[string]types.AttributeValue:
		return cloned(v), nil
	}
	value, err := item.EncodeToRead(v)
	if err != nil {
		return nil, err
	}
	m, ok := value.(*types.AttributeValueMemberM)
	if !ok {
		return nil, fmt.Errorf("a %T is not an item: it is not a struct or map with values", v)
	}
	if _, theirs := v.(attributevalue.Marshaler); theirs {
		return cloned(m.Value), nil
	}
	return m.Value, nil
}

// cloned returns a copy of the item with room for its keys and type.
func cloned(item Item) Item {
	c := make(Item, len(item)+3)
	maps.Copy(c, item)
	return c
}

// watched returns what is watched of an item's attribute.
func watched(attributes Item, name string) item.Watched {
	switch p := item.ValueOf(attributes[name]); p.Kind {
	case item.S, item.N:
		return item.Watched{Name: name, Kind: p.Kind, Text: []byte(p.Text)}
	case item.B:
		return item.Watched{Name: name, Kind: item.B, Text: p.Bytes}
	}
	return item.Watched{Name: name}
}

// Limits in bytes, and of levels. AWS: "Constraints in Amazon DynamoDB" and "Supported
// data types and naming rules in Amazon DynamoDB", Amazon DynamoDB Developer Guide. Seen:
// paritysuite/dynamodb-conformance, limits/itemSizeBySurface.test.ts.
const (
	maxItemSize        = 400 << 10
	maxTransactionSize = 4 << 20
	maxRequestSize     = 16 << 20 // of the JSON of a batch. AWS: BatchWriteItem, Amazon DynamoDB API Reference
	maxNameSize        = 64<<10 - 1
	maxLevels          = 32
)

// Size returns the size of the item in bytes as DynamoDB counts it: the UTF-8
// bytes of the attribute names and the sizes of the values.
//
// AWS gives the size of a number approximately. Size counts it as DynamoDB Local does:
// one byte, one for two significant digits, paired from the decimal point on, and
// one for a minus sign, 21 bytes at most. Public measurements of the service
// agree. They do not cover numbers such as 120 and 0.012, whose two digits are in two
// pairs: the service may count one byte less for these.
//
// AWS: "DynamoDB item sizes and formats", Amazon DynamoDB Developer Guide. Seen:
// nubo-db/dynamodb-conformance, src/item-size.ts, limits/numberByteSize.test.ts.
func (i Item) Size() int {
	size, _ := i.measure()
	return size
}

// measure returns the size of the item, and the first fault in order of names.
func (i Item) measure() (size int, f *fault) { return measureElements(i, 1) }

// fault says why DynamoDB would refuse a value. It never holds the value.
type fault struct {
	// path leads to the value: "" for the value that was measured, "[3].price"
	// for one inside.
	path string
	// rule is what is wrong: "is not a number".
	rule string
}

// in prepends to the path.
func (f *fault) in(path string) *fault {
	if f != nil {
		f.path = path + f.path
	}
	return f
}

// err returns the fault of an attribute as an error.
func (f *fault) err() error {
	if f == nil {
		return nil
	}
	return fmt.Errorf("attribute %q %s", item.Shortened(f.path), f.rule)
}

func broken(rule string) *fault { return &fault{rule: rule} }

// nameFault returns why DynamoDB would refuse the name of an attribute or of a
// map element.
func nameFault(name string) *fault {
	switch {
	case name == "":
		return broken("has an empty name")
	case len(name) > maxNameSize:
		return broken("has a name of more than 65535 bytes")
	case !utf8.ValidString(name):
		return broken("has a name that is not UTF-8")
	}
	return nil
}

// measure returns the size of a value and its first fault. The level of nesting
// is 1 for an attribute. Deeper values than DynamoDB stores are not visited. The SDK leaves
// out nils in some places, and replaces what is not UTF-8; DynamoDB refuses the rest.
func measure(value types.AttributeValue, level int) (size int, f *fault) {
	if level > maxLevels {
		return 0, broken("is nested more than 32 levels deep")
	}
	switch p := item.ValueOf(value); p.Kind {
	case item.S:
		return measureText(p.Text)
	case item.N:
		return measureNumber(p.Text)
	case item.B:
		return measureBytes(p.Bytes)
	case item.BOOL:
		return 1, nil
	case item.NULL:
		if !p.Bool {
			return 1, broken("is a NULL with the value false")
		}
		return 1, nil
	case item.SS:
		return measureSet(p.Texts, measureText, strings.Compare)
	case item.NS:
		return measureSet(p.Texts, measureNumber, item.CompareNumbers)
	case item.BS:
		return measureSet(p.Blobs, measureBytes, bytes.Compare)
	case item.L:
		return measureList(p.List, level)
	case item.M:
		return measureMap(p.Map, level)
	case item.Unknown:
		return 0, broken("is of no known type")
	}
	return 0, broken("is nil")
}

// A list or map counts 3 bytes, and 1 more for each element.
const containerSize, elementSize = 3, 1

func measureList(list []types.AttributeValue, level int) (size int, f *fault) {
	size, f = measureEach(list, func(e types.AttributeValue) (int, *fault) { return measure(e, level+1) })
	return size + containerSize + elementSize*len(list), f
}

func measureEach[E any](all []E, measure func(E) (int, *fault)) (size int, f *fault) {
	for i, e := range all {
		n, found := measure(e)
		size += n
		if found != nil && f == nil {
			f = found.in("[" + strconv.Itoa(i) + "]")
		}
	}
	return size, f
}

func measureMap(m map[string]types.AttributeValue, level int) (size int, f *fault) {
	size, f = measureElements(m, level+1)
	return size + containerSize + elementSize*len(m), f
}

// measureElements measures values with names, and returns the first fault in order
// of names. Those of an item are in its path; others may be the keys of a map.
func measureElements(m map[string]types.AttributeValue, level int) (size int, f *fault) {
	var at string
	for name, element := range m {
		n, found := measure(element, level)
		size += len(name) + n
		if found == nil {
			found = nameFault(name)
		}
		if found != nil && (f == nil || name < at) {
			f, at = found, name
		}
	}
	if f == nil {
		return size, nil
	}
	if level > 1 {
		at = item.InMap
	}
	return size, f.in(at)
}

func measureText(s string) (size int, f *fault) {
	if !utf8.ValidString(s) {
		return len(s), broken("is not UTF-8")
	}
	return len(s), nil
}

// measureBytes refuses nil, which the SDK sends as null. Empty bytes are a value.
func measureBytes(b []byte) (size int, f *fault) {
	if b == nil {
		return 0, broken("is nil")
	}
	return len(b), nil
}

func measureNumber(s string) (size int, f *fault) {
	d, ok := item.ParseNumber(s)
	switch {
	case !ok:
		return 1, broken("is not a decimal number")
	case !d.InRange():
		return d.Size(), broken("is a number of more than 38 digits, or of a magnitude outside 1e-130 to 9.99e125")
	}
	return d.Size(), nil
}

// measureSet measures a set. Elements are duplicates if compare returns 0.
func measureSet[E any](set []E, measure func(E) (int, *fault), compare func(a, b E) int) (size int, f *fault) {
	if len(set) == 0 {
		return 0, broken("is an empty set")
	}
	size, f = measureEach(set, measure)
	if f == nil && repeats(set, compare) {
		f = broken("is a set with duplicates")
	}
	return size, f
}

// jsonSize returns how many bytes a value has at most in a request.
func jsonSize(value types.AttributeValue) int {
	const frame = len(`{"BOOL":false},`)
	p := item.ValueOf(value)
	size := frame + textSize(p.Text) + len(p.Bytes)*4/3 + 4
	for _, text := range p.Texts {
		size += len(`"",`) + textSize(text)
	}
	for _, blob := range p.Blobs {
		size += len(`"",`) + len(blob)*4/3 + 4
	}
	for _, element := range p.List {
		size += jsonSize(element)
	}
	return size + jsonItemSize(p.Map)
}

func jsonItemSize(attributes Item) (size int) {
	for name, value := range attributes {
		size += len(`"":`) + textSize(name) + jsonSize(value)
	}
	return size
}

// textSize returns how many bytes a text has at most in JSON.
func textSize(text string) int {
	const escaped = len(`\u0000`)
	size := len(text)
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"', c == '\\':
			size++
		case c < ' ', c == '<', c == '>', c == '&', c == 0x7f, c == 0xe2: // U+2028 begins with E2
			size += escaped - 1
		}
	}
	return size
}

// few is how many elements are compared in pairs, which allocates nothing.
const few = 16

// repeats reports whether two elements of a set are equal.
func repeats[E any](set []E, compare func(a, b E) int) bool {
	if len(set) > few {
		set = slices.Clone(set)
		slices.SortFunc(set, compare)
		for i, e := range set[1:] {
			if compare(set[i], e) == 0 {
				return true
			}
		}
		return false
	}
	for i, e := range set {
		for _, other := range set[:i] {
			if compare(e, other) == 0 {
				return true
			}
		}
	}
	return false
}
