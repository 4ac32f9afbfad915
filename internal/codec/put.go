package codec

import (
	"bytes"
	"encoding/base64"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Attribute is an attribute that holds text, a number or bytes. A Kind of 0 means
// that it holds something else, and has no Text.
type Attribute struct {
	Name string
	Kind Kind
	Text string
}

// Put is an item in JSON, as a request has it. It never changes.
type Put struct {
	JSON []byte
	// Size is its size in bytes as DynamoDB counts it.
	Size int
	// Watched are those of its attributes that the caller wanted to see.
	Watched []Attribute
}

// Sent is the item of a put in a request. It is the Put as long as there is one and
// the map of Attributes, which the input of the request has, is empty.
type Sent struct {
	*Put
	Attributes map[string]types.AttributeValue
}

// Decode puts the item into the map, for others to write it.
func (s Sent) Decode() {
	if json := s.json(); json != nil {
		item, _ := NewReader(json).item() // it was written to be read
		maps.Copy(s.Attributes, item)
	}
}

func (s Sent) json() []byte {
	if s.Put == nil || len(s.Attributes) > 0 {
		return nil
	}
	return s.JSON
}

// MakePut writes the item that [Encode] makes of v, or that v is, in one pass.
// Attributes in set take the place of those that v has, and those in without are
// left out; fields for either are not encoded. The last one in set of a name counts. nil is an item without attributes.
//
// It returns false if it cannot, and for every item that DynamoDB may refuse:
// [Encode] is for those.
func MakePut(v any, set []Attribute, without, watched []string) (put *Put, ok bool) {
	w := putWriters.Get().(*putWriter)
	defer func() {
		if cap(w.buffer) <= maxPut {
			*w = putWriter{Writer: Writer{buffer: w.buffer[:0]}}
			putWriters.Put(w)
		}
	}()
	w.buffer = append(w.buffer, '{')
	if !w.item(v, set, without, watched) {
		return nil, false
	}
	for i, a := range set {
		if named(set[i+1:], a.Name) {
			continue
		}
		if w.member(a.Name); !w.attribute(a) {
			return nil, false
		}
		if slices.Contains(watched, a.Name) {
			w.seen = append(w.seen, a)
		}
	}
	w.buffer = append(w.buffer, '}')
	if w.strange {
		return nil, false
	}
	return &Put{JSON: bytes.Clone(w.buffer), Size: w.size, Watched: w.seen}, true
}

// putWriters are kept for reuse, except for the rare large ones.
var putWriters = sync.Pool{New: func() any { return new(putWriter) }}

const maxPut = 64 << 10

// putWriter writes an item and counts its size. What is not plain it takes from an
// itemEncoder as an attribute value.
type putWriter struct {
	Writer
	values itemEncoder
	seen   []Attribute
	size   int
	level  int // of the list or map that is being written, from 1
}

// item writes the attributes of v.
func (w *putWriter) item(v any, set []Attribute, without, watched []string) bool {
	skips := func(name string) bool { return named(set, name) || slices.Contains(without, name) }
	switch v := v.(type) {
	case nil:
		return true
	case map[string]types.AttributeValue:
		for name, value := range v {
			if !skips(name) && !w.top(name, value, watched) {
				return false
			}
		}
		return true
	}
	value := reflect.ValueOf(v)
	if value.Kind() == reflect.Pointer {
		value = value.Elem()
	}
	if !value.IsValid() {
		return false
	}
	p := planOf(value.Type())
	if p.shape != structure || p.marshaled {
		return false
	}
	for i := range p.fields {
		f := &p.fields[i]
		switch {
		case skips(f.name):
		case slices.Contains(watched, f.name):
			attribute, err := w.values.field(f, value)
			if err != nil || attribute != nil && !w.top(f.name, attribute, watched) {
				return false
			}
		case !w.field(f, value):
			return false
		}
	}
	return true
}

func named(all []Attribute, name string) bool {
	for i := range all {
		if all[i].Name == name {
			return true
		}
	}
	return false
}

// top writes an attribute of the item.
func (w *putWriter) top(name string, value types.AttributeValue, watched []string) bool {
	if slices.Contains(watched, name) {
		w.seen = append(w.seen, AttributeOf(name, value))
	}
	w.member(name)
	return w.attributeValue(value)
}

// AttributeOf returns an attribute with a value.
func AttributeOf(name string, value types.AttributeValue) Attribute {
	switch v := value.(type) {
	case *types.AttributeValueMemberS:
		return Attribute{name, S, v.Value}
	case *types.AttributeValueMemberN:
		return Attribute{name, N, v.Value}
	case *types.AttributeValueMemberB:
		return Attribute{name, B, string(v.Value)}
	}
	return Attribute{Name: name}
}

// maxName is the greatest length of a name. AWS: "Supported data types and naming
// rules in Amazon DynamoDB", Amazon DynamoDB Developer Guide.
const maxName = 64<<10 - 1

// member begins an attribute, or an element of a map.
func (w *putWriter) member(name string) {
	w.strange = w.strange || name == "" || len(name) > maxName
	if w.buffer[len(w.buffer)-1] != '{' {
		w.buffer = append(w.buffer, ',')
	}
	w.text(name)
	w.buffer = append(w.buffer, ':')
	w.size += len(name)
}

// field writes a field of v, or leaves it out.
func (w *putWriter) field(f *field, v reflect.Value) bool {
	value, there := f.in(v)
	if !there {
		return true
	}
	before, size, level := len(w.buffer), w.size, w.level
	w.member(f.name)
	how := w.value(f.plan, value, f.options)
	if how == encoded {
		return true
	}
	w.buffer, w.size, w.level = w.buffer[:before], size, level
	if how == leftOut || w.strange {
		return !w.strange
	}
	attribute, err := w.values.field(f, v)
	if err == nil && attribute == nil {
		return true
	}
	w.member(f.name)
	if err != nil || !w.attributeValue(attribute) {
		w.strange = true
	}
	return !w.strange
}

// value writes a value.
func (w *putWriter) value(p *plan, v reflect.Value, o options) outcome {
	switch how := p.outcome(v, o); how {
	case encoded:
		return w.content(p, v, o)
	case null:
		w.buffer, w.size = append(w.buffer, `{"NULL":true}`...), w.size+1
		return encoded
	default:
		return how
	}
}

// content writes a value, whether it is empty or not.
func (w *putWriter) content(p *plan, v reflect.Value, o options) outcome {
	if p.special(o) {
		return forOthers
	}
	var digits [32]byte
	switch p.shape {
	case text:
		if p.numeric {
			return forOthers
		}
		w.textValue(v.String())
	case boolean:
		w.boolean(v.Bool())
	case integer:
		return w.number(strconv.AppendInt(digits[:0], v.Int(), 10), o)
	case unsigned:
		return w.number(strconv.AppendUint(digits[:0], v.Uint(), 10), o)
	case float:
		return w.number(strconv.AppendFloat(digits[:0], v.Float(), 'f', -1, p.typ.Bits()), o)
	case moment:
		t := v.Interface().(time.Time)
		if o.asUnixTime {
			return w.number(strconv.AppendInt(digits[:0], t.Unix(), 10), options{})
		}
		w.buffer = append(w.buffer, `{"S":"`...)
		from := len(w.buffer)
		w.buffer = t.AppendFormat(w.buffer, time.RFC3339Nano)
		w.size += len(w.buffer) - from
		w.buffer = append(w.buffer, `"}`...)
	case blob:
		w.bytes(v.Bytes())
	case pointer:
		if p.elem.shape == pointer {
			return forOthers
		}
		return w.content(p.elem, v.Elem(), o)
	case texts, slice:
		return w.list(p, v)
	case structure:
		return w.structure(p, v)
	default:
		return forOthers
	}
	return encoded
}

// number writes a number, or the text of one.
func (w *putWriter) number(digits []byte, o options) outcome {
	if o.asText {
		w.buffer = append(append(append(w.buffer, `{"S":"`...), digits...), `"}`...)
		w.size += len(digits)
		return encoded
	}
	n, ok := ParseNumber(string(digits))
	if !ok || !n.InRange() {
		return forOthers
	}
	w.buffer = append(append(append(w.buffer, `{"N":"`...), digits...), `"}`...)
	w.size += n.Size()
	return encoded
}

func (w *putWriter) textValue(s string) {
	w.buffer = append(w.buffer, `{"S":`...)
	w.text(s)
	w.buffer = append(w.buffer, '}')
	w.size += len(s)
}

func (w *putWriter) bytes(b []byte) {
	w.buffer = append(w.buffer, `{"B":"`...)
	w.buffer = base64.StdEncoding.AppendEncode(w.buffer, b)
	w.buffer = append(w.buffer, `"}`...)
	w.size += len(b)
}

func (w *putWriter) boolean(b bool) {
	w.buffer = append(strconv.AppendBool(append(w.buffer, `{"BOOL":`...), b), '}')
	w.size++
}

// A list or map counts 3 bytes, and 1 more for each element.
const containerSize, elementSize = 3, 1

// enter begins a list or map of n elements.
func (w *putWriter) enter(start string, n int) bool {
	w.buffer, w.size = append(w.buffer, start...), w.size+containerSize+elementSize*n
	w.level++
	return w.level < maxLevels
}

// leave ends it.
func (w *putWriter) leave(end string) {
	w.buffer = append(w.buffer, end...)
	w.level--
}

func (w *putWriter) list(p *plan, v reflect.Value) outcome {
	if p.typ == bytesListType || !w.enter(`{"L":[`, v.Len()) {
		return forOthers
	}
	elem := planOf(p.typ.Elem())
	for i := range v.Len() {
		w.comma(i)
		if w.value(elem, v.Index(i), options{}) != encoded {
			return forOthers
		}
	}
	w.leave("]}")
	return encoded
}

func (w *putWriter) comma(i int) {
	if i > 0 {
		w.buffer = append(w.buffer, ',')
	}
}

func (w *putWriter) structure(p *plan, v reflect.Value) outcome {
	if !w.enter(`{"M":{`, 0) {
		return forOthers
	}
	for i := range p.fields {
		from := len(w.buffer)
		if !w.field(&p.fields[i], v) {
			return forOthers
		}
		if len(w.buffer) > from {
			w.size += elementSize
		}
	}
	w.leave("}}")
	return encoded
}

// attribute writes an attribute that takes the place of v's.
func (w *putWriter) attribute(a Attribute) bool {
	switch a.Kind {
	case S:
		w.textValue(a.Text)
	case N:
		return w.number([]byte(a.Text), options{}) == encoded
	case B:
		w.bytes([]byte(a.Text))
	default:
		return false
	}
	return true
}

// attributeValue writes an attribute value.
func (w *putWriter) attributeValue(value types.AttributeValue) bool {
	switch v := value.(type) {
	case *types.AttributeValueMemberS:
		if v == nil {
			return false
		}
		w.textValue(v.Value)
	case *types.AttributeValueMemberN:
		return v != nil && w.number([]byte(v.Value), options{}) == encoded
	case *types.AttributeValueMemberB:
		if v == nil || v.Value == nil {
			return false
		}
		w.bytes(v.Value)
	case *types.AttributeValueMemberBOOL:
		if v == nil {
			return false
		}
		w.boolean(v.Value)
	case *types.AttributeValueMemberNULL:
		if v == nil || !v.Value {
			return false
		}
		w.buffer, w.size = append(w.buffer, `{"NULL":true}`...), w.size+1
	case *types.AttributeValueMemberL:
		if v == nil || !w.enter(`{"L":[`, len(v.Value)) {
			return false
		}
		for i, e := range v.Value {
			if w.comma(i); !w.attributeValue(e) {
				return false
			}
		}
		w.leave("]}")
	case *types.AttributeValueMemberM:
		if v == nil || !w.enter(`{"M":{`, len(v.Value)) {
			return false
		}
		for name, e := range v.Value {
			if w.member(name); !w.attributeValue(e) {
				return false
			}
		}
		w.leave("}}")
	default: // a set, which may have duplicates
		return false
	}
	return true
}
