package codec

import (
	"reflect"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Watched is an attribute that a reader of items wants to see beside the value.
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
	size  int
	// attributes is how many of them were watched.
	attributes int
	// reads means that it makes values of a [Read].
	reads bool
}

// Size returns about how many bytes the item that was read last has, by the rule
// that DynamoDB counts by: what holds the JSON together is left out.
func (d *Decoder) Size() int { return d.size }

// frame is how many bytes the JSON of an attribute has beside its name and what
// it holds.
const frame = len(`"":{"S":""},`)

// NewDecoder returns a decoder for values of a type, which fills watched in with
// each item. No two of watched may have the same name.
func NewDecoder(t reflect.Type, watched []Watched) *Decoder {
	read, reads := reflect.Zero(reflect.PointerTo(t)).Interface().(reading)
	if reads {
		t = read.valueType()
	}
	p := planOf(t)
	return &Decoder{plan: p, names: names{plan: p, watched: watched, once: reads}, reads: reads}
}

// Decode reads an item into v, which must be settable and zero. It returns what
// attributevalue has against the item; v is half filled then, and what is
// watched is complete. It returns false if the item is not what DynamoDB sends.
func (d *Decoder) Decode(r *Reader, v reflect.Value) (refusal error, ok bool) { //nolint:revive // the error is the item's, ok is the response's
	for i := range d.names.watched {
		w := &d.names.watched[i]
		w.Kind, w.Text = 0, nil
	}
	from := r.pos
	defer func() { d.size = max(1, r.pos-from-frame*max(d.attributes, len(d.names.order))) }()
	if d.reads {
		value, raw, loose := v.Addr().Interface().(reading).parts()
		d.reads = false
		if r.Rest() <= maxShared {
			r.shared, r.sharedAt = string(r.data[from:]), from
		}
		refusal, ok = d.Decode(r, reflect.ValueOf(value).Elem())
		if raw.json = r.shared; raw.json == "" {
			raw.json = string(r.data[from:])
		}
		raw.json, *loose = raw.json[:r.pos-from], d.names.folded || r.loose
		d.reads, r.shared = true, ""
		return refusal, ok
	}
	if d.plan.shape == structure {
		switch d.plan.structure(r, v, &d.names) {
		case fits:
			return nil, true
		case refused:
			return d.refusal(r, from), true
		}
		return nil, false
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
func (d *Decoder) other(r *Reader, v reflect.Value) (refusal error, ok bool) { //nolint:revive // as in Decode
	from, depth := r.pos, r.depth
	verdict := misfit
	if d.plan.shape != item {
		verdict = d.plan.content(r, M, v, options{})
	}
	switch verdict {
	case fits:
		return nil, true
	case broken:
		return nil, false
	}
	r.pos, r.depth = from, depth
	if verdict == refused {
		if !r.IgnoreItem() {
			return nil, false
		}
		return d.refusal(r, from), true
	}
	m, ok := r.item()
	switch {
	case !ok:
		return nil, false
	case d.plan.shape == item:
		v.Set(reflect.ValueOf(m).Convert(d.plan.typ))
		return nil, true
	}
	v.SetZero()
	return Decode(&types.AttributeValueMemberM{Value: m}, v.Addr().Interface()), true
}

// refusal returns why attributevalue refuses the item that was read last and
// starts at from.
func (d *Decoder) refusal(r *Reader, from int) error {
	if m, ok := NewReader(r.data[from:r.pos]).item(); ok {
		return d.plan.notDecoded(m, r.err)
	}
	return r.err
}

// watch reads an item for what is watched alone.
func (d *Decoder) watch(r *Reader) bool {
	d.attributes = 0
	return r.Object(func(name []byte) bool {
		d.attributes++
		for i := range d.names.watched {
			if w := &d.names.watched[i]; w.Name == string(name) {
				return r.watch(w)
			}
		}
		return r.ignore()
	})
}

// watch reads an attribute for a reader to see.
func (r *Reader) watch(w *Watched) (ok bool) {
	from := r.pos
	w.Text = nil // should the attribute be there twice
	switch w.Kind = r.kind(); w.Kind {
	case 0:
		return false
	case S:
		var plain bool
		if w.Text, plain, ok = r.text(); ok && !plain {
			var s string
			s, ok = r.unquote(w.Text)
			w.Text = []byte(s)
		}
	case N:
		w.Text, ok = r.number()
	case B:
		w.Text, ok = r.binary()
	default:
		r.pos, w.Kind = from, 0
		return r.ignore()
	}
	return ok && r.is('}')
}
