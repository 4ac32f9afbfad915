package codec

import (
	"reflect"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// verdict is how reading a value ended. Whatever it is, the value may be half
// filled unless it fits.
type verdict byte

const (
	fits verdict = iota
	// misfit means that it is for attributevalue to say what becomes of the
	// attribute.
	misfit
	// broken means that it is for the SDK to say what the response means.
	broken
	// refused means that attributevalue has refused an attribute: Reader.err.
	refused
)

// judge returns fits for what was read as it should be.
func judge(ok bool) verdict {
	if ok {
		return fits
	}
	return broken
}

// decode reads an attribute value into v, which must be zero. It returns misfit
// anywhere behind the value's beginning.
func (p *plan) decode(r *Reader, v reflect.Value, o options) verdict {
	if verdict := p.content(r, r.kind(), v, o); verdict != fits {
		return verdict
	}
	return judge(r.is('}'))
}

// content reads what an attribute value of a kind holds.
func (p *plan) content(r *Reader, k Kind, v reflect.Value, o options) verdict {
	switch k {
	case 0:
		return broken
	case S, N:
		return p.scalar(r, k, v, o)
	case NULL:
		_, ok := r.bool()
		if p.shape == foreign {
			return misfit
		}
		v.SetZero()
		return judge(ok)
	}
	switch p.shape {
	case boolean:
		if k == BOOL {
			b, ok := r.bool()
			v.SetBool(b)
			return judge(ok)
		}
	case bytes:
		if k == B {
			b, ok := r.binary()
			v.SetBytes(b)
			return judge(ok)
		}
	case pointer:
		v.Set(reflect.New(p.typ.Elem()))
		return p.elem.content(r, k, v.Elem(), o)
	case texts:
		if k == L || k == SS {
			return p.texts(r, k, v)
		}
	case slice:
		if k == L || k == SS || k == NS || k == BS {
			return p.slice(r, k, v)
		}
	case structure:
		if k == M {
			return p.structure(r, v, r.namesOf(p))
		}
	case dictionary:
		if k == M {
			return p.dictionary(r, v)
		}
	case anything:
		return p.anything(r, k, v)
	}
	return misfit
}

// scalar reads what a string or number holds, also as an element of a set.
func (p *plan) scalar(r *Reader, k Kind, v reflect.Value, o options) verdict {
	switch p.shape {
	case pointer:
		v.Set(reflect.New(p.typ.Elem()))
		return p.elem.scalar(r, k, v.Elem(), o)
	case text:
		if o.asText {
			return misfit
		}
		r.loose = r.loose || k == N
		s, ok := r.string()
		v.SetString(s)
		return judge(ok)
	case anything:
		if o.asText {
			return misfit
		}
		return p.anything(r, k, v)
	case moment:
		if o.asText {
			return misfit
		}
		return decodeTime(r, k, v.Addr().Interface().(*time.Time))
	case integer, unsigned, float:
		if k == S && !o.asText {
			return misfit
		}
		b, ok := r.number()
		if !ok {
			return misfit // it may be text with escapes
		}
		return p.number(b, v)
	}
	return misfit
}

func (p *plan) number(b []byte, v reflect.Value) verdict {
	switch p.shape {
	case integer:
		i, err := strconv.ParseInt(string(b), 10, 64)
		if err != nil || v.OverflowInt(i) {
			return misfit
		}
		v.SetInt(i)
	case unsigned:
		u, err := strconv.ParseUint(string(b), 10, 64)
		if err != nil || v.OverflowUint(u) {
			return misfit
		}
		v.SetUint(u)
	case float:
		f, err := strconv.ParseFloat(string(b), 64)
		if err != nil || v.OverflowFloat(f) {
			return misfit
		}
		v.SetFloat(f)
	}
	return fits
}

func decodeTime(r *Reader, k Kind, t *time.Time) verdict {
	b, ok := r.number()
	if !ok {
		return misfit // as above
	}
	if k == N {
		seconds, err := strconv.ParseInt(string(b), 10, 64)
		if err != nil {
			return misfit
		}
		*t = time.Unix(seconds, 0)
		return fits
	}
	parsed, err := time.Parse(time.RFC3339, string(b))
	if err != nil {
		return misfit
	}
	*t = parsed
	return fits
}

// texts reads a list or set of strings into a []string.
func (p *plan) texts(r *Reader, k Kind, v reflect.Value) verdict {
	verdict := fits
	r.strings = r.strings[:0]
	ok := r.Array(func(int) bool {
		if k == L {
			switch r.kind() {
			case S, N:
			case NULL:
				_, ok := r.bool()
				r.strings = append(r.strings, "")
				return ok && r.is('}')
			default:
				verdict = misfit
				return false
			}
		}
		s, ok := r.string()
		r.strings = append(r.strings, s)
		return ok && (k != L || r.is('}'))
	})
	if verdict == fits && !ok {
		return broken
	}
	*v.Addr().Interface().(*[]string) = append(make([]string, 0, len(r.strings)), r.strings...)
	return verdict
}

// slice reads a list or set.
func (p *plan) slice(r *Reader, k Kind, v reflect.Value) verdict {
	verdict := fits
	v.Set(reflect.MakeSlice(p.typ, 0, 0))
	ok := r.Array(func(i int) bool {
		v.Grow(1)
		v.SetLen(i + 1)
		switch elem := v.Index(i); k {
		case L:
			verdict = p.elem.decode(r, elem, options{})
		case SS:
			verdict = p.elem.scalar(r, S, elem, options{})
		case NS:
			verdict = p.elem.scalar(r, N, elem, options{})
		case BS:
			verdict = p.elem.content(r, B, elem, options{})
		}
		return verdict == fits
	})
	if verdict != fits {
		return verdict
	}
	return judge(ok)
}

// dictionary reads a map into a Go map.
func (p *plan) dictionary(r *Reader, v reflect.Value) verdict {
	verdict := fits
	v.Set(reflect.MakeMap(p.typ))
	ok := r.Object(func(name []byte) bool {
		key := reflect.New(p.typ.Key()).Elem()
		key.SetString(string(name))
		elem := reflect.New(p.typ.Elem()).Elem()
		verdict = p.elem.decode(r, elem, options{})
		v.SetMapIndex(key, elem)
		return verdict == fits
	})
	if verdict != fits {
		return verdict
	}
	return judge(ok)
}

// structure reads a map, or an item, into a struct. When attributevalue refuses
// a field it reads to the end all the same.
func (p *plan) structure(r *Reader, v reflect.Value, n *names) verdict {
	verdict, i := fits, 0
	ok := r.Object(func(name []byte) bool {
		u := n.use(i, name)
		i++
		from := r.pos
		if u.watched != none {
			if !r.watch(&n.watched[u.watched]) {
				return false
			}
			if u.field == none {
				return true
			}
			r.pos = from
		}
		if u.field == none || verdict == refused {
			return r.ignore()
		}
		depth := r.depth
		switch p.fields[u.field].decode(r, v) {
		case refused:
			verdict, r.pos, r.depth = refused, from, depth
			return r.ignore()
		case broken:
			return false
		}
		return true
	})
	if !ok {
		return broken
	}
	return verdict
}

// decode reads the attribute of a field of v. It does not return misfit.
func (f *field) decode(r *Reader, v reflect.Value) verdict {
	v = f.at(v)
	if f.plan.shape == structure {
		v.SetZero() // should the attribute be there twice
	}
	from, depth := r.pos, r.depth
	verdict := f.plan.decode(r, v, f.options)
	if verdict != misfit {
		return verdict
	}
	r.pos, r.depth = from, depth
	value, ok := r.value()
	if !ok {
		return broken
	}
	v.SetZero()
	if r.err = f.give(value, v); r.err != nil {
		return refused
	}
	return fits
}

// anything reads into an empty interface what attributevalue would put there.
func (p *plan) anything(r *Reader, k Kind, v reflect.Value) verdict {
	if k == M {
		m := map[string]any{}
		verdict := planOf(reflect.TypeFor[map[string]any]()).dictionary(r, reflect.ValueOf(&m).Elem())
		v.Set(reflect.ValueOf(m))
		return verdict
	}
	if k == L {
		var l []any
		verdict := planOf(reflect.TypeFor[[]any]()).slice(r, k, reflect.ValueOf(&l).Elem())
		v.Set(reflect.ValueOf(l))
		return verdict
	}
	value, ok := r.content(k)
	if !ok {
		return broken
	}
	switch value := value.(type) {
	case *types.AttributeValueMemberS:
		v.Set(reflect.ValueOf(value.Value))
	case *types.AttributeValueMemberBOOL:
		v.Set(reflect.ValueOf(value.Value))
	case *types.AttributeValueMemberB:
		v.Set(reflect.ValueOf(value.Value))
	case *types.AttributeValueMemberSS:
		v.Set(reflect.ValueOf(value.Value))
	case *types.AttributeValueMemberBS:
		v.Set(reflect.ValueOf(value.Value))
	case *types.AttributeValueMemberN:
		f, err := strconv.ParseFloat(value.Value, 64)
		if err != nil {
			return misfit
		}
		v.Set(reflect.ValueOf(f))
	default:
		return misfit
	}
	return fits
}

// namesOf returns what the attributes of the maps for a struct are for.
func (r *Reader) namesOf(p *plan) *names {
	n, ok := r.names[p]
	if !ok {
		n = &names{plan: p}
		if r.names == nil {
			r.names = map[*plan]*names{}
		}
		r.names[p] = n
	}
	return n
}
