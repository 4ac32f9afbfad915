package item

import (
	"reflect"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Watched is an attribute that a reader of items wants in addition to the
// value.
type Watched struct {
	Name string
	// Kind is the attribute's type, and Text what it holds: text, the digits of
	// a number, or bytes. Kind is 0 if the item does not have the attribute or
	// it is of another type than these. Text is valid until the next item is
	// read.
	Kind Kind
	Text []byte
}

// Decoder makes values of one type of the items of a response. It is used by
// one goroutine.
type Decoder struct {
	plan  *plan
	names names
	// length is that of the JSON of the item that was read last.
	length int
}

// Size returns about how many bytes the item that was read last has, by the rule
// that DynamoDB counts by: what holds the JSON together is left out.
func (d *Decoder) Size() int { return max(1, d.length-frame*d.names.count) }

// Left returns about how many items are left in a response: as many as there is room
// for if each has the length of the one that was read last. It is 0 before the first.
func (d *Decoder) Left(r *Parser) int {
	if d.length == 0 {
		return 0
	}
	return r.Rest() / d.length
}

// frame is how many bytes the JSON of an attribute has in addition to its name
// and content.
const frame = len(`"":{"S":""},`)

// NewDecoder returns a decoder for values of a type, which fills watched in with
// each item. No two of watched may have the same name.
func NewDecoder(t reflect.Type, watched []Watched) *Decoder {
	p := planOf(t)
	return &Decoder{plan: p, names: names{plan: p, watched: watched}}
}

// Decode reads an item into v, which must be settable and zero. It returns what
// attributevalue has against the item; v is half filled then, and what is
// watched is complete. It returns false if the item is not what DynamoDB sends.
func (d *Decoder) Decode(r *Parser, v reflect.Value) (refusal error, ok bool) { //nolint:revive // the error is the item's, ok is the response's
	for i := range d.names.watched {
		w := &d.names.watched[i]
		w.Kind, w.Text = 0, nil
	}
	from := r.pos
	refusal, ok = d.value(r, v)
	d.length = r.pos - from
	return refusal, ok
}

func (d *Decoder) value(r *Parser, v reflect.Value) (refusal error, ok bool) { //nolint:revive // as in Decode
	from := r.pos
	switch d.plan.form {
	case structure:
		switch d.names.structure(r, v) {
		case fits:
			return nil, true
		case refused:
			return d.refusal(r, from), true
		}
		return nil, false
	case undecoded:
		ok = d.watch(r)
		*v.Addr().Interface().(*Raw) = RawJSON(r.Since(from))
		return nil, ok
	}
	if len(d.names.watched) > 0 {
		if !d.watch(r) {
			return nil, false
		}
		r.pos = from
	}
	return d.other(r, v)
}

// other reads an item into what is no struct.
func (d *Decoder) other(r *Parser, v reflect.Value) (refusal error, ok bool) { //nolint:revive // as in Decode
	from, depth := r.pos, r.depth
	switch d.plan.content(r, M, v, options{}) {
	case fits:
		return nil, true
	case broken:
		return nil, false
	}
	r.pos, r.depth = from, depth
	m, ok := r.item()
	switch {
	case !ok:
		return nil, false
	case d.plan.form == item:
		v.Set(reflect.ValueOf(m).Convert(d.plan.typ))
		return nil, true
	}
	v.SetZero()
	return Decode(&types.AttributeValueMemberM{Value: m}, v.Addr().Interface()), true
}

// refusal returns why attributevalue refuses the item that was read last and
// starts at from.
func (d *Decoder) refusal(r *Parser, from int) error {
	if m, ok := NewParser(r.data[from:r.pos]).item(); ok {
		return d.plan.notDecoded(m, r.err)
	}
	return r.err
}

// watch reads an item for what is watched alone.
func (d *Decoder) watch(r *Parser) bool {
	d.names.count = 0
	return r.Object(func(name []byte) bool {
		d.names.count++
		for i := range d.names.watched {
			if w := &d.names.watched[i]; w.Name == string(name) {
				return r.watch(w, r.kind()) && r.is('}')
			}
		}
		return r.ignore()
	})
}

// watch reads what an attribute of a kind holds for a reader to see.
func (r *Parser) watch(w *Watched, k Kind) (ok bool) {
	w.Kind, w.Text = k, nil // should the attribute be there twice
	switch k {
	case S, N:
		var plain bool
		if w.Text, plain, ok = r.text(); ok && !plain {
			w.Text = unquote(nil, w.Text)
		}
	case B:
		w.Text, ok = r.binary()
	default:
		w.Kind = 0
		return r.ignoreContent(k)
	}
	return ok
}
