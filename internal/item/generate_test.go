package item_test

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// source makes types, items and values of the bytes of a fuzzer. Bytes that have
// run out are zero, which ends whatever is made.
type source []byte

func (s *source) next() byte {
	if len(*s) == 0 {
		return 0
	}
	b := (*s)[0]
	*s = (*s)[1:]
	return b
}

// below returns a number less than n.
func (s *source) below(n int) int { return int(s.next()) % n }

// rarely is true one time in n, and never once the bytes have run out.
func (s *source) rarely(n int) bool { return s.below(n) == n-1 }

func (s *source) uint64() uint64 {
	var b [8]byte
	for i := range b {
		b[i] = s.next()
	}
	return binary.LittleEndian.Uint64(b[:]) >> s.below(64)
}

// embeddable are the types that reflect can embed into a struct of its own.
var embeddable = []reflect.Type{
	reflect.TypeFor[Base](), reflect.TypeFor[Other](), reflect.TypeFor[Left](), reflect.TypeFor[Right](), reflect.TypeFor[*Base](),
	reflect.TypeFor[*Other](), reflect.TypeFor[*Left](), reflect.TypeFor[*Loop](), reflect.TypeFor[Public](),
}

var tagNames = []string{"", "", "", "a", "ID", "name", "Name", "x", "-", "\u00e4"}

var tagOptions = []string{
	"", "", "omitempty", "omitemptyelem", "nullempty", "nullemptyelem", "string", "unixtime", "stringset", "numberset", "binaryset", "bogus",
}

// structOf makes a struct type.
func (s *source) structOf(depth int) reflect.Type {
	var fields []reflect.StructField
	used := map[string]bool{}
	for i := range 1 + s.below(6) {
		name := tagNames[s.below(len(tagNames))]
		for range s.below(4) {
			name += "," + tagOptions[s.below(len(tagOptions))]
		}
		f := reflect.StructField{Name: string(rune('A' + i)), Tag: reflect.StructTag("dynamodbav:" + strconv.Quote(name))}
		if s.rarely(5) {
			f.Type, f.Anonymous = embeddable[s.below(len(embeddable))], true
			f.Name = f.Type.Name()
			if f.Type.Kind() == reflect.Pointer {
				f.Name = f.Type.Elem().Name()
			}
		} else {
			f.Type = s.typ(depth - 1)
		}
		if !used[f.Name] {
			fields = append(fields, f)
			used[f.Name] = true
		}
	}
	return reflect.StructOf(fields)
}

// typ makes any type.
func (s *source) typ(depth int) reflect.Type {
	if depth <= 0 {
		return pool[s.below(len(pool))]
	}
	switch s.below(10) {
	case 0, 1, 2, 3:
		return pool[s.below(len(pool))]
	case 4:
		return reflect.PointerTo(s.typ(depth - 1))
	case 5, 6:
		return reflect.SliceOf(s.typ(depth - 1))
	case 7:
		return reflect.MapOf(reflect.TypeFor[string](), s.typ(depth-1))
	case 8:
		return reflect.ArrayOf(s.below(3), s.typ(depth-1))
	}
	return s.structOf(depth)
}

var texts = []string{
	"", "a", "text", "12", "-1", "2024-02-29T12:00:00.5Z", "true", "a-b", `"quoted"`, `back\slash`, "tab\tnewline\n", "\x00\x1f", "<html>&",
	"é", "\U0001F600", "\xff\xfe", "\u2028", "1234567", "12345678", "123456789", "\"at the start", "at the end\"", "\x7f\u0080",
}

func (s *source) text() string {
	if s.rarely(4) {
		return strings.Repeat(texts[s.below(len(texts))], s.below(80))
	}
	return texts[s.below(len(texts))] + texts[s.below(len(texts))]
}

func (s *source) number() string {
	switch s.below(8) {
	case 0:
		return strconv.Itoa(s.below(256))
	case 1:
		return strconv.FormatInt(int64(s.uint64()), 10)
	case 2:
		return strconv.FormatUint(s.uint64(), 10)
	case 3:
		return strconv.FormatFloat(math.Float64frombits(s.uint64()), 'g', -1, 64)
	case 4:
		return fmt.Sprintf("%d.%dE%d", s.below(10), s.uint64(), s.below(256)-128)
	case 5:
		return fmt.Sprintf("-%d", s.below(200))
	case 6:
		return fmt.Sprintf("%d%019d", s.uint64(), s.uint64())
	}
	return s.text()
}

// quote writes a string as JSON, some characters that need no escape with one.
func quote(text string) string {
	b := []byte{'"'}
	for i := range len(text) {
		switch c := text[i]; {
		case c < 0x20, c == '<':
			b = fmt.Appendf(b, `\u%04x`, c)
		case c == '"', c == '\\', c == '/':
			b = append(b, '\\', c)
		default:
			b = append(b, c)
		}
	}
	return string(append(b, '"'))
}

func (s *source) binary() string {
	return `"` + base64.StdEncoding.EncodeToString([]byte(s.text())) + `"`
}

func (s *source) list(n int, element func() string) string {
	var elements []string
	for range n {
		elements = append(elements, element())
	}
	return "[" + strings.Join(elements, ",") + "]"
}

// attribute makes an attribute of any type.
func (s *source) attribute(depth int) string {
	n := s.below(4)
	switch s.below(10) {
	case 0:
		return `{"S":` + quote(s.text()) + `}`
	case 1:
		return `{"N":` + quote(plainText(s.number())) + `}`
	case 2:
		return `{"B":` + s.binary() + `}`
	case 3:
		return `{"BOOL":` + strconv.FormatBool(s.rarely(2)) + `}`
	case 4:
		return `{"NULL":true}`
	case 5:
		return `{"SS":` + s.list(n, func() string { return quote(s.text()) }) + `}`
	case 6:
		return `{"NS":` + s.list(n, func() string { return quote(plainText(s.number())) }) + `}`
	case 7:
		return `{"BS":` + s.list(n, s.binary) + `}`
	case 8:
		if depth > 0 {
			return `{"L":` + s.list(n, func() string { return s.attribute(depth - 1) }) + `}`
		}
	case 9:
		if depth > 0 {
			return `{"M":` + s.members(n, func(i int) (string, string) { return texts[s.below(len(texts))], s.attribute(depth - 1) }) + `}`
		}
	}
	return `{"NULL":false}`
}

// plainText is what the digits of a number can be that came over the wire: no
// text with escapes, which goes to the SDK.
func plainText(text string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 || strings.ContainsRune(`"\/<`, r) {
			return -1
		}
		return r
	}, text)
}

// members makes an object, without two names that fold to one, as that makes it
// chance what attributevalue does.
func (s *source) members(n int, member func(i int) (name, value string)) string {
	var names, members []string
	for i := range n {
		name, value := member(i)
		if !slices.ContainsFunc(names, func(other string) bool { return strings.EqualFold(name, other) }) {
			names = append(names, name)
			members = append(members, quote(name)+":"+value)
		}
	}
	return "{" + strings.Join(members, ",") + "}"
}

// fitting makes an attribute that suits a type, as a rule.
func (s *source) fitting(t reflect.Type, depth int) string {
	if depth <= 0 || s.rarely(12) {
		return s.attribute(2)
	}
	if s.rarely(12) {
		return `{"NULL":true}`
	}
	switch t.Kind() {
	case reflect.Bool:
		return `{"BOOL":true}`
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint8, reflect.Uint, reflect.Uint64:
		return `{"N":"` + strconv.Itoa(s.below(120)) + `"}`
	case reflect.Float32, reflect.Float64:
		return `{"N":"` + strconv.FormatFloat(float64(s.below(100))/8, 'g', -1, 64) + `"}`
	case reflect.String:
		return `{"S":` + quote(s.text()) + `}`
	case reflect.Pointer:
		return s.fitting(t.Elem(), depth)
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return `{"B":` + s.binary() + `}`
		}
		return `{"L":` + s.list(s.below(4), func() string { return s.fitting(t.Elem(), depth-1) }) + `}`
	case reflect.Map:
		return `{"M":` + s.members(s.below(4), func(int) (string, string) { return texts[s.below(len(texts))], s.fitting(t.Elem(), depth-1) }) + `}`
	case reflect.Struct:
		if t.ConvertibleTo(reflect.TypeFor[time.Time]()) {
			return `{"S":"2024-02-29T12:00:00Z"}`
		}
		return `{"M":` + s.item(t, depth) + `}`
	}
	return s.attribute(2)
}

// item makes an item, or a map, for a type.
func (s *source) item(t reflect.Type, depth int) string {
	if t.Kind() != reflect.Struct {
		return s.members(s.below(4), func(int) (string, string) {
			if t.Kind() == reflect.Map {
				return texts[s.below(len(texts))], s.fitting(t.Elem(), depth-1)
			}
			return texts[s.below(len(texts))], s.attribute(2)
		})
	}
	fields := reflect.VisibleFields(t)
	return s.members(s.below(len(fields)+2), func(i int) (string, string) {
		if s.rarely(8) || i >= len(fields) {
			return []string{"a", "ID", "x", "V", "unknown"}[s.below(5)], s.attribute(2)
		}
		f := fields[s.below(len(fields))]
		name, _, _ := strings.Cut(f.Tag.Get("dynamodbav"), ",")
		if name == "" {
			name = f.Name
		}
		if s.rarely(8) {
			name = strings.ToUpper(name)
		}
		return name, s.fitting(f.Type, depth-1)
	})
}

// value makes a value of a type.
func (s *source) value(v reflect.Value, depth int) {
	if depth <= 0 || !v.CanSet() || s.rarely(10) {
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(s.rarely(2))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(int64(s.uint64()))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		v.SetUint(s.uint64())
	case reflect.Float32, reflect.Float64:
		v.SetFloat(math.Float64frombits(s.uint64()))
		if math.Abs(v.Float()) == math.MaxFloat32 { // has digits of its own
			v.SetFloat(1)
		}
	case reflect.String:
		v.SetString(s.text())
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		s.value(v.Elem(), depth-1)
	case reflect.Interface:
		if v.NumMethod() == 0 {
			in := reflect.New(s.typ(1)).Elem()
			s.value(in, depth-1)
			v.Set(in)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), s.below(4), 4))
		fallthrough
	case reflect.Array:
		for i := range v.Len() {
			s.value(v.Index(i), depth-1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range s.below(4) {
			key, elem := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			s.value(key, depth-1)
			s.value(elem, depth-1)
			v.SetMapIndex(key, elem)
		}
	case reflect.Struct:
		if v.Type().ConvertibleTo(reflect.TypeFor[time.Time]()) {
			v.Set(reflect.ValueOf(time.Unix(int64(s.uint64()>>30), int64(s.next())).UTC()).Convert(v.Type()))
			return
		}
		for i := range v.NumField() {
			s.value(v.Field(i), depth-1)
		}
	}
}
