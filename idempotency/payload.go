package idempotency

import (
	"cmp"
	"crypto/sha256"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"unicode/utf8"

	"github.com/singletable/singletable/internal/item"
)

// Payload is what a request asks for. [JSON] and [Text] make one. It holds a hash of the
// content: payloads are equal, by ==, if their requests ask for the same. The zero Payload
// is that of a request that has none.
type Payload struct {
	print [sha256.Size]byte
	// err is why the payload cannot be compared.
	err error
}

// Text returns the payload of a text or of bytes, such as the body of a request as the
// client sent it. Text("") asks for nothing.
//
//   - JSON is compared without regard to white space and to the order of members. Numbers
//     are compared as they are written: 1 and 1.0 differ.
//   - JSON in which an object repeats a name is compared byte by byte. So are names that
//     differ in case only, unless they are in alphabetical order: package json decodes them
//     into one field, and the last one wins.
//   - Anything else is compared byte by byte.
func Text[S ~string | ~[]byte](text S) Payload {
	return Payload{print: fingerprintOf([]byte(text), true)}
}

// JSON returns the payload of a Go value, which is compared by what encoding/json writes
// of it. That leaves out unexported fields, fields with the tag `json:"-"`, and those that
// omitempty and omitzero leave out: payloads that differ only there are equal. A []byte and
// a [json.RawMessage] are [Text]; other named types of bytes are not. JSON of nil or of a nil
// pointer is the zero Payload.
//
// [Do] and [Exec] return [ErrInvalidRequest] for a value whose JSON hides more:
//
//   - one that package json cannot encode, such as a NaN
//   - a string that is not UTF-8
//   - a struct of which nothing is written, such as a reader: read it, and give its bytes
//   - a struct that has the MarshalJSON or MarshalText of an embedded type, such as
//     [time.Time], and other fields: make that a field with a name
//   - a struct with two fields of one JSON name, at any depth of embedding, since at most one
//     is written: give them other names, or leave one out with the tag `json:"-"`
func JSON(v any) Payload {
	switch text := v.(type) {
	case []byte:
		return Text(text)
	case json.RawMessage:
		return Text(text)
	}
	given := reflect.ValueOf(v)
	if !given.IsValid() || given.Kind() == reflect.Pointer && given.IsNil() {
		return Payload{}
	}
	return written(given)
}

// written returns the payload of a value that is not nil.
func written(v reflect.Value) (payload Payload) {
	defer func() {
		// The methods of an embedded pointer or interface are called even if it is nil.
		if recover() != nil {
			payload = Payload{err: fmt.Errorf("Payload: package json panics over a %T, as it does if an embedded "+
				"pointer or interface with MarshalJSON or MarshalText is nil; make that a field with a name", v.Interface())}
		}
	}()
	text, err := json.Marshal(v.Interface()) // which finds cycles, so it goes first
	if err != nil {
		return Payload{err: noJSON(err)}
	}
	var x inspector
	if err := x.inspect(v, "Payload"); err != nil {
		return Payload{err: err}
	}
	return Payload{print: fingerprintOf(text, x.ordered)}
}

// noJSON explains why package json refuses a value. Its own message can quote it.
func noJSON(err error) error {
	_, kind := errors.AsType[*json.UnsupportedTypeError](err)
	_, value := errors.AsType[*json.UnsupportedValueError](err) // NaN, or a cycle
	if kind || value {
		return fmt.Errorf("Payload: %w", err)
	}
	problem := "Payload: it has no JSON form"
	if failed, ok := errors.AsType[*json.MarshalerError](err); ok {
		problem = fmt.Sprintf("Payload: the marshaler of %v fails", failed.Type)
	}
	return &item.Error{Problem: problem, Err: err}
}

// inspector finds what package json hides of a value that it has encoded.
type inspector struct {
	// ordered is set for JSON of a method, such as that of [json.RawMessage], in which the
	// order of members matters.
	ordered bool
}

// inspect checks a value. The error names the field, never a value.
func (x *inspector) inspect(v reflect.Value, path string) error {
	switch m := marshaler(v).(type) {
	case json.Marshaler:
		if err := checkPromoted(v.Type(), path, func(t reflect.Type) (reflect.Method, bool) { return t.MethodByName("MarshalJSON") }); err != nil {
			return err
		}
		text, err := m.MarshalJSON()
		x.ordered = x.ordered || err == nil && ambiguous(numbered(text))
		return nil
	case encoding.TextMarshaler:
		return inspectText(m, v.Type(), path)
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return x.inspect(v.Elem(), path)
	case reflect.String:
		return checkText(v.String(), path)
	case reflect.Slice, reflect.Array:
		if e := v.Type().Elem(); e.Kind() == reflect.Uint8 && reflect.PointerTo(e).NumMethod() == 0 {
			return nil // bytes
		}
		for i := range v.Len() {
			if err := x.inspect(v.Index(i), path+"[]"); err != nil {
				return err
			}
		}
	case reflect.Map:
		for entries := v.MapRange(); entries.Next(); {
			err := cmp.Or(inspectKey(entries.Key(), path+" (a map's key)"), x.inspect(entries.Value(), path+"[]"))
			if err != nil {
				return err
			}
		}
	case reflect.Struct:
		return x.inspectFields(v, path)
	}
	return nil
}

// inspectText checks a value that writes itself as text.
func inspectText(m encoding.TextMarshaler, t reflect.Type, path string) error {
	if err := checkPromoted(t, path, func(t reflect.Type) (reflect.Method, bool) { return t.MethodByName("MarshalText") }); err != nil {
		return err
	}
	text, _ := m.MarshalText() // which has succeeded already
	return checkText(string(text), path)
}

// inspectKey checks a key of a map. Package json writes the text of a string, or that of its
// MarshalText.
func inspectKey(v reflect.Value, path string) error {
	if v.Kind() == reflect.String {
		return checkText(v.String(), path)
	}
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if m, is := marshaler(v).(encoding.TextMarshaler); is {
		return inspectText(m, v.Type(), path)
	}
	return nil
}

func (x *inspector) inspectFields(v reflect.Value, path string) error {
	fields, err := writtenFields(v.Type(), path)
	if err != nil {
		return err
	}
	for _, f := range fields {
		field, err := v.FieldByIndexErr(f.index)
		if err != nil || f.omitZero && isZero(field) {
			continue // behind an embedded pointer that is nil, or left out
		}
		if err := x.inspect(field, path+"."+f.goName); err != nil {
			return err
		}
	}
	return nil
}

// marshaler returns a value as what package json has it write itself by, if it does. That
// takes the methods of a pointer to a value that has an address.
func marshaler(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Invalid, reflect.Pointer, reflect.Interface:
		return nil // that is for what it leads to
	}
	if v.CanAddr() {
		v = v.Addr()
	}
	if !v.CanInterface() {
		return nil
	}
	return v.Interface()
}

// checkPromoted refuses a struct that writes itself by the method of an embedded type.
func checkPromoted(t reflect.Type, path string, method func(reflect.Type) (reflect.Method, bool)) error {
	//mutants:guard a payload has no fields that an embedded type leaves out | TestIncomparablePayloads
	if embedded, hides := item.Promoted(t, method, leftOut); hides {
		return fmt.Errorf("%s: %v has the JSON of its embedded %v, which leaves its other fields out; "+
			"make that a field with a name", path, t, embedded)
	}
	return nil
}

// checkText refuses a text in which package json would replace bytes.
func checkText(text, path string) error {
	if !utf8.ValidString(text) {
		return fmt.Errorf("%s: the text is not UTF-8", path)
	}
	return nil
}
