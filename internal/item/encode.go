package item

import (
	"errors"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Encode makes an attribute value of a Go value, as attributevalue's Encode
// does. The attributes of a struct share memory. Its error is an [Error].
func Encode(v any) (types.AttributeValue, error) {
	attribute, err := encode(v)
	if err != nil {
		return nil, rooted(reflect.TypeOf(v), err)
	}
	return attribute, nil
}

// EncodeToRead is [Encode] of a value that is to be read again as what it is: a value
// that would read back as another one is an [ErrRoundTrip]. The types of a caller's
// values are encoded by it.
func EncodeToRead(v any) (types.AttributeValue, error) {
	if err := checkTrip(reflect.ValueOf(v)); err != nil {
		return nil, rooted(reflect.TypeOf(v), err)
	}
	return Encode(v)
}

// rooted returns the error of a value of type t that does not encode.
func rooted(t reflect.Type, err error) *Error {
	e := notEncoded("", t, err)
	e.Path = strings.TrimPrefix(e.Path, ".")
	return e
}

func encode(v any) (types.AttributeValue, error) {
	value := reflect.Indirect(reflect.ValueOf(v))
	if value.Kind() == reflect.Struct || value.Kind() == reflect.Map && !value.IsNil() {
		p := planOf(value.Type())
		e := itemEncoder{
			texts:   make([]types.AttributeValueMemberS, 0, p.strings),
			numbers: make([]types.AttributeValueMemberN, 0, p.numbers),
		}
		if attribute, done, err := e.value(p, value, options{}); done || err != nil {
			return attribute, err
		}
	}
	return noNil(encodeForeign(v))
}

// itemEncoder makes the attributes of one item. Strings and numbers are made
// several at a time.
type itemEncoder struct {
	texts   []types.AttributeValueMemberS
	numbers []types.AttributeValueMemberN
	level   int // of the map or list that is being made, from 1
}

const (
	// few is how many attributes are made at a time.
	few = 4
	// added is how many attributes an item has in addition to those of its value:
	// its keys and its type.
	added = 3
)

func (e *itemEncoder) text(s string) types.AttributeValue {
	if len(e.texts) == cap(e.texts) {
		e.texts = make([]types.AttributeValueMemberS, 0, few)
	}
	e.texts = append(e.texts, types.AttributeValueMemberS{Value: s})
	return &e.texts[len(e.texts)-1]
}

// number makes a number, or the text of one.
func (e *itemEncoder) number(n string, o options) types.AttributeValue {
	if o.asText {
		return e.text(n)
	}
	if len(e.numbers) == cap(e.numbers) {
		e.numbers = make([]types.AttributeValueMemberN, 0, few)
	}
	e.numbers = append(e.numbers, types.AttributeValueMemberN{Value: n})
	return &e.numbers[len(e.numbers)-1]
}

func (e *itemEncoder) structure(p *plan, v reflect.Value) (types.AttributeValue, error) {
	if err := e.enter(); err != nil {
		return nil, err
	}
	defer e.leave()
	m := make(map[string]types.AttributeValue, len(p.fields)+added)
	for i := range p.fields {
		f := &p.fields[i]
		attribute, err := e.field(f, v)
		if err != nil {
			return nil, err
		}
		if attribute != nil {
			m[f.name] = attribute
		}
	}
	return &types.AttributeValueMemberM{Value: m}, nil
}

// field makes an attribute of a field of v, nil if it is left out.
func (e *itemEncoder) field(f *field, v reflect.Value) (types.AttributeValue, error) {
	value, there := f.in(v)
	if !there {
		return nil, nil
	}
	attribute, done, err := e.value(f.plan, value, f.options)
	if !done && err == nil {
		attribute, err = f.take(value)
	}
	if err != nil {
		return nil, notEncoded("."+f.name, f.plan.typ, err)
	}
	if f.time && f.leavesOut(value, attribute) {
		return nil, nil
	}
	return attribute, nil
}

// value makes an attribute of a value, nil if it is left out. done is false if
// attributevalue has to do it.
func (e *itemEncoder) value(p *plan, v reflect.Value, o options) (attribute types.AttributeValue, done bool, err error) {
	switch p.form {
	case foreign, item:
		if !p.time {
			return nil, false, nil
		}
		return e.content(p, v, o)
	case structure, moment:
		return e.content(p, v, o)
	}
	switch empty, null := p.empty(v); {
	case !empty:
	case o.omitEmpty:
		return nil, !o.nullEmpty, nil
	case o.nullEmpty || null:
		return &types.AttributeValueMemberNULL{Value: true}, true, nil
	}
	return e.content(p, v, o)
}

// empty reports whether a value is what omitempty and nullempty are about, and whether
// it is null without them.
func (p *plan) empty(v reflect.Value) (is, null bool) {
	switch p.form {
	case blob, texts, slice, dictionary, pointer, anything:
		return v.IsNil(), v.IsNil()
	}
	return v.IsZero(), false
}

// content makes an attribute of a value, whether it is empty or not.
func (e *itemEncoder) content(p *plan, v reflect.Value, o options) (attribute types.AttributeValue, done bool, err error) {
	if p.marshaled || p.numeric || o.asSet || o.omitEmptyElem || o.nullEmptyElem {
		return nil, false, nil
	}
	if p.time {
		return e.moment(v.Convert(timeType).Interface().(time.Time), o)
	}
	switch p.form {
	case text:
		return e.text(v.String()), true, nil
	case boolean:
		return &types.AttributeValueMemberBOOL{Value: v.Bool()}, true, nil
	case integer:
		return e.number(strconv.FormatInt(v.Int(), 10), o), true, nil
	case unsigned:
		return e.number(strconv.FormatUint(v.Uint(), 10), o), true, nil
	case float:
		var room [32]byte
		return e.number(string(appendFloat(room[:0], v.Float(), p.typ.Bits())), o), true, nil
	case blob:
		return &types.AttributeValueMemberB{Value: append([]byte{}, v.Bytes()...)}, true, nil
	case pointer:
		if p.elem.form == pointer || p.elem.form == anything {
			return nil, false, nil
		}
		return e.content(p.elem, v.Elem(), o)
	case anything:
		p := planOf(v.Elem().Type())
		if p.form == pointer {
			return nil, false, nil
		}
		return e.content(p, v.Elem(), o)
	case texts, slice:
		return e.list(p, v)
	case dictionary:
		return e.dictionary(p, v)
	case structure:
		m, err := e.structure(p, v)
		return m, true, err
	}
	return nil, false, nil
}

func (e *itemEncoder) moment(t time.Time, o options) (attribute types.AttributeValue, done bool, err error) {
	switch s := t.Unix(); {
	case !o.asUnixTime && !inText(t):
		return nil, false, errTime
	case !o.asUnixTime:
		return e.text(t.Format(time.RFC3339Nano)), true, nil
	case s < firstSecond || s > lastSecond:
		return nil, false, farTime()
	default:
		return e.number(strconv.FormatInt(s, 10), options{}), true, nil
	}
}

func (e *itemEncoder) list(p *plan, v reflect.Value) (attribute types.AttributeValue, done bool, err error) {
	if p.typ == bytesListType {
		return nil, false, nil // a set
	}
	if err := e.enter(); err != nil {
		return nil, false, err
	}
	defer e.leave()
	if list, is := vectorOf(v); is {
		return &types.AttributeValueMemberL{Value: list}, true, nil
	}
	elem := planOf(p.typ.Elem())
	l := make([]types.AttributeValue, 0, v.Len())
	for i := range v.Len() {
		attribute, done, err := e.value(elem, v.Index(i), options{})
		if err != nil {
			return nil, false, notEncoded(at(i), elem.typ, err)
		}
		if !done {
			return nil, false, nil
		}
		l = append(l, attribute)
	}
	return &types.AttributeValueMemberL{Value: l}, true, nil
}

func (e *itemEncoder) dictionary(p *plan, v reflect.Value) (attribute types.AttributeValue, done bool, err error) {
	if p.typ.Key().NumMethod() > 0 {
		return nil, false, nil // it may have a String method
	}
	if err := e.enter(); err != nil {
		return nil, false, err
	}
	defer e.leave()
	m := make(map[string]types.AttributeValue, v.Len())
	for each := v.MapRange(); each.Next(); {
		name := each.Key().String()
		if name == "" {
			return nil, false, nil
		}
		attribute, done, err := e.value(p.elem, each.Value(), options{})
		if err != nil {
			step := InMap
			if e.level == 1 { // it is the item
				step = "." + name
			}
			return nil, false, notEncoded(step, p.elem.typ, err)
		}
		if !done {
			return nil, false, nil
		}
		m[name] = attribute
	}
	return &types.AttributeValueMemberM{Value: m}, true, nil
}

// enter begins a map or list.
func (e *itemEncoder) enter() error {
	if e.level > maxLevels {
		return &Error{Problem: errLevels.Error(), Err: errLevels}
	}
	e.level++
	return nil
}

func (e *itemEncoder) leave() { e.level-- }

// in returns the field of a struct, of which v is one; false if an embedded
// struct on the way to it is nil.
func (f *field) in(v reflect.Value) (reflect.Value, bool) {
	value, err := v.FieldByIndexErr(f.index)
	return value, err == nil
}

// take lets attributevalue make an attribute of the field v, nil if it is left
// out.
func (f *field) take(v reflect.Value) (types.AttributeValue, error) {
	alone := reflect.New(f.alone)
	alone.Elem().Field(0).Set(v)
	in := alone.Interface()
	if !v.CanAddr() {
		// Methods of pointers do not count then.
		in = alone.Elem().Interface()
	}
	made, err := encodeForeign(in)
	if err != nil {
		return nil, err
	}
	made, err = f.withoutZeroTimes(made.(*types.AttributeValueMemberM).Value[aloneName])
	return noNil(made, err)
}

// Made is an item that was made for one op. The op takes it as it is, and adds
// nothing that is not in it.
type Made struct {
	Item map[string]types.AttributeValue
	// Err is why there is no item.
	Err error
}

// errTime means that RFC 3339 has no text for a time: it would be read as another one, or not
// at all.
var errTime = errors.New("a time outside of the years 0 to 9999, or in a zone whose offset is no whole number of minutes under a day, " +
	"has no text that reads back; store it in UTC, or as a number")

// inText reports whether the text of a time, in its own zone, reads back as the same moment.
func inText(t time.Time) bool {
	_, offset := t.Zone()
	year := t.Year()
	return year >= 0 && year <= 9999 && offset%60 == 0 && offset > -24*60*60 && offset < 24*60*60
}
