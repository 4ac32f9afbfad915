package lines

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/table"
)

// The reasons why a line has no item. They quote nothing, since items hold personal
// data.
var (
	errJSON    = errors.New("is not JSON, or was cut off")
	errUTF8    = errors.New("is not UTF-8, or has half of a surrogate pair")
	errForm    = errors.New(`is not {"Item":{…}} in DynamoDB's JSON`)
	errTwice   = errors.New("has an attribute twice")
	errDeep    = errors.New("is nested deeper than DynamoDB allows")
	errTrailer = errors.New("has more behind the item")
)

// maxDepth is above the 32 levels that DynamoDB takes. It bounds the recursion only:
// table.CheckItem counts exactly.
const maxDepth = 40

// parseLine returns the item of a line. It accepts nothing that would become another
// item: attributes that are there twice, values of two types, and text that Unicode
// does not have.
func parseLine(text []byte) (table.Item, error) {
	return parse(text, func(p *parser) (item table.Item, err error) {
		if err := p.delim('{'); err != nil {
			return nil, err
		}
		if name, err := p.text(); err != nil || name != "Item" {
			return nil, errForm
		}
		if item, err = p.item(0); err != nil {
			return nil, err
		}
		return item, p.delim('}')
	})
}

// ParseItem returns an item as [AppendItem] writes it.
func ParseItem(text []byte) (table.Item, error) {
	return parse(text, func(p *parser) (table.Item, error) { return p.item(0) })
}

func parse(text []byte, read func(*parser) (table.Item, error)) (table.Item, error) {
	if !utf8.Valid(text) || halfPair(text) {
		return nil, errUTF8
	}
	p := &parser{json.NewDecoder(bytes.NewReader(text))}
	item, err := read(p)
	if err != nil {
		if !json.Valid(text) {
			return nil, errJSON
		}
		return nil, err
	}
	if _, err := p.d.Token(); !errors.Is(err, io.EOF) {
		return nil, errTrailer
	}
	return item, nil
}

// halfPair reports whether JSON has an escaped surrogate without the other one of its
// pair. Package json replaces it with another character.
func halfPair(text []byte) bool {
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		unit, escaped := unitAt(text, i)
		switch i++; {
		case !escaped || unit < 0xd800 || unit > 0xdfff:
		case unit > 0xdbff:
			return true
		default:
			low, escaped := unitAt(text, i+5)
			if !escaped || low < 0xdc00 || low > 0xdfff {
				return true
			}
			i += 6
		}
	}
	return false
}

// unitAt returns the UTF-16 code unit that is escaped at a place.
func unitAt(text []byte, i int) (unit uint64, escaped bool) {
	if i+6 > len(text) || text[i] != '\\' || text[i+1] != 'u' {
		return 0, false
	}
	unit, err := strconv.ParseUint(string(text[i+2:i+6]), 16, 16)
	return unit, err == nil
}

type parser struct{ d *json.Decoder }

func (p *parser) delim(want json.Delim) error {
	token, err := p.d.Token()
	if err == nil && token != want {
		err = errForm
	}
	return err
}

// next reads a token of a type.
func next[T any](p *parser) (T, error) {
	token, err := p.d.Token()
	v, ok := token.(T)
	if err == nil && !ok {
		err = errForm
	}
	return v, err
}

func (p *parser) text() (string, error) { return next[string](p) }

func (p *parser) binary() ([]byte, error) {
	text, err := p.text()
	if err != nil {
		return nil, err
	}
	b, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil {
		return nil, errForm
	}
	return b, nil
}

func (p *parser) item(depth int) (table.Item, error) {
	if depth > maxDepth {
		return nil, errDeep
	}
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
			return nil, errTwice
		}
		if item[name], err = p.value(depth + 1); err != nil {
			return nil, err
		}
	}
	return item, p.delim('}')
}

func (p *parser) value(depth int) (types.AttributeValue, error) {
	if depth > maxDepth {
		return nil, errDeep
	}
	if err := p.delim('{'); err != nil {
		return nil, err
	}
	kind, err := p.text()
	if err != nil {
		return nil, err
	}
	value, err := p.valueOf(kind, depth)
	if err != nil {
		return nil, err
	}
	return value, p.delim('}')
}

func (p *parser) valueOf(kind string, depth int) (types.AttributeValue, error) {
	switch kind {
	case "S":
		v, err := p.text()
		return &types.AttributeValueMemberS{Value: v}, err
	case "N":
		v, err := p.text()
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
		v, err := list(p, p.text)
		return &types.AttributeValueMemberSS{Value: v}, err
	case "NS":
		v, err := list(p, p.text)
		return &types.AttributeValueMemberNS{Value: v}, err
	case "BS":
		v, err := list(p, p.binary)
		return &types.AttributeValueMemberBS{Value: v}, err
	case "L":
		v, err := list(p, func() (types.AttributeValue, error) { return p.value(depth + 1) })
		return &types.AttributeValueMemberL{Value: v}, err
	case "M":
		v, err := p.item(depth)
		return &types.AttributeValueMemberM{Value: v}, err
	}
	return nil, errForm
}

func list[T any](p *parser, element func() (T, error)) ([]T, error) {
	if err := p.delim('['); err != nil {
		return nil, err
	}
	all := []T{}
	for p.d.More() {
		v, err := element()
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, p.delim(']')
}
