package item

import (
	"bytes"
	"reflect"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Value is an attribute value taken apart: its type, and what a value of that type has.
// [ValueOf] alone knows the types of the SDK. All other code uses the parts.
type Value struct {
	// Kind is 0 for nil, also for a pointer that is nil, and [Unknown] for a type that
	// DynamoDB does not have.
	Kind  Kind
	Text  string                          // of S and N
	Bytes []byte                          // of B
	Bool  bool                            // of BOOL and NULL
	Texts []string                        // of SS and NS
	Blobs [][]byte                        // of BS
	List  []types.AttributeValue          // of L
	Map   map[string]types.AttributeValue // of M
}

// ValueOf takes an attribute value apart. It copies nothing.
func ValueOf(value types.AttributeValue) (p Value) {
	if v := reflect.ValueOf(value); value == nil || v.Kind() == reflect.Pointer && v.IsNil() {
		return p
	}
	switch v := value.(type) {
	case *types.AttributeValueMemberS:
		p.Kind, p.Text = S, v.Value
	case *types.AttributeValueMemberN:
		p.Kind, p.Text = N, v.Value
	case *types.AttributeValueMemberB:
		p.Kind, p.Bytes = B, v.Value
	case *types.AttributeValueMemberBOOL:
		p.Kind, p.Bool = BOOL, v.Value
	case *types.AttributeValueMemberNULL:
		p.Kind, p.Bool = NULL, v.Value
	case *types.AttributeValueMemberM:
		p.Kind, p.Map = M, v.Value
	case *types.AttributeValueMemberL:
		p.Kind, p.List = L, v.Value
	case *types.AttributeValueMemberSS:
		p.Kind, p.Texts = SS, v.Value
	case *types.AttributeValueMemberNS:
		p.Kind, p.Texts = NS, v.Value
	case *types.AttributeValueMemberBS:
		p.Kind, p.Blobs = BS, v.Value
	default:
		p.Kind = Unknown
	}
	return p
}

// Value puts the parts together; nil for a Kind that has no value.
func (p Value) Value() types.AttributeValue {
	switch p.Kind {
	case S:
		return &types.AttributeValueMemberS{Value: p.Text}
	case N:
		return &types.AttributeValueMemberN{Value: p.Text}
	case B:
		return &types.AttributeValueMemberB{Value: p.Bytes}
	case BOOL:
		return &types.AttributeValueMemberBOOL{Value: p.Bool}
	case NULL:
		return &types.AttributeValueMemberNULL{Value: p.Bool}
	case M:
		return &types.AttributeValueMemberM{Value: p.Map}
	case L:
		return &types.AttributeValueMemberL{Value: p.List}
	case SS:
		return &types.AttributeValueMemberSS{Value: p.Texts}
	case NS:
		return &types.AttributeValueMemberNS{Value: p.Texts}
	case BS:
		return &types.AttributeValueMemberBS{Value: p.Blobs}
	}
	return nil
}

// rebuilt returns a value with lists, maps and pointers of its own. edit changes the
// parts of each value in it that is no list and no map.
func rebuilt(value types.AttributeValue, edit func(Value) Value) types.AttributeValue {
	p := ValueOf(value)
	switch p.Kind {
	case 0, Unknown:
		return value
	case L:
		list := make([]types.AttributeValue, len(p.List))
		for i, e := range p.List {
			list[i] = rebuilt(e, edit)
		}
		p.List = list
	case M:
		p.Map = rebuiltItem(p.Map, edit)
	default:
		p = edit(p)
	}
	return p.Value()
}

func rebuiltItem(item map[string]types.AttributeValue, edit func(Value) Value) map[string]types.AttributeValue {
	m := make(map[string]types.AttributeValue, len(item))
	for name, e := range item {
		m[name] = rebuilt(e, edit)
	}
	return m
}

// Cloned returns a copy of an item that shares no memory with it.
func Cloned(item map[string]types.AttributeValue) map[string]types.AttributeValue {
	return rebuiltItem(item, Value.clone)
}

func (p Value) clone() Value {
	p.Bytes, p.Texts, p.Blobs = slices.Clone(p.Bytes), slices.Clone(p.Texts), slices.Clone(p.Blobs)
	for i, b := range p.Blobs {
		p.Blobs[i] = slices.Clone(b)
	}
	return p
}

// AsStored returns a value in a form that is the same before and after it was stored:
// DynamoDB returns numbers and sets otherwise than they were written. AWS: "Supported
// data types and naming rules in Amazon DynamoDB", Amazon DynamoDB Developer Guide.
func AsStored(value types.AttributeValue) types.AttributeValue {
	return rebuilt(value, func(p Value) Value {
		switch p.Kind {
		case N:
			p.Text = PlainNumber(p.Text)
		case NS:
			p.Texts = slices.Clone(p.Texts)
			for i, number := range p.Texts {
				p.Texts[i] = PlainNumber(number)
			}
		}
		return p.sorted()
	})
}

// sorted gives a set an order, since DynamoDB keeps none. It does not change the set
// that the parts were taken from. AWS: "Supported data types and naming rules in Amazon
// DynamoDB", Amazon DynamoDB Developer Guide.
func (p Value) sorted() Value {
	if !slices.IsSorted(p.Texts) {
		p.Texts = slices.Clone(p.Texts)
		slices.Sort(p.Texts)
	}
	if !slices.IsSortedFunc(p.Blobs, bytes.Compare) {
		p.Blobs = slices.Clone(p.Blobs)
		slices.SortFunc(p.Blobs, bytes.Compare)
	}
	return p
}

// String returns DynamoDB's name of the type: BOOL.
func (k Kind) String() string { return kindNames[k][0] }

// Holds reports whether a value of the kind, with a text, is a wanted one of a key attribute's
// type, also written as text. Numbers are equal in every form.
func (k Kind) Holds(text, of, want string) bool {
	return k.String() == of && (text == want || k == N && CompareNumbers(text, want) == 0)
}

// Empty returns the value of the kind that the zero value of a Go type becomes, nil if there
// is none that is neither a list, a map nor a set.
func (k Kind) Empty() types.AttributeValue {
	p := Value{Kind: k, Bool: k == NULL}
	switch k {
	case N:
		p.Text = "0"
	case B:
		p.Bytes = []byte{}
	case S, BOOL, NULL:
	default:
		return nil
	}
	return p.Value()
}

// words returns the name of the type for people: a boolean.
func (k Kind) words() string { return kindNames[k][1] }

var kindNames = [...][2]string{
	{"?", "a value"},
	S: {"S", "a string"}, N: {"N", "a number"}, B: {"B", "a binary"},
	BOOL: {"BOOL", "a boolean"}, NULL: {"NULL", "a null"}, M: {"M", "a map"}, L: {"L", "a list"},
	SS: {"SS", "a string set"}, NS: {"NS", "a number set"}, BS: {"BS", "a binary set"},
	Unknown: {"?", "a value"},
}
