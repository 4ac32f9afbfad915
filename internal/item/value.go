package item

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Kind is the type of an attribute, 0 for an attribute that is not there.
type Kind byte

// The types of attributes.
const (
	S Kind = iota + 1
	N
	B
	BOOL
	NULL
	M
	L
	SS
	NS
	BS
	// Unknown is a type that DynamoDB does not have.
	Unknown
)

// IsSet reports whether it is a set.
func (k Kind) IsSet() bool { return k == SS || k == NS || k == BS }

// kind reads the beginning of an attribute value up to what it holds: {"S":
func (r *Parser) kind() Kind {
	// Without white space, as it is always sent, it can be told by where the
	// quotes are.
	if d := r.data[r.pos:]; len(d) >= 8 && d[0] == '{' && d[1] == '"' {
		switch {
		case d[3] == '"' && d[4] == ':':
			r.pos += 5
			return kindOf(d[2:3])
		case d[4] == '"' && d[5] == ':':
			r.pos += 6
			return kindOf(d[2:4])
		case d[6] == '"' && d[7] == ':':
			r.pos += 8
			return kindOf(d[2:6])
		}
	}
	if !r.is('{') {
		return 0
	}
	name, _, ok := r.text()
	if !ok || !r.is(':') {
		return 0
	}
	return kindOf(name)
}

func kindOf(name []byte) Kind {
	for k := S; k < Unknown; k++ {
		if kindNames[k][0] == string(name) {
			return k
		}
	}
	return 0
}

func (r *Parser) value() (types.AttributeValue, bool) {
	v, ok := r.content(r.kind())
	return v, ok && r.is('}')
}

// content reads what an attribute value of a kind holds.
func (r *Parser) content(k Kind) (types.AttributeValue, bool) {
	p, ok := r.parts(k)
	return p.Value(), ok
}

// parts is content, as the parts of the value.
func (r *Parser) parts(k Kind) (p Value, ok bool) {
	p.Kind = k
	switch k {
	case S, N:
		p.Text, ok = r.string()
	case B:
		p.Bytes, ok = r.binary()
	case BOOL, NULL:
		p.Bool, ok = r.bool()
	case M:
		p.Map, ok = r.item()
	case L:
		p.List, ok = elements(r, r.value)
	case SS, NS:
		p.Texts, ok = elements(r, r.string)
	case BS:
		p.Blobs, ok = elements(r, r.binary)
	}
	return p, ok
}

// item reads the attributes of an item or of a map.
func (r *Parser) item() (map[string]types.AttributeValue, bool) {
	m, n := map[string]types.AttributeValue{}, 0
	ok := r.Object(func(name []byte) bool {
		v, ok := r.value()
		m[string(name)] = v
		n++
		return ok
	})
	r.repeats = r.repeats || n != len(m)
	return m, ok
}

// Item reads an item whose JSON need not come from DynamoDB. unique is false if it,
// or a map in it, has an attribute twice; the last one counts.
func (r *Parser) Item() (item map[string]types.AttributeValue, unique, ok bool) {
	r.repeats = false
	item, ok = r.item()
	return item, !r.repeats, ok
}

func elements[E any](r *Parser, read func() (E, bool)) ([]E, bool) {
	all := []E{}
	ok := r.Array(func(int) bool {
		e, ok := read()
		all = append(all, e)
		return ok
	})
	return all, ok
}

// IgnoreItem reads an item that nobody wants. It has to be one all the same.
func (r *Parser) IgnoreItem() bool {
	return r.Object(func([]byte) bool { return r.ignore() })
}

// ignore reads an attribute value that nobody wants.
func (r *Parser) ignore() bool { return r.ignoreContent(r.kind()) && r.is('}') }

// ignoreContent reads what such a value of a kind holds.
func (r *Parser) ignoreContent(k Kind) (ok bool) {
	switch k {
	case S, N:
		_, _, ok = r.text()
	case B:
		_, ok = r.binary()
	case BOOL, NULL:
		_, ok = r.bool()
	case M:
		ok = r.Object(func([]byte) bool { return r.ignore() })
	case L:
		ok = r.Array(func(int) bool { return r.ignore() })
	case SS, NS:
		ok = r.Array(func(int) bool { _, _, ok := r.text(); return ok })
	case BS:
		ok = r.Array(func(int) bool { _, ok := r.binary(); return ok })
	}
	return ok
}
