package dynamojson

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/table"
)

var (
	errJSON    = errors.New("is not JSON, or was cut off")
	errUTF8    = errors.New("is not UTF-8, or has half of a surrogate pair")
	errTrailer = errors.New("there is more after the item")
	errLine    = errors.New(`is not {"Item":{…}} in DynamoDB's JSON`)
)

// maxDepth is above the 32 levels that DynamoDB takes. It bounds the recursion only:
// [table.Table.CheckItem] counts exactly, and checks numbers.
const maxDepth = 40

// Decode reads one item: a map of attributes, or an object whose member Item is one, as
// GetItem of the AWS CLI returns it. Other members of such an object are ignored.
//
// Numbers are in the form in which DynamoDB stores them. It refuses members that are there
// twice, values of two types, and text that Unicode does not have. Errors name the line, the column and the attribute, and no value.
//
// Seen: nubo-db/dynamodb-conformance, putItem/numericKeys.test.ts,
// limits/numberPrecision.test.ts.
func Decode(text string) (table.Item, error) {
	item, at, err := parse([]byte(text), (*parser).root)
	if err == nil {
		return item, nil
	}
	inside, atInside, failed := parse([]byte(text), (*parser).envelope)
	switch {
	case failed == nil && inside != nil:
		return inside, nil
	case failed != nil:
		at, err = atInside, failed
	}
	return nil, fmt.Errorf("%s: %w", place(text, at), err)
}

// place returns the line and the column of a byte. A column is that of a character.
func place(text string, at int) string {
	before := text[:min(at, len(text))]
	line := strings.LastIndexByte(before, '\n') + 1
	return fmt.Sprintf("line %d, column %d", strings.Count(before, "\n")+1, utf8.RuneCountInString(before[line:])+1)
}

// DecodeLine reads one item from {"Item":{…}}, a line of DynamoDB's exports. It is as
// strict as [Decode], and refuses other members.
func DecodeLine(text []byte) (table.Item, error) {
	item, _, err := parse(text, (*parser).line)
	return item, err
}

// parse reads an item. If it fails, at is the byte that it fails at.
func parse(text []byte, read func(*parser) (table.Item, error)) (item table.Item, at int, err error) {
	if at := firstInvalid(text); at >= 0 {
		return nil, at, errUTF8
	}
	p := &parser{d: json.NewDecoder(bytes.NewReader(text))}
	if item, err = read(p); err == nil {
		if _, end := p.token(); !errors.Is(end, io.EOF) {
			item, err = nil, errTrailer
		}
	}
	if err == nil {
		return item, 0, nil
	}
	syntax, isSyntax := errors.AsType[*json.SyntaxError](json.Unmarshal(text, new(json.RawMessage)))
	switch {
	case isSyntax && !errors.Is(err, errTrailer) && int(syntax.Offset) >= len(text):
		return nil, len(text), errJSON
	case isSyntax && !errors.Is(err, errTrailer):
		return nil, int(syntax.Offset) - 1, errJSON
	}
	return nil, p.at + len(text[p.at:]) - len(bytes.TrimLeft(text[p.at:], " \t\r\n:,")), err
}

// firstInvalid returns the first byte that is not UTF-8, or of half of a surrogate pair,
// and -1 for text without one.
func firstInvalid(text []byte) int {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return halfPair(text)
}

// halfPair returns the place of an escaped surrogate without the other one of its pair, -1
// for text without one. Package json replaces it with another character.
func halfPair(text []byte) int {
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		unit, escaped := unitAt(text, i)
		switch i++; {
		case !escaped || unit < 0xd800 || unit > 0xdfff:
		case unit > 0xdbff:
			return i - 1
		default:
			low, escaped := unitAt(text, i+5)
			if !escaped || low < 0xdc00 || low > 0xdfff {
				return i - 1
			}
			i += 6
		}
	}
	return -1
}

// unitAt returns the UTF-16 code unit that is escaped at a place.
func unitAt(text []byte, i int) (unit uint64, escaped bool) {
	if i+6 > len(text) || text[i] != '\\' || text[i+1] != 'u' {
		return 0, false
	}
	unit, err := strconv.ParseUint(string(text[i+2:i+6]), 16, 16)
	return unit, err == nil
}

// fault says what is wrong with a value.
type fault struct{ path, text string }

func (f *fault) Error() string {
	if f.path == "" {
		return f.text
	}
	return strings.TrimPrefix(f.path, ".") + ": " + f.text
}

func faultf(format string, args ...any) error { return &fault{text: fmt.Sprintf(format, args...)} }

// at adds the step to a value to the path of what is wrong in it.
func at(err error, format string, args ...any) error {
	if f, ok := errors.AsType[*fault](err); ok {
		f.path = fmt.Sprintf(format, args...) + f.path
	}
	return err
}

type parser struct {
	d *json.Decoder
	// at is the end of the token before the last one.
	at int
}

func (p *parser) token() (json.Token, error) {
	p.at = int(p.d.InputOffset())
	return p.d.Token()
}

// root reads attributes.
func (p *parser) root() (table.Item, error) { return p.item(0) }

// line reads an object with the one member Item.
func (p *parser) line() (table.Item, error) {
	if p.delim('{') != nil {
		return nil, errLine
	}
	if name, err := next[string](p); err != nil || name != "Item" {
		return nil, errLine
	}
	item, err := p.item(0)
	if err == nil && p.delim('}') != nil {
		err = errLine
	}
	return item, err
}

// envelope reads an object with the member Item. A missing item is nil.
func (p *parser) envelope() (item table.Item, err error) {
	if err := p.delim('{'); err != nil {
		return nil, err
	}
	for p.d.More() {
		name, err := next[string](p)
		switch {
		case err != nil:
		case name != "Item":
			err = p.d.Decode(new(json.RawMessage))
		case item != nil:
			err = faultf("member %q is there twice", name)
		default:
			item, err = p.item(0)
		}
		if err != nil {
			return nil, err
		}
	}
	return item, p.delim('}')
}

func (p *parser) delim(want json.Delim) error {
	token, err := p.token()
	if err == nil && token != want {
		err = faultf("is not an %s", map[json.Delim]string{'{': "object", '[': "array"}[want])
	}
	return err
}

// next reads a text or a boolean.
func next[T string | bool](p *parser) (T, error) {
	token, err := p.token()
	v, ok := token.(T)
	if err == nil && !ok {
		err = faultf("is not a JSON %T, as its type wants", v)
	}
	return v, err
}

func (p *parser) text() (string, error) { return next[string](p) }

func (p *parser) number() (string, error) {
	text, err := p.text()
	return Number(text), err
}

func (p *parser) binary() ([]byte, error) {
	text, err := p.text()
	if err != nil {
		return nil, err
	}
	b, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil {
		return nil, faultf("is not base64")
	}
	return b, nil
}

// item reads attributes, or the members of a map.
func (p *parser) item(depth int) (table.Item, error) {
	if err := p.delim('{'); err != nil {
		return nil, err
	}
	item := table.Item{}
	for p.d.More() {
		name, err := p.text()
		if err != nil {
			return nil, err
		}
		if _, twice := item[name]; twice {
			return nil, faultf("member %q is there twice", name)
		}
		if item[name], err = p.value(depth + 1); err != nil {
			return nil, at(err, ".%s", name)
		}
	}
	return item, p.delim('}')
}

// value reads an object with one member, the type.
func (p *parser) value(depth int) (value types.AttributeValue, err error) {
	if depth > maxDepth {
		return nil, errors.New("is nested deeper than DynamoDB allows")
	}
	if err := p.delim('{'); err != nil {
		return nil, err
	}
	if p.d.More() {
		kind, err := p.text()
		if err != nil {
			return nil, err
		}
		if value, err = p.valueOf(kind, depth); err != nil {
			return nil, err
		}
	}
	if value == nil || p.d.More() {
		return nil, faultf("is not a value with one type, such as {\"S\": \"text\"}")
	}
	return value, p.delim('}')
}

func (p *parser) valueOf(kind string, depth int) (types.AttributeValue, error) {
	switch kind {
	case "S":
		v, err := p.text()
		return &types.AttributeValueMemberS{Value: v}, err
	case "N":
		v, err := p.number()
		return &types.AttributeValueMemberN{Value: v}, err
	case "B":
		v, err := p.binary()
		return &types.AttributeValueMemberB{Value: v}, err
	case "BOOL":
		v, err := next[bool](p)
		return &types.AttributeValueMemberBOOL{Value: v}, err
	case "NULL":
		v, err := next[bool](p)
		return &types.AttributeValueMemberNULL{Value: v}, err
	case "SS":
		v, err := array(p, p.text)
		return &types.AttributeValueMemberSS{Value: v}, err
	case "NS":
		v, err := array(p, p.number)
		return &types.AttributeValueMemberNS{Value: v}, err
	case "BS":
		v, err := array(p, p.binary)
		return &types.AttributeValueMemberBS{Value: v}, err
	case "L":
		v, err := array(p, func() (types.AttributeValue, error) { return p.value(depth + 1) })
		return &types.AttributeValueMemberL{Value: v}, err
	case "M":
		v, err := p.item(depth)
		return &types.AttributeValueMemberM{Value: v}, err
	}
	return nil, faultf("has no type of DynamoDB, which are S, N, B, BOOL, NULL, SS, NS, BS, L and M")
}

func array[T any](p *parser, element func() (T, error)) ([]T, error) {
	if err := p.delim('['); err != nil {
		return nil, err
	}
	all := []T{}
	for p.d.More() {
		v, err := element()
		if err != nil {
			return nil, at(err, "[%d]", len(all))
		}
		all = append(all, v)
	}
	return all, p.delim(']')
}
